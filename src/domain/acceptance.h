/* Times of acceptance: what CreatedAt shows and from, to and recoveries ask for.
 *
 * The order of acceptance is the order of event numbers. Along it the times go on, too: a clock
 * that is put back a little, or two threads that read it a moment apart, leave the time where it
 * was. A clock that is put back by more was wrong before, and to go on with its wrong time for
 * hours or days would be wrong too: then the times go back with it. No store may take it for
 * granted that they never do. Whatever is accepted, its callback is due from the moment its request
 * came, by the clock of that moment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ACCEPTANCE_HELD_MS 5000

/* Whether what came at received_ms is dated before what was accepted last. */
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
