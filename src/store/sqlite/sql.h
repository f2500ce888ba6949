/* The only interface to SQLite: a connection with a sticky failure. After the first failure every
 * call does nothing and returns "no row", so that a sequence of statements is checked once, at its
 * end. One thread at a time uses a connection. */
#pragma once

#include "base/check.h"
#include "base/str.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct sql {
    sqlite3 *db;
    int code;         /* SQLITE_OK, or the first failure */
    char *why;        /* its sentence, owned by the connection */
    bool wal_settled; /* checkpoint.c */
};

/* `vfs` NULL: sync_slicing_vfs. False: *ret_why is a malloc'ed sentence. */
MUST_CHECK bool sql_open(struct sql *q, const char *path, const char *vfs, bool write,
                         char **ret_why);
void sql_close(struct sql *q); /* finalizes its statements too */

static inline bool sql_failed(const struct sql *q)
{
    return q->code != SQLITE_OK;
}

/* The size of the connection's page cache, and releasing its unused part: the file system caches
 * the same pages. */
int64_t sql_cache_bytes(struct sql *q);
void sql_release_cache(struct sql *q);

/* True if the same call may succeed later: no room on the disk, or a lock of another process. */
static inline bool sql_is_passing(int code)
{
    code &= 0xff; /* without the extended part */
    return code == SQLITE_FULL || code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

/* Forgets a failure that may pass and rolls back. */
void sql_recover(struct sql *q);

/* Fails the connection with a code of another SQLite call. */
void sql_fail(struct sql *q, int code, const char *doing);

/* Fails the connection as SQLITE_CORRUPT: the data read is impossible. */
void sql_damaged(struct sql *q, const char *what);

/* Forgets a failure that does not affect the transaction. */
void sql_forget(struct sql *q);

void sql_exec(struct sql *q, const char *text);
void sql_exec_f(struct sql *q, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* NULL after a failure, which every other function accepts. Valid until sql_close. */
sqlite3_stmt *sql_prepare(struct sql *q, const char *text);
sqlite3_stmt *sql_prepare_f(struct sql *q, const char *fmt, ...) PRINTF_LIKE(2, 3);
void sql_finalize(sqlite3_stmt *s);

/* Steps: true when there is a row. At the end and on failure the statement is reset. */
bool sql_row(struct sql *q, sqlite3_stmt *s);
/* Runs a statement without rows to its end. */
void sql_run(struct sql *q, sqlite3_stmt *s);
void sql_reset(sqlite3_stmt *s);

/* Texts are not copied: they must stay valid until the statement is reset. */
void sql_bind_int(sqlite3_stmt *s, int at, int64_t value);
void sql_bind_str(sqlite3_stmt *s, int at, struct str text); /* absent: NULL */
void sql_bind_blob(sqlite3_stmt *s, int at, struct str bytes);
struct str sql_str(sqlite3_stmt *s, int column); /* valid until the next step */
int64_t sql_int(sqlite3_stmt *s, int column);

/* PRAGMA journal_mode: fails the connection if another mode stays. */
void sql_set_journal_mode(struct sql *q, const char *mode);

/* The first column of the first row, or `otherwise`. */
int64_t sql_get_int(struct sql *q, const char *text, int64_t otherwise);
