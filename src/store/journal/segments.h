/* The segment files of a journal: their names, and the making of the next one ahead of need.
 *
 * A file DIRECTORY/journal-NNNNNNNNNNNNNNNN (the segment number, 16 hex digits) has, from the
 * moment that name is durable, a durable head with that number; see docs/journal.md. */
#pragma once

#include "base/buf.h"
#include "store/disk.h"

struct segment {
    uint64_t number;
    uint64_t bytes;
    int fd;
};

/* Owned text; NUL-terminated. */
char *segment_path(const char *directory, uint64_t number);

/* The numbers there are, ascending; malloc'ed. With remove_unfinished, files that were being made
 * when the last process ended are unlinked. 0 or -errno. */
MUST_CHECK int segments_list(struct disk *disk, const char *directory, bool remove_unfinished,
                             uint64_t **ret_numbers, size_t *ret_count);

/* --- the maker: one segment ahead, on a thread of its own ---------------------------------- */

struct segment_maker;

struct segment_maker *segment_maker_new(struct disk *disk, const char *directory,
                                        uint64_t journal_id, uint64_t segment_bytes,
                                        bool single_threaded);
/* Makes that number next, in the background; not before the last one was taken. */
void segment_maker_want(struct segment_maker *m, uint64_t number);
/* One made by an earlier process; the maker's from now. */
void segment_maker_adopt(struct segment_maker *m, struct segment segment);
/* A segment of that number and at least that many bytes, now the caller's; waits, or makes it
 * here. 0 or -errno. */
MUST_CHECK int segment_maker_take(struct segment_maker *m, uint64_t number, uint64_t least_bytes,
                                  struct segment *ret);
/* Whether take would return at once, be it with an error that no waiting mends. Tries again in the
 * background after one that may pass, such as a full disk. */
bool segment_maker_ready(struct segment_maker *m, uint64_t number, uint64_t least_bytes);
/* A closed file nobody needs any more: kept for reuse, or unlinked. Any thread. */
void segment_maker_recycle(struct segment_maker *m, uint64_t number, uint64_t bytes);
void segment_maker_free(struct segment_maker *m);
