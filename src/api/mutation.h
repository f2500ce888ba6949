/* Runs a change that a call asks for on the control thread: judges the caller again, makes the
 * change together with its audit entry, and answers the call on its own loop. */
#pragma once

#include "api/call.h"
#include "services/control.h"

/* The account whose queue at the control thread the call waits in. */
uint32_t call_owner(const struct call *c);
/* The caller, for the audit log; valid as long as the call. */
struct actor call_actor(const struct call *c);
/* On the control thread, before a change is judged, and again after STORE_STALE: reads the changes
 * of other nodes, then judges the caller and the Idempotency-Key again. False: c->refusal says why
 * the change is refused. True does not mean that a change must be made: if the request is a
 * repetition, nothing is changed (api/idempotency_header.h). */
MUST_CHECK bool call_judge_anew(struct control *control, struct call *c);

/* One change asked for by a call; mutation_ask answers the call in every case. */
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

    /* mutation.c's own. */
    struct task task;
    struct control *control;
    enum change_result result;
    enum store_status stored;
};

/* From a loop. The mutation lives in the call's arena. */
void mutation_ask(struct control *control, struct mutation *m);

/* For changes that the store makes by itself (an erasure, a resend): the parts that record an audit
 * note, to be committed together with the change. Owned by the caller until the store has
 * answered. */
struct noted {
    struct object_part parts[AUDIT_PARTS];
    size_t part_count;
    void (*go)(struct noted *n); /* on the control thread: asks the store for both */
    /* mutation.c's own. */
    struct task task;
    struct call *c;
    struct task *done;
    struct audit_note note;
    struct arena arena;
};
/* From a loop. Takes over the note. `done` is the task that the store will run on the call's loop.
 * If the caller may no longer do this, `done` is run without asking the store, with c->refusal set
 * (see call_store_ok). */
void call_with_note(struct call *c, const struct audit_note *note, struct noted *n,
                    struct task *done);
void noted_free(struct noted *n);

/* Records the note, then runs `done` on the call's loop with the store's status, or with c->refusal
 * set. Takes over the note. */
void call_note(struct call *c, const struct audit_note *note,
               void (*done)(struct call *c, enum store_status status));
