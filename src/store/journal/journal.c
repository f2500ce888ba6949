/* The owner's side of the journal: opening, committing, and releasing segments.
 *
 * Invariants: at most one group, the last one, is not yet synced. A segment is used only after its
 * head and its name are durable. After a failed write or sync of a group nothing is written any
 * more, because what the disk holds is unknown. */
#include "store/journal/journal.h"

#include "base/alloc.h"
#include "store/journal/frame.h"
#include "store/journal/replay.h"
#include "store/journal/segments.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct live_segment {
    uint64_t number, bytes;
};

#define JOURNAL_MAGIC 0x70DE11A1u
struct journal {
    uint32_t magic;
    struct disk *disk;
    char *directory;
    uint64_t id;
    uint64_t replayed_from; /* a segment number; older segments that are left were not read */
    struct segment current;
    uint64_t offset, sequence; /* of the next group */
    struct segment_maker *maker;
    /* the maker has been asked; not before the first group, so that on a small disk the other files
     * that a start writes get the room */
    bool is_next_wanted;
    char *frame; /* aligned */
    size_t frame_capacity;
    struct buf error; /* not empty: the journal is dead */
    struct journal_dropped dropped;

    pthread_mutex_t lock;      /* guards the members below: journal_release runs on other threads */
    struct live_segment *live; /* oldest first; the last one is current */
    size_t live_count, live_capacity;
    atomic_ullong live_bytes; /* of all live segments; read without the lock */

    /* A lock of its own, because journal_release holds `lock` while it unlinks files. */
    pthread_mutex_t durable_lock;
    struct journal_position durable; /* the end of the last durable group */
};

static void add_live(struct journal *j, uint64_t number, uint64_t bytes)
{
    pthread_mutex_lock(&j->lock);
    *ARRAY_PUSH(j->live, j->live_count, j->live_capacity) = (struct live_segment){number, bytes};
    atomic_fetch_add(&j->live_bytes, bytes);
    pthread_mutex_unlock(&j->lock);
}

static void note_durable(struct journal *j)
{
    pthread_mutex_lock(&j->durable_lock);
    j->durable = (struct journal_position){j->current.number, j->offset};
    pthread_mutex_unlock(&j->durable_lock);
}

static void reserve_frame(struct journal *j, size_t n)
{
    if (n <= j->frame_capacity)
        return;
    free(j->frame);
    n = (n + n / 2 + JOURNAL_BLOCK_BYTES - 1) / JOURNAL_BLOCK_BYTES * JOURNAL_BLOCK_BYTES;
    j->frame = aligned_alloc(JOURNAL_BLOCK_BYTES, n);
    ASSERT(j->frame != NULL);
    j->frame_capacity = n;
}

static char *sentence(const char *what, const char *directory, int error)
{
    struct buf b = {0};
    buf_printf(&b, "cannot %s the journal in %s: %s", what, directory, strerror(-error));
    buf_c(&b);
    return b.p;
}

/* --- opening ------------------------------------------------------------------------------ */

/* Bytes that the last process wrote without a successful sync may be readable now and lost by a
 * power cut. The last group is about to count as recorded, so its bytes are written again (a failed
 * sync leaves pages marked clean) and synced. Earlier groups were synced before it was written. */
static int settle_tail(struct journal *j, const struct replay_end *end)
{
    if (end->last_frame) {
        int result = disk_write_all(j->disk, j->current.fd, end->last_frame, end->last_frame_bytes,
                                    (int64_t)end->last_offset);
        if (result < 0)
            return result;
    }
    return j->disk->sync_file(j->disk, j->current.fd);
}

static int open_file(struct journal *j, uint64_t number, struct segment *ret)
{
    char *path = segment_path(j->directory, number);
    int fd = j->disk->open(j->disk, path, false, true);
    free(path);
    if (fd < 0)
        return fd;
    int64_t bytes = j->disk->size(j->disk, fd);
    if (bytes < 0) {
        j->disk->close(j->disk, fd);
        return (int)bytes;
    }
    *ret = (struct segment){number, (uint64_t)bytes, fd};
    return 0;
}

/* The segment after the last one used was made ahead: it becomes the next one. Segments after that
 * one (there are none unless the tail moved back) hold no groups. */
static int adopt_later(struct journal *j, uint64_t number, uint64_t standard_bytes)
{
    struct segment later;
    int result = open_file(j, number, &later);
    if (result < 0)
        return result;
    if (number == j->current.number + 1 && later.bytes == standard_bytes) {
        segment_maker_adopt(j->maker, later);
        j->is_next_wanted = true;
        return 0;
    }
    j->disk->close(j->disk, later.fd);
    char *path = segment_path(j->directory, number);
    result = j->disk->unlink(j->disk, path);
    free(path);
    return result;
}

