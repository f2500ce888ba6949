/* How a store is doing: its numbers for metrics, for health and for callers that wait until it
 * accepts events. */
#pragma once

#include "base/timing.h"
#include "store/cluster_state.h"

#include <stdbool.h>

/* Why the store refuses events: the first reason that applies. Only events are refused, but for a
 * store whose directory is away: it refuses changes, too. */
enum store_refusal {
    STORE_TAKES,
    STORE_REFUSES_FAILED,    /* the disk refused a write or a sync: the process is about to end */
    STORE_REFUSES_DIRECTORY, /* the directory or a file in it has been moved or deleted */
    STORE_REFUSES_DATABASE,  /* the database cannot be written now */
    STORE_REFUSES_DISK,      /* free space has shrunk to the reserve */
    STORE_REFUSES_JOURNAL,   /* the journal is full, or has reached its bound */
    STORE_REFUSES_WAITING,   /* as many callbacks wait as are allowed */
    STORE_REFUSES_QUEUE,     /* events arrive faster than they are recorded */
};
#define STORE_REFUSALS 8
const char *store_refusal_name(enum store_refusal refusal); /* "disk_reserve" */
const char *store_refusal_text(enum store_refusal refusal); /* a sentence */

/* The measured steps on an event's way to the disk. */
enum store_timing {
    STORE_TIME_ACCEPT,     /* a batch of events, from the call to durable and decided */
    STORE_TIME_RECORD,     /* a batch of outcomes, from the call to durable */
    STORE_TIME_COMMIT,     /* write and sync of one group */
    STORE_TIME_APPLY,      /* one memtable, into the database */
    STORE_TIME_CHECKPOINT, /* the database's write-ahead log, into its file */
    STORE_TIMINGS,
};

/* The replica that answers reports and log queries, if there is one. */
enum store_replica {
    STORE_REPLICA_NONE,
    STORE_REPLICA_AWAY,   /* it does not answer, or is no replica of this store */
    STORE_REPLICA_BEHIND, /* it lags too far behind, or its lag is not known yet */
    STORE_REPLICA_USED,
};
const char *store_replica_name(enum store_replica replica); /* "behind" */

#define SCRUB_EXAMPLE_BYTES 400

/* The operator is told of clocks that differ by 10 s or more. ahead_ms may be negative. */
static inline bool store_clock_is_apart(int64_t ahead_ms)
{
    return ahead_ms >= 10000 || ahead_ms <= -10000;
}

/* Each number is exact at some moment of the last seconds. Sums that take a PostgreSQL server long
 * may be a minute old. */
struct store_numbers {
    int64_t events_accepted, callbacks_delivered, callbacks_dead, callbacks_pending;
    int64_t oldest_pending_ms; /* acceptance time of the oldest pending callback; 0: none */
    /* acceptance time of the last accepted event, see acceptance_times.h; 0: none */
    int64_t last_accepted_ms;
    /* The retention clock (domain/retention_clock.h) as this process last moved it; 0: not within
     * the last hour, because another process moves it, or not at all. */
    int64_t retention_clock_ms;
    int64_t events_queued, memtable_events, journal_bytes;
    /* memory of events that wait for their commit, and its bound */
    int64_t queued_bytes, queued_most_bytes;
    int64_t commits;
    struct timing_numbers timings[STORE_TIMINGS];
    /* Memory of the caches, as of the last work of the store's threads. */
    int64_t page_cache_bytes, memtable_bytes, filter_bytes;
    int64_t mapped_filter_bytes;     /* of files, which the system may drop from memory */
    enum store_refusal refusal;      /* why events are refused */
    int64_t refused[STORE_REFUSALS]; /* requests refused since the start, by reason */
    int64_t disk_free_bytes, disk_reserve_bytes; /* 0: unknown */
    int64_t waiting_most, journal_most_bytes;    /* 0: no bound */
    /* Of a store that processes share; else nodes is 0. */
    int64_t nodes, shards_held; /* nodes alive at the last renewal; shards that this node holds */
    int64_t shards_taken_over;  /* since the start, from nodes whose leases had ended */
    /* since the start: another node had taken them while this node still held them */
    int64_t shards_lost;
    int64_t outcomes_refused, handed_over;
    /* how far this machine's clock is ahead of the database's, at the least; negative: behind */
    int64_t clock_ahead_ms;
    /* Statements that the database refused although it was reachable, for reasons that do not pass
     * by themselves. */
    int64_t statements_refused; /* since the start */
    /* how long ago the last one was; -1, or an empty sqlstate: never */
    int64_t statement_refused_ms;
    char sqlstate[8]; /* of it */
    /* outcomes that the database refused; they are retried until recorded */
    int64_t outcomes_set_aside;
    const char *node_name; /* the store's */
    int64_t shards;        /* shards in the database; 0: nodes is 0 */
    /* Of accounts split over clusters: the number of clusters, and of those that cannot be
     * written. */
    int64_t clusters, clusters_away;
    enum store_replica replica;
    int64_t replica_lag_ms; /* lag at the last look */
    /* reads answered by the replica; reads answered by the primary instead */
    int64_t replica_reads, replica_reads_passed_on;
    /* Of a store that reads its files again to find damage (sqlite/scrub.h). */
    bool scrub_runs;
    int64_t scrub_ended_ms;                 /* end of the last complete pass; 0: none yet */
    int64_t scrub_read_bytes, scrub_passes; /* since the start */
    int64_t scrub_damaged; /* damaged places; forgotten when a complete pass finds them no more */
    char scrub_example[SCRUB_EXAMPLE_BYTES]; /* one damaged place, as a sentence */
    bool accepting;                          /* false: events are refused */
    bool failed; /* the disk refused a write or a sync: the process must end */
};
