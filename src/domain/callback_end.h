/* What an attempt's result makes of a callback: the retry schedule is applied, or the attempts end,
 * and why. Contract, section 4, "Schedule and states". */
#pragma once

#include "base/clock_lead.h"
#include "base/env.h"
#include "domain/attempt.h"
#include "domain/event.h"
#include "domain/schedule.h"

struct callback_end {
    enum callback_state state; /* pending: it has not ended */
    enum callback_reason reason;
};

/* The 4xx statuses that an app may name as final: the first such answer ends a callback. */
#define FINAL_STATUS_LEAST 400
#define FINAL_STATUS_MOST 499
struct final_statuses {
    uint64_t bits[2]; /* bit 0 of the first: status 400 */
};
void final_statuses_add(struct final_statuses *s, int32_t status);        /* least to most */
bool final_statuses_have(const struct final_statuses *s, int32_t status); /* any number */

/* --- by its own attempt --------------------------------------------------------------------- */

struct failed_attempt {
    enum attempt_class class;
    bool is_final_status;  /* one of the app's FinalStatuses */
    int64_t ended_ms;      /* wall clock */
    int64_t not_before_ms; /* wall clock; by Retry-After, see schedule_fail; 0: none */
};
/* Moves the place if the callback waits for another attempt. */
struct callback_end callback_end_of_attempt(const struct schedule *s, struct schedule_place *place,
                                            const struct failed_attempt *attempt, struct rng *rng);

/* --- without an attempt --------------------------------------------------------------------- */

/* Since when no attempt on a lane has succeeded, and when one last did after a failure. */
struct lane_downtime {
    bool is_down;
    /* if down: since the first failure, or since the host was dead; since the last attempt that a
     * local fault prevented, if that was later */
    int64_t since_mono_ms;
    int64_t reopened_ms; /* wall clock; 0: not since the lane came into memory */
};
/* no effect if it is down */
void lane_downtime_begin(struct lane_downtime *d, int64_t now_mono_ms);
/* Counts the time down from now on; no effect if it is not down. */
void lane_downtime_restart(struct lane_downtime *d, int64_t now_mono_ms);
void lane_downtime_end(struct lane_downtime *d, int64_t now_ms); /* no effect if it is not down */

/* Sets the window of jumps that do not count for giving up: the schedule's waits with their jitter,
 * and the time to give up. That is the longest time from a callback's first attempt until it is
 * given up, unless a Retry-After puts it off. */
void callback_set_lead_window(struct clock_lead *l, const struct schedule *s, int64_t now_mono_ms);

/* How long a lane must be down, counted from a callback's last slot, until the callback is given
 * up: as long as the whole schedule, at most a day. */
#define CALLBACK_GIVE_UP_MOST_MS DAY_MS
int64_t callback_give_up_ms(const struct schedule *s);
/* True if a waiting callback becomes dead by REASON_ENDPOINT_DOWN. `stored`: its place as stored,
 * so that due_ms tells whether it was attempted since the lane reopened: a callback that was due
 * then gets an attempt of its own first. now_ms: without the jumps of clock_lead_ms. The downtime
 * is counted by the monotonic clock. */
bool callback_is_given_up(const struct schedule *s, const struct schedule_place *stored,
                          const struct lane_downtime *d, int64_t now_ms, int64_t now_mono_ms);

/* True if a callback that waited on a disabled lane is skipped by REASON_DISABLED: its last slot
 * had passed when the lane was enabled again. enabled_ms: 0 if the lane was never disabled. */
bool callback_is_missed(const struct schedule *s, const struct schedule_place *stored,
                        int64_t enabled_ms);
