/* The scrub's thread: when a pass is due, how fast it reads, and how it reports damage. Deletes
 * nothing: old data is dropped in purge.c.
 *
 * A pass checks the journal, waits for a complete checkpoint, and then checks the database file.
 * The checkpoint is needed because a power cut may leave torn pages in the file while the WAL still
 * has them. After it, a page can only look damaged while it is being written, and further looks
 * find it whole.
 *
 * The database is read with a descriptor that bypasses the page cache, because the cache may hide
 * what the disk holds. Closing a descriptor releases all locks that SQLite holds on the same file
 * in this process (https://www.sqlite.org/howtocorrupt.html, 2.2), so this one is opened once and
 * closed after SQLite's last connection. */
#include "store/sqlite/scrub.h"

#include "base/alloc.h"
#include "base/log.h"
#include "store/journal/journal_check.h"
#include "store/sqlite/page_sum.h"
#include "store/sqlite/scrub_state.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/store_identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES_PER_SECOND (4 << 20)
#define STEP_PAGES 64
#define FIRST_MS 5000
#define INTERVAL_MS (7 * 24 * 60 * 60 * INT64_C(1000))
#define SAVE_MS 60000
#define CHECKPOINT_RETRY_MS 1000
#define LACK_RETRY_MS 10000
/* A page that is being written is whole at a later look. */
#define LOOKS 3
#define LOOK_AGAIN_MS 20
#define TOLD_MOST 20 /* reported places of a pass, one line each */

#define SCRUB_MAGIC 0x5C2BB0B5u
struct scrub {
    uint32_t magic;
    struct sqlite_store *store;
    char *path; /* of the state file */
    uint64_t journal_id;
    int64_t first_ms, interval_ms, bytes_per_second, lack_retry_ms;
    int64_t next_us, saved_us; /* when the next pass begins; when the state was last written */
    struct queue queue;        /* of REQUEST_STOP and answered REQUEST_CHECKPOINTs */
    pthread_t thread;
    bool lack_reported; /* in the log, by this pass */
    bool stopping, checkpoint_answered, checkpoint_complete;
    int database; /* a descriptor; -1: not open */
    char *pages;  /* STEP_PAGES, aligned */
    struct scrub_state state;

    pthread_mutex_t lock; /* guards the members below */
    struct scrub_state shown;
    int64_t read_bytes, passes;
};

/* --- waiting ---------------------------------------------------------------------------------- */

/* False: the store is being closed. */
static bool wait_ms(struct scrub *s, int64_t ms)
{
    int64_t until_us = timing_now_us() + ms * 1000;
    while (!s->stopping) {
        int64_t left_ms = (until_us - timing_now_us() + 999) / 1000;
        struct request *r = queue_take(&s->queue, left_ms > 0 ? left_ms : 0);
        if (!r)
            return true;
        s->stopping = r->kind == REQUEST_STOP;
        s->checkpoint_answered |= r->kind == REQUEST_CHECKPOINT;
        s->checkpoint_complete = r->succeeded;
        free(r);
        if (s->checkpoint_answered)
            return !s->stopping;
    }
    return false;
}

static bool pause_behind(void *context, size_t bytes)
{
    struct scrub *s = context;
    CHECK_MAGIC(s, SCRUB_MAGIC);
    pthread_mutex_lock(&s->lock);
    s->read_bytes += (int64_t)bytes;
    pthread_mutex_unlock(&s->lock);
    return wait_ms(s, (int64_t)bytes * 1000 / s->bytes_per_second);
}

/* Called when a read failed for a lack of descriptors or memory, which is no damage. */
static bool wait_out_lack(void *context, int error)
{
    struct scrub *s = context;
    CHECK_MAGIC(s, SCRUB_MAGIC);
    if (!s->lack_reported)
        log_warning("scrub_waits", LOG_C("why", strerror(-error)),
                    LOG_INT("tries_again_ms", s->lack_retry_ms));
    s->lack_reported = true;
    return wait_ms(s, s->lack_retry_ms);
}

