/* SQLite connections with a sticky failure; see sql.h. */
#include "store/sqlite/sql.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "store/sqlite/page_sum.h"
#include "store/sqlite/sync_slicing_vfs.h"

#include <pthread.h>
#include <stdlib.h>

#define BUSY_TIMEOUT_MS 30000

static void fail_with_last_error(struct sql *q, const char *doing)
{
    if (q->code != SQLITE_OK)
        return;
    q->code = sqlite3_extended_errcode(q->db);
    if (q->code == SQLITE_OK)
        q->code = SQLITE_ERROR;
    const char *file = sqlite3_db_filename(q->db, NULL);
    if (q->code == SQLITE_NOTADB && file)
        q->why = xprintf("%s is not an SQLite database: put back the store's own", file);
    else
        q->why = xprintf("SQLite: %s (%d) at: %.200s", sqlite3_errmsg(q->db), q->code, doing);
}

/* Before SQLite is used: its memory statistics would take a process-wide lock. */
static void configure_once(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

bool sql_open(struct sql *q, const char *path, const char *vfs, bool write, char **ret_why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ASSERT(pthread_once(&once, configure_once) == 0);
    *q = (struct sql){0};
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    flags |= write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
    int code = sqlite3_open_v2(path, &q->db, flags, vfs ? vfs : sync_slicing_vfs());
    if (code == SQLITE_OK) {
        sqlite3_busy_timeout(q->db, BUSY_TIMEOUT_MS);
        /* closing must not checkpoint, least of all after a failed sync: checkpoint.c does */
        code = sqlite3_db_config(q->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        ASSERT(code == SQLITE_OK);
        int reserved = PAGE_SUM_BYTES; /* for a database that is yet to be made */
        if (write)
            (void)sqlite3_file_control(q->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
        return true;
    }
    *ret_why = xprintf("%s cannot be opened: %s", path,
                       q->db ? sqlite3_errmsg(q->db) : sqlite3_errstr(code));
    sqlite3_close(q->db);
    q->db = NULL;
    return false;
}

void sql_close(struct sql *q)
{
    if (!q->db)
        return;
    for (sqlite3_stmt *s; (s = sqlite3_next_stmt(q->db, NULL)) != NULL;)
        sqlite3_finalize(s);
    ASSERT(sqlite3_close(q->db) == SQLITE_OK);
    free(q->why);
    *q = (struct sql){0};
}

int64_t sql_cache_bytes(struct sql *q)
{
    int now = 0, highest = 0;
    (void)sqlite3_db_status(q->db, SQLITE_DBSTATUS_CACHE_USED, &now, &highest, 0);
    return now;
}

void sql_release_cache(struct sql *q)
{
    (void)sqlite3_db_release_memory(q->db);
}

void sql_recover(struct sql *q)
{
    for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(q->db, s)) != NULL;)
        sqlite3_reset(s);
    if (!sqlite3_get_autocommit(q->db))
        sqlite3_exec(q->db, "ROLLBACK", NULL, NULL, NULL);
    sql_forget(q);
}

void sql_fail(struct sql *q, int code, const char *doing)
{
    if (q->code != SQLITE_OK)
        return;
    q->code = code;
    q->why = xprintf("SQLite: %s (%d) at: %s", sqlite3_errstr(code), code, doing);
}

void sql_damaged(struct sql *q, const char *what)
{
    if (q->code != SQLITE_OK)
        return;
    q->code = SQLITE_CORRUPT;
    q->why = xstrdup(what);
}

void sql_forget(struct sql *q)
{
    q->code = SQLITE_OK;
    free(q->why);
    q->why = NULL;
}

void sql_exec(struct sql *q, const char *text)
{
    if (q->code == SQLITE_OK && sqlite3_exec(q->db, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_with_last_error(q, text);
}

void sql_exec_f(struct sql *q, const char *fmt, ...)
{
    struct buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    sql_exec(q, buf_c(&b));
    buf_free(&b);
}

sqlite3_stmt *sql_prepare(struct sql *q, const char *text)
{
    sqlite3_stmt *s = NULL;
    if (q->code == SQLITE_OK &&
        sqlite3_prepare_v3(q->db, text, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL) != SQLITE_OK)
        fail_with_last_error(q, text);
    return s;
}

sqlite3_stmt *sql_prepare_f(struct sql *q, const char *fmt, ...)
{
    struct buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    sqlite3_stmt *s = sql_prepare(q, buf_c(&b));
    buf_free(&b);
    return s;
}

void sql_finalize(sqlite3_stmt *s)
{
    sqlite3_finalize(s);
}

bool sql_row(struct sql *q, sqlite3_stmt *s)
{
    if (q->code != SQLITE_OK || !s)
        return false;
    int code = sqlite3_step(s);
    if (code == SQLITE_ROW)
        return true;
    if (code != SQLITE_DONE)
        fail_with_last_error(q, sqlite3_sql(s));
    sqlite3_reset(s);
    return false;
}

void sql_run(struct sql *q, sqlite3_stmt *s)
{
    if (q->code != SQLITE_OK || !s)
        return;
    bool row = sql_row(q, s);
    ASSERT(!row);
}

void sql_reset(sqlite3_stmt *s)
{
    if (s)
        sqlite3_reset(s);
}

void sql_bind_int(sqlite3_stmt *s, int at, int64_t value)
{
    if (s)
        ASSERT(sqlite3_bind_int64(s, at, value) == SQLITE_OK);
}

void sql_bind_str(sqlite3_stmt *s, int at, struct str text)
{
    if (s)
        ASSERT(sqlite3_bind_text(s, at, text.p, (int)text.n, SQLITE_STATIC) == SQLITE_OK);
}

void sql_bind_blob(sqlite3_stmt *s, int at, struct str bytes)
{
    if (s)
        ASSERT(sqlite3_bind_blob(s, at, bytes.p, (int)bytes.n, SQLITE_STATIC) == SQLITE_OK);
}

struct str sql_str(sqlite3_stmt *s, int column)
{
    if (sqlite3_column_type(s, column) == SQLITE_NULL)
        return STR_NONE;
    const char *p = sqlite3_column_blob(s, column);
    int n = sqlite3_column_bytes(s, column);
    return (struct str){p ? p : "", (size_t)n};
}

int64_t sql_int(sqlite3_stmt *s, int column)
{
    return sqlite3_column_int64(s, column);
}

int64_t sql_get_int(struct sql *q, const char *text, int64_t otherwise)
{
    sqlite3_stmt *s = sql_prepare(q, text);
    if (sql_row(q, s)) {
        if (sqlite3_column_type(s, 0) != SQLITE_NULL)
            otherwise = sql_int(s, 0);
        sql_reset(s);
    }
    sql_finalize(s);
    return otherwise;
}

/* The change is committed after the row with the answer, so the statement must be stepped to its
 * end to see a failure. */
void sql_set_journal_mode(struct sql *q, const char *mode)
{
    sqlite3_stmt *s = sql_prepare_f(q, "PRAGMA journal_mode=%s", mode);
    bool is_set = sql_row(q, s) && str_is(sql_str(s, 0), mode);
    while (sql_row(q, s))
        ;
    sql_finalize(s);
    if (!is_set)
        sql_fail(
            q, SQLITE_CANTOPEN,
            "PRAGMA journal_mode: another mode stays; the store needs a local file system, and "
            "its files writable");
}
