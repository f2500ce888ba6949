/* SQLite's files are synced slice by slice while they are written, and otherwise are what they
 * ever were. */
#include "check.h"

#include "store/sqlite/checkpoint.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/sync_slicing_vfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The default VFS, with syncs and what was written between them counted; see sync_slicing_vfs.c for
 * how. */
static sqlite3_vfs *real, counting;
static sqlite3_io_methods methods;
static const sqlite3_io_methods *real_methods;
static int write_fails_in; /* the one of either file that fails; 0: none */
static int writes, syncs, unsynced_bytes, most_unsynced_bytes, sync_code;

/* The same for the file of the database, which only a checkpoint writes. */
static sqlite3_io_methods main_methods;
static const sqlite3_io_methods *real_main_methods;
static int main_syncs, main_unsynced_writes;

static int counting_main_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    main_unsynced_writes++;
    if (write_fails_in > 0 && --write_fails_in == 0)
        return SQLITE_FULL;
    return real_main_methods->xWrite(file, from, n, at);
}

static int counting_main_sync(sqlite3_file *file, int flags)
{
    main_syncs++;
    main_unsynced_writes = 0;
    return real_main_methods->xSync(file, flags);
}

static int counting_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    writes++;
    if (write_fails_in > 0 && --write_fails_in == 0)
        return SQLITE_FULL;
    unsynced_bytes += n;
    if (unsynced_bytes > most_unsynced_bytes)
        most_unsynced_bytes = unsynced_bytes;
    return real_methods->xWrite(file, from, n, at);
}

static int counting_sync(sqlite3_file *file, int flags)
{
    syncs++;
    unsynced_bytes = 0;
    return sync_code != SQLITE_OK ? sync_code : real_methods->xSync(file, flags);
}

static int counting_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                         int *ret_flags)
{
    (void)vfs;
    int code = real->xOpen(real, name, file, flags, ret_flags);
    if (code == SQLITE_OK && flags & SQLITE_OPEN_MAIN_DB) {
        real_main_methods = file->pMethods;
        main_methods = *file->pMethods;
        main_methods.xWrite = counting_main_write;
        main_methods.xSync = counting_main_sync;
        file->pMethods = &main_methods;
    }
    if (code != SQLITE_OK || !(flags & SQLITE_OPEN_WAL))
        return code;
    real_methods = file->pMethods;
    methods = *file->pMethods;
    methods.xWrite = counting_write;
    methods.xSync = counting_sync;
    file->pMethods = &methods;
    return code;
}

static void count_below(void)
{
    real = sqlite3_vfs_find(NULL);
    counting = *real;
    counting.zName = "counting";
    counting.xOpen = counting_open;
    REQUIRE(sqlite3_vfs_register(&counting, 1) == SQLITE_OK);
}

static char path[] = "/tmp/postbackd-sync-slicing-XXXXXX";

static struct sql open_new(void)
{
    struct sql q = {0};
    char *why = NULL;
    CHECK(close(mkstemp(path)) == 0 && sql_open(&q, path, NULL, true, &why));
    schema_configure(&q, true, 2048);
    sql_exec(&q, "CREATE TABLE t(x)");
    return q;
}

static void remove_all(struct sql *q)
{
    sql_close(q);
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char name[sizeof path + 8];
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
    snprintf(path, sizeof path, "/tmp/postbackd-sync-slicing-XXXXXX");
}

static void fill_rows(struct sql *q, int rows)
{
    sql_exec_f(q,
               "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n"
               " WHERE i<%d) SELECT randomblob(2000) FROM n",
               rows);
}

/* Some 4 MiB. */
static void fill(struct sql *q)
{
    fill_rows(q, 2000);
}

