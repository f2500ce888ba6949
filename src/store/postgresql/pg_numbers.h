/* The store's counters. */
#pragma once

#include "base/timing.h"
#include "store/numbers.h"
#include "store/postgresql/disk_room.h"
#include "store/postgresql/refusals.h"
#include "store/postgresql/row_changes.h"

#include <pthread.h>
#include <stdatomic.h>

struct pg_numbers {
    pthread_mutex_t mutex;  /* guards adding to the four counters, and reading the totals */
    int under_way;          /* writing transactions */
    int64_t under_way_most; /* upper bound of the events and outcomes in them */
    uint64_t begun;
    atomic_llong accepted, pending, delivered, dead;
    atomic_llong oldest_pending_ms; /* read by the keeper */
    atomic_llong commits, last_accepted_ms, retention_clock_ms;
    struct timing timings[STORE_TIMINGS];
    atomic_bool away; /* the database cannot be written now */
    struct pg_room room;
    struct pg_refusals refusals;
    atomic_llong set_aside; /* outcomes that wait because the database refused them */
};

/* Around a transaction that writes at most so many events or outcomes; added NULL:
 * nothing was committed, or the commit is in doubt. */
void pg_numbers_begin(struct pg_numbers *n, int64_t most);
void pg_numbers_end(struct pg_numbers *n, int64_t most, const struct pg_counts *added);
/* Around a read of the totals: the mark tells whether a transaction was under way meanwhile. */
uint64_t pg_numbers_look(struct pg_numbers *n);
void pg_numbers_looked(struct pg_numbers *n, uint64_t mark, const struct pg_counts *seen);
