/* The walk over a journal's groups.
 *
 * Groups carry a sequence without gaps, and only the last one written can be torn: the writer
 * waits for each sync before it writes the next. So wherever no whole group with the expected
 * sequence stands, here or at the head of the next segment, either the journal ends, or (when a
 * later whole group is found anywhere behind) something that was durable has been damaged. */
#include "store/journal/replay.h"

#include "base/alloc.h"
#include "store/journal/frame.h"
#include "store/journal/segments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define SEARCH_BYTES (256u << 10)

struct walk {
    struct disk *disk;
    const char *directory;
    struct journal_position from;
    journal_visitor visit;
    void *context;

    uint64_t *numbers; /* the segments from the first one needed on, without gaps */
    size_t count;
    size_t index; /* of the segment being read */
    int fd;
    struct segment_head head;
    uint64_t offset;
    uint64_t sequence; /* expected next; 0: not known before the first group was seen */

    char *frame; /* aligned; the frame read last */
    size_t frame_capacity;
    char *held; /* aligned; the last whole group, not visited before a later one is found */
    size_t held_capacity, held_bytes;
    uint64_t held_offset; /* in the current segment, or the one before until the next is held */
    struct journal_position held_end;
    bool held_is_new; /* behind `from` */
    struct buf why;
};

static char *grow_aligned(char *old, size_t *capacity, size_t want)
{
    if (want <= *capacity)
        return old;
    free(old);
    want = (want + SEARCH_BYTES - 1) / SEARCH_BYTES * SEARCH_BYTES;
    char *p = aligned_alloc(JOURNAL_BLOCK_BYTES, want);
    ASSERT(p != NULL);
    *capacity = want;
    return p;
}

static bool fail_disk(struct walk *w, const char *what, uint64_t number, int error)
{
    buf_clear(&w->why);
    buf_printf(&w->why, "cannot %s journal segment %" PRIu64 " in %s: %s", what, number,
               w->directory, strerror(-error));
    return false;
}

/* --- segments ----------------------------------------------------------------------------- */

static bool open_segment(struct walk *w, uint64_t number, int *ret_fd, struct segment_head *ret)
{
    char *path = segment_path(w->directory, number);
    int fd = w->disk->open(w->disk, path, false, true);
    free(path);
    if (fd < 0)
        return fail_disk(w, "open", number, fd);
    w->frame = grow_aligned(w->frame, &w->frame_capacity, JOURNAL_BLOCK_BYTES);
    int result = disk_read_all(w->disk, fd, w->frame, JOURNAL_BLOCK_BYTES, 0);
    struct segment_head head;
    if (result == -ENODATA ||
        (result == 0 && (!segment_head_read(w->frame, &head) || head.segment != number))) {
        buf_clear(&w->why);
        buf_printf(&w->why,
                   "the head of journal segment %" PRIu64 " in %s is damaged: it was durable "
                   "before the segment was used; restore from a backup",
                   number, w->directory);
        w->disk->close(w->disk, fd);
        return false;
    }
    if (result < 0) {
        w->disk->close(w->disk, fd);
        return fail_disk(w, "read", number, result);
    }
    *ret_fd = fd;
    *ret = head;
    return true;
}

/* --- frames ------------------------------------------------------------------------------- */

enum found { FOUND_WHOLE, FOUND_NONE, FOUND_ERROR };