/* Waits for a complete checkpoint, which another process that reads (a backup) may prevent for a
 * while. */
static bool wait_for_checkpoint(struct scrub *s)
{
    for (;;) {
        s->checkpoint_answered = s->checkpoint_complete = false;
        queue_post(&s->store->to_applier, request_new(REQUEST_CHECKPOINT, NULL));
        while (!s->checkpoint_answered && wait_ms(s, INTERVAL_MS))
            ;
        if (s->stopping || s->checkpoint_complete)
            return !s->stopping;
        s->checkpoint_answered = false;
        if (!wait_ms(s, CHECKPOINT_RETRY_MS))
            return false;
    }
}

/* --- state ------------------------------------------------------------------------------------ */

static void show(struct scrub *s)
{
    pthread_mutex_lock(&s->lock);
    s->shown = s->state;
    pthread_mutex_unlock(&s->lock);
}

static void save(struct scrub *s)
{
    int result = scrub_state_write(s->store->disk, s->store->directory, s->path, &s->state);
    if (result < 0)
        log_warning("scrub_state_not_written", LOG_C("file", s->path),
                    LOG_C("why", strerror(-result)));
    s->saved_us = timing_now_us();
}

static void on_damage(void *context, const char *path, uint64_t offset, const char *why)
{
    struct scrub *s = context;
    CHECK_MAGIC(s, SCRUB_MAGIC);
    if (s->state.found++ == 0)
        snprintf(s->state.example, sizeof s->state.example, "%s at byte %" PRIu64 ": %s", path,
                 offset, why);
    if (s->state.found <= TOLD_MOST)
        log_error("store_damaged", LOG_C("file", path), LOG_INT("offset", (int64_t)offset),
                  LOG_C("why", why),
                  LOG_C("fix", "look at the disk; docs/operators/scrub.md says what to do"));
    show(s);
}

/* --- the database ----------------------------------------------------------------------------- */

static int read_pages(struct scrub *s, uint32_t first, size_t count)
{
    int code;
    do
        code = disk_read_all(s->store->disk, s->database, s->pages, count * PAGE_BYTES,
                             (int64_t)(first - 1) * PAGE_BYTES);
    while (disk_is_passing(code) && wait_out_lack(s, code));
    return code;
}

/* True if the page is in the file, which may have been shortened meanwhile. */
static bool is_in_file(struct scrub *s, uint32_t page)
{
    int64_t bytes = s->store->disk->size(s->store->disk, s->database);
    return bytes < 0 || bytes >= (int64_t)page * PAGE_BYTES;
}

static void check_page(struct scrub *s, uint32_t page)
{
    int code = 0;
    for (int look = 0; look < LOOKS; look++) {
        if (look > 0 && !wait_ms(s, LOOK_AGAIN_MS))
            return;
        code = read_pages(s, page, 1);
        if (s->stopping)
            return;
        if ((code == 0 && page_is_whole(s->pages, page)) || !is_in_file(s, page))
            return;
    }
    on_damage(s, s->store->database, (uint64_t)(page - 1) * PAGE_BYTES,
              code < 0 ? strerror(-code) : "a page has another checksum than it was written with");
}

static void check_pages(struct scrub *s, uint32_t first, size_t count)
{
    bool is_bad[STEP_PAGES];
    int code = read_pages(s, first, count);
    for (size_t i = 0; i < count; i++)
        is_bad[i] = code < 0 || !page_is_whole(s->pages + i * PAGE_BYTES, first + (uint32_t)i);
    for (size_t i = 0; i < count && !s->stopping; i++)
        if (is_bad[i])
            check_page(s, first + (uint32_t)i);
}

static void look_for_name(void *found, const char *name)
{
    *(bool *)found |= strcmp(name, "postbackd.db") == 0;
}