static int open_existing(struct journal *j, const struct journal_options *o,
                         const struct replay_end *end)
{
    uint64_t *numbers = NULL;
    size_t count = 0;
    int result = segments_list(j->disk, j->directory, false, &numbers, &count);
    if (result == 0)
        result = open_file(j, end->segment, &j->current);
    if (result < 0) {
        free(numbers);
        return result;
    }
    j->current.bytes = end->segment_bytes;
    j->offset = end->offset;
    j->sequence = end->next_sequence;
    result = settle_tail(j, end);
    /* From the last one down, so that a power cut leaves no gap in the numbers. */
    for (size_t i = count; result == 0 && i-- > 0 && numbers[i] > end->segment;)
        result = adopt_later(j, numbers[i], o->segment_bytes);
    for (size_t i = 0; result == 0 && i < count && numbers[i] <= end->segment; i++) {
        struct segment old = j->current;
        if (numbers[i] != end->segment) {
            result = open_file(j, numbers[i], &old);
            if (result == 0)
                j->disk->close(j->disk, old.fd);
        }
        if (result == 0)
            add_live(j, numbers[i], old.bytes);
    }
    free(numbers);
    return result;
}

static int open_new(struct journal *j)
{
    int result = segment_maker_take(j->maker, 1, 0, &j->current);
    if (result < 0)
        return result;
    j->offset = JOURNAL_BLOCK_BYTES;
    j->sequence = 1;
    add_live(j, 1, j->current.bytes);
    return 0;
}

/* Makes the names in the directory durable and removes unfinished files. */
static int tidy_directory(const struct journal_options *o)
{
    int result = disk_ensure_directory(o->disk, o->directory);
    uint64_t *numbers = NULL;
    size_t count = 0;
    if (result == 0)
        result = segments_list(o->disk, o->directory, true, &numbers, &count);
    free(numbers);
    if (result == 0)
        result = o->disk->sync_directory(o->disk, o->directory);
    return result;
}

struct journal *journal_open(const struct journal_options *o, struct journal_position from,
                             journal_visitor visit, void *context, char **ret_why)
{
    ASSERT(o->id != 0);
    ASSERT(o->segment_bytes >= JOURNAL_SEGMENT_LEAST_BYTES);
    ASSERT(o->segment_bytes % JOURNAL_BLOCK_BYTES == 0);
    int result = tidy_directory(o);
    if (result < 0) {
        *ret_why = sentence("open", o->directory, result);
        return NULL;
    }
    struct replay_end end;
    if (!journal_replay(o->disk, o->directory, o->id, from, o->single_threaded, visit, context,
                        &end, ret_why))
        return NULL;

    struct journal *j = xcalloc(1, sizeof *j);
    j->magic = JOURNAL_MAGIC;
    j->disk = o->disk;
    j->directory = xstrdup(o->directory);
    j->current.fd = -1;
    ASSERT(pthread_mutex_init(&j->lock, NULL) == 0);
    ASSERT(pthread_mutex_init(&j->durable_lock, NULL) == 0);
    j->id = o->id;
    j->dropped = end.dropped;
    j->replayed_from = from.segment;
    j->maker =
        segment_maker_new(o->disk, o->directory, j->id, o->segment_bytes, o->single_threaded);
    result = end.empty ? open_new(j) : open_existing(j, o, &end);
    bool good = result == 0;
    if (!good)
        *ret_why = sentence("open", o->directory, result);
    else
        good = replay_visit_last(&end, o->directory, visit, context, ret_why);
    free(end.last_frame);
    note_durable(j);
    if (!good) {
        journal_close(j);
        return NULL;
    }
    return j;
}

/* --- committing --------------------------------------------------------------------------- */

static bool die(struct journal *j, const char *what, int error)
{
    buf_printf(&j->error,
               "cannot %s journal segment %" PRIu64 " in %s: %s; what the disk holds is unknown, "
               "so nothing more is recorded before a restart",
               what, j->current.number, j->directory, strerror(-error));
    buf_c(&j->error);
    return false;
}

static void want_next(struct journal *j)
{
    if (!j->is_next_wanted)
        segment_maker_want(j->maker, j->current.number + 1);
    j->is_next_wanted = true;
}

static bool next_segment(struct journal *j, size_t frame)
{
    struct segment next;
    int result =
        segment_maker_take(j->maker, j->current.number + 1, JOURNAL_BLOCK_BYTES + frame, &next);
    if (result < 0)
        return die(j, "make the one behind", result);
    j->disk->close(j->disk, j->current.fd); /* every group in it is synced */
    j->current = next;
    j->offset = JOURNAL_BLOCK_BYTES;
    add_live(j, next.number, next.bytes);
    j->is_next_wanted = false;
    return true;
}

