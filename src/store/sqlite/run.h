/* Runs: how a segment, or a bundle of segments (bundle.h), stores its keys and its panelists. A run
 * has the records of one memtable, or of several merged ones (run_merge.h): sorted records of one
 * width, in blocks that fill a page each. A segment or bundle N stores them in two tables,
 *
 *     keys_N(id INTEGER PRIMARY KEY, block BLOB)        of struct key_record
 *     panelists_N(id INTEGER PRIMARY KEY, block BLOB)   of struct panelist_record
 *
 * and `run` has a row for each run, with the same number in both. N is called the number of the
 * set: segments count from 1, bundles from BUNDLE_NO_FIRST.
 *
 * A block's id consists of its run's number and the first 40 bits of its first record's sort key,
 * so that a look-up goes straight to the block. Keys that share these bits are in one block. A
 * panelist may fill many blocks: such a block's id is the previous one plus 1, and thus greater
 * than its record's. Erasing may leave a block whose first record is greater than its id.
 *
 * Records are stored as in memory (little-endian machines only, as filters). */
#pragma once

#include "base/buf.h"
#include "base/hash.h"
#include "store/sqlite/sql.h"

enum run_kind { RUN_KEYS, RUN_PANELISTS };

/* The sort key, at the start of every record. */
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

/* The room in a row of one page, 4,096 bytes less SQLite's own, in whole records. */
#define RUN_BLOCK_BYTES 4048
#define RUN_RECORD_BYTES_MOST sizeof(struct key_record)

size_t run_width(enum run_kind kind);      /* bytes of a record */
const char *run_table(enum run_kind kind); /* without the number of the set */

/* A run's blocks have ids from its first one up to the next run's first one. */
#define RUN_ID_BITS 41
/* Run numbers are not reused in a set. A segment that has reached this one is closed: merging
 * and closing need further numbers, whose ids stay below 2^63. */
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

/* Checks that a block has whole records, at least one. Otherwise the connection fails as
 * damaged. */
MUST_CHECK bool run_block_good(struct sql *q, enum run_kind kind, struct str block);
size_t run_block_count(enum run_kind kind, struct str block);
struct run_place run_block_place(enum run_kind kind, struct str block, size_t at);
/* The first record that is not before `place`; the record count if there is none. */
size_t run_block_find(enum run_kind kind, struct str block, struct run_place place);

/* Looks up a key in all runs of a set with one statement, and so in one snapshot, because
 * another connection may merge runs at any time. */
sqlite3_stmt *run_prepare_find(struct sql *q, uint32_t set);
bool run_find_key(struct sql *q, sqlite3_stmt *find, struct key128 key, struct key_record *ret);

/* --- writing ------------------------------------------------------------------------------------
 */

struct run_writer {
    struct sql *q;
    enum run_kind kind;
    uint32_t run;
    int64_t next_id; /* the lowest id that the next block may have */
    sqlite3_stmt *add;
    struct buf block;
};

void run_writer_begin(struct run_writer *w, struct sql *q, uint32_t set, enum run_kind kind,
                      uint32_t run);
/* Adds a record. One that is not greater than the record before fails the connection as damaged. */
void run_writer_add(struct run_writer *w, const void *record);
void run_writer_end(struct run_writer *w);

/* Sorts records that are sorted by major already, by minor. */
void run_sort_minor(enum run_kind kind, void *records, size_t count);
