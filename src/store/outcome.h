/* Attempts and outcomes: what delivery asks a store to record. */
#pragma once

#include "base/arena.h"
#include "domain/attempt.h"
#include "domain/callback_life.h"

struct attempt {
    int32_t number; /* from 1 */
    bool manual;
    int64_t at_ms;
    int32_t duration_ms;
    int32_t status; /* HTTP status; 0: no answer */
    enum attempt_class class;
    struct str url; /* masked */
    struct str detail;
    struct str request_headers, response_headers; /* "Name: value\n" lines, no secrets */
    struct str response_body;                     /* first 4 KiB, raw bytes */
};

/* The attempt classes whose detail quotes the receiver: a redirect's has the Location, an
 * unexpected answer's has part of the body. Both may repeat the id of an erased panelist, so
 * attempt_erase deletes them, too. Bits, 1 << class. */
#define ATTEMPT_DETAILS_ERASED (1u << ATTEMPT_REDIRECT | 1u << ATTEMPT_UNEXPECTED_ANSWER)
void attempt_erase(struct attempt *a);

/* Copies the attempt's texts into the arena. */
void attempt_keep(struct attempt *a, struct arena *arena);

/* Of a callback whose event's row presumes delivery (postgresql/pg_row.h): what that row says, so
 * that its first delivery is recorded without reading it. */
struct outcome_presumed {
    int64_t due_ms; /* as in struct callback; 0: it presumes nothing, the rest is 0 */
    enum event_type type;
    bool is_test;
    int64_t occurred_ms, accepted_ms, revenue_micros, reward_micros;
    struct str event_id;
};

/* The new state of one callback, after an attempt or without one. It replaces the stored state.
 *
 * A resend that was accepted after the outcome was decided is not lost. The store gives resend_no
 * with each callback that it hands over or pages, and the outcome returns it: it names the last
 * resend that the outcome answers. A later resend takes effect again, after the outcome. See
 * docs/state.md, "Resend". */
struct outcome {
    uint32_t account_no;
    uint64_t event_no;
    lane_no lane;
    uint64_t resend_no;
    struct outcome_presumed presumed;
    int64_t fence; /* the fence of the lane's shard when the lane was created (store/leases.h) */
    /* result: the shard has another fence now, and nothing of the outcome is stored */
    bool refused;
    bool has_attempt;
    struct attempt attempt;
    enum callback_state state; /* pending, delivered, dead or skipped */
    enum callback_reason reason;
    /* pending: its place in the schedule; place.due_ms is when it is due */
    struct schedule_place place;
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

/* When the attempt ended, wall clock; INT64_MIN: there was no attempt. */
static inline int64_t outcome_end_ms(const struct outcome *o)
{
    return o->has_attempt ? o->attempt.at_ms + o->attempt.duration_ms : INT64_MIN;
}
