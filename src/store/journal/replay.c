/* The walk over a journal's groups. The visitor decides what a record does: store/sqlite/recover.c.
 *
 * Sequences have no gaps, and only the last group can be torn, because the writer waits for each
 * sync before it writes the next group. So if the next sequence is found neither here nor at the
 * head of the next segment, the journal ends; unless a later whole group is found, which proves
 * that a durable one has been damaged. */
#include "store/journal/replay.h"

#include "base/alloc.h"
#include "store/journal/frame.h"
#include "store/journal/read_window.h"
#include "store/journal/readahead.h"
#include "store/journal/segments.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#define WAY_OUT                                                                                    \
    "put back the whole file from a copy of the directory, or restore a backup "                   \
    "(docs/operators/reference.md, Backup and restore); nothing has been changed"
#define SEARCH_BYTES (256u << 10)

struct replay_walk {
    struct disk *disk;
    const char *directory;
    uint64_t id;
    struct journal_position from;
    journal_visitor visit;
    void *context;

    uint64_t *numbers; /* the segments from the first one needed on, consecutive */
    size_t count;
    size_t index; /* of the segment being read */
    int fd;
    struct segment_head head;
    uint64_t offset;
    uint64_t sequence; /* of the next group; 0: unknown until the first group is read */

    struct journal_window window;
    /* passes groups to another thread that visits them; NULL: this thread visits */
    struct readahead *readahead;
    char *frame; /* aligned; the last frame read */
    size_t frame_capacity;
    struct readahead_group held; /* the last whole group; it is visited when a later one is found */
    size_t held_bytes;
    /* in the current segment, or in the one before until the next group is held */
    uint64_t held_offset;
    bool held_is_new; /* it ends after `from` */
    struct journal_dropped dropped;
    bool good;
    struct buf why;
};

static void reserve_frame(struct replay_walk *w, size_t want)
{
    if (want <= w->frame_capacity)
        return;
    free(w->frame);
    want = (want + SEARCH_BYTES - 1) / SEARCH_BYTES * SEARCH_BYTES;
    w->frame = aligned_alloc(JOURNAL_BLOCK_BYTES, want);
    ASSERT(w->frame != NULL);
    w->frame_capacity = want;
}

/* A segment is made in its whole size, so a shorter file was cut by something else. */
static bool fail_cut(struct replay_walk *w, uint64_t number)
{
    char *path = segment_path(w->directory, number);
    buf_clear(&w->why);
    buf_printf(&w->why,
               "journal segment %" PRIu64 " was cut: %s is shorter than it was made, and "
               "acknowledged events may have been in the rest; " WAY_OUT,
               number, path);
    free(path);
    return false;
}

static bool fail_disk(struct replay_walk *w, const char *what, uint64_t number, int error)
{
    if (error == -ENODATA)
        return fail_cut(w, number);
    buf_clear(&w->why);
    buf_printf(&w->why, "cannot %s journal segment %" PRIu64 " in %s: %s", what, number,
               w->directory, strerror(-error));
    return false;
}

/* --- segments ----------------------------------------------------------------------------- */

static void describe_foreign(struct buf *why, const char *directory, uint64_t number, uint64_t id,
                             uint64_t wanted)
{
    if (wanted == 0)
        buf_printf(why, "there is a journal in %s, and no database beside it", directory);
    else
        buf_printf(why,
                   "the journal in %s is another database's (segment %" PRIu64
                   " has the id %016" PRIx64 ", the database's is %016" PRIx64 ")",
                   directory, number, id, wanted);
    buf_printf(why, ": put back the database that the journal belongs to, or move the journal away "
                    "(docs/operators/reference.md, Backup and restore); nothing has been changed");
}

/* Opens the file and reads its head. -EBADMSG: the head is damaged; -ENODATA: it is cut. */
static int open_head(struct replay_walk *w, uint64_t number, struct segment_head *ret)
{
    char *path = segment_path(w->directory, number);
    int fd = w->disk->open(w->disk, path, false, true);
    free(path);
    if (fd < 0)
        return fd;
    reserve_frame(w, JOURNAL_BLOCK_BYTES);
    int result = disk_read_all(w->disk, fd, w->frame, JOURNAL_BLOCK_BYTES, 0);
    if (result == 0 && (!segment_head_read(w->frame, ret) || ret->segment != number))
        result = -EBADMSG;
    if (result == 0)
        return fd;
    w->disk->close(w->disk, fd);
    return result;
}

