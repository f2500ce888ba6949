/* When a callback is tried again: the schedule's waits, each with a random jitter of +-10 %, and
 * how far a Retry-After delays the attempt. Contract, section 4, "Schedule and states". */
#pragma once

#include "base/check.h"
#include "base/env.h"
#include "base/str.h"

#define SCHEDULE_MAX_STEPS 64

struct schedule {
    int32_t steps; /* waits; attempts = steps + 1 */
    int64_t step_ms[SCHEDULE_MAX_STEPS];
};

#define SCHEDULE_DEFAULT "5s,1m,5m,15m,30m,1h,2h,5h,10h,24h,30h"
/* "5s,1m,250ms,2h,1d": 1 to 64 waits of 1 ms to 30 days; on failure *ret_why is a sentence. */
MUST_CHECK bool schedule_parse(struct str text, struct schedule *ret, const char **ret_why);

/* A callback's place in its schedule. slot: number of waits used up, by attempts or by skipping;
 * after an attempt beyond the last slot it is SCHEDULE_BEYOND plus the whole seconds from the last
 * slot to due_ms, so that the time of the last slot stays known. */
#define SCHEDULE_BEYOND (SCHEDULE_MAX_STEPS + 1)
struct schedule_place {
    int32_t failed_attempts; /* in this run of the schedule */
    int32_t slot;
    int64_t due_ms;
};

enum schedule_next { SCHEDULE_RETRY, SCHEDULE_DEAD };

/* After a failed attempt that ended at now_ms: SCHEDULE_DEAD if the schedule's attempts are used
 * up. Otherwise moves the place to the next slot (jitter +-10 % from rng), or, if slots were
 * skipped and none is left, by the first wait. The wait counts from now if the attempt was on time
 * (within SCHEDULE_ON_TIME_MS, which is longer than any exchange), otherwise from the due time,
 * skipping slots that have passed: lateness never stretches the schedule. not_before_ms: by
 * Retry-After, bounded by schedule_retry_after_ms (0: none). */
#define SCHEDULE_ON_TIME_MS 40000
enum schedule_next schedule_fail(const struct schedule *s, struct schedule_place *place,
                                 int64_t now_ms, int64_t not_before_ms, struct rng *rng);
/* Skips due slots of a suspended lane: moves the place to the last slot due by now_ms; the callback
 * stays due. Call it for waiting callbacks, and for one about to be sent as a probe. True if the
 * last slot has passed. */
bool schedule_pass(const struct schedule *s, struct schedule_place *place, int64_t now_ms);
/* When the last slot of a place passed, by now_ms; INT64_MAX: it has not. */
int64_t schedule_ended_ms(const struct schedule *s, const struct schedule_place *place,
                          int64_t now_ms);
/* The longest wait of a callback at this place from its last attempt on, with jitter; 0 before the
 * first attempt. */
int64_t schedule_wait_most_ms(const struct schedule *s, const struct schedule_place *place);
/* How long a Retry-After delays its callback and the lane: as long as the receiver asks, at most a
 * day. */
#define SCHEDULE_RETRY_AFTER_MOST_MS DAY_MS
int64_t schedule_retry_after_ms(int64_t asked_ms);