/* The frame at `offset` into w->frame, if a whole one of this journal and place is there. */
static enum found read_frame(struct walk *w, int fd, const struct segment_head *segment,
                             uint64_t offset, struct frame_head *ret)
{
    if (offset + JOURNAL_BLOCK_BYTES > segment->segment_bytes)
        return FOUND_NONE;
    w->frame = grow_aligned(w->frame, &w->frame_capacity, JOURNAL_BLOCK_BYTES);
    int result = disk_read_all(w->disk, fd, w->frame, JOURNAL_BLOCK_BYTES, (int64_t)offset);
    struct frame_head head;
    if (result == -ENODATA)
        return FOUND_NONE;
    if (result < 0) {
        fail_disk(w, "read", segment->segment, result);
        return FOUND_ERROR;
    }
    if (!frame_head_read(w->frame, &head) || head.journal_id != segment->journal_id ||
        head.segment != segment->segment || head.offset != offset || head.sequence == 0 ||
        frame_bytes(head.length) > segment->segment_bytes - offset)
        return FOUND_NONE;
    size_t n = frame_bytes(head.length);
    w->frame = grow_aligned(w->frame, &w->frame_capacity, n);
    result = disk_read_all(w->disk, fd, w->frame, n, (int64_t)offset);
    if (result < 0 && result != -ENODATA) {
        fail_disk(w, "read", segment->segment, result);
        return FOUND_ERROR;
    }
    struct frame_head again; /* a live writer may have been in between */
    if (result < 0 || !frame_head_read(w->frame, &again) || again.length != head.length ||
        !frame_is_whole(w->frame, &again))
        return FOUND_NONE;
    *ret = again;
    return FOUND_WHOLE;
}

/* Any whole group from the expected sequence on, in the segment from `offset`? */
static enum found search_segment(struct walk *w, int fd, const struct segment_head *segment,
                                 uint64_t offset)
{
    char *chunk = NULL;
    size_t capacity = 0;
    chunk = grow_aligned(chunk, &capacity, SEARCH_BYTES);
    enum found found = FOUND_NONE;
    while (found == FOUND_NONE && offset < segment->segment_bytes) {
        uint64_t left = segment->segment_bytes - offset;
        size_t n = left < SEARCH_BYTES ? (size_t)left : SEARCH_BYTES;
        int result = disk_read_all(w->disk, fd, chunk, n, (int64_t)offset);
        if (result < 0) {
            fail_disk(w, "read", segment->segment, result);
            found = FOUND_ERROR;
            break;
        }
        for (size_t at = 0; found == FOUND_NONE && at < n; at += JOURNAL_BLOCK_BYTES) {
            struct frame_head head;
            if (!frame_head_read(chunk + at, &head) || head.sequence < w->sequence)
                continue;
            found = read_frame(w, fd, segment, offset + at, &head);
        }
        offset += n;
    }
    free(chunk);
    return found;
}

static enum found search_later(struct walk *w)
{
    enum found found = search_segment(w, w->fd, &w->head, w->offset);
    for (size_t i = w->index + 1; found == FOUND_NONE && i < w->count; i++) {
        int fd;
        struct segment_head head;
        if (!open_segment(w, w->numbers[i], &fd, &head))
            return FOUND_ERROR;
        found = search_segment(w, fd, &head, JOURNAL_BLOCK_BYTES);
        w->disk->close(w->disk, fd);
    }
    return found;
}

/* --- the walk ----------------------------------------------------------------------------- */

static bool before(struct journal_position a, struct journal_position b)
{
    return a.segment < b.segment || (a.segment == b.segment && a.offset_bytes < b.offset_bytes);
}

static bool visit_group(const char *frame, struct journal_position end, const char *directory,
                        journal_visitor visit, void *context, struct buf *why)
{
    struct frame_head head;
    ASSERT(frame_head_read(frame, &head));
    if (visit(context, (struct str){frame + FRAME_HEAD_BYTES, head.length}, end))
        return true;
    buf_printf(why, "the group at %" PRIu64 ":%" PRIu64 " of the journal in %s cannot be replayed",
               head.segment, head.offset, directory);
    return false;
}