static bool open_segment(struct replay_walk *w, uint64_t number, int *ret_fd,
                         struct segment_head *ret)
{
    struct segment_head head = {0};
    int fd = open_head(w, number, &head);
    if (fd < 0 && fd != -EBADMSG)
        return fail_disk(w, "read", number, fd);
    buf_clear(&w->why);
    if (fd < 0) {
        buf_printf(&w->why,
                   "the head of journal segment %" PRIu64 " in %s is damaged: it was durable "
                   "before the segment was used; " WAY_OUT,
                   number, w->directory);
        return false;
    }
    if (head.journal_id != w->id) {
        describe_foreign(&w->why, w->directory, number, head.journal_id, w->id);
        w->disk->close(w->disk, fd);
        return false;
    }
    *ret_fd = fd;
    *ret = head;
    return true;
}

/* --- frames ------------------------------------------------------------------------------- */

enum frame_search { FOUND_WHOLE, FOUND_NONE, FOUND_ERROR };

/* Reads the frame at `offset` into w->frame if a whole one of this journal and place is there. */
static enum frame_search read_frame(struct replay_walk *w, int fd,
                                    const struct segment_head *segment, uint64_t offset,
                                    struct frame_head *ret)
{
    if (offset + JOURNAL_BLOCK_BYTES > segment->segment_bytes)
        return FOUND_NONE;
    const char *bytes;
    size_t n = JOURNAL_BLOCK_BYTES;
    int result = window_read(&w->window, fd, segment, offset, n, &bytes);
    struct frame_head head;
    if (result == 0) {
        if (!frame_head_read(bytes, &head) || !frame_is_of(&head, segment, offset))
            return FOUND_NONE;
        n = frame_bytes(head.length);
        result = window_read(&w->window, fd, segment, offset, n, &bytes);
    }
    if (result == -ENODATA)
        return FOUND_NONE;
    if (result < 0) {
        fail_disk(w, "read", segment->segment, result);
        return FOUND_ERROR;
    }
    if (!frame_is_whole(bytes, &head))
        return FOUND_NONE;
    reserve_frame(w, n);
    memcpy(w->frame, bytes, n);
    *ret = head;
    return FOUND_WHOLE;
}

/* Searches the segment from `offset` on for a whole group with the expected sequence, or for the
 * head of a later group. A head is enough, because a group is written only after the one before it
 * was synced. */
static enum frame_search search_segment(struct replay_walk *w, int fd,
                                        const struct segment_head *segment, uint64_t offset)
{
    enum frame_search found = FOUND_NONE;
    while (found == FOUND_NONE && offset < segment->segment_bytes) {
        uint64_t left = segment->segment_bytes - offset;
        size_t n = left < SEARCH_BYTES ? (size_t)left : SEARCH_BYTES;
        const char *chunk;
        int result = window_read(&w->window, fd, segment, offset, n, &chunk);
        if (result < 0) {
            fail_disk(w, "read", segment->segment, result);
            return FOUND_ERROR;
        }
        size_t at = 0;
        struct frame_head head;
        while (at < n && (!frame_head_read(chunk + at, &head) || head.sequence < w->sequence))
            at += JOURNAL_BLOCK_BYTES;
        offset += at;
        if (at == n)
            continue;
        if (head.sequence > w->sequence && frame_is_of(&head, segment, offset))
            found = FOUND_WHOLE;
        else
            found = read_frame(w, fd, segment, offset, &head);
        offset += JOURNAL_BLOCK_BYTES;
    }
    return found;
}

static enum frame_search search_later(struct replay_walk *w)
{
    enum frame_search found = search_segment(w, w->fd, &w->head, w->offset);
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

static bool hand_on(struct replay_walk *w)
{
    if (w->readahead)
        return readahead_put(w->readahead, &w->held);
    return visit_group(w->held.frame, w->held.end, w->directory, w->visit, w->context, &w->why);
}

/* Holds the whole group in w->frame. The group held before is now known not to be the last, and is
 * passed on to the visitor. */
static bool take_group(struct replay_walk *w, const struct frame_head *head)
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
    if (w->held_is_new && !hand_on(w))
        return false;
    struct readahead_group spare = w->held;
    w->held = (struct readahead_group){w->frame, w->frame_capacity, end};
    w->held_bytes = frame_bytes(head->length);
    w->held_offset = w->offset;
    w->held_is_new = before(w->from, end);
    w->frame = spare.frame;
    w->frame_capacity = spare.capacity;
    w->offset = end.offset_bytes;
    w->sequence = head->sequence + 1;
    return true;
}

