/* The journal: the commit point of the SQLite store. An append-only log in segment files; a group
 * of records is durable when journal_commit returns true, and never before.
 *
 * Segments are pre-written with zeros and reused, so that a commit is one write and one fdatasync
 * of existing blocks (docs/decisions/, docs/journal.md). A group is one frame: header (segment
 * number, sequence, length, crc32c), records, padding to 4 KiB. Acknowledged bytes are never
 * written again. One thread owns a journal. */
#pragma once

#include "base/buf.h"
#include "store/disk.h"

struct journal;

/* A position between two groups. Positions only grow; (0,0) is before every group. */
struct journal_position {
    uint64_t segment;
    uint64_t offset_bytes;
};

struct journal_options {
    struct disk *disk;
    const char *directory; /* made when absent, mode 0700 */
    size_t segment_bytes;  /* a multiple of 4 KiB, at least JOURNAL_SEGMENT_LEAST_BYTES */
    uint64_t id;           /* the owner's, random and not 0; a journal with another id is refused */
    bool single_threaded;  /* everything runs on the owner's thread: for simulators */
};

#define JOURNAL_SEGMENT_LEAST_BYTES (16u << 10)
/* Asserted; a store closes its groups long before (LIMIT_GROUP_BYTES). */
#define JOURNAL_GROUP_MAX_BYTES (256u << 20)

/* Called for each group from `from` on, in order. `records` is valid during the call only. */
typedef bool (*journal_visitor)(void *context, struct str records, struct journal_position end);

/* Opens and replays; then the journal appends after the last whole group. A torn last group is
 * dropped: it was never acknowledged. A broken group with whole ones after it is damage and an
 * error. *ret_why: a malloc'ed sentence. */
MUST_CHECK struct journal *journal_open(const struct journal_options *options,
                                        struct journal_position from, journal_visitor visit,
                                        void *context, char **ret_why);

/* The torn group that opening has dropped, if its head could be read; bytes 0: none. */
struct journal_dropped {
    struct journal_position from;
    uint64_t bytes;
};
struct journal_dropped journal_dropped(const struct journal *journal);

/* Makes one group durable. False: the disk refused. The journal is then dead (every later commit
 * returns false) and the process must end, because what a failed sync left on disk is unknown. */
MUST_CHECK bool journal_commit(struct journal *journal, struct str records,
                               struct journal_position *ret_end);

/* True if a group of that size can be written now without waiting for a new segment. False for long
 * means a full disk: the caller refuses intake as busy and asks again; each call starts another try
 * in the background. A commit in this state waits, and dies if the segment cannot be made. */
bool journal_ready(struct journal *journal, size_t records_bytes);

/* The caller has everything before `position` elsewhere, safe from power cuts: its segments may be
 * reused. Any thread. */
void journal_release(struct journal *journal, struct journal_position position);
uint64_t journal_live_bytes(struct journal *journal); /* any thread; does not block */

/* The durable part of the journal at one moment, for its check (journal_check.h). Any thread. */
struct journal_extent {
    uint64_t *segments; /* malloc'ed numbers, oldest first; the last one is being written */
    size_t count;
    uint64_t end_offset; /* the end of the groups in the last segment */
    uint64_t journal_id;
    struct disk *disk;
    const char *directory; /* the journal's */
};
struct journal_extent journal_get_extent(struct journal *journal);
/* False if a file with groups that are not released has lost its name. Any thread that may block:
 * it opens the files. */
bool journal_has_its_files(struct journal *journal);
bool journal_is_live(struct journal *journal, uint64_t segment);

/* a sentence; NULL while the journal works */
const char *journal_error(const struct journal *journal);
void journal_close(struct journal *journal);

/* For a reader in another process (backup): visits the groups from `from` on and writes nothing. */
MUST_CHECK bool journal_read(struct disk *disk, const char *directory, uint64_t id,
                             struct journal_position from, journal_visitor visit, void *context,
                             char **ret_why);

/* True if the directory has no journal, or the one with that id (id 0: no journal is right).
 * Nothing is changed. *ret_why: a malloc'ed sentence with the way out. */
MUST_CHECK bool journal_is_of(struct disk *disk, const char *directory, uint64_t id,
                              char **ret_why);
