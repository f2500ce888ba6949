/* A connection of its own to the database file. */
#include "sqlite_sql.h"

#include "sqlite_store.h"

sqlite3 *open_database(void)
{
    char path[512];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/postbackd.db", directory);
    ASSERT(sqlite3_open(path, &db) == SQLITE_OK);
    return db;
}

void run_sql(const char *text)
{
    sqlite3 *db = open_database();
    char *why = NULL;
    if (!CHECK_EQ_INT(sqlite3_exec(db, text, NULL, NULL, &why), SQLITE_OK))
        fprintf(stderr, "%s\n", why ? why : "");
    sqlite3_free(why);
    sqlite3_close(db);
}

int64_t sql_number(const char *text)
{
    sqlite3 *db = open_database();
    sqlite3_stmt *s = NULL;
    ASSERT(sqlite3_prepare_v2(db, text, -1, &s, NULL) == SQLITE_OK);
    int64_t found = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
    sqlite3_finalize(s);
    sqlite3_close(db);
    return found;
}
