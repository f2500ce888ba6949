/* When a callback stops being tried, and why. Contract, section 4, "Schedule and states". */
#pragma once

#include "base/env.h"
#include "domain/attempt.h"
#include "domain/event.h"
#include "domain/schedule.h"

struct callback_end {
    enum callback_state state; /* pending: it is not the end */
    enum callback_reason reason;
};

/* The 4xx statuses that end an app's callback at the first such answer. */
#define FINAL_STATUS_LEAST 400
#define FINAL_STATUS_MOST 499
struct final_statuses {
    uint64_t bits[2]; /* bit 0 of the first: status 400 */
};
void final_statuses_add(struct final_statuses *s, int32_t status);        /* least to most */
bool final_statuses_have(const struct final_statuses *s, int32_t status); /* any number */

/* --- by an attempt of its own ------------------------------------------------------------------
 */

struct failed_attempt {
    enum attempt_class class;
    bool is_final_status;  /* one of the app's FinalStatuses */
    int64_t ended_ms;      /* wall */
    int64_t not_before_ms; /* wall; what Retry-After asked for, see schedule_fail; 0: nothing */
};
/* Moves the place when the callback waits for another try. */
struct callback_end callback_end_of_attempt(const struct schedule *s, struct schedule_place *place,
                                            const struct failed_attempt *attempt, struct rng *rng);

/* --- without one -------------------------------------------------------------------------------
 */

/* Since when nothing has succeeded on a lane, and when something last did after a failure. */
struct lane_downtime {
    bool is_down;
    int64_t since_mono_ms; /* down: since the first failure, or since its host was dead */
    int64_t reopened_ms;   /* wall; 0: not since the lane came into memory */
};
void lane_downtime_begin(struct lane_downtime *d, int64_t now_mono_ms); /* nothing if it is down */
void lane_downtime_end(struct lane_downtime *d, int64_t now_ms);        /* nothing if it is not */

/* How long a lane is down, counted from a callback's last slot, until the callback is given up: as
 * long as the whole schedule, at most a day. */
#define CALLBACK_GIVE_UP_MOST_MS (INT64_C(24) * 3600 * 1000)
int64_t callback_give_up_ms(const struct schedule *s);
/* Whether a waiting callback is dead by REASON_ENDPOINT_DOWN. `stored`: its place as recorded, so
 * due_ms tells whether it was tried since the lane reopened: what was due then, and was not, has a
 * try of its own first. The downtime is counted by the monotonic clock too: a wall clock that jumps
 * ahead gives up nothing. */
bool callback_is_given_up(const struct schedule *s, const struct schedule_place *stored,
                          const struct lane_downtime *d, int64_t now_ms, int64_t now_mono_ms);

/* Whether a callback that waited on a disabled lane is skipped by REASON_DISABLED: its last slot
 * had passed when the lane was enabled again. enabled_ms: 0 where it never was disabled. */
bool callback_is_missed(const struct schedule *s, const struct schedule_place *stored,
                        int64_t enabled_ms);
