/* Runs: how a segment keeps its keys and its panelists. A run is what one memtable had, or several
 * of them merged (run_merge.h): sorted records of one width, in blocks that fill a page each. A
 * segment N has them in two tables,
 *
 *     keys_N(id INTEGER PRIMARY KEY, block BLOB)        of struct key_record
 *     panelists_N(id INTEGER PRIMARY KEY, block BLOB)   of struct panelist_record
 *
 * and `run` has a row for each run, whose number is the same in both.
 *
 * The id of a block is its run's number and the first 40 bits of what its first record is sorted
 * by, so that a look-up goes straight to the block. Keys that share these bits are in one block. A
 * panelist may fill any number of blocks: then an id is one more than the last, and so more than
 * its record says. Erasing may leave a block that begins with a later record than its id says.
 *
 * Records lie as they do in memory (little-endian machines only, as filters). */
#pragma once

#include "base/buf.h"
#include "base/hash.h"
#include "store/sqlite/sql.h"

enum run_kind { RUN_KEYS, RUN_PANELISTS };

/* What every record begins with: its place in the order. */
struct run_place {
    uint64_t major, minor;
};

struct key_record {
    struct key128 key;
    uint64_t content;
    uint64_t id;
};

struct panelist_record {
    uint64_t hash, id;
};

/* What a row of one page may have: 4,096 bytes less SQLite's own, down to whole records. */
#define RUN_BLOCK_BYTES 4048
#define RUN_RECORD_BYTES_MOST sizeof(struct key_record)

size_t run_width(enum run_kind kind);      /* bytes of a record */
const char *run_table(enum run_kind kind); /* without its number */

/* The ids of a run's blocks are from the first one of its own up to that of the next number. */
#define RUN_ID_BITS 41
/* Numbers are not given twice in a segment. One that has got so far is closed: the merges of its
 * last run and its closing still have ids below 2^63. */
#define RUN_NO_MOST ((1u << 22) - 64)
static inline int64_t run_first_id(uint32_t run)
{
    return (int64_t)((uint64_t)run << RUN_ID_BITS);
}
static inline int64_t run_block_id(uint32_t run, uint64_t major)
{
    return run_first_id(run) + (int64_t)(major >> 24);
}

/* --- reading ------------------------------------------------------------------------------------
 */

/* Whether it may be read: whole records, at least one. Else the connection fails as damaged. */
MUST_CHECK bool run_block_good(struct sql *q, enum run_kind kind, struct str block);
size_t run_block_count(enum run_kind kind, struct str block);
struct run_place run_block_place(enum run_kind kind, struct str block, size_t at);
/* The first record that is not before `place`; the count: there is none. */
size_t run_block_find(enum run_kind kind, struct str block, struct run_place place);

/* Look-ups of keys over all runs of a segment, each one statement and so of one snapshot: another
 * connection may merge runs at any time. */
sqlite3_stmt *run_prepare_find(struct sql *q, uint32_t segment);
bool run_find_key(struct sql *q, sqlite3_stmt *find, struct key128 key, struct key_record *ret);

/* --- writing ------------------------------------------------------------------------------------
 */

struct run_writer {
    struct sql *q;
    enum run_kind kind;
    uint32_t run;
    int64_t next_id; /* the least that the next block may have */
    sqlite3_stmt *add;
    struct buf block;
};

void run_writer_begin(struct run_writer *w, struct sql *q, uint32_t segment, enum run_kind kind,
                      uint32_t run);
/* In their order; a record that is not behind the one before it fails the connection as damaged. */
void run_writer_add(struct run_writer *w, const void *record);
void run_writer_end(struct run_writer *w);

/* Orders records that are sorted but for the second half of their places. */
void run_sort_minor(enum run_kind kind, void *records, size_t count);
