/* A step of apply_memtable: the books. */
#pragma once

#include "store/books.h"
#include "store/sqlite/sql.h"

struct apply;

void apply_books(struct apply *a); /* after all steps that move callbacks */
sqlite3_stmt *books_prepare(struct sql *q);
/* Adds the sums to their row, with a statement of books_prepare. */
void books_add_sums(struct sql *q, sqlite3_stmt *s, const struct book_key *key, int state,
                    const struct statement_sums *sums);