/* Takes the whole group in w->frame: it is held now, the one held before is not the last one. */
static bool take_group(struct walk *w, const struct frame_head *head)
{
    struct journal_position start = {w->head.segment, w->offset};
    struct journal_position end = {w->head.segment, w->offset + frame_bytes(head->length)};
    if (before(start, w->from) && before(w->from, end) &&
        w->from.offset_bytes > JOURNAL_BLOCK_BYTES) {
        buf_printf(&w->why,
                   "the position %" PRIu64 ":%" PRIu64 " is inside a group of the journal in %s: "
                   "the database belongs to another journal",
                   w->from.segment, w->from.offset_bytes, w->directory);
        return false;
    }
    if (w->held_is_new &&
        !visit_group(w->held, w->held_end, w->directory, w->visit, w->context, &w->why))
        return false;
    char *spare = w->held;
    size_t spare_capacity = w->held_capacity;
    w->held = w->frame;
    w->held_capacity = w->frame_capacity;
    w->held_bytes = frame_bytes(head->length);
    w->held_offset = w->offset;
    w->held_end = end;
    w->held_is_new = before(w->from, end);
    w->frame = spare;
    w->frame_capacity = spare_capacity;
    w->offset = end.offset_bytes;
    w->sequence = head->sequence + 1;
    return true;
}

static bool fail_damaged(struct walk *w)
{
    buf_clear(&w->why);
    buf_printf(&w->why,
               "journal segment %" PRIu64 " in %s is damaged at byte %" PRIu64
               " and later groups are whole: acknowledged events would be lost; restore the file "
               "or the whole directory from a backup (or read again, if the journal is in use)",
               w->head.segment, w->directory, w->offset);
    return false;
}

/* Whether the group at (fd, head, offset) is the expected one; into w->frame. */
static enum found read_expected(struct walk *w, int fd, const struct segment_head *segment,
                                uint64_t offset, struct frame_head *ret)
{
    enum found found = read_frame(w, fd, segment, offset, ret);
    if (found == FOUND_WHOLE && w->sequence != 0 && ret->sequence != w->sequence)
        return FOUND_NONE;
    return found;
}

/* The expected group here, or at the head of the next segment, which is then the current one. */
static enum found find_group(struct walk *w, struct frame_head *ret)
{
    enum found found = read_expected(w, w->fd, &w->head, w->offset, ret);
    if (found != FOUND_NONE || w->index + 1 == w->count || w->sequence == 0)
        return found;
    int fd;
    struct segment_head head;
    if (!open_segment(w, w->numbers[w->index + 1], &fd, &head))
        return FOUND_ERROR;
    if (head.journal_id != w->head.journal_id) {
        w->disk->close(w->disk, fd);
        buf_printf(&w->why, "journal segment %" PRIu64 " in %s belongs to another journal",
                   head.segment, w->directory);
        return FOUND_ERROR;
    }
    found = read_expected(w, fd, &head, JOURNAL_BLOCK_BYTES, ret);
    if (found != FOUND_WHOLE) {
        w->disk->close(w->disk, fd);
        return found;
    }
    w->disk->close(w->disk, w->fd);
    w->fd = fd;
    w->head = head;
    w->index++;
    w->offset = JOURNAL_BLOCK_BYTES;
    return FOUND_WHOLE;
}

static bool walk_groups(struct walk *w)
{
    for (;;) {
        struct frame_head head;
        enum found found = find_group(w, &head);
        if (found == FOUND_NONE) {
            found = search_later(w);
            if (found == FOUND_NONE)
                return true;
            /* A live writer may have finished a group since it was looked at. */
            if (found == FOUND_WHOLE)
                found = find_group(w, &head);
            if (found == FOUND_NONE)
                return fail_damaged(w);
        }
        if (found == FOUND_ERROR || !take_group(w, &head))
            return false;
    }
}

