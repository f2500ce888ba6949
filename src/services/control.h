/* Changes of accounts and people, one at a time on a thread of their own: judge, make durable
 * with its audit entry, then let everybody see. Two changes never judge the same state, and a loop
 * never waits for a disk. */
#pragma once

#include "accounts/changes.h"
#include "people/people.h"
#include "services/audit.h"
#include "services/idempotency_records.h"
#include "store/store.h"

/* Each kind of account is cast to the kind of its object and back. */
_Static_assert((int)ACCOUNT_PARTNER == OBJECT_PARTNER && (int)ACCOUNT_APP == OBJECT_APP &&
                   (int)ACCOUNT_CLIENT == OBJECT_CLIENT && (int)ACCOUNT_KEY == OBJECT_KEY,
               "accounts/directory.h and store/store.h number them alike");
_Static_assert((int)ACCOUNT_KIND_LAST == OBJECT_KEY, "there are no others");

struct control;

/* Whose turn it is at the control thread: an account's number, 0 for operators; and these. */
#define OWNER_DAEMON UINT32_MAX
#define OWNER_STRANGERS (UINT32_MAX - 1) /* who sign in */
#define OWNER_EVENTS (UINT32_MAX - 2)    /* whose clients are looked for */

struct control_options {
    struct env *env;
    struct accounts *accounts;
    struct store *store;
    struct directory *directory;
    struct idempotency *idempotency;
    /* On the control thread. gone_settled: after each control_disable_lane, whatever came of it. */
    void (*app_changed)(void *context, uint32_t app_no);
    void (*gone_settled)(void *context, uint32_t app_no, enum lane_kind kind);
    /* The same: an object as another node has left it. */
    void (*refresh)(void *context, struct arena *arena, const struct object_part *object);
    void *context;
};

struct control *control_new(const struct control_options *options);
/* Runs what was asked for, then ends. Before the store closes. */
void control_free(struct control *control);

/* The store's feed has something: what other nodes have changed. Any thread. */
void control_refresh(struct control *control);

/* Marks a lane disabled after a 410 from `url` (copied), unless it has another one by now. Any
 * thread; durable soon after. */
void control_disable_lane(struct control *control, uint32_t app_no, enum lane_kind kind,
                          struct str url);

/* --- for changes ------------------------------------------------------------------------------ */

/* Runs the task on the control thread. */
void control_post(struct control *control, struct task *task);
/* On the control thread, before anything is judged, and again after STORE_STALE: takes in what
 * other nodes have changed. */
void control_catch_up(struct control *control);
/* The same for who asked at `asked_mono_ms`: nothing is done where it was done since. Where the
 * store cannot say, what it answered instead. */
enum store_status control_catch_up_since(struct control *control, int64_t asked_mono_ms);
/* On the control thread: waits until the parts are durable, all or none. There is at least one,
 * and the first is not the deletion of what is not there. STORE_STALE: another node was quicker;
 * catch up and judge again, CONTROL_TRIES times at most. */
#define CONTROL_TRIES 8
enum store_status control_keep(struct control *control, const struct object_part *parts,
                               size_t count);
/* The same of what a request makes, the first part, with the record of its Idempotency-Key; key
 * NULL: it has none. */
enum store_status control_keep_made(struct control *control, const struct idempotency_key *key,
                                    const struct object_part *parts, size_t count);
/* The same of one change of accounts with its audit entry, then applies it. by NULL: nobody asked
 * for it. action NULL: KIND.created, .changed or .removed. */
enum store_status control_change(struct control *control, const struct actor *by,
                                 const char *action, struct change *change);
/* The same of a change that nobody asked for and that is nobody's to know of: no audit entry. */
enum store_status control_change_silently(struct control *control, struct change *change);
/* The same of a change of people; note NULL: no audit entry. */
enum store_status control_change_people(struct control *control, struct people *people,
                                        const struct actor *by, const struct audit_note *note,
                                        struct people_change *change);
struct audit *control_audit(struct control *control);             /* the control thread's */
struct accounts *control_accounts(struct control *control);       /* the same */
struct idempotency *control_idempotency(struct control *control); /* the same */

/* Runs a slow call on a worker of its own, one at a time; the task goes on at control_post. False:
 * too many wait already. */
#define SLOW_CALLS_MOST 8
#define SLOW_CALLS_KNOWN 2 /* of them, that strangers leave to those who are known */
MUST_CHECK bool control_post_slow(struct control *control, struct task *task, bool known);
void control_slow_done(struct control *control); /* by each of them, as its last word there */
