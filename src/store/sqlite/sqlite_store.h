/* The SQLite store from inside: what its threads own and how they pass work to each other.
 *
 *   submit, record, ... --> writer: decides, commits to the journal, fills the active memtable
 *                           |    ^ applied
 *                     apply v    |
 *                         applier: the frozen memtable to SQLite, checkpoints, purges
 *   report, get, list ----> writer (read barrier) ----> reader ----> the asker
 *   statement, count -----> writer (read barrier) ----> scans reader ----> the asker
 *   check of books -----------------------------------> scans reader ----> the asker
 *   checkpoint of the scrub ---------> applier ----> the scrub (scrub.h)
 *   page ------------------> page reader ----> writer (drops what is final by now) ----> the asker
 *
 * Read barrier: a read waits until everything of its account that was acknowledged before is in
 * SQLite, and then reads only SQLite (docs/decisions/sqlite-read-barrier.md). */
#pragma once

#include "store/sqlite/admission.h"
#include "store/sqlite/apply.h"
#include "store/sqlite/scrub.h"
#include "store/sqlite/store_directory.h"
#include "store/sqlite/view.h"
#include "store/store_open.h"
#include "store/store_thread.h"

#include <stdatomic.h>

#define SQLITE_STORE_MAGIC 0x5171E5E1u

/* A group is closed when it has so many events, or LIMIT_GROUP_BYTES. */
#define GROUP_EVENTS 16384u
/* How long a stop waits for room for what is left to record. */
#define STOP_PATIENCE_MS 5000

/* Which connection's page cache. */
enum cache {
    CACHE_APPLIER,
    CACHE_WRITER,
    CACHE_PAGES,
    CACHE_READS, /* the first reader's */
    CACHE_SCANS = CACHE_READS + QUEUE_TAKERS,
    CACHES = CACHE_SCANS + QUEUE_TAKERS
};

struct numbers {
    atomic_llong accepted, delivered, dead, pending, oldest_pending_ms, last_accepted_ms,
        retention_clock_ms, memtable_events, memtable_bytes, filter_bytes, mapped_filter_bytes,
        bundle_known /* to look-ups of keys: bundle.h */, cache_bytes[CACHES];
    struct timing timings[STORE_TIMINGS];
    atomic_bool blocked; /* SQLite cannot be written now */
};

/* Used by the writer thread only. */
struct writer {
    struct request_list stalled; /* not begun: no room in the memtable or the journal */
    struct request_list answers; /* decided in the current group */
    struct request *under_way;   /* intake whose items are partly decided; may be NULL */
    struct request_list waiting; /* reads and erasures that wait for a freeze */
    struct request_list frozen;  /* requests that wait for the frozen memtable to be committed */
    uint64_t applied_generation;
    struct memtable *spare; /* an empty memtable with the memory of a large one; may be NULL */
    bool intake_stalled, outcomes_stalled; /* whether `stalled` has such requests */
    bool freeze_now;                       /* an erasure freezes its memtable */
    bool hurry;                            /* `waiting` has requests other than pages */
    bool stopping;
    int64_t give_up_mono_ms; /* when a stop waits no longer for room; 0: none is announced */
    int64_t unready_mono_ms; /* since when the journal has no room; 0: it has room */
    struct buf group, body;
    struct arena scratch; /* for the current group */
    size_t first_event;   /* of the group, in the active memtable */
};

/* A thread that reads (reads.c) or scans whole days (scans.c). There are READERS of each. An
 * account uses one of them at a time, so its reads do not delay those of other accounts. */
#define READERS QUEUE_TAKERS
struct reader {
    struct sqlite_store *store;
    size_t number;
    bool is_scans;
    struct event_lookup lookup;
    /* Of scans: when the current one began (0: none), and when it last gave way. */
    atomic_llong begun_us;
    int64_t gave_way_us;
    struct books_scan *books; /* being read by it; NULL: none */
};

#define SQLITE_THREADS (3 + 2 * READERS) /* without the scrub's */
struct sqlite_store {
    struct store store; /* the first member: its magic is the contract's */
    uint32_t magic;
    struct env *env;
    struct disk *disk; /* the one that was given, or held_disk */
    char *directory, *database, *journal_directory;
    struct store_directory held;
    struct disk held_disk; /* looks names up in `held` */
    struct shared_retention retention;
    struct retention_clock retention_clock; /* the applier's */
    size_t segment_bytes, group_bytes, memtable_bytes;
    int checkpoint_pages;
    struct owed_sink *sink;
    struct scrub *scrub;

    struct journal *journal; /* the writer's */
    struct view view;        /* the writer's */
    struct writer writer;
    struct apply apply;        /* the applier's */
    struct event_lookup pages; /* the page reader's */
    struct reader readers[READERS], scanners[READERS];
    atomic_llong scan_asked_us; /* of the latest scan */

    struct queue to_writer, to_applier, to_pages, to_reads, to_scans, nap;
    struct store_thread threads[SQLITE_THREADS];
    bool started;
    atomic_bool closing;
    atomic_llong reads_until_mono_ms; /* reads under way are interrupted from then on; 0: never */
    atomic_llong open_reads;          /* without an answer yet */
    struct numbers numbers;
    struct admission admission;
};

static inline struct sqlite_store *sqlite_store_of(struct store *s)
{
    struct sqlite_store *store = CONTAINER_OF(s, struct sqlite_store, store);
    CHECK_MAGIC(store, SQLITE_STORE_MAGIC);
    return store;
}

/* True for reads: they count in open_reads until their answer, and a stop waits for them. */
static inline bool sqlite_reads(enum request_kind kind)
{
    return request_is_read(kind) || kind == REQUEST_PAGE || kind == REQUEST_BOOKS;
}

/* Called at the start of each thread: its name, and how much lower than the writer's its priority
 * is. Reading and applying run in bursts of milliseconds, which must not delay a commit or a
 * callback on a busy core. */
#define READER_NICER 5
#define APPLIER_NICER 10
void store_thread_begin(const char *name, int nicer);