static bool fail_damaged(struct replay_walk *w)
{
    buf_clear(&w->why);
    buf_printf(&w->why,
               "journal segment %" PRIu64 " in %s is damaged at byte %" PRIu64
               " and later groups are whole: acknowledged events would be lost; " WAY_OUT
               " (or read again, if the journal is in use)",
               w->head.segment, w->directory, w->offset);
    return false;
}

/* Reads the group at `offset` into w->frame if it has the expected sequence. */
static enum frame_search read_expected(struct replay_walk *w, int fd,
                                       const struct segment_head *segment, uint64_t offset,
                                       struct frame_head *ret)
{
    enum frame_search found = read_frame(w, fd, segment, offset, ret);
    if (found == FOUND_WHOLE && w->sequence != 0 && ret->sequence != w->sequence)
        return FOUND_NONE;
    return found;
}

/* Finds the expected group here, or at the head of the next segment, which then becomes the current
 * one. */
static enum frame_search find_group(struct replay_walk *w, struct frame_head *ret)
{
    enum frame_search found = read_expected(w, w->fd, &w->head, w->offset, ret);
    if (found != FOUND_NONE || w->index + 1 == w->count || w->sequence == 0)
        return found;
    int fd;
    struct segment_head head;
    if (!open_segment(w, w->numbers[w->index + 1], &fd, &head))
        return FOUND_ERROR;
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

/* At the end of the journal: notes a torn group at this place. */
static void note_torn(struct replay_walk *w, int fd, const struct segment_head *segment,
                      uint64_t offset)
{
    const char *block;
    struct frame_head head;
    if (offset + JOURNAL_BLOCK_BYTES <= segment->segment_bytes &&
        window_read(&w->window, fd, segment, offset, JOURNAL_BLOCK_BYTES, &block) == 0 &&
        frame_head_read(block, &head) && frame_is_of(&head, segment, offset) &&
        head.sequence == w->sequence)
        w->dropped = (struct journal_dropped){{segment->segment, offset}, frame_bytes(head.length)};
}

static void note_dropped(struct replay_walk *w)
{
    int fd;
    struct segment_head head;
    note_torn(w, w->fd, &w->head, w->offset);
    if (w->dropped.bytes || w->index + 1 == w->count ||
        !open_segment(w, w->numbers[w->index + 1], &fd, &head))
        return;
    note_torn(w, fd, &head, JOURNAL_BLOCK_BYTES);
    w->disk->close(w->disk, fd);
}

static bool walk_groups(struct replay_walk *w)
{
    for (;;) {
        struct frame_head head;
        enum frame_search found = find_group(w, &head);
        if (found == FOUND_NONE) {
            found = search_later(w);
            if (found == FOUND_NONE) {
                note_dropped(w);
                return true;
            }
            /* A live writer may have finished a group after it was first read. */
            window_drop(&w->window);
            if (found == FOUND_WHOLE)
                found = find_group(w, &head);
            if (found == FOUND_NONE)
                return fail_damaged(w);
        }
        if (found == FOUND_ERROR || !take_group(w, &head))
            return false;
    }
}

/* Drops the segments before the first one needed. False: a segment is missing. */
static bool choose_segments(struct replay_walk *w)
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
        buf_printf(&w->why, "journal segment %" PRIu64 " is missing in %s; " WAY_OUT,
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

/* Starts at the position if a whole group begins there. Otherwise the walk begins at the segment's
 * head, to tell the journal's end from a wrong position. */
static bool choose_start(struct replay_walk *w)
{
    struct frame_head head;
    enum frame_search found = FOUND_NONE;
    if (w->from.offset_bytes > JOURNAL_BLOCK_BYTES &&
        w->from.offset_bytes % JOURNAL_BLOCK_BYTES == 0)
        found = read_frame(w, w->fd, &w->head, w->from.offset_bytes, &head);
    if (found == FOUND_WHOLE) {
        w->offset = w->from.offset_bytes;
        w->sequence = head.sequence;
    } else {
        w->offset = JOURNAL_BLOCK_BYTES;
        /* The journal's first group has sequence 1; in another segment the first group read gives
         * it. */
        w->sequence = w->head.segment == 1 ? 1 : 0;
    }
    return found != FOUND_ERROR;
}

static bool walk_all(struct replay_walk *w)
{
    if (!open_segment(w, w->numbers[0], &w->fd, &w->head))
        return false;
    bool good = choose_start(w) && walk_groups(w);
    if (good && before((struct journal_position){w->head.segment, w->offset}, w->from)) {
        good = false;
        buf_printf(&w->why,
                   "the journal in %s ends at %" PRIu64 ":%" PRIu64 ", before the position %" PRIu64
                   ":%" PRIu64 " the database was written up to: restore both from one backup",
                   w->directory, w->head.segment, w->offset, w->from.segment, w->from.offset_bytes);
    }
    w->disk->close(w->disk, w->fd);
    return good;
}

static void *walk_ahead(void *walk)
{
    struct replay_walk *w = walk;
    w->good = walk_all(w);
    readahead_end(w->readahead);
    return NULL;
}

/* Reads on a separate thread, visits on this one. */
static bool visit_all(struct replay_walk *w)
{
    pthread_t reader;
    struct buf why = {0};
    w->readahead = readahead_new();
    ASSERT(pthread_create(&reader, NULL, walk_ahead, w) == 0);
    bool good = true;
    for (const struct readahead_group *g; good && (g = readahead_take(w->readahead)) != NULL;)
        good = visit_group(g->frame, g->end, w->directory, w->visit, w->context, &why);
    if (!good)
        readahead_stop(w->readahead);
    ASSERT(pthread_join(reader, NULL) == 0);
    readahead_free(w->readahead);
    if (good) {
        buf_free(&why);
        return w->good;
    }
    buf_free(&w->why);
    w->why = why;
    return false;
}

static void take_end(struct replay_walk *w, struct replay_end *ret)
{
    *ret = (struct replay_end){
        .segment = w->head.segment,
        .segment_bytes = w->head.segment_bytes,
        .offset = w->offset,
        .next_sequence = w->sequence,
        .dropped = w->dropped,
        .last_frame = w->held_bytes ? w->held.frame : NULL,
        .last_offset = w->held_offset,
        .last_frame_bytes = w->held_bytes,
        .last_is_new = w->held_is_new,
    };
    w->held.frame = NULL; /* the caller owns it now */
}

bool journal_replay(struct disk *disk, const char *directory, uint64_t id,
                    struct journal_position from, bool single_threaded, journal_visitor visit,
                    void *context, struct replay_end *ret_end, char **ret_why)
{
    struct replay_walk w = {
        .disk = disk,
        .directory = directory,
        .id = id,
        .from = from,
        .visit = visit,
        .context = context,
        .window.disk = disk,
    };
    bool good = false;
    *ret_end = (struct replay_end){0};
    int result = segments_list(disk, directory, false, &w.numbers, &w.count);
    if (result < 0)
        buf_printf(&w.why, "cannot list the journal in %s: %s", directory, strerror(-result));
    else if (w.count == 0 && from.segment == 0)
        good = ret_end->empty = true;
    else
        good = choose_segments(&w) && (single_threaded ? walk_all(&w) : visit_all(&w));
    if (good && !ret_end->empty)
        take_end(&w, ret_end);
    free(w.numbers);
    free(w.frame);
    free(w.held.frame);
    window_free(&w.window);
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

bool journal_is_of(struct disk *disk, const char *directory, uint64_t id, char **ret_why)
{
    struct replay_walk w = {.disk = disk, .directory = directory, .id = id};
    struct buf why = {0};
    int result = segments_list(disk, directory, false, &w.numbers, &w.count);
    bool good = result == 0 || result == -ENOENT;
    if (!good)
        buf_printf(&why, "cannot list the journal in %s: %s", directory, strerror(-result));
    /* The last segment with a readable head decides; the replay refuses a damaged one. */
    bool told = false;
    for (size_t i = w.count; good && !told && i > 0; i--) {
        struct segment_head head = {0};
        int fd = open_head(&w, w.numbers[i - 1], &head);
        told = fd >= 0;
        if (told)
            disk->close(disk, fd);
        good = !told || head.journal_id == id;
        if (!good)
            describe_foreign(&why, directory, head.segment, head.journal_id, id);
    }
    free(w.numbers);
    free(w.frame);
    if (!good)
        *ret_why = xstrdup(buf_c(&why));
    buf_free(&w.why);
    buf_free(&why);
    return good;
}

bool journal_read(struct disk *disk, const char *directory, uint64_t id,
                  struct journal_position from, journal_visitor visit, void *context,
                  char **ret_why)
{
    struct replay_end end;
    if (!journal_replay(disk, directory, id, from, true, visit, context, &end, ret_why))
        return false;
    bool good = replay_visit_last(&end, directory, visit, context, ret_why);
    free(end.last_frame);
    return good;
}
