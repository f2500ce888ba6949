/* How a store is doing: for metrics, health and those who wait for it to have room. */
#pragma once

#include "base/timing.h"

#include <stdbool.h>

/* Why events are not taken: the first that applies. Nothing but events is ever refused. */
enum store_refusal {
    STORE_TAKES,
    STORE_REFUSES_FAILED,   /* the disk refused a write or a sync: the process is about to end */
    STORE_REFUSES_DATABASE, /* the database cannot be written at the moment */
    STORE_REFUSES_DISK,     /* what is free has reached the reserve */
    STORE_REFUSES_JOURNAL,  /* the journal has no room, or is as large as it may be */
    STORE_REFUSES_WAITING,  /* as many callbacks wait as may */
    STORE_REFUSES_QUEUE,    /* events come faster than they are recorded */
};
#define STORE_REFUSALS 7
const char *store_refusal_name(enum store_refusal refusal); /* "disk_reserve" */
const char *store_refusal_text(enum store_refusal refusal); /* a sentence */

/* What takes time on the way of an event to the disk. */
enum store_timing {
    STORE_TIME_ACCEPT,     /* a batch of events, from submitting to durable and judged */
    STORE_TIME_RECORD,     /* a batch of outcomes, the same */
    STORE_TIME_COMMIT,     /* a group, its write and its sync */
    STORE_TIME_APPLY,      /* a memtable, to the database */
    STORE_TIME_CHECKPOINT, /* the database's own log, into its file */
    STORE_TIMINGS,
};

/* Whether reports and the log are read somewhere else. */
enum store_replica {
    STORE_REPLICA_NONE,
    STORE_REPLICA_AWAY,   /* does not answer, or is no replica of this store */
    STORE_REPLICA_BEHIND, /* further than it may be, or not looked at yet */
    STORE_REPLICA_USED,
};
const char *store_replica_name(enum store_replica replica); /* "behind" */

#define SCRUB_EXAMPLE_BYTES 400

struct store_numbers { /* for metrics and health; exact at some moment of the last seconds */
    int64_t events_accepted, callbacks_delivered, callbacks_dead, callbacks_pending;
    int64_t oldest_pending_ms; /* acceptance time of the oldest pending callback; 0: none */
    int64_t last_accepted_ms;  /* of the event accepted last, see acceptance.h; 0: there is none */
    /* The retention clock (domain/retention.h) as this process moved it last, within the last hour
     * where it is the one that moves it; 0: it has not. */
    int64_t retention_clock_ms;
    int64_t events_queued, memtable_events, journal_bytes;
    int64_t queued_bytes, queued_most_bytes; /* memory of events that wait for their commit */
    int64_t commits;
    struct timing_numbers timings[STORE_TIMINGS];
    /* What it takes in memory, as of its threads' last work. */
    int64_t page_cache_bytes, memtable_bytes, filter_bytes;
    enum store_refusal refusal;                  /* why it is not accepting */
    int64_t refused[STORE_REFUSALS];             /* requests, since the start */
    int64_t disk_free_bytes, disk_reserve_bytes; /* 0: not known */
    int64_t waiting_most, journal_most_bytes;    /* bounds; 0: none */
    /* Where processes share the store; nodes 0: they do not. */
    int64_t nodes, shards_held; /* alive, as of the last renewal; this node's */
    int64_t shards_taken_over;  /* from nodes that were gone */
    int64_t shards_lost;        /* found to be another's when they were still held here */
    int64_t outcomes_refused, handed_over;
    /* What a database refuses though it answers, for reasons that are not known to pass. */
    int64_t statements_refused;   /* since the start */
    int64_t statement_refused_ms; /* how long ago the last one was; -1 or no sqlstate: never */
    char sqlstate[8];             /* of it */
    int64_t outcomes_set_aside;   /* tried again until they are recorded */
    const char *node_name;        /* the store's */
    int64_t shards;               /* in all; 0: nodes is */
    /* Where accounts are split over several: how many there are, and cannot be written. */
    int64_t clusters, clusters_away;
    enum store_replica replica;
    int64_t replica_lag_ms;                         /* behind, as of the last look */
    int64_t replica_reads, replica_reads_passed_on; /* answered by it; by the primary instead */
    /* Where the store checks itself what its disk has (sqlite/scrub.h). */
    bool scrub_runs;
    int64_t scrub_ended_ms;                 /* the last whole pass; 0: none yet */
    int64_t scrub_read_bytes, scrub_passes; /* since the start */
    int64_t scrub_damaged; /* places; known until a whole pass has not found them */
    char scrub_example[SCRUB_EXAMPLE_BYTES]; /* one of them, as a sentence */
    bool accepting;                          /* false: busy or failed */
    bool failed; /* the disk refused a write or a sync: the process must end */
};
