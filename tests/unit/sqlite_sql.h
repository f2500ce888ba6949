/* SQL on the database of a closed store. Of the store of sqlite_store.h. */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

sqlite3 *open_database(void);

void run_sql(const char *text);

int64_t sql_number(const char *text);
