/* An eponymous, read-only virtual table: see array_vtab.h. The array is not copied, because it may
 * be too large for the memory of one statement: SQLite builds each record from the values where
 * they are. */
#include "store/sqlite/array_vtab.h"

#include "base/alloc.h"

#include <stdlib.h>

struct array_vtab_table {
    sqlite3_vtab base; /* first, as SQLite requires */
    const struct array_vtab *input;
};

struct array_vtab_cursor {
    sqlite3_vtab_cursor base; /* first, as SQLite requires */
    const struct array_vtab *input;
    size_t row;
};

static int vtab_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                        sqlite3_vtab **ret_table, char **ret_why)
{
    (void)argc;
    (void)argv;
    (void)ret_why;
    int code = sqlite3_declare_vtab(
        db, "CREATE TABLE input(c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12,c13,c14,c15,c16,c17,c18,"
            "c19,c20,c21,c22,c23,c24,c25,c26,c27,c28,c29,c30,c31,c32)");
    if (code != SQLITE_OK)
        return code;
    struct array_vtab_table *table = xcalloc(1, sizeof *table);
    table->input = context;
    *ret_table = &table->base;
    return SQLITE_OK;
}

static int vtab_disconnect(sqlite3_vtab *table)
{
    free(table);
    return SQLITE_OK;
}

static int vtab_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = 1;
    return SQLITE_OK;
}

static int vtab_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
    struct array_vtab_cursor *cursor = xcalloc(1, sizeof *cursor);
    cursor->input = ((struct array_vtab_table *)table)->input;
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static int vtab_close(sqlite3_vtab_cursor *cursor)
{
    free(cursor);
    return SQLITE_OK;
}

static int vtab_filter(sqlite3_vtab_cursor *cursor, int index, const char *name, int argc,
                       sqlite3_value **argv)
{
    (void)index;
    (void)name;
    (void)argc;
    (void)argv;
    ((struct array_vtab_cursor *)cursor)->row = 0;
    return SQLITE_OK;
}

static int vtab_next(sqlite3_vtab_cursor *cursor)
{
    ((struct array_vtab_cursor *)cursor)->row++;
    return SQLITE_OK;
}

static int vtab_eof(sqlite3_vtab_cursor *cursor)
{
    const struct array_vtab_cursor *c = (const struct array_vtab_cursor *)cursor;
    return c->row >= c->input->count;
}

static int vtab_value(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
    const struct array_vtab_cursor *c = (const struct array_vtab_cursor *)cursor;
    c->input->column(c->input->context, c->row, column, to);
    return SQLITE_OK;
}

static int vtab_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
    *ret_rowid = (sqlite3_int64)((const struct array_vtab_cursor *)cursor)->row;
    return SQLITE_OK;
}

static const sqlite3_module vtab_module = {
    .xConnect = vtab_connect, /* no xCreate: the table exists without CREATE */
    .xBestIndex = vtab_best_index,
    .xDisconnect = vtab_disconnect,
    .xOpen = vtab_open,
    .xClose = vtab_close,
    .xFilter = vtab_filter,
    .xNext = vtab_next,
    .xEof = vtab_eof,
    .xColumn = vtab_value,
    .xRowid = vtab_rowid,
};

void array_vtab_register(struct sql *q, struct array_vtab *input)
{
    *input = (struct array_vtab){0};
    ASSERT(sqlite3_create_module_v2(q->db, "input", &vtab_module, input, NULL) == SQLITE_OK);
}

void array_vtab_set(struct array_vtab *input, size_t count, array_vtab_column column,
                    const void *context)
{
    *input = (struct array_vtab){.context = context, .column = column, .count = count};
}

void array_vtab_run(struct sql *q, sqlite3_stmt *s, struct array_vtab *input, size_t count,
                    array_vtab_column column, const void *context)
{
    if (count == 0)
        return;
    array_vtab_set(input, count, column, context);
    sql_run(q, s);
    array_vtab_set(input, 0, NULL, NULL);
}

void array_vtab_str(sqlite3_context *to, struct str text)
{
    if (text.p)
        sqlite3_result_text(to, text.p, (int)text.n, SQLITE_STATIC);
}

void array_vtab_blob(sqlite3_context *to, struct str bytes)
{
    if (bytes.p)
        sqlite3_result_blob(to, bytes.p, (int)bytes.n, SQLITE_STATIC);
}
