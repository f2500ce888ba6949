/* Times of acceptance: CreatedAt in answers, and the times that `from`, `to` and recoveries refer
 * to.
 *
 * The order of acceptance is the order of event numbers, and the times follow it: if a clock is put
 * back a little, or two threads read it a moment apart, the time stands still. A clock that is put
 * back by more was wrong before. Going on with its wrong time for hours or days would be wrong,
 * too, so the times go back with it, and no store may rely on them to grow. In any case a callback
 * is due from the moment its request came, by the clock of that moment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ACCEPTANCE_HELD_MS 5000

/* True if an event received at received_ms gets an earlier time than the last one. */
static inline bool acceptance_goes_back(int64_t last_accepted_ms, int64_t received_ms)
{
    return last_accepted_ms - received_ms > ACCEPTANCE_HELD_MS;
}

static inline int64_t acceptance_ms(int64_t last_accepted_ms, int64_t received_ms)
{
    bool held =
        received_ms < last_accepted_ms && !acceptance_goes_back(last_accepted_ms, received_ms);
    return held ? last_accepted_ms : received_ms;
}
