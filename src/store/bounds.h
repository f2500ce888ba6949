/* What an operator bounds of a store: how long it keeps what, how many callbacks may wait, how much
 * of a disk stays free. It may change while the store runs. */
#pragma once

#include "domain/retention.h"

#include <stdatomic.h>
#include <stdint.h>

struct store_retention {
    int32_t bodies_days, attempts_days, panelists_days;
};

struct store_bounds { /* for store_set_bounds */
    struct store_retention retention;
    int64_t waiting_most;       /* beyond, events are refused; 0: the default (base/limits.h) */
    int64_t disk_reserve_bytes; /* likewise; 0: by the disk's size. SQLite's */
};

/* For stores: the periods, as two threads have them. A purge may read one of them before and
 * another behind a change, which is as good as either: none depends on another. */
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

/* For stores. Says what it means that the retention clock has moved so. */
void retention_tell(enum retention_move move, const struct retention_clock *clock,
                    int64_t newest_ms);