bool journal_commit(struct journal *j, struct str records, struct journal_position *ret_end)
{
    CHECK_MAGIC(j, JOURNAL_MAGIC);
    ASSERT(records.n > 0 && records.n <= JOURNAL_GROUP_MAX_BYTES);
    if (j->error.n)
        return false;
    size_t n = frame_bytes(records.n);
    if (j->offset + n > j->current.bytes && !next_segment(j, n))
        return false;
    reserve_frame(j, n);
    memcpy(j->frame + FRAME_HEAD_BYTES, records.p, records.n);
    memset(j->frame + FRAME_HEAD_BYTES + records.n, 0, n - FRAME_HEAD_BYTES - records.n);
    struct frame_head head = {
        .journal_id = j->id,
        .segment = j->current.number,
        .sequence = j->sequence,
        .offset = j->offset,
        .length = (uint32_t)records.n,
    };
    frame_seal(j->frame, &head);
    int result = disk_write_all(j->disk, j->current.fd, j->frame, n, (int64_t)j->offset);
    if (result < 0)
        return die(j, "write to", result);
    result = j->disk->sync_file(j->disk, j->current.fd);
    if (result < 0)
        return die(j, "sync", result);
    j->offset += n;
    j->sequence++;
    note_durable(j);
    want_next(j);
    *ret_end = (struct journal_position){j->current.number, j->offset};
    return true;
}

bool journal_ready(struct journal *j, size_t records_bytes)
{
    CHECK_MAGIC(j, JOURNAL_MAGIC);
    if (j->error.n)
        return false;
    size_t n = frame_bytes(records_bytes);
    if (j->offset + n <= j->current.bytes)
        return true;
    want_next(j);
    return segment_maker_ready(j->maker, j->current.number + 1, JOURNAL_BLOCK_BYTES + n);
}

/* --- the rest ----------------------------------------------------------------------------- */

void journal_release(struct journal *j, struct journal_position position)
{
    CHECK_MAGIC(j, JOURNAL_MAGIC);
    pthread_mutex_lock(&j->lock);
    size_t gone = 0;
    while (gone + 1 < j->live_count && j->live[gone].number < position.segment) {
        segment_maker_recycle(j->maker, j->live[gone].number, j->live[gone].bytes);
        atomic_fetch_sub(&j->live_bytes, j->live[gone].bytes);
        gone++;
    }
    j->live_count -= gone;
    memmove(j->live, j->live + gone, j->live_count * sizeof *j->live);
    pthread_mutex_unlock(&j->lock);
}

uint64_t journal_live_bytes(struct journal *j)
{
    CHECK_MAGIC(j, JOURNAL_MAGIC);
    return atomic_load(&j->live_bytes);
}

struct journal_extent journal_get_extent(struct journal *j)
{
    CHECK_MAGIC(j, JOURNAL_MAGIC);
    pthread_mutex_lock(&j->lock);
    pthread_mutex_lock(&j->durable_lock);
    struct journal_extent extent = {
        .segments = xmalloc(j->live_count * sizeof *extent.segments),
        .end_offset = j->durable.offset_bytes,
        .journal_id = j->id,
        .disk = j->disk,
        .directory = j->directory,
    };
    for (size_t i = 0; i < j->live_count; i++)
        if (j->live[i].number >= j->replayed_from && j->live[i].number <= j->durable.segment)
            extent.segments[extent.count++] = j->live[i].number;
    pthread_mutex_unlock(&j->durable_lock);
    pthread_mutex_unlock(&j->lock);
    return extent;
}

static bool has_file(struct journal *j, uint64_t segment)
{
    char *path = segment_path(j->directory, segment);
    int fd = j->disk->open(j->disk, path, false, false);
    if (fd >= 0)
        j->disk->close(j->disk, fd);
    free(path);
    return fd != -ENOENT;
}

/* The files are opened without the lock, which a commit may need. So a segment may have been
 * released meanwhile: then its file is not missed. */
bool journal_has_its_files(struct journal *j)
{
    CHECK_MAGIC(j, JOURNAL_MAGIC);
    pthread_mutex_lock(&j->lock);
    size_t count = j->live_count;
    uint64_t *segments = xmalloc(count * sizeof *segments);
    for (size_t i = 0; i < count; i++)
        segments[i] = j->live[i].number;
    pthread_mutex_unlock(&j->lock);
    bool has_all = true;
    for (size_t i = 0; i < count && has_all; i++)
        has_all = has_file(j, segments[i]) || !journal_is_live(j, segments[i]);
    free(segments);
    return has_all;
}

bool journal_is_live(struct journal *j, uint64_t segment)
{
    CHECK_MAGIC(j, JOURNAL_MAGIC);
    pthread_mutex_lock(&j->lock);
    bool is_live = j->live_count > 0 && j->live[0].number <= segment;
    pthread_mutex_unlock(&j->lock);
    return is_live;
}

struct journal_dropped journal_dropped(const struct journal *j)
{
    CHECK_MAGIC(j, JOURNAL_MAGIC);
    return j->dropped;
}

const char *journal_error(const struct journal *j)
{
    CHECK_MAGIC(j, JOURNAL_MAGIC);
    return j->error.n ? j->error.p : NULL;
}

void journal_close(struct journal *j)
{
    if (!j)
        return;
    CHECK_MAGIC(j, JOURNAL_MAGIC);
    segment_maker_free(j->maker);
    if (j->current.fd >= 0)
        j->disk->close(j->disk, j->current.fd);
    pthread_mutex_destroy(&j->lock);
    pthread_mutex_destroy(&j->durable_lock);
    free(j->live);
    free(j->frame);
    free(j->directory);
    buf_free(&j->error);
    j->magic = 0;
    free(j);
}