static void a_large_transaction_is_synced_in_slices(void)
{
    struct sql q = open_new();
    syncs = most_unsynced_bytes = 0;
    fill(&q);
    CHECK(!sql_failed(&q));
    CHECK(syncs >= 10);
    CHECK(most_unsynced_bytes < SYNC_SLICE_BYTES + 8192);
    CHECK_EQ_INT(sqlite3_wal_checkpoint_v2(q.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL),
                 SQLITE_OK);
    CHECK_EQ_INT(sql_get_int(&q, "SELECT sum(length(x)) FROM t", 0), 4000000);
    CHECK_EQ_INT(sql_get_int(&q,
                             "SELECT count(*) FROM pragma_integrity_check"
                             " WHERE integrity_check='ok'",
                             0),
                 1);
    remove_all(&q);
}

static void a_small_one_is_not(void)
{
    struct sql q = open_new();
    syncs = 0;
    sql_exec(&q, "INSERT INTO t VALUES(1)");
    CHECK(!sql_failed(&q));
    CHECK_EQ_INT(syncs, 0);
    remove_all(&q);
}

/* The WAL first, then the database: what the journal is released for is in both durably. */
static void a_checkpoint_syncs_both_files(void)
{
    struct sql q = open_new();
    sql_exec(&q, "INSERT INTO t VALUES(1)");
    syncs = main_syncs = 0;
    int frames = -1, done = -2;
    CHECK_EQ_INT(sqlite3_wal_checkpoint_v2(q.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &done),
                 SQLITE_OK);
    CHECK(frames > 0 && frames == done);
    CHECK_EQ_INT(syncs, 1);
    CHECK_EQ_INT(unsynced_bytes, 0);
    CHECK_EQ_INT(main_syncs, 1);
    CHECK_EQ_INT(main_unsynced_writes, 0);
    sql_exec(&q, "INSERT INTO t VALUES(2)");
    sync_code = SQLITE_IOERR_FSYNC;
    CHECK(sqlite3_wal_checkpoint_v2(q.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &done) !=
          SQLITE_OK);
    sync_code = SQLITE_OK;
    remove_all(&q);
}

/* A WAL that was found may be readable and on no disk: the first checkpoint writes it again and
 * syncs it, and SQLite does the same before it copies pages. Later ones find only what this process
 * has written. */
static void the_first_checkpoint_writes_the_wal_again(void)
{
    struct sql q = open_new();
    for (int time = 0; time < 2; time++) {
        sql_exec(&q, "INSERT INTO t VALUES(1)");
        writes = syncs = 0;
        CHECK_EQ_INT(checkpoint_run(&q, false), CHECKPOINT_COMPLETE);
        CHECK(time == 0 ? writes > 1 : writes == 0);
        CHECK_EQ_INT(syncs, time == 0 ? 2 : 1);
    }
    remove_all(&q);
}

/* Nobody may try again and find out: the kernel has marked the pages clean. */
static void a_checkpoint_whose_sync_fails_has_failed(void)
{
    struct sql q = open_new();
    sql_exec(&q, "INSERT INTO t VALUES(1)");
    sync_code = SQLITE_IOERR_FSYNC;
    CHECK_EQ_INT(checkpoint_run(&q, false), CHECKPOINT_FAILED);
    sync_code = SQLITE_OK;
    CHECK(sql_failed(&q));
    CHECK_EQ_INT(checkpoint_run(&q, false), CHECKPOINT_FAILED);
    remove_all(&q);
}

static void a_sync_that_fails_fails_the_transaction(void)
{
    struct sql q = open_new();
    sync_code = SQLITE_IOERR_FSYNC;
    fill(&q);
    CHECK(sql_failed(&q));
    sync_code = SQLITE_OK;
    sql_recover(&q);
    CHECK_EQ_INT(sql_get_int(&q, "SELECT count(*) FROM t", -1), 0);
    remove_all(&q);
}

