/* Reads a segment in large steps, so that a group costs a copy and not a read of its own. */
#pragma once

#include "store/disk.h"
#include "store/journal/frame.h"

struct journal_window {
    struct disk *disk;
    char *bytes; /* aligned */
    size_t capacity;
    uint64_t segment, offset; /* of the first byte */
    size_t count;             /* bytes in the buffer */
};

/* `count` bytes at `offset`, both multiples of a block; valid until the next call. 0 or -errno;
 * -ENODATA: the file is shorter. */
MUST_CHECK int window_read(struct journal_window *w, int fd, const struct segment_head *segment,
                           uint64_t offset, size_t count, const char **ret_bytes);
/* Forgets the bytes read, because a live writer may have written since. */
void window_drop(struct journal_window *w);
void window_free(struct journal_window *w);
