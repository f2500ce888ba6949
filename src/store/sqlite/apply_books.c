/* Updates the books (store/books.h) for the callbacks that the transaction has accepted or moved to
 * another state. apply_rows.c and apply_moves.c add up the sums when they write the rows, so that
 * the books agree with the stored events. */
#include "store/sqlite/apply_books.h"

#include "store/sqlite/apply.h"
#include "store/sqlite/report_row.h"

sqlite3_stmt *books_prepare(struct sql *q)
{
    return sql_prepare(
        q,
        "INSERT INTO book VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11) ON CONFLICT DO UPDATE SET"
        " count=count+?7," MONEY_ADD("reward", "?8", "?9") "," MONEY_ADD("revenue", "?10", "?11"));
}

void books_add_sums(struct sql *q, sqlite3_stmt *s, const struct book_key *key, int state,
                    const struct statement_sums *sums)
{
    sql_bind_int(s, 1, key->account_no);
    sql_bind_int(s, 2, key->day);
    sql_bind_int(s, 3, key->app_no);
    sql_bind_int(s, 4, key->lane);
    sql_bind_int(s, 5, key->is_test);
    sql_bind_int(s, 6, state);
    sql_bind_int(s, 7, sums->count);
    money_bind(s, 8, sums->reward_micros);
    money_bind(s, 10, sums->revenue_micros);
    sql_run(q, s);
}

void apply_books(struct apply *a)
{
    struct books *books = &a->ledger.books;
    books_sort(books);
    for (size_t i = 0; i < books->count; i++) {
        const struct book *book = &books->items[i];
        for (int state = 0; state < BOOK_STATES; state++)
            if (book->sums[state].count != 0 || book->sums[state].reward_micros != 0 ||
                book->sums[state].revenue_micros != 0)
                books_add_sums(&a->sql, a->ledger.add, &book->key, state, &book->sums[state]);
    }
}