/* Drops what is before the first segment needed; false where one is missing. */
static bool choose_segments(struct walk *w)
{
    size_t skip = 0;
    if (w->from.segment != 0) {
        while (skip < w->count && w->numbers[skip] < w->from.segment)
            skip++;
        if (skip == w->count || w->numbers[skip] != w->from.segment) {
            buf_printf(&w->why,
                       "journal segment %" PRIu64 " is missing in %s, but the database was "
                       "written up to there: put the journal's files back or restore both from "
                       "one backup",
                       w->from.segment, w->directory);
            return false;
        }
    }
    w->count -= skip;
    memmove(w->numbers, w->numbers + skip, w->count * sizeof *w->numbers);
    for (size_t i = 1; i < w->count; i++) {
        if (w->numbers[i] == w->numbers[i - 1] + 1)
            continue;
        buf_printf(&w->why, "journal segment %" PRIu64 " is missing in %s: restore from a backup",
                   w->numbers[i - 1] + 1, w->directory);
        return false;
    }
    if (w->from.segment == 0 && w->numbers[0] != 1) {
        buf_printf(&w->why,
                   "the journal in %s begins at segment %" PRIu64 ", but there is no database "
                   "with what was before: put the database back or restore both from one backup",
                   w->directory, w->numbers[0]);
        return false;
    }
    return true;
}

static bool walk_all(struct walk *w, struct replay_end *ret_end)
{
    if (!open_segment(w, w->numbers[0], &w->fd, &w->head))
        return false;
    w->offset = JOURNAL_BLOCK_BYTES;
    /* The journal's first group is number 1; elsewhere the first one says which it is. */
    w->sequence = w->head.segment == 1 ? 1 : 0;
    bool good = walk_groups(w);
    if (good && before((struct journal_position){w->head.segment, w->offset}, w->from)) {
        good = false;
        buf_printf(&w->why,
                   "the journal in %s ends at %" PRIu64 ":%" PRIu64 ", before the position %" PRIu64
                   ":%" PRIu64 " the database was written up to: restore both from one backup",
                   w->directory, w->head.segment, w->offset, w->from.segment, w->from.offset_bytes);
    }
    w->disk->close(w->disk, w->fd);
    if (!good)
        return false;
    *ret_end = (struct replay_end){
        .journal_id = w->head.journal_id,
        .segment = w->head.segment,
        .segment_bytes = w->head.segment_bytes,
        .offset = w->offset,
        .next_sequence = w->sequence,
        .last_frame = w->held_bytes ? w->held : NULL,
        .last_offset = w->held_offset,
        .last_frame_bytes = w->held_bytes,
        .last_is_new = w->held_is_new,
    };
    if (w->held_bytes)
        w->held = NULL; /* handed over */
    return true;
}

bool journal_replay(struct disk *disk, const char *directory, struct journal_position from,
                    journal_visitor visit, void *context, struct replay_end *ret_end,
                    char **ret_why)
{
    struct walk w = {
        .disk = disk, .directory = directory, .from = from, .visit = visit, .context = context};
    bool good = false;
    int result = segments_list(disk, directory, false, &w.numbers, &w.count);
    if (result < 0) {
        buf_printf(&w.why, "cannot list the journal in %s: %s", directory, strerror(-result));
    } else if (w.count == 0 && from.segment == 0) {
        *ret_end = (struct replay_end){.empty = true};
        good = true;
    } else {
        good = choose_segments(&w) && walk_all(&w, ret_end);
    }
    free(w.numbers);
    free(w.frame);
    free(w.held);
    if (good) {
        buf_free(&w.why);
    } else {
        buf_c(&w.why);
        *ret_why = w.why.p;
    }
    return good;
}

bool replay_visit_last(const struct replay_end *end, const char *directory, journal_visitor visit,
                       void *context, char **ret_why)
{
    if (!end->last_is_new)
        return true;
    struct buf why = {0};
    struct journal_position position = {end->segment, end->offset};
    if (visit_group(end->last_frame, position, directory, visit, context, &why))
        return true;
    buf_c(&why);
    *ret_why = why.p;
    return false;
}

bool journal_read(struct disk *disk, const char *directory, struct journal_position from,
                  journal_visitor visit, void *context, char **ret_why)
{
    struct replay_end end;
    if (!journal_replay(disk, directory, from, visit, context, &end, ret_why))
        return false;
    bool good = replay_visit_last(&end, directory, visit, context, ret_why);
    free(end.last_frame);
    return good;
}
