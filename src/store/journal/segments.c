/* Names and making of segment files.
 *
 * A segment is made from a new file under a name that recovery ignores, or from a spare file. Its
 * head is durable before its name, and its name before the first group is written. Zeros are really
 * written: a commit into blocks that exist and are initialised is one write and one flush; into
 * blocks that are only reserved it would be a transaction of the file system, too. */
#include "store/journal/segments.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "store/journal/frame.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_PREFIX "journal-"
#define NAME_DIGITS 16
#define UNFINISHED_SUFFIX ".new"
#define ZEROS_MOST_BYTES (1u << 20)
#define SPARES_MAX 4 /* further ones are unlinked, so that a burst gives its disk space back */

char *segment_path(const char *directory, uint64_t number)
{
    return xprintf("%s/" NAME_PREFIX "%0*" PRIx64, directory, NAME_DIGITS, number);
}

static char *unfinished_path(const char *directory, uint64_t number)
{
    return xprintf("%s/" NAME_PREFIX "%0*" PRIx64 UNFINISHED_SUFFIX, directory, NAME_DIGITS,
                   number);
}

/* --- listing ------------------------------------------------------------------------------ */

struct segment_names {
    uint64_t *numbers;
    size_t count, capacity;
    uint64_t *unfinished;
    size_t unfinished_count, unfinished_capacity;
};

static void list_visit(void *context, const char *name)
{
    struct segment_names *l = context;
    struct str s = str_of(name);
    if (!str_has_prefix(s, NAME_PREFIX) || s.n < strlen(NAME_PREFIX) + NAME_DIGITS)
        return;
    uint64_t number = 0;
    const char *digits = name + strlen(NAME_PREFIX);
    for (int i = 0; i < NAME_DIGITS; i++) {
        if (!char_in(digits[i], "0123456789abcdef"))
            return;
        number = number << 4 | (uint64_t)hex_value(digits[i]);
    }
    const char *suffix = digits + NAME_DIGITS;
    if (*suffix == '\0' && number != 0) {
        *ARRAY_PUSH(l->numbers, l->count, l->capacity) = number;
    } else if (strcmp(suffix, UNFINISHED_SUFFIX) == 0) {
        *ARRAY_PUSH(l->unfinished, l->unfinished_count, l->unfinished_capacity) = number;
    }
}

int segments_list(struct disk *disk, const char *directory, bool remove_unfinished,
                  uint64_t **ret_numbers, size_t *ret_count)
{
    struct segment_names l = {0};
    int result = disk->list(disk, directory, list_visit, &l);
    for (size_t i = 0; result == 0 && remove_unfinished && i < l.unfinished_count; i++) {
        char *path = unfinished_path(directory, l.unfinished[i]);
        result = disk->unlink(disk, path);
        free(path);
    }
    free(l.unfinished);
    if (result < 0) {
        free(l.numbers);
        return result;
    }
    if (l.count)
        qsort(l.numbers, l.count, sizeof *l.numbers, sort_compare_numbers);
    *ret_numbers = l.numbers;
    *ret_count = l.count;
    return 0;
}

/* --- making ------------------------------------------------------------------------------- */

enum maker_state { MAKER_IDLE, MAKER_MAKING, MAKER_READY, MAKER_FAILED };

#define SEGMENT_MAKER_MAGIC 0x5E63A4E2u
struct segment_maker {
    uint32_t magic;
    struct disk *disk;
    char *directory;
    uint64_t journal_id, segment_bytes;
    bool single_threaded;
    char *zeros; /* zeros_bytes, aligned; used only by the thread that makes a segment */
    size_t zeros_bytes;
    pthread_t thread;

    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t changed;
    enum maker_state state;
    bool stop;
    uint64_t wanted; /* the segment number being made, made or failed */
    int failure;     /* MAKER_FAILED: -errno */
    struct segment made;
    uint64_t spares[SPARES_MAX];
    size_t spare_count;
};

static int write_head(struct segment_maker *m, int fd, uint64_t number, uint64_t bytes)
{
    struct segment_head head = {m->journal_id, number, bytes};
    segment_head_write(m->zeros, &head);
    int result = disk_write_all(m->disk, fd, m->zeros, JOURNAL_BLOCK_BYTES, 0);
    memset(m->zeros, 0, JOURNAL_BLOCK_BYTES);
    return result;
}

