/* The life of a callback: how the acceptance of its event, an outcome, a resend, an erasure and the
 * end of a reversal's original change it. Pure functions, one for each fact in the table of
 * docs/state.md; every store fetches their arguments, calls them, and records their results.
 *
 * A reversal is held back while its original is pending: life_accept and life_resend decide that,
 * life_release ends it when the original's outcome has made it final. An erasure makes an original
 * final without an outcome. It needs no release, because it also erases the reversals that wait for
 * the original: they have the same PanelistId.
 *
 * A fact in a state in which it cannot happen is a bug, and asserted. docs/state.md shows every
 * fact in every state; tests/unit/test_callback_table.c compares the two. */
#pragma once

#include "base/check.h"
#include "domain/event.h"
#include "domain/schedule.h"

/* Whether and how a callback waits. Stored: append only. */
enum callback_wait {
    WAIT_NOT = 0, /* final, or there is no callback */
    /* in its lane, from place.due_ms on; if delivered: for the extra attempt of a resend */
    WAIT_DUE = 1,
    WAIT_HELD = 2, /* a reversal whose original is pending */
};

/* What a store keeps of a callback: its state as the API shows it, and how it goes on. */
struct callback_life {
    lane_no lane;
    enum callback_state state;
    enum callback_reason reason;
    enum callback_wait wait;
    bool manual;      /* due because of a resend */
    int32_t attempts; /* made; -1: as many as are stored */
    struct schedule_place place;
};

/* The latest resend of a callback that no outcome has answered yet; at most one for each
 * callback. */
struct pending_resend {
    uint64_t no;    /* assigned by the store; 0: none */
    int64_t due_ms; /* when it was requested */
};

/* A lane's decision about a callback, with or without an attempt. */
struct callback_decision {
    enum callback_state state; /* pending, delivered, dead or skipped */
    enum callback_reason reason;
    struct schedule_place place;
    int32_t attempt; /* the attempt's number; 0: no attempt was made */
    bool is_erased;  /* its panelist was erased meanwhile, so it cannot be tried again */
    bool is_again;   /* the decision may have been recorded before */
};

/* The state of a new event's callback. `original`: for a reversal, the callback of its original;
 * otherwise NULL. */
struct callback_life life_accept(const struct event *e, const struct callback_life *original);
/* Applies a decision. The callback was handed out, so it waited; but it may have been erased since,
 * and a decision that is recorded again may meet its own result. */
void life_decide(struct callback_life *s, const struct callback_decision *d);

/* The verdict about a resend of a stored event's callback. */
enum resend_verdict {
    RESEND_ACCEPTED,
    RESEND_NOT_MEANT,   /* there is no callback, or it is in another state */
    RESEND_BODY_PURGED, /* its body was deleted by retention */
    RESEND_BODY_ERASED, /* its body was deleted because its panelist was erased */
};
/* only_states: bits, 1 << state, of the states to resend; 0: any. */
enum resend_verdict life_judge_resend(const struct event *e, enum callback_state state,
                                      unsigned only_states);
/* Applies an accepted resend. */
void life_resend(struct callback_life *s, int64_t due_ms, const struct callback_life *original);
/* For an outcome that was decided when the resends up to known_no were known. True: a later one was
 * accepted since; life_resend with resend->due_ms must follow. False: no resend waits any more. */
MUST_CHECK bool life_answer_resend(struct pending_resend *resend, uint64_t known_no,
                                   bool is_erased);
/* Erases the panelist, and with it the body. */
void life_erase(struct callback_life *s);
/* Releases a reversal after an outcome of its original, whose attempt ended at end_ms (INT64_MIN:
 * no attempt). `original`: after the outcome. True: the reversal was held back and is due now. */
bool life_release(struct callback_life *s, const struct callback_life *original, int64_t end_ms);
