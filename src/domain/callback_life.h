/* The life of a callback: what the acceptance of its event, an outcome, a resend, an erasure and
 * the end of a reversal's original make of it. Pure functions, one for each fact of the table in
 * docs/state.md; every store fetches what they need, calls them, and records what they say.
 *
 * A reversal is held back while its original is pending: life_accept and life_resend
 * decide that, life_release ends it when the original's outcome made it final. An erasure
 * makes an original final without an outcome; it needs no release, because it erases the reversals
 * that wait for it as well: they have the original's PanelistId.
 *
 * A fact in a state in which it cannot happen is a bug, and asserted. docs/state.md shows every
 * fact in every state; tests/unit/test_callback_table.c compares. */
#pragma once

#include "base/check.h"
#include "domain/event.h"
#include "domain/schedule.h"

/* Whether and how a callback waits. Stored: append only. */
enum callback_wait {
    WAIT_NOT = 0,  /* final, or none is owed */
    WAIT_DUE = 1,  /* in its lane, from place.due_ms on; a delivered one: a resend's extra try */
    WAIT_HELD = 2, /* a reversal whose original is pending */
};

struct callback_status {
    lane_no lane;
    enum callback_state state;
    enum callback_reason reason;
    enum callback_wait wait;
    bool manual;      /* due because of a resend */
    int32_t attempts; /* made; -1: as many as are stored */
    struct schedule_place place;
};

/* The latest resend of a callback that no outcome has answered yet; one for each callback. */
struct pending_resend {
    uint64_t no;    /* as the store numbers them; 0: none */
    int64_t due_ms; /* when it was asked for */
};

/* What a lane has decided about a callback, with an attempt or without. */
struct callback_decision {
    enum callback_state state; /* pending, delivered, dead or skipped */
    enum callback_reason reason;
    struct schedule_place place;
    int32_t attempt; /* the attempt's number; 0: none was made */
    bool is_erased;  /* its panelist was erased meanwhile: nothing is left that could be tried again
                      */
    bool is_again;   /* whether it was recorded before, nobody knows */
};

static inline bool life_is_final(enum callback_state state)
{
    return state == CALLBACK_DELIVERED || state == CALLBACK_DEAD || state == CALLBACK_SKIPPED;
}

/* Where the callback of a new event stands. `original`: of a reversal, its original's callback;
 * else NULL. */
struct callback_status life_accept(const struct event *e, const struct callback_status *original);
/* A decision is about a callback that was handed out, so one that waited; but an erasure may have
 * come in between, and one that is recorded again may find what it has left itself. */
void life_decide(struct callback_status *s, const struct callback_decision *d);

/* Whether a resend of a stored event's callback is accepted. */
enum resend_verdict {
    RESEND_ACCEPTED,
    RESEND_NOT_MEANT,   /* the event owes no callback, or the callback is in another state */
    RESEND_BODY_PURGED, /* its body was deleted by retention */
    RESEND_BODY_ERASED, /* its body was deleted because its panelist was erased */
};
/* only_states: bits, 1 << state, that the resend is for; 0: any. */
enum resend_verdict life_judge_resend(const struct event *e, enum callback_state state,
                                      unsigned only_states);
/* Of a callback whose resend was accepted. */
void life_resend(struct callback_status *s, int64_t due_ms, const struct callback_status *original);
/* An outcome that was decided when the resends up to known_no were known. True: a later one was
 * accepted since, and life_resend follows, as of resend->due_ms. False: it waits no more. */
MUST_CHECK bool life_answer_resend(struct pending_resend *resend, uint64_t known_no,
                                   bool is_erased);
/* Its panelist is erased, and with it the body. */
void life_erase(struct callback_status *s);
/* An outcome, whose attempt ended at end_ms (INT64_MIN: without an attempt), has left the original
 * of a reversal so. True: the reversal was held back, and is due now. */
bool life_release(struct callback_status *s, const struct callback_status *original,
                  int64_t end_ms);