static int write_zeros(struct segment_maker *m, int fd, uint64_t bytes)
{
    int result = 0;
    for (uint64_t at = JOURNAL_BLOCK_BYTES; result == 0 && at < bytes;) {
        size_t n = bytes - at < m->zeros_bytes ? (size_t)(bytes - at) : m->zeros_bytes;
        result = disk_write_all(m->disk, fd, m->zeros, n, (int64_t)at);
        at += n;
    }
    return result;
}

/* Makes a segment with a durable name from the file `from`: a spare or an unfinished file. */
static int make_file(struct segment_maker *m, const char *from, bool fresh, uint64_t bytes,
                     uint64_t number, struct segment *ret)
{
    int fd = m->disk->open(m->disk, from, fresh, true);
    if (fd < 0)
        return fd;
    int result = write_head(m, fd, number, bytes);
    if (result == 0 && fresh)
        result = write_zeros(m, fd, bytes);
    if (result == 0)
        result = m->disk->sync_file(m->disk, fd);
    char *to = segment_path(m->directory, number);
    if (result == 0)
        result = m->disk->rename(m->disk, from, to);
    free(to);
    if (result == 0)
        result = m->disk->sync_directory(m->disk, m->directory);
    if (result < 0) {
        m->disk->close(m->disk, fd);
        if (fresh)
            /* gives a full disk its blocks back; the next start removes a leftover */
            m->disk->unlink(m->disk, from);
        return result;
    }
    *ret = (struct segment){number, bytes, fd};
    return 0;
}

/* spare: the number of a file to reuse; 0: none. */
static int make(struct segment_maker *m, uint64_t number, uint64_t bytes, uint64_t spare,
                struct segment *ret)
{
    char *from = spare ? segment_path(m->directory, spare) : unfinished_path(m->directory, number);
    int result = make_file(m, from, spare == 0, bytes, number, ret);
    free(from);
    return result;
}

/* Called with the lock held; releases it while the disk works. */
static void make_wanted(struct segment_maker *m)
{
    ASSERT(m->state == MAKER_MAKING);
    uint64_t number = m->wanted;
    uint64_t spare = m->spare_count ? m->spares[--m->spare_count] : 0;
    pthread_mutex_unlock(&m->lock);
    struct segment made = {0};
    int result = make(m, number, m->segment_bytes, spare, &made);
    pthread_mutex_lock(&m->lock);
    m->state = result < 0 ? MAKER_FAILED : MAKER_READY;
    m->failure = result;
    m->made = made;
    pthread_cond_broadcast(&m->changed);
}