/* However much of a transaction left the writer's cache before its end. */
static void readers_see_every_commit_and_nothing_else(void)
{
    struct sql q = open_new(), reader;
    char *why = NULL;
    CHECK(sql_open(&reader, path, NULL, false, &why));
    sql_exec(&q, "PRAGMA cache_size=5");
    for (int i = 0; i < 60; i++) {
        sql_exec(&q, "BEGIN");
        fill_rows(&q, 1 + i % 40);
        int64_t before = sql_get_int(&reader, "SELECT count(*) FROM t", -1);
        int64_t own = sql_get_int(&q, "SELECT count(*) FROM t", -1);
        bool is_kept = i % 3 != 0;
        sql_exec(&q, is_kept ? "COMMIT" : "ROLLBACK");
        CHECK_EQ_INT(own, before + 1 + i % 40);
        CHECK_EQ_INT(sql_get_int(&reader, "SELECT count(*) FROM t", -1), is_kept ? own : before);
        if (i % 7 == 0)
            CHECK_EQ_INT(checkpoint_run(&q, false), CHECKPOINT_COMPLETE);
    }
    CHECK(!sql_failed(&reader));
    sql_close(&reader);
    remove_all(&q);
}

static void check_whole(int64_t bytes)
{
    struct sql fresh;
    char *why = NULL;
    CHECK(sql_open(&fresh, path, NULL, false, &why));
    CHECK_EQ_INT(sql_get_int(&fresh, "SELECT coalesce(sum(length(x)),0) FROM t", -1), bytes);
    CHECK_EQ_INT(sql_get_int(&fresh,
                             "SELECT count(*) FROM pragma_integrity_check"
                             " WHERE integrity_check='ok'",
                             0),
                 1);
    sql_close(&fresh);
}

/* A reader with an older snapshot keeps a checkpoint from its end: readers that come later find in
 * the file what SQLite says is there. */
static void a_checkpoint_beside_a_reader_is_seen(void)
{
    struct sql q = open_new(), old;
    char *why = NULL;
    CHECK(sql_open(&old, path, NULL, false, &why));
    fill(&q);
    sql_exec(&old, "BEGIN");
    CHECK_EQ_INT(sql_get_int(&old, "SELECT count(*) FROM t", -1), 2000);
    sql_exec(&q, "UPDATE t SET x=zeroblob(2000) WHERE rowid%3=0");
    int frames = -1, done = -1;
    CHECK_EQ_INT(sqlite3_wal_checkpoint_v2(q.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &done),
                 SQLITE_OK);
    CHECK(done > 0 && done < frames);
    check_whole(4000000);
    sql_exec(&old, "COMMIT");
    sql_close(&old);
    remove_all(&q);
}

/* Each write in turn finds the disk full. Nothing that was committed is lost, by a checkpoint
 * neither: it is done again. Returns whether a write failed. */
static bool survive_a_failed_write(int which)
{
    struct sql q = open_new();
    write_fails_in = which;
    fill_rows(&q, 80);
    bool is_filled = !sql_failed(&q);
    sql_recover(&q);
    check_whole(is_filled ? 160000 : 0);
    (void)!sqlite3_wal_checkpoint_v2(q.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    bool has_failed = write_fails_in == 0;
    write_fails_in = 0;
    CHECK_EQ_INT(sqlite3_wal_checkpoint_v2(q.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL),
                 SQLITE_OK);
    check_whole(is_filled ? 160000 : 0);
    remove_all(&q);
    return has_failed;
}

static void a_write_that_fails_loses_nothing(void)
{
    int which = 1;
    while (survive_a_failed_write(which))
        which++;
    CHECK(which > 30);
}

int main(void)
{
    count_below();
    RUN(readers_see_every_commit_and_nothing_else);
    RUN(a_checkpoint_beside_a_reader_is_seen);
    RUN(a_write_that_fails_loses_nothing);
    RUN(a_large_transaction_is_synced_in_slices);
    RUN(a_small_one_is_not);
    RUN(a_checkpoint_syncs_both_files);
    RUN(the_first_checkpoint_writes_the_wal_again);
    RUN(a_checkpoint_whose_sync_fails_has_failed);
    RUN(a_sync_that_fails_fails_the_transaction);
    return check_done("sync_slicing_vfs");
}
