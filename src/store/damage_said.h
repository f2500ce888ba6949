/* How often the log says that something stored is damaged. Lanes come back to a damaged row again
 * and again, so it is not said each time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

/* Zero-initialised nothing is said yet; of any thread. */
struct damage_said {
    atomic_llong us;
};

/* True once in ten seconds, and the first time: say it now. */
bool damage_say_now(struct damage_said *d);
