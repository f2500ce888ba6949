/* When a callback is tried again. Contract, section 4, "Schedule and states". */
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

/* Where a callback stands in its schedule. slot = waits used up, by tries or passed over; one that
 * was tried again after its last slot has SCHEDULE_BEYOND and the whole seconds that due_ms lies
 * behind its last slot, which stays known so. */
#define SCHEDULE_BEYOND (SCHEDULE_MAX_STEPS + 1)
struct schedule_place {
    int32_t failed_attempts; /* in this run of the schedule */
    int32_t slot;
    int64_t due_ms;
};

enum schedule_next { SCHEDULE_RETRY, SCHEDULE_DEAD };

/* After a failed attempt that ended at now_ms: SCHEDULE_DEAD after as many as the schedule has;
 * else moves the place to the next slot (jitter +-10 % from rng), or, where none is left since some
 * were passed over, lets it wait for the first wait once more. The wait is counted from now when
 * the attempt was made in time (within SCHEDULE_ON_TIME_MS, which a whole exchange fits in), else
 * from when it was due, passing over slots that are past already: lateness never stretches the
 * schedule. not_before_ms: the time that Retry-After asks for, bounded by schedule_retry_after_ms
 * (0: none).
 */
#define SCHEDULE_ON_TIME_MS 40000
enum schedule_next schedule_fail(const struct schedule *s, struct schedule_place *place,
                                 int64_t now_ms, int64_t not_before_ms, struct rng *rng);
/* A lane that is suspended passes over due slots: moves the place to the last slot due by now_ms
 * (call it for what waits, and for what is about to be tried as a probe). It stays due. True when
 * its last slot has passed. */
bool schedule_pass(const struct schedule *s, struct schedule_place *place, int64_t now_ms);
/* When the last slot of a place has passed, by now_ms; INT64_MAX: it has not. */
int64_t schedule_ended_ms(const struct schedule *s, const struct schedule_place *place,
                          int64_t now_ms);
/* The longest that a callback at this place waits from its last try on, jitter included; 0 before
 * the first one. */
int64_t schedule_wait_most_ms(const struct schedule *s, const struct schedule_place *place);
/* How long a Retry-After holds back the callback that got it, and its lane: as long as the receiver
 * asked for, at most a day. */
#define SCHEDULE_RETRY_AFTER_MOST_MS (INT64_C(24) * 3600 * 1000)
int64_t schedule_retry_after_ms(int64_t asked_ms);
