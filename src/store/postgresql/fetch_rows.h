/* Reads event rows by (account, number), with locks, from any partition. */
#pragma once

#include "store/postgresql/pg_row.h"

struct postgresql_store;

struct fetch_key {
    uint32_t account_no;
    uint64_t event_no;
    int32_t period; /* FETCH_PERIOD_UNKNOWN: it is looked up */
};
#define FETCH_PERIOD_UNKNOWN INT32_MIN

struct fetched {
    struct pg_row *rows; /* in the arena, with their texts, ordered by (account, number) */
    size_t count;
};

/* How rows are locked until the end of the transaction, so that their callbacks stay as they are.
 */
enum fetch_lock {
    FETCH_UNLOCKED,
    FETCH_SHARED,
    FETCH_FOR_UPDATE,
};

/* SQL: the period that an account's event is in; the arguments are SQL, too. NULL: no such event.
 */
#define PERIOD_OF_EVENT(account_no, event_no)                                                      \
    "(SELECT p.period FROM account_period p WHERE p.account_no=" account_no                        \
    " AND p.first_event_no<=" event_no " ORDER BY p.first_event_no DESC LIMIT 1)"

/* Finds an event by its EventId, inside a transaction. *ret is set only if it is found. */
MUST_CHECK enum pg_fate pg_find_key(struct postgresql_store *s, struct pg *pg, uint32_t account_no,
                                    struct str event_id, struct fetch_key *ret, bool *ret_found);

/* Fetches the rows of these keys, in some trips inside a transaction. The keys may be in any order
 * and repeat; unknown ones are left out. with_body: with the body, as a callback that is handed
 * over needs it. */
MUST_CHECK enum pg_fate fetch_rows(struct pg *pg, struct fetch_key *keys, size_t count,
                                   enum fetch_lock lock, bool with_body, struct arena *arena,
                                   struct fetched *ret);
void fetched_sort(struct fetched *f);
struct pg_row *fetched_find(const struct fetched *f, uint32_t account_no, uint64_t event_no);
