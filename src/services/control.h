/* Changes of accounts and people, one at a time on a thread of their own: a change is judged, made
 * durable with its audit entry, then made visible. So two changes never judge the same state, and
 * no loop waits for a disk. */
#pragma once

#include "accounts/changes.h"
#include "people/people.h"
#include "services/audit.h"
#include "services/idempotency_records.h"
#include "store/store.h"

/* An account kind is cast to its object kind and back. */
_Static_assert((int)ACCOUNT_PARTNER == OBJECT_PARTNER && (int)ACCOUNT_APP == OBJECT_APP &&
                   (int)ACCOUNT_CLIENT == OBJECT_CLIENT && (int)ACCOUNT_KEY == OBJECT_KEY,
               "accounts/directory.h and store/store.h number them alike");
_Static_assert((int)ACCOUNT_KIND_LAST == OBJECT_KEY, "there are no others");

struct control;

/* The owners whose tasks take turns on the control thread: account numbers (0: operators), and
 * these. */
#define OWNER_DAEMON UINT32_MAX
#define OWNER_STRANGERS (UINT32_MAX - 1) /* people who are signing in */
#define OWNER_EVENTS (UINT32_MAX - 2)    /* events of unknown clients */

struct control_options {
    struct env *env;
    struct accounts *accounts;
    struct store *store;
    struct directory *directory;
    struct idempotency *idempotency;
    /* On the control thread. gone_settled: after each control_disable_lane, with any result. */
    void (*app_changed)(void *context, uint32_t app_no);
    void (*gone_settled)(void *context, uint32_t app_no, enum lane_kind kind);
    /* On the control thread: another node has changed this object. */
    void (*refresh)(void *context, struct arena *arena, const struct object_part *object);
    void *context;
};

struct control *control_new(const struct control_options *options);
/* Runs all posted tasks, then ends. Before the store closes. */
void control_free(struct control *control);

/* The store's change log has changes of other nodes. Any thread. */
void control_refresh(struct control *control);

/* Marks a lane disabled after `url` (copied) answered 410, unless the lane has another URL by now.
 * Any thread; durable soon after. */
void control_disable_lane(struct control *control, uint32_t app_no, enum lane_kind kind,
                          struct str url);

/* --- for changes ------------------------------------------------------------------------------ */

/* Runs the task on the control thread. */
void control_post(struct control *control, struct task *task);
/* On the control thread, before a change is judged, and again after STORE_STALE: reads the changes
 * of other nodes. */
void control_catch_up(struct control *control);
/* The same for a request of `asked_mono_ms`: does nothing if the changes were read since. If the
 * store cannot answer, returns its status. */
enum store_status control_catch_up_since(struct control *control, int64_t asked_mono_ms);
/* On the control thread: stores the parts, all or none, and waits until they are durable. There is
 * at least one, and the first does not delete a missing object. STORE_STALE: another node was
 * faster; catch up and judge again, at most CONTROL_TRIES times. */
#define CONTROL_TRIES 8
enum store_status control_keep(struct control *control, const struct object_part *parts,
                               size_t count);
/* The same for an object that a request creates (the first part), with the record of its
 * Idempotency-Key; key NULL: none. */
enum store_status control_keep_made(struct control *control, const struct idempotency_key *key,
                                    const struct object_part *parts, size_t count);
/* The same for a change of accounts with its audit entry; then applies it. by NULL: postbackd
 * itself. action NULL: KIND.created, .changed or .removed. */
enum store_status control_change(struct control *control, const struct actor *by,
                                 const char *action, struct change *change);
/* The same without an audit entry, for changes that nobody asked for or needs to know. */
enum store_status control_change_silently(struct control *control, struct change *change);
/* The same for a change of people; note NULL: no audit entry. */
enum store_status control_change_people(struct control *control, struct people *people,
                                        const struct actor *by, const struct audit_note *note,
                                        struct people_change *change);
struct audit *control_audit(struct control *control);             /* the control thread's */
struct accounts *control_accounts(struct control *control);       /* the same */
struct idempotency *control_idempotency(struct control *control); /* the same */

/* Runs a slow call on a worker, one at a time; the task then continues by control_post. False: too
 * many are waiting. */
#define SLOW_CALLS_MOST 8
#define SLOW_CALLS_KNOWN 2 /* places reserved for known callers */
MUST_CHECK bool control_post_slow(struct control *control, struct task *task, bool known);
void control_slow_done(struct control *control); /* each slow call's last action on the worker */
