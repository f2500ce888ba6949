/* Bounds that an operator sets for a store: how long it keeps data, how many callbacks may wait,
 * how much of the disk stays free. They may change while the store runs. */
#pragma once

#include "domain/retention_clock.h"

#include <stdatomic.h>
#include <stdint.h>

struct store_retention {
    int32_t bodies_days, attempts_days, panelists_days;
};

struct store_bounds { /* for store_set_bounds */
    struct store_retention retention;
    /* callbacks that may wait; events beyond are refused. 0: the default (base/limits.h) */
    int64_t waiting_most;
    /* events are refused when less is free; 0: derived from the disk's size. SQLite only */
    int64_t disk_reserve_bytes;
};

/* For implementations: the retention periods, written by one thread and read by another. A purge
 * that runs during a change may see some old and some new periods; that is correct, because no
 * period depends on another one. */
struct shared_retention {
    atomic_int bodies_days, attempts_days, panelists_days;
};

static inline void retention_share(struct shared_retention *to, const struct store_retention *r)
{
    atomic_store(&to->bodies_days, r->bodies_days);
    atomic_store(&to->attempts_days, r->attempts_days);
    atomic_store(&to->panelists_days, r->panelists_days);
}

static inline struct store_retention retention_of(struct shared_retention *of)
{
    return (struct store_retention){atomic_load(&of->bodies_days), atomic_load(&of->attempts_days),
                                    atomic_load(&of->panelists_days)};
}

/* For implementations. Logs a move of the retention clock: why it happened and what follows. */
void retention_log(enum retention_move move, const struct retention_clock *clock,
                   int64_t newest_ms);