/* False if the file has been removed: the running daemon keeps its contents until it ends. */
static bool has_name(struct scrub *s)
{
    bool found = false;
    int code = s->store->disk->list(s->store->disk, s->store->directory, look_for_name, &found);
    return code < 0 || found;
}

static void open_database(struct scrub *s)
{
    struct disk *disk = s->store->disk;
    while (s->database < 0) {
        s->database = disk->open(disk, s->store->database, false, true);
        if (!disk_is_passing(s->database) || !wait_out_lack(s, s->database))
            return;
    }
}

static void check_database(struct scrub *s)
{
    struct disk *disk = s->store->disk;
    open_database(s);
    if (s->stopping)
        return;
    int64_t bytes = s->database < 0 ? s->database : disk->size(disk, s->database);
    if (bytes < 0 || !has_name(s)) {
        on_damage(s, s->store->database, 0, bytes < 0 ? strerror((int)-bytes) : "the file is gone");
        return;
    }
    uint32_t pages = (uint32_t)(bytes / PAGE_BYTES);
    while (s->state.next_page <= pages && !s->stopping) {
        size_t count = pages - s->state.next_page + 1;
        count = count < STEP_PAGES ? count : STEP_PAGES;
        check_pages(s, s->state.next_page, count);
        if (s->stopping || !pause_behind(s, count * PAGE_BYTES))
            return;
        s->state.next_page += (uint32_t)count;
        if (timing_now_us() - s->saved_us >= SAVE_MS * 1000)
            save(s);
    }
}

/* --- a pass ----------------------------------------------------------------------------------- */

/* Damage that an unfinished pass has found stays reported until this pass has ended. */
static void begin_pass(struct scrub *s)
{
    s->state.began_ms = env_wall_ms(s->store->env);
    s->state.next_page = 1;
    if (s->state.found > s->state.found_last)
        s->state.found_last = s->state.found;
    s->state.found = 0;
}

static void end_pass(struct scrub *s)
{
    s->state.ended_ms = env_wall_ms(s->store->env);
    s->state.next_page = 0;
    s->state.found_last = s->state.found;
    if (s->state.found == 0)
        s->state.example[0] = '\0';
    pthread_mutex_lock(&s->lock);
    s->passes++;
    s->shown = s->state;
    pthread_mutex_unlock(&s->lock);
    save(s);
    if (s->state.found > 0)
        log_error("scrub_ended", LOG_INT("damaged", s->state.found),
                  LOG_INT("took_ms", s->state.ended_ms - s->state.began_ms));
    else
        log_info("scrub_ended", LOG_INT("damaged", 0),
                 LOG_INT("took_ms", s->state.ended_ms - s->state.began_ms));
}

static void run_pass(struct scrub *s)
{
    struct journal_check check = {s->store->journal, pause_behind, on_damage, wait_out_lack, s};
    s->lack_reported = false;
    bool is_new = s->state.next_page <= 1; /* a continued pass has checked the journal already */
    if (is_new)
        begin_pass(s);
    if ((!is_new || journal_check(&check)) && wait_for_checkpoint(s))
        check_database(s);
    if (!s->stopping)
        end_pass(s);
}

/* Until the first pass; by the wall clock, because the interval spans restarts. */
static int64_t until_first_ms(const struct scrub *s)
{
    int64_t age_ms = env_wall_ms(s->store->env) - s->state.began_ms;
    bool is_due = s->state.next_page != 0 || s->state.began_ms == 0 || age_ms < 0 ||
                  age_ms > s->interval_ms - s->first_ms;
    return is_due ? s->first_ms : s->interval_ms - age_ms;
}

/* After an unclean end the next pass checks everything. */
static void load(struct scrub *s)
{
    bool is_known = scrub_state_read(s->store->disk, s->path, s->journal_id, &s->state);
    if (!is_known || !s->state.is_clean) {
        s->state.journal_id = s->journal_id;
        s->state.began_ms = 0;
        s->state.next_page = 0;
    }
    s->state.is_clean = false;
    show(s);
    save(s);
}

