/* The check of a live journal.
 *
 * Groups up to the extent's end were durable before the extent was taken and are never written
 * again, so each must be whole until its segment is released. A closed segment does not store its
 * end: it is complete if the next segment's first group follows its last one. It has no group at
 * all if the first one did not fit.
 *
 * A fault is read twice, and reported only if the segment is live after the second read: a segment
 * that was released meanwhile may be gone or its file reused. */
#include "store/journal/journal_check.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "store/journal/frame.h"
#include "store/journal/segments.h"

#include <errno.h>
#include <stdlib.h>

#define READ_BYTES (256u << 10)

struct checking {
    const struct journal_check *check;
    struct disk *disk;
    const char *directory;
    uint64_t id;
    int fd;
    struct segment_head head; /* of the segment being read */
    char *bytes;              /* READ_BYTES, aligned */
    uint64_t offset;          /* of `bytes` in the segment's file */
    size_t count;             /* bytes read */
    uint64_t sequence;        /* of the next group; 0: unknown */
    bool stopped;
};

/* A fault in a segment; why NULL: none. */
struct fault {
    uint64_t offset;
    const char *why;
};

/* True if the read that failed with `error` must be repeated: its failure says nothing about the
 * journal. */
static bool is_repeated(struct checking *c, int error)
{
    if (!disk_is_passing(error))
        return false;
    if (error != -EINTR && !c->check->wait(c->check->context, error))
        c->stopped = true;
    return !c->stopped;
}

static int open_segment(struct checking *c, const char *path)
{
    int fd;
    do
        fd = c->disk->open(c->disk, path, false, true);
    while (fd < 0 && is_repeated(c, fd));
    return fd;
}

/* One block at `offset`. NULL: *ret_error says why. */
static const char *read_block(struct checking *c, uint64_t offset, int *ret_error)
{
    *ret_error = 0;
    if (offset >= c->offset && offset + JOURNAL_BLOCK_BYTES <= c->offset + c->count)
        return c->bytes + (offset - c->offset);
    c->count = 0;
    c->offset = offset;
    while (c->count < JOURNAL_BLOCK_BYTES) {
        ssize_t got = c->disk->read_at(c->disk, c->fd, c->bytes + c->count, READ_BYTES - c->count,
                                       (int64_t)(offset + c->count));
        if (got < 0 && is_repeated(c, (int)got))
            continue;
        if (got <= 0) {
            *ret_error = got < 0 ? (int)-got : ENODATA;
            return NULL;
        }
        c->count += (size_t)got;
    }
    if (!c->check->pause(c->check->context, c->count))
        c->stopped = true;
    return c->bytes;
}

/* --- groups ----------------------------------------------------------------------------------- */

enum group { GROUP_WHOLE, GROUP_BROKEN, GROUP_NONE, GROUP_UNREADABLE };

static enum group read_group(struct checking *c, uint64_t offset, struct frame_head *ret,
                             int *ret_error)
{
    const char *block = read_block(c, offset, ret_error);
    if (!block)
        return GROUP_UNREADABLE;
    if (!frame_head_read(block, ret) || !frame_is_of(ret, &c->head, offset))
        return GROUP_NONE;
    uint32_t wanted = frame_sum(block), sum = 0;
    size_t left = FRAME_HEAD_BYTES + ret->length - FRAME_SUM_FROM, from = FRAME_SUM_FROM;
    while (left > 0 && !c->stopped) {
        size_t n = JOURNAL_BLOCK_BYTES - from < left ? JOURNAL_BLOCK_BYTES - from : left;
        sum = hash_crc32c(sum, block + from, n);
        left -= n;
        from = 0;
        offset += JOURNAL_BLOCK_BYTES;
        if (left > 0 && !(block = read_block(c, offset, ret_error)))
            return GROUP_UNREADABLE;
    }
    return sum == wanted || c->stopped ? GROUP_WHOLE : GROUP_BROKEN;
}

/* True if a group that was written since the segment was last made follows `offset`. */
static bool has_later_group(struct checking *c, uint64_t offset)
{
    struct frame_head frame;
    int error;
    for (offset += JOURNAL_BLOCK_BYTES;
         offset + JOURNAL_BLOCK_BYTES <= c->head.segment_bytes && !c->stopped;
         offset += JOURNAL_BLOCK_BYTES) {
        const char *block = read_block(c, offset, &error);
        if (!block)
            return false;
        if (frame_head_read(block, &frame) && frame_is_of(&frame, &c->head, offset) &&
            frame.sequence >= c->sequence)
            return true;
    }
    return false;
}

/* --- segments --------------------------------------------------------------------------------- */

static struct fault unreadable(uint64_t offset, int error)
{
    return (struct fault){offset, error == ENODATA ? "the file ends there" : strerror(error)};
}

