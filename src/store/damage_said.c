/* One line in ten seconds about what is damaged: see damage_said.h. */
#include "store/damage_said.h"

#include "base/timing.h"

#define PAUSE_US (10 * INT64_C(1000000))

bool damage_say_now(struct damage_said *d)
{
    long long now_us = timing_now_us(), said_us = atomic_load(&d->us);
    if (said_us && now_us - said_us < PAUSE_US)
        return false;
    return atomic_compare_exchange_strong(&d->us, &said_us, now_us);
}