static void *scrub_main(void *arg)
{
    struct scrub *s = arg;
    CHECK_MAGIC(s, SCRUB_MAGIC);
    store_thread_begin("store-scrub", APPLIER_NICER);
    s->next_us = timing_now_us() + until_first_ms(s) * 1000;
    while (wait_ms(s, (s->next_us - timing_now_us()) / 1000)) {
        s->next_us = timing_now_us() + s->interval_ms * 1000;
        run_pass(s);
    }
    return NULL;
}

/* --- start and stop --------------------------------------------------------------------------- */

struct scrub *scrub_new(struct sqlite_store *store, int64_t interval_ms)
{
    struct scrub *s = xcalloc(1, sizeof *s);
    s->magic = SCRUB_MAGIC;
    s->store = store;
    s->path = xprintf("%s/scrub", store->directory);
    s->journal_id = identity_journal_id(&store->apply.sql);
    s->first_ms = interval_ms ? 0 : FIRST_MS;
    s->interval_ms = interval_ms ? interval_ms : INTERVAL_MS;
    s->lack_retry_ms = interval_ms ? interval_ms : LACK_RETRY_MS;
    s->bytes_per_second = interval_ms ? INT32_MAX : BYTES_PER_SECOND;
    s->database = -1;
    s->pages = aligned_alloc(PAGE_BYTES, STEP_PAGES * PAGE_BYTES);
    ASSERT(s->pages != NULL);
    queue_init(&s->queue);
    ASSERT(pthread_mutex_init(&s->lock, NULL) == 0);
    return s;
}

void scrub_start(struct scrub *s)
{
    CHECK_MAGIC(s, SCRUB_MAGIC);
    load(s); /* before anything is accepted: from now on a kill is an unclean end */
    ASSERT(pthread_create(&s->thread, NULL, scrub_main, s) == 0);
}

void scrub_stop(struct scrub *s)
{
    CHECK_MAGIC(s, SCRUB_MAGIC);
    queue_post(&s->queue, request_new(REQUEST_STOP, NULL));
    ASSERT(pthread_join(s->thread, NULL) == 0);
}

void scrub_note_clean(struct scrub *s)
{
    CHECK_MAGIC(s, SCRUB_MAGIC);
    s->state.is_clean = true;
    save(s);
}

void scrub_free(struct scrub *s)
{
    if (!s)
        return;
    CHECK_MAGIC(s, SCRUB_MAGIC);
    if (s->database >= 0)
        s->store->disk->close(s->store->disk, s->database);
    queue_destroy(&s->queue);
    pthread_mutex_destroy(&s->lock);
    free(s->pages);
    free(s->path);
    s->magic = 0;
    free(s);
}

void scrub_checkpoint_done(struct scrub *s, struct request *r, bool is_complete)
{
    CHECK_MAGIC(s, SCRUB_MAGIC);
    ASSERT(r->kind == REQUEST_CHECKPOINT);
    r->succeeded = is_complete;
    queue_post(&s->queue, r);
}

void scrub_get_numbers(struct scrub *s, struct store_numbers *ret)
{
    CHECK_MAGIC(s, SCRUB_MAGIC);
    pthread_mutex_lock(&s->lock);
    const struct scrub_state *state = &s->shown;
    ret->scrub_runs = true;
    ret->scrub_ended_ms = state->ended_ms;
    ret->scrub_read_bytes = s->read_bytes;
    ret->scrub_passes = s->passes;
    ret->scrub_damaged = state->found > state->found_last ? state->found : state->found_last;
    snprintf(ret->scrub_example, sizeof ret->scrub_example, "%s", state->example);
    pthread_mutex_unlock(&s->lock);
}
