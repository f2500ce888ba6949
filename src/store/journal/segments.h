/* The segment files of a journal: their names, and the maker that prepares the next one.
 *
 * A file DIRECTORY/journal-NNNNNNNNNNNNNNNN (the segment number, 16 hex digits) has a durable head
 * with that number before its name is durable; see docs/journal.md. When a segment is free again:
 * journal_release (journal.h), called after a checkpoint. */
#pragma once

#include "base/buf.h"
#include "store/disk.h"

struct segment {
    uint64_t number;
    uint64_t bytes;
    int fd;
};

/* NUL-terminated; the caller frees it. */
char *segment_path(const char *directory, uint64_t number);

/* The existing numbers, ascending; malloc'ed. remove_unfinished: unlinks files that the last
 * process had not finished. 0 or -errno. */
MUST_CHECK int segments_list(struct disk *disk, const char *directory, bool remove_unfinished,
                             uint64_t **ret_numbers, size_t *ret_count);

/* --- the maker: one segment ahead, on its own thread --------------------------------------- */

struct segment_maker;

struct segment_maker *segment_maker_new(struct disk *disk, const char *directory,
                                        uint64_t journal_id, uint64_t segment_bytes,
                                        bool single_threaded);
/* Makes that number next, in the background. The segment before must have been taken. */
void segment_maker_want(struct segment_maker *m, uint64_t number);
/* A segment that an earlier process made; the maker owns it now. */
void segment_maker_adopt(struct segment_maker *m, struct segment segment);
/* Takes a segment of that number and at least that many bytes, then the caller's. Waits, or makes
 * it on this thread. 0 or -errno. */
MUST_CHECK int segment_maker_take(struct segment_maker *m, uint64_t number, uint64_t least_bytes,
                                  struct segment *ret);
/* True if segment_maker_take would return at once, be it with an error that will not pass. After an
 * error that may pass, such as a full disk, it tries again in the background. */
bool segment_maker_ready(struct segment_maker *m, uint64_t number, uint64_t least_bytes);
/* Takes a closed file that is not needed any more: keeps it for reuse, or unlinks it. Any
 * thread. */
void segment_maker_recycle(struct segment_maker *m, uint64_t number, uint64_t bytes);
void segment_maker_free(struct segment_maker *m);
