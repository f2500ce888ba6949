/* Changes that calls ask for, on the control thread: the caller is judged again there, the change
 * is made with its audit entry, and the call is answered on its own loop. */
#pragma once

#include "api/call.h"
#include "services/control.h"

/* Whose turn it is at the control thread. */
uint32_t call_owner(const struct call *c);
/* Who asks, for the audit log; valid as long as the call. */
struct actor call_actor(const struct call *c);
/* On the control thread, before anything that a call asks for is judged, and again after
 * STORE_STALE: takes in what other nodes have changed, then judges the caller anew, and
 * the request's Idempotency-Key. False: c->refusal says why nothing may be changed for them. Else a
 * repetition changes nothing either (api/idempotency_header.h). */
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

/* For what the store changes by itself: the parts that write a note down, to be kept in one commit
 * with the change. The asker's, until the store has answered. */
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
/* From a loop. The note is taken over. `done` is what the store would run on the call's loop: it is
 * run at once, with c->refusal set (call_store_ok), where the caller may no more. */
void call_with_note(struct call *c, const struct audit_note *note, struct noted *n,
                    struct task *done);
void noted_free(struct noted *n);

/* Writes the note down, then runs `done` on the call's loop with the store's answer, or with
 * c->refusal set. The note is taken over. */
void call_note(struct call *c, const struct audit_note *note,
               void (*done)(struct call *c, enum store_status status));
