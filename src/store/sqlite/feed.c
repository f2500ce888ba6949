/* An eponymous, read-only virtual table: see feed.h. Nothing of the array is copied, because it may
 * be too large for one statement's memory: SQLite builds its record from the values in place. */
#include "store/sqlite/feed.h"

#include "base/alloc.h"

#include <stdlib.h>

struct feed_table {
    sqlite3_vtab base; /* first, as SQLite requires */
    const struct feed *feed;
};

struct feed_cursor {
    sqlite3_vtab_cursor base; /* first, as SQLite requires */
    const struct feed *feed;
    size_t row;
};

static int feed_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                        sqlite3_vtab **ret_table, char **ret_why)
{
    (void)argc;
    (void)argv;
    (void)ret_why;
    int code = sqlite3_declare_vtab(
        db, "CREATE TABLE feed(c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12,c13,c14,c15,c16,c17,c18,"
            "c19,c20,c21,c22,c23,c24,c25,c26,c27,c28,c29,c30,c31,c32)");
    if (code != SQLITE_OK)
        return code;
    struct feed_table *table = xcalloc(1, sizeof *table);
    table->feed = context;
    *ret_table = &table->base;
    return SQLITE_OK;
}

static int feed_disconnect(sqlite3_vtab *table)
{
    free(table);
    return SQLITE_OK;
}

static int feed_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = 1;
    return SQLITE_OK;
}

static int feed_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
    struct feed_cursor *cursor = xcalloc(1, sizeof *cursor);
    cursor->feed = ((struct feed_table *)table)->feed;
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static int feed_close(sqlite3_vtab_cursor *cursor)
{
    free(cursor);
    return SQLITE_OK;
}

static int feed_filter(sqlite3_vtab_cursor *cursor, int index, const char *name, int argc,
                       sqlite3_value **argv)
{
    (void)index;
    (void)name;
    (void)argc;
    (void)argv;
    ((struct feed_cursor *)cursor)->row = 0;
    return SQLITE_OK;
}

static int feed_next(sqlite3_vtab_cursor *cursor)
{
    ((struct feed_cursor *)cursor)->row++;
    return SQLITE_OK;
}

static int feed_eof(sqlite3_vtab_cursor *cursor)
{
    const struct feed_cursor *c = (const struct feed_cursor *)cursor;
    return c->row >= c->feed->count;
}

static int feed_value(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
    const struct feed_cursor *c = (const struct feed_cursor *)cursor;
    c->feed->column(c->feed->context, c->row, column, to);
    return SQLITE_OK;
}

static int feed_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
    *ret_rowid = (sqlite3_int64)((const struct feed_cursor *)cursor)->row;
    return SQLITE_OK;
}

static const sqlite3_module feed_module = {
    .xConnect = feed_connect, /* no xCreate: the table exists without CREATE */
    .xBestIndex = feed_best_index,
    .xDisconnect = feed_disconnect,
    .xOpen = feed_open,
    .xClose = feed_close,
    .xFilter = feed_filter,
    .xNext = feed_next,
    .xEof = feed_eof,
    .xColumn = feed_value,
    .xRowid = feed_rowid,
};

void feed_register(struct sql *q, struct feed *feed)
{
    *feed = (struct feed){0};
    ASSERT(sqlite3_create_module_v2(q->db, "feed", &feed_module, feed, NULL) == SQLITE_OK);
}

void feed_set(struct feed *feed, size_t count, feed_column column, const void *context)
{
    *feed = (struct feed){.context = context, .column = column, .count = count};
}

void feed_run(struct sql *q, sqlite3_stmt *s, struct feed *feed, size_t count, feed_column column,
              const void *context)
{
    if (count == 0)
        return;
    feed_set(feed, count, column, context);
    sql_run(q, s);
    feed_set(feed, 0, NULL, NULL);
}

void feed_str(sqlite3_context *to, struct str text)
{
    if (text.p)
        sqlite3_result_text(to, text.p, (int)text.n, SQLITE_STATIC);
}

void feed_blob(sqlite3_context *to, struct str bytes)
{
    if (bytes.p)
        sqlite3_result_blob(to, bytes.p, (int)bytes.n, SQLITE_STATIC);
}
