/* What the store refuses before a bound breaks anything, and that it refuses nothing else. */
#include "sqlite_store.h"

#include "sqlite_sql.h"

#include "domain/clock.h"

#include <errno.h>
#include <sqlite3.h>

#define MIB (INT64_C(1) << 20)

static int64_t disk_free = 1000 * MIB;

static int space(struct disk *disk, const char *path, int64_t *ret_free, int64_t *ret_total)
{
    (void)disk;
    (void)path;
    *ret_free = disk_free;
    *ret_total = 1500 * MIB;
    return 0;
}

/* Looks at the disk anew, as it does at most every quarter of a second of the store's clock; called
 * again, it leaves the store's threads the time to get on. */
static struct store_numbers look(void)
{
    struct store_numbers n;
    mono_added_ms += 300;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    store_look(store);
    store_get_numbers(store, &n);
    return n;
}

/* Event loops ask for the numbers: a disk that hangs must not stop them. */
static void numbers_do_not_ask_the_disk(void)
{
    struct store_numbers n;
    test_disk.space = space;
    disk_free = 1000 * MIB;
    begin();
    disk_free = 900 * MIB;
    mono_added_ms += 300;
    store_get_numbers(store, &n);
    CHECK_EQ_INT(n.disk_free_bytes, 1000 * MIB);
    store_look(store);
    store_get_numbers(store, &n);
    CHECK_EQ_INT(n.disk_free_bytes, 900 * MIB);
    test_disk.space = NULL;
    end();
}

static void the_reserve_of_disk_is_kept(void)
{
    test_disk.space = space;
    disk_free = 200 * MIB;
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    disk_free = 149 * MIB; /* a tenth of the file system is 150 */
    struct store_numbers n = look();
    CHECK_EQ_INT(n.refusal, STORE_REFUSES_DISK);
    CHECK(!n.accepting && !n.failed);
    CHECK_EQ_INT(n.disk_free_bytes, 149 * MIB);
    CHECK_EQ_INT(n.disk_reserve_bytes, 150 * MIB);
    CHECK_EQ_INT(try_to_submit("e-2"), STORE_BUSY);
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, NOW_MS, 1); /* outcomes are always taken */
    CHECK_EQ_UINT(attempts_of("e-1"), 1);
    disk_free = 160 * MIB; /* more than the reserve, but not by an eighth */
    CHECK_EQ_INT(look().refusal, STORE_REFUSES_DISK);
    disk_free = 200 * MIB;
    n = look();
    CHECK_EQ_INT(n.refusal, STORE_TAKES);
    CHECK_EQ_INT(n.refused[STORE_REFUSES_DISK], 1);
    CHECK_EQ_INT(try_to_submit("e-2"), STORE_OK);
    test_disk.space = NULL;
    end();
}

static _Atomic int new_file_error; /* 0: there may be some */

static int open_unless_new(struct disk *disk, const char *path, bool create, bool direct)
{
    (void)disk;
    return create && new_file_error ? -new_file_error
                                    : disk_real()->open(disk_real(), path, create, direct);
}

