/* A buffer that moves along a segment: at each step the bytes already read of the next part are
 * moved to the front, and the rest is read. Going back reads again. */
#include "store/journal/read_window.h"

#include <errno.h>
#include <stdlib.h>

#define STEP_BYTES (1u << 20)

void window_drop(struct journal_window *w)
{
    w->count = 0;
}

void window_free(struct journal_window *w)
{
    free(w->bytes);
    w->bytes = NULL;
    w->capacity = w->count = 0;
}

static void make_room(struct journal_window *w, size_t want)
{
    if (want <= w->capacity)
        return;
    want = (want + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    char *bytes = aligned_alloc(JOURNAL_BLOCK_BYTES, want);
    ASSERT(bytes != NULL);
    if (w->count > 0)
        memcpy(bytes, w->bytes, w->count);
    free(w->bytes);
    w->bytes = bytes;
    w->capacity = want;
}

/* Keeps the bytes from `offset` on that are in the buffer, at the front. */
static void move_to(struct journal_window *w, uint64_t segment, uint64_t offset)
{
    size_t kept = 0;
    if (w->segment == segment && offset >= w->offset && offset < w->offset + w->count)
        kept = (size_t)(w->offset + w->count - offset);
    memmove(w->bytes, w->bytes + (w->count - kept), kept);
    w->segment = segment;
    w->offset = offset;
    w->count = kept;
}

static int fill(struct journal_window *w, int fd, size_t want)
{
    while (w->count < want) {
        ssize_t got = w->disk->read_at(w->disk, fd, w->bytes + w->count, want - w->count,
                                       (int64_t)(w->offset + w->count));
        if (got == -EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        w->count += (size_t)got;
    }
    return 0;
}

static bool has(const struct journal_window *w, uint64_t segment, uint64_t offset, size_t count)
{
    return w->segment == segment && offset >= w->offset && offset + count <= w->offset + w->count;
}

int window_read(struct journal_window *w, int fd, const struct segment_head *segment,
                uint64_t offset, size_t count, const char **ret_bytes)
{
    if (!has(w, segment->segment, offset, count)) {
        uint64_t left = segment->segment_bytes > offset ? segment->segment_bytes - offset : 0;
        size_t want = left < STEP_BYTES ? (size_t)left : STEP_BYTES;
        want = want < count ? count : want;
        make_room(w, want);
        move_to(w, segment->segment, offset);
        int result = fill(w, fd, want);
        if (result < 0)
            return result;
        if (w->count < count)
            return -ENODATA;
    }
    *ret_bytes = w->bytes + (offset - w->offset);
    return 0;
}
