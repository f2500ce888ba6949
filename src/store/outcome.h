/* Attempts, and what has become of their callbacks: what delivery asks a store to record. */
#pragma once

#include "base/arena.h"
#include "domain/attempt.h"
#include "domain/callback_life.h"

struct attempt {
    int32_t number; /* from 1 */
    bool manual;
    int64_t at_ms;
    int32_t duration_ms;
    int32_t status; /* HTTP status, 0: none */
    enum attempt_class class;
    struct str url; /* masked */
    struct str detail;
    struct str request_headers, response_headers; /* "Name: value\n" lines, no secrets */
    struct str response_body;                     /* first 4 KiB, raw bytes */
};

/* What the receiver got and answered may repeat the id of an erased panelist, and so may the detail
 * of these classes: a redirect's is the Location, an unexpected answer's quotes the body. Bits,
 * 1 << class. */
#define ATTEMPT_DETAILS_ERASED (1u << ATTEMPT_REDIRECT | 1u << ATTEMPT_UNEXPECTED_ANSWER)
void attempt_erase(struct attempt *a);

/* Copies its texts into the arena. */
void attempt_keep(struct attempt *a, struct arena *arena);

/* What becomes of one callback, after an attempt or without one. Replaces its stored state.
 *
 * A resend that was accepted after this was decided is not lost: resend_no, which the store gives
 * with each callback it hands over or pages, says up to which resend this answers; a later one
 * takes effect anew, behind the outcome. docs/state.md, "Resend". */
struct outcome {
    uint32_t account_no;
    uint64_t event_no;
    lane_no lane;
    uint64_t resend_no;
    int64_t fence; /* of the lane's shard, when the lane was made (store/leases.h) */
    bool refused;  /* result: the shard is another's by now, and nothing of it is stored */
    bool has_attempt;
    struct attempt attempt;
    enum callback_state state; /* pending, delivered, dead or skipped */
    enum callback_reason reason;
    struct schedule_place place; /* pending: where it stands, place.due_ms is when it is due */
};

static inline struct callback_decision outcome_decision(const struct outcome *o)
{
    return (struct callback_decision){
        .state = o->state,
        .reason = o->reason,
        .place = o->place,
        .attempt = o->has_attempt ? o->attempt.number : 0,
    };
}

/* When its attempt ended; INT64_MIN: without one. */
static inline int64_t outcome_end_ms(const struct outcome *o)
{
    return o->has_attempt ? o->attempt.at_ms + o->attempt.duration_ms : INT64_MIN;
}
