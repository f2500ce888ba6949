/* Turning a closed store back to what a former version wrote. For one test program, behind
 * sqlite_store.h. */
#pragma once

#include "store/sqlite/run.h"

#include <sqlite3.h>

static inline sqlite3 *open_database(void)
{
    char path[512];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/postbackd.db", directory);
    ASSERT(sqlite3_open(path, &db) == SQLITE_OK);
    return db;
}

static inline void run_sql(const char *text)
{
    sqlite3 *db = open_database();
    char *why = NULL;
    if (!CHECK_EQ_INT(sqlite3_exec(db, text, NULL, NULL, &why), SQLITE_OK))
        fprintf(stderr, "%s\n", why ? why : "");
    sqlite3_free(why);
    sqlite3_close(db);
}

static inline int64_t sql_number(const char *text)
{
    sqlite3 *db = open_database();
    sqlite3_stmt *s = NULL;
    ASSERT(sqlite3_prepare_v2(db, text, -1, &s, NULL) == SQLITE_OK);
    int64_t found = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
    sqlite3_finalize(s);
    sqlite3_close(db);
    return found;
}

static inline void rows_of(sqlite3 *db, const char *from, enum run_kind kind, const char *add)
{
    sqlite3_stmt *read = NULL, *write = NULL;
    ASSERT(sqlite3_prepare_v2(db, from, -1, &read, NULL) == SQLITE_OK);
    ASSERT(sqlite3_prepare_v2(db, add, -1, &write, NULL) == SQLITE_OK);
    while (sqlite3_step(read) == SQLITE_ROW) {
        const char *block = sqlite3_column_blob(read, 0);
        size_t bytes = (size_t)sqlite3_column_bytes(read, 0);
        for (size_t at = 0; at < bytes; at += run_width(kind)) {
            int64_t numbers[RUN_RECORD_BYTES_MOST / 8];
            memcpy(numbers, block + at, run_width(kind));
            for (size_t i = 0; i < run_width(kind) / 8; i++)
                ASSERT(sqlite3_bind_int64(write, (int)i + 1, numbers[i]) == SQLITE_OK);
            ASSERT(sqlite3_step(write) == SQLITE_DONE);
            sqlite3_reset(write);
        }
    }
    sqlite3_finalize(read);
    sqlite3_finalize(write);
}

/* The first segment as it was until version 8: a row for each key and for each panelist's event. */
static inline void keys_to_rows(void)
{
    run_sql("CREATE TABLE key_1(hi INT, lo INT, content_hi INT, content_lo INT, id INT,"
            " PRIMARY KEY(hi, lo)) WITHOUT ROWID;"
            "CREATE TABLE panelist_1(hash INT, id INT, PRIMARY KEY(hash, id)) WITHOUT ROWID;");
    sqlite3 *db = open_database();
    rows_of(db, "SELECT block FROM keys_1", RUN_KEYS, "INSERT INTO key_1 VALUES(?,?,?,?,?)");
    rows_of(db, "SELECT block FROM panelists_1", RUN_PANELISTS,
            "INSERT INTO panelist_1 VALUES(?,?)");
    sqlite3_close(db);
    run_sql("DROP TABLE keys_1; DROP TABLE panelists_1; DELETE FROM run;"
            "UPDATE segment SET has_keys=1");
}

static inline void to_version_8(void)
{
    keys_to_rows();
    run_sql("DROP TABLE waiting; CREATE INDEX event_waiting ON event(accepted_ms) WHERE state=1");
    run_sql("DROP TABLE run; ALTER TABLE segment DROP COLUMN has_keys; PRAGMA user_version=8");
}