static struct fault read_head(struct checking *c, uint64_t segment)
{
    int error;
    const char *block = read_block(c, 0, &error);
    if (!block)
        return unreadable(0, error);
    if (!segment_head_read(block, &c->head) || c->head.segment != segment ||
        c->head.journal_id != c->id)
        return (struct fault){0, "the segment's head is damaged"};
    return (struct fault){0};
}

/* Walks over the groups of an open segment. end 0: the segment is closed. *ret_offset is the end of
 * the last group. */
static struct fault read_groups(struct checking *c, uint64_t end, uint64_t *ret_offset)
{
    uint64_t offset = JOURNAL_BLOCK_BYTES, most = end ? end : c->head.segment_bytes;
    struct fault damaged = {0};
    while (offset + JOURNAL_BLOCK_BYTES <= most && !damaged.why && !c->stopped) {
        struct frame_head frame;
        int error;
        enum group group = read_group(c, offset, &frame, &error);
        if (group == GROUP_UNREADABLE) {
            damaged = unreadable(offset, error);
        } else if (group == GROUP_WHOLE && (c->sequence == 0 || frame.sequence == c->sequence)) {
            c->sequence = frame.sequence + 1;
            offset += frame_bytes(frame.length);
        } else if (end || has_later_group(c, offset)) {
            damaged = (struct fault){offset, "a group is damaged"};
        } else {
            break; /* unused, or torn: the next segment tells whether a group is missing */
        }
    }
    *ret_offset = offset;
    return c->stopped ? (struct fault){0} : damaged;
}

static struct fault read_segment(struct checking *c, const char *path, uint64_t segment,
                                 uint64_t end, uint64_t *ret_offset)
{
    c->count = 0;
    *ret_offset = 0;
    c->fd = open_segment(c, path);
    if (c->fd < 0)
        return (struct fault){0, c->fd == -ENOENT ? "the file is missing" : strerror(-c->fd)};
    struct fault fault = read_head(c, segment);
    if (!fault.why)
        fault = read_groups(c, end, ret_offset);
    c->disk->close(c->disk, c->fd);
    return fault;
}

static void tell(struct checking *c, uint64_t segment, const struct fault *fault)
{
    char *path = segment_path(c->directory, segment);
    if (!c->stopped && journal_is_live(c->check->journal, segment))
        c->check->on_damage(c->check->context, path, fault->offset, fault->why);
    free(path);
}

/* True: no fault was found. */
static bool check_segment(struct checking *c, uint64_t segment, uint64_t end, uint64_t *ret_offset)
{
    char *path = segment_path(c->directory, segment);
    uint64_t sequence = c->sequence;
    struct fault fault = read_segment(c, path, segment, end, ret_offset);
    if (fault.why && !c->stopped) {
        c->sequence = sequence;
        fault = read_segment(c, path, segment, end, ret_offset);
    }
    free(path);
    if (fault.why)
        tell(c, segment, &fault);
    return !fault.why;
}

/* The sequence of a segment's first group, which tells whether the segment before is complete. */
static uint64_t first_sequence(struct checking *c, uint64_t segment)
{
    struct frame_head frame = {0};
    int error;
    char *path = segment_path(c->directory, segment);
    c->count = 0;
    c->fd = open_segment(c, path);
    free(path);
    if (c->fd < 0)
        return 0;
    bool is_whole = !read_head(c, segment).why &&
                    read_group(c, JOURNAL_BLOCK_BYTES, &frame, &error) == GROUP_WHOLE;
    c->disk->close(c->disk, c->fd);
    return is_whole ? frame.sequence : 0;
}

/* Checks that a closed segment with whole groups is not missing its last ones. */
static void check_end(struct checking *c, uint64_t segment, uint64_t next_segment, uint64_t offset)
{
    uint64_t next = first_sequence(c, next_segment);
    if (next == 0 || c->sequence == 0 || next == c->sequence)
        return;
    tell(c, segment, &(struct fault){offset, "groups are missing"});
    c->sequence = next;
}

static void check_all(struct checking *c, const struct journal_extent *extent)
{
    for (size_t i = 0; i < extent->count && !c->stopped; i++) {
        uint64_t segment = extent->segments[i], offset;
        bool is_last = i + 1 == extent->count;
        if (segment == 1)
            c->sequence = 1; /* the journal's first group */
        if (!check_segment(c, segment, is_last ? extent->end_offset : 0, &offset))
            c->sequence = 0;
        else if (!is_last && !c->stopped)
            check_end(c, segment, extent->segments[i + 1], offset);
    }
}

bool journal_check(const struct journal_check *check)
{
    struct journal_extent extent = journal_get_extent(check->journal);
    struct checking c = {
        .check = check,
        .disk = extent.disk,
        .directory = extent.directory,
        .id = extent.journal_id,
        .bytes = aligned_alloc(JOURNAL_BLOCK_BYTES, READ_BYTES),
    };
    ASSERT(c.bytes != NULL);
    check_all(&c, &extent);
    free(c.bytes);
    free(extent.segments);
    return !c.stopped;
}