/* Of changes that nobody waits for for long. */
static struct waiter others = {
    {waiter_post}, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

/* One after the other: a group that is larger than a segment is another matter. */
static bool done_soon(struct object_change *c)
{
    struct timespec until;
    int error = 0;
    c->done.run = nothing;
    c->reply_to = &others.executor;
    store_change_object(store, c);
    ASSERT(clock_gettime(CLOCK_REALTIME, &until) == 0);
    until.tv_sec += 1;
    pthread_mutex_lock(&others.mutex);
    while (others.done == 0 && error == 0)
        error = pthread_cond_timedwait(&others.wake, &others.mutex, &until);
    bool done = others.done > 0;
    others.done = 0;
    pthread_mutex_unlock(&others.mutex);
    return done;
}

static char document[48 << 10];

static struct object_change large_change(void)
{
    memset(document, ' ', sizeof document - 1);
    memcpy(document, "{}", 2);
    return (struct object_change){
        .kind = OBJECT_APP, .id = STR("app-1"), .document = str_of(document)};
}

/* On a full disk: the journal's room is what is left of the segment that it has. */
static void a_change_that_waits_for_room_holds_up_no_intake(void)
{
    test_segment_bytes = 64 << 10;
    test_disk.open = open_unless_new;
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    new_file_error = ENOSPC;
    struct object_change c[4];
    size_t count = 0;
    do { /* a segment may have been made ahead */
        REQUIRE(count < ARRAY_LEN(c));
        c[count] = large_change();
    } while (done_soon(&c[count++]));
    CHECK_EQ_INT(try_to_submit("e-2"), STORE_OK);
    new_file_error = 0;
    end();
    test_disk.open = disk_real()->open;
    test_segment_bytes = 0;
}

/* Such a disk is broken: nothing waits for it. */
static void a_journal_that_cannot_go_on_ends_the_store(void)
{
    test_segment_bytes = 64 << 10;
    test_disk.open = open_unless_new;
    begin();
    new_file_error = EIO;
    enum store_status status = STORE_OK;
    for (int i = 0; i < 4 && status == STORE_OK; i++) { /* a segment may have been made ahead */
        struct object_change c = large_change();
        ASK(store_change_object, store, &c);
        status = c.status;
    }
    CHECK_EQ_INT(status, STORE_FAILED);
    new_file_error = 0;
    end();
    test_disk.open = disk_real()->open;
    test_segment_bytes = 0;
}

/* --- a database that somebody else has locked ---------------------------------------------------
 */

#define BATCHES 48
#define SMALL_MEMTABLE (256u << 10)

static sqlite3 *lock_database(void)
{
    sqlite3 *db;
    struct buf path = {0};
    buf_printf(&path, "%s/postbackd.db", directory);
    ASSERT(sqlite3_open(buf_c(&path), &db) == SQLITE_OK);
    sqlite3_busy_timeout(db, 30000);
    ASSERT(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    buf_free(&path);
    return db;
}

static void unlock_database(sqlite3 *db)
{
    ASSERT(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    ASSERT(sqlite3_close(db) == SQLITE_OK);
}

static struct store_numbers until_refused(enum store_refusal refusal)
{
    struct store_numbers n;
    do {
        n = look();
    } while (n.refusal != refusal);
    return n;
}

static char body[64 << 10];
static struct outcome outcomes[BATCHES];
static struct outcome_batch outcome_batches[BATCHES];
static atomic_int recorded_count;

static void note_recorded(struct task *task)
{
    (void)task;
    recorded_count++;
}

/* Of which each takes 64 KiB. */
static void record_many(void)
{
    memset(body, 'b', sizeof body);
    recorded_count = 0;
    for (int i = 0; i < BATCHES; i++) {
        outcomes[i] = (struct outcome){
            .account_no = terms.account_no,
            .event_no = 1,
            .lane = lane_of(terms.app_no, LANE_SUCCESS),
            .has_attempt = true,
            .attempt = {.number = i + 1,
                        .at_ms = NOW_MS,
                        .class = ATTEMPT_TIMEOUT,
                        .response_body = {body, sizeof body}},
            .state = CALLBACK_PENDING,
        };
        outcome_batches[i] = (struct outcome_batch){
            .done = {.run = note_recorded},
            .reply_to = &others.executor,
            .items = &outcomes[i],
            .count = 1,
        };
        store_record(store, &outcome_batches[i]);
    }
}

/* Outcomes of one event, more than memory takes while the database is locked. */
static sqlite3 *begin_with_outcomes_that_wait(void)
{
    test_memtable_bytes = SMALL_MEMTABLE;
    test_group_bytes = SMALL_MEMTABLE / 2;
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    sqlite3 *db = lock_database();
    record_many();
    (void)until_refused(STORE_REFUSES_DATABASE);
    CHECK(recorded_count < BATCHES / 2);
    return db;
}

static void check_all_are_recorded(void)
{
    while (recorded_count < BATCHES)
        (void)look();
    for (int i = 0; i < BATCHES; i++)
        CHECK_EQ_INT(outcome_batches[i].status, STORE_OK);
}

static void end_outcomes(void)
{
    end();
    others.done = 0;
    test_memtable_bytes = test_group_bytes = 0;
}

/* Nothing is lost, nothing is refused but events, and memory has an end. */
static void outcomes_wait_while_the_database_is_locked(void)
{
    sqlite3 *db = begin_with_outcomes_that_wait();
    struct store_numbers n = look();
    CHECK(!n.accepting && !n.failed);
    CHECK(n.memtable_bytes < 4 * SMALL_MEMTABLE);
    CHECK_EQ_INT(try_to_submit("e-2"), STORE_BUSY);
    unlock_database(db);
    (void)until_refused(STORE_TAKES);
    check_all_are_recorded();
    CHECK_EQ_UINT(attempts_of("e-1"), BATCHES);
    CHECK_EQ_INT(try_to_submit("e-2"), STORE_OK);
    end_outcomes();
}

/* A stop does not wait for the lock: the journal has the outcomes, and the next start applies them.
 */
static void a_stop_records_them_while_the_database_is_locked(void)
{
    sqlite3 *db = begin_with_outcomes_that_wait();
    store_stopping(store);
    check_all_are_recorded();
    CHECK(!look().failed);
    store_close(store);
    store = NULL;
    unlock_database(db);
    reopen();
    CHECK_EQ_UINT(attempts_of("e-1"), BATCHES);
    end_outcomes();
}

static atomic_bool is_slow;

static int commit_slowly(void *unused)
{
    (void)unused;
    while (is_slow)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return 0;
}

static int slow_commits_down(sqlite3 *db, char **ret_why, const struct sqlite3_api_routines *api)
{
    (void)ret_why;
    (void)api;
    sqlite3_commit_hook(db, commit_slowly, NULL);
    return SQLITE_OK;
}

/* Nor long for a database that is only slow: nothing fails in it, so it is not blocked. */
static void a_stop_records_them_while_the_database_is_slow(void)
{
    ASSERT(sqlite3_auto_extension((void (*)(void))slow_commits_down) == SQLITE_OK);
    test_memtable_bytes = SMALL_MEMTABLE;
    test_group_bytes = SMALL_MEMTABLE / 2;
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    is_slow = true;
    record_many();
    CHECK(recorded_count < BATCHES / 2);
    store_stopping(store);
    check_all_are_recorded();
    struct store_numbers n = look();
    CHECK(!n.failed && n.refusal != STORE_REFUSES_DATABASE);
    is_slow = false;
    store_close(store);
    store = NULL;
    reopen();
    CHECK_EQ_UINT(attempts_of("e-1"), BATCHES);
    end_outcomes();
    ASSERT(sqlite3_cancel_auto_extension((void (*)(void))slow_commits_down) == 1);
}

/* Nor for a journal that has no room: then nobody may take the stop for a good one. */
static void a_stop_that_cannot_record_fails(void)
{
    struct object_change c[4];
    size_t count = 0;
    test_segment_bytes = 64 << 10;
    test_disk.open = open_unless_new;
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    new_file_error = ENOSPC;
    do { /* a segment may have been made ahead */
        REQUIRE(count < ARRAY_LEN(c));
        c[count] = large_change();
    } while (done_soon(&c[count++]));
    record_many();
    store_stopping(store);
    while (recorded_count < BATCHES)
        (void)look();
    CHECK(look().failed);
    CHECK_EQ_INT(outcome_batches[BATCHES - 1].status, STORE_FAILED);
    new_file_error = 0;
    end();
    others.done = 0;
    test_disk.open = disk_real()->open;
    test_segment_bytes = 0;
}

static void refusals_have_names_and_sentences(void)
{
    for (int r = 0; r < STORE_REFUSALS; r++) {
        CHECK(store_refusal_name((enum store_refusal)r)[0] != '\0');
        const char *text = store_refusal_text((enum store_refusal)r);
        CHECK(text[strlen(text) - 1] == '.');
    }
}

/* --- what the journal is kept for --------------------------------------------------------------
 */

/* Applies as it goes; returns what the journal has then. */
static int64_t submit_and_apply(int from, int to)
{
    struct store_numbers n;
    for (int i = from; i < to; i++) {
        char id[16];
        snprintf(id, sizeof id, "j-%d", i);
        (void)submit_new(EVENT_SURVEY_COMPLETED, id, "ann");
        if (i % 10 == 0)
            CHECK_EQ_UINT(attempts_of(id), 0);
    }
    store_get_numbers(store, &n);
    return n.journal_bytes;
}

/* A reader's snapshot keeps pages in the WAL: what they hold is in the journal until they have been
 * copied to the database, however often a checkpoint has tried. */
static void a_partial_checkpoint_releases_nothing(void)
{
    sqlite3_stmt *reading = NULL;
    test_segment_bytes = 64 << 10;
    test_checkpoint_pages = 1;
    begin();
    (void)submit_and_apply(0, 20);
    sqlite3 *db = open_database();
    ASSERT(sqlite3_prepare_v2(db, "SELECT id FROM event", -1, &reading, NULL) == SQLITE_OK);
    ASSERT(sqlite3_step(reading) == SQLITE_ROW);
    int64_t bytes = submit_and_apply(20, 160); /* a block and more each */
    CHECK(bytes >= 140 * 4096);
    sqlite3_finalize(reading);
    sqlite3_close(db);
    for (int i = 160; bytes >= 140 * 4096 && i < 1000; i += 10)
        bytes = submit_and_apply(i, i + 10);
    CHECK(bytes < 140 * 4096);
    test_segment_bytes = 0;
    test_checkpoint_pages = 0;
    end();
}

static enum store_status read_statement(void)
{
    struct statement_query q = {.account_no = terms.account_no, .day = clock_day(NOW_MS)};
    ASK(store_statement, store, &q);
    free(q.apps);
    return q.status;
}

/* A statement, a list or a check of the books may take minutes where a day has very many events. */
static void a_stop_ends_reads_under_way(void)
{
    enum { EVENTS = 2000 };
    static char ids[EVENTS][8];
    static struct candidate c[EVENTS];
    begin();
    for (int i = 0; i < EVENTS; i++) {
        snprintf(ids[i], sizeof ids[i], "e-%d", i);
        c[i] = make(EVENT_SURVEY_COMPLETED, ids[i], "ann");
    }
    struct intake_batch batch = {.items = c, .count = EVENTS, .received_ms = NOW_MS};
    ASK(store_submit, store, &batch);
    arena_free(&batch.arena);
    CHECK_EQ_INT(read_statement(), STORE_OK);
    store_stopping(store);
    CHECK_EQ_INT(read_statement(), STORE_OK); /* there is time for short ones */
    mono_added_ms += 10000;
    CHECK_EQ_INT(read_statement(), STORE_FAILED);
    end();
}

int main(void)
{
    RUN(a_partial_checkpoint_releases_nothing);
    RUN(numbers_do_not_ask_the_disk);
    RUN(the_reserve_of_disk_is_kept);
    RUN(a_change_that_waits_for_room_holds_up_no_intake);
    RUN(a_journal_that_cannot_go_on_ends_the_store);
    RUN(outcomes_wait_while_the_database_is_locked);
    RUN(a_stop_records_them_while_the_database_is_locked);
    RUN(a_stop_records_them_while_the_database_is_slow);
    RUN(a_stop_that_cannot_record_fails);
    RUN(a_stop_ends_reads_under_way);
    RUN(refusals_have_names_and_sentences);
    return check_done("sqlite_bounds");
}