static void *maker_main(void *context)
{
    struct segment_maker *m = context;
    CHECK_MAGIC(m, SEGMENT_MAKER_MAGIC);
    pthread_mutex_lock(&m->lock);
    while (!m->stop) {
        if (m->state == MAKER_MAKING)
            make_wanted(m);
        else
            pthread_cond_wait(&m->changed, &m->lock);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

struct segment_maker *segment_maker_new(struct disk *disk, const char *directory,
                                        uint64_t journal_id, uint64_t segment_bytes,
                                        bool single_threaded)
{
    struct segment_maker *m = xcalloc(1, sizeof *m);
    m->magic = SEGMENT_MAKER_MAGIC;
    m->disk = disk;
    m->directory = xstrdup(directory);
    m->journal_id = journal_id;
    m->segment_bytes = segment_bytes;
    m->single_threaded = single_threaded;
    m->zeros_bytes = segment_bytes < ZEROS_MOST_BYTES ? (size_t)segment_bytes : ZEROS_MOST_BYTES;
    m->zeros = aligned_alloc(JOURNAL_BLOCK_BYTES, m->zeros_bytes);
    ASSERT(m->zeros != NULL);
    memset(m->zeros, 0, m->zeros_bytes);
    ASSERT(pthread_mutex_init(&m->lock, NULL) == 0);
    ASSERT(pthread_cond_init(&m->changed, NULL) == 0);
    if (!single_threaded)
        ASSERT(pthread_create(&m->thread, NULL, maker_main, m) == 0);
    return m;
}

void segment_maker_want(struct segment_maker *m, uint64_t number)
{
    CHECK_MAGIC(m, SEGMENT_MAKER_MAGIC);
    pthread_mutex_lock(&m->lock);
    ASSERT(m->state == MAKER_IDLE);
    m->state = MAKER_MAKING;
    m->wanted = number;
    if (m->single_threaded)
        make_wanted(m);
    else
        pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

void segment_maker_adopt(struct segment_maker *m, struct segment segment)
{
    CHECK_MAGIC(m, SEGMENT_MAKER_MAGIC);
    pthread_mutex_lock(&m->lock);
    ASSERT(m->state == MAKER_IDLE);
    m->state = MAKER_READY;
    m->wanted = segment.number;
    m->made = segment;
    pthread_mutex_unlock(&m->lock);
}

int segment_maker_take(struct segment_maker *m, uint64_t number, uint64_t least_bytes,
                       struct segment *ret)
{
    CHECK_MAGIC(m, SEGMENT_MAKER_MAGIC);
    pthread_mutex_lock(&m->lock);
    ASSERT(m->state == MAKER_IDLE || m->wanted == number);
    while (m->state == MAKER_MAKING)
        pthread_cond_wait(&m->changed, &m->lock);
    bool ready = m->state == MAKER_READY;
    struct segment made = m->made;
    m->state = MAKER_IDLE; /* so the thread sleeps, and the caller may use `zeros` */
    pthread_mutex_unlock(&m->lock);

    if (ready && made.bytes >= least_bytes) {
        *ret = made;
        return 0;
    }
    if (ready) {
        /* The group is larger than a segment: make one of its size under the same number. */
        m->disk->close(m->disk, made.fd);
        char *path = segment_path(m->directory, number);
        int result = m->disk->unlink(m->disk, path);
        free(path);
        if (result < 0)
            return result;
    }
    return make(m, number, least_bytes > m->segment_bytes ? least_bytes : m->segment_bytes, 0, ret);
}

bool segment_maker_ready(struct segment_maker *m, uint64_t number, uint64_t least_bytes)
{
    CHECK_MAGIC(m, SEGMENT_MAKER_MAGIC);
    pthread_mutex_lock(&m->lock);
    /* ENOENT: the folder has been deleted, and the process must keep its files open */
    bool broken = m->state == MAKER_FAILED && m->failure != -ENOENT && !disk_is_passing(m->failure);
    if (m->state == MAKER_FAILED && !broken) {
        ASSERT(m->wanted == number);
        m->state = MAKER_MAKING;
        if (m->single_threaded)
            make_wanted(m);
        else
            pthread_cond_broadcast(&m->changed);
    }
    /* Waiting does not repair a broken disk: it counts as ready, so that the next commit fails and
     * ends the store. */
    bool ready = broken || (m->state == MAKER_READY && m->made.bytes >= least_bytes);
    /* A segment for a larger group is never made ahead: it counts as ready if a standard segment
     * could be made. */
    if (m->state == MAKER_READY && least_bytes > m->segment_bytes)
        ready = true;
    pthread_mutex_unlock(&m->lock);
    return ready;
}

void segment_maker_recycle(struct segment_maker *m, uint64_t number, uint64_t bytes)
{
    CHECK_MAGIC(m, SEGMENT_MAKER_MAGIC);
    pthread_mutex_lock(&m->lock);
    bool keep = bytes == m->segment_bytes && m->spare_count < SPARES_MAX;
    if (keep)
        m->spares[m->spare_count++] = number;
    pthread_mutex_unlock(&m->lock);
    if (keep)
        return;
    char *path = segment_path(m->directory, number);
    m->disk->unlink(m->disk, path); /* if this fails, the next start releases it again */
    free(path);
}

void segment_maker_free(struct segment_maker *m)
{
    if (!m)
        return;
    CHECK_MAGIC(m, SEGMENT_MAKER_MAGIC);
    if (!m->single_threaded) {
        pthread_mutex_lock(&m->lock);
        m->stop = true;
        pthread_cond_broadcast(&m->changed);
        pthread_mutex_unlock(&m->lock);
        pthread_join(m->thread, NULL);
    }
    if (m->state == MAKER_READY)
        m->disk->close(m->disk, m->made.fd);
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free(m->zeros);
    free(m->directory);
    m->magic = 0;
    free(m);
}
