/* Reads that visit many rows: sums of a day, statements, counts, the check of the books. */
#pragma once

#include "store/postgresql/postgresql_store.h"

enum pg_fate pg_read_intraday(struct postgresql_store *s, struct pg *pg, void *intraday_query);
enum pg_fate pg_read_statement(struct postgresql_store *s, struct pg *pg, void *statement_query);
enum pg_fate pg_read_count(struct postgresql_store *s, struct pg *pg, void *callback_count);
enum pg_fate pg_read_books(struct postgresql_store *s, struct pg *pg, void *books_check);
