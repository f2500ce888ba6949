/* Changes of accounts and people, one at a time on a thread of their own: judge, make durable
 * with its audit entry, then let everybody see. Two changes never judge the same state, and a loop
 * never waits for a disk. */
#pragma once

#include "accounts/changes.h"
#include "api/audit.h"
#include "api/call.h"
#include "store/store.h"

struct control;

/* Whose turn it is at the control thread: an account's number, 0 for operators; and these. */
#define OWNER_DAEMON UINT32_MAX
#define OWNER_STRANGERS (UINT32_MAX - 1) /* who sign in */
#define OWNER_EVENTS (UINT32_MAX - 2)    /* whose clients are looked for */
uint32_t control_owner(const struct call *c);

struct control_options {
    struct env *env;
    struct accounts *accounts;
    struct store *store;
    struct directory *directory;
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

/* One change asked for by a call. Fill in by control_ask; it answers the call in every case. */
struct mutation {
    struct call *c;
    const struct json *body;   /* NULL: none */
    struct accounts *accounts; /* for judge */
    struct change change;
    /* On the control thread: makes the change, or says why not (faults in c->problems). */
    enum change_result (*judge)(struct mutation *m);
    /* On the control thread, after it is applied: the answer's body; NULL: none. */
    void (*render)(struct mutation *m, struct json_writer *w);
    int status;           /* of the answer */
    const char *location; /* "/api/v1/apps/" for a 201's Location, before the id; NULL: none */
    const char *action;   /* of the audit log; NULL: KIND.created, .changed or .removed */

    /* Control's own. */
    struct task task;
    struct control *control;
    enum change_result result;
    enum store_status stored;
    struct buf answer, headers;
};

/* From a loop. The mutation lives in the call's arena. */
void control_ask(struct control *control, struct mutation *m);

/* --- for other changes (people, and what is only written down) ----------------------------------
 */

/* Runs the task on the control thread. */
void control_post(struct control *control, struct task *task);
/* On the control thread, before anything that a call asks for is judged, and again after
 * STORE_STALE: takes in what other nodes have changed, then judges the caller anew. False:
 * c->refusal says why they may no more, and nothing may be changed for them. */
MUST_CHECK bool control_begin(struct control *control, struct call *c);
/* The same where nobody asks. */
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
struct audit *control_audit(struct control *control); /* the control thread's */

/* Runs a slow call on a worker of its own, one at a time; the task goes on at control_post. False:
 * too many wait already. */
#define SLOW_CALLS_MOST 8
#define SLOW_CALLS_KNOWN 2 /* of them, that strangers leave to those who are known */
MUST_CHECK bool control_post_slow(struct control *control, struct task *task, bool known);
void control_slow_done(struct control *control); /* by each of them, as its last word there */

/* For what the store changes by itself: the parts that write a note down, to be kept in one commit
 * with the change. The asker's, until the store has answered. */
struct noted {
    struct object_part parts[AUDIT_PARTS];
    size_t part_count;
    void (*go)(struct noted *n); /* on the control thread: asks the store for both */
    /* Control's own. */
    struct task task;
    struct call *c;
    struct task *done;
    struct audit_note note;
    struct arena arena;
};
/* From a loop. The note is taken over. `done` is what the store would run on the call's loop: it is
 * run at once, with c->refusal set (call_store_ok), where the caller may no more. */
void control_with_note(struct call *c, const struct audit_note *note, struct noted *n,
                       struct task *done);
void noted_free(struct noted *n);

/* Writes the note down, then runs `done` on the call's loop with the store's answer, or with
 * c->refusal set. The note is taken over. */
void control_note(struct call *c, const struct audit_note *note,
                  void (*done)(struct call *c, enum store_status status));
