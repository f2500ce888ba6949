/* The arithmetic of the ledger and the check of a day, for all stores alike. */
#include "store/books.h"

#include "base/alloc.h"
#include "domain/clock.h"

#include <stdlib.h>
#include <string.h>

/* --- books by key ------------------------------------------------------------------------------
 */

static bool same_key(const void *x, const void *y)
{
    const struct book_key *a = x, *b = y;
    return a->account_no == b->account_no && a->app_no == b->app_no && a->day == b->day &&
           a->lane == b->lane && a->is_test == b->is_test;
}

static uint64_t hash_of(const void *book_key)
{
    const struct book_key *key = book_key;
    const uint32_t parts[] = {key->account_no, key->app_no, (uint32_t)key->day,
                              (uint32_t)key->lane * 2 + key->is_test};
    return hash_fast(parts, sizeof parts);
}

static const struct key_table_type table_of_books = {sizeof(struct book), hash_of, same_key};

struct book *books_at(struct books *books, const struct book_key *key)
{
    bool is_new;
    size_t at = key_table_add(&books->table, &table_of_books, books->items, key, &is_new);
    if (is_new) {
        books->items =
            xgrow(books->items, &books->capacity, books->count + 1, sizeof *books->items);
        books->items[books->count++] = (struct book){.key = *key};
    }
    return &books->items[at];
}

static const struct book *books_find(const struct books *books, const struct book_key *key)
{
    size_t at = key_table_find(&books->table, &table_of_books, books->items, key);
    return at == SIZE_MAX ? NULL : &books->items[at];
}

void books_clear(struct books *books)
{
    if (books->capacity > KEY_TABLE_KEPT) {
        books_free(books);
        return;
    }
    books->count = 0;
    key_table_clear(&books->table);
}

void books_free(struct books *books)
{
    free(books->items);
    key_table_free(&books->table);
    *books = (struct books){0};
}

static int by_key(const void *x, const void *y)
{
    const struct book_key *a = &((const struct book *)x)->key, *b = &((const struct book *)y)->key;
    if (a->account_no != b->account_no)
        return a->account_no < b->account_no ? -1 : 1;
    if (a->day != b->day)
        return a->day < b->day ? -1 : 1;
    if (a->app_no != b->app_no)
        return a->app_no < b->app_no ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return (int)a->is_test - (int)b->is_test;
}

void books_sort(struct books *books)
{
    if (books->count > 1)
        qsort(books->items, books->count, sizeof *books->items, by_key);
}

/* --- entries -----------------------------------------------------------------------------------
 */

struct book_key book_key_of(const struct event *e)
{
    return (struct book_key){.account_no = e->account_no,
                             .app_no = e->app_no,
                             .day = clock_day(e->occurred_ms),
                             .lane = e->lane,
                             .is_test = e->is_test};
}

void book_add(struct statement_sums *sums, int64_t count, __int128 reward_micros,
              __int128 revenue_micros)
{
    sums->count += count;
    sums->reward_micros += reward_micros;
    sums->revenue_micros += revenue_micros;
}

void books_owe(struct books *books, const struct event *e, enum callback_state state)
{
    if (e->lane == LANE_NONE)
        return;
    struct book_key key = book_key_of(e);
    struct book *book = books_at(books, &key);
    book_add(&book->sums[BOOK_OWED], 1, e->reward_micros, e->revenue_micros);
    book_add(&book->sums[state], 1, e->reward_micros, e->revenue_micros);
}

void books_move(struct books *books, const struct book_key *key, int64_t reward_micros,
                int64_t revenue_micros, enum callback_state from, enum callback_state to)
{
    if (key->lane == LANE_NONE || from == to)
        return;
    struct book *book = books_at(books, key);
    book_add(&book->sums[from], -1, -(__int128)reward_micros, -(__int128)revenue_micros);
    book_add(&book->sums[to], 1, reward_micros, revenue_micros);
}

/* --- checking one day --------------------------------------------------------------------------
 */

void books_day_begin(struct books_day *d, uint32_t account_no, int32_t day)
{
    d->account_no = account_no;
    d->day = day;
    books_clear(&d->ledger);
    books_clear(&d->events);
    d->client_count = 0;
}

static struct books_client *client_of(struct books_day *d, uint32_t client_no)
{
    for (size_t i = d->client_count; i > 0; i--)
        if (d->clients[i - 1].client_no == client_no)
            return &d->clients[i - 1];
    d->clients = xgrow(d->clients, &d->client_capacity, d->client_count + 1, sizeof *d->clients);
    d->clients[d->client_count] = (struct books_client){.client_no = client_no};
    return &d->clients[d->client_count++];
}

void books_day_event(struct books_day *d, const struct event *e, enum callback_state state)
{
    struct books_client *last = d->client_count ? &d->clients[d->client_count - 1] : NULL;
    if (!last || last->client_no != e->client_no)
        last = client_of(d, e->client_no);
    last->app_no = e->app_no;
    books_owe(&d->events, e, state);
}

void books_day_earnings(struct books_day *d, uint32_t client_no, __int128 live_micros,
                        __int128 test_micros)
{
    struct books_client *client = client_of(d, client_no);
    client->earnings_micros[0] += live_micros;
    client->earnings_micros[1] += test_micros;
}

static bool same_sums(const struct statement_sums *a, const struct statement_sums *b)
{
    return a->count == b->count && a->reward_micros == b->reward_micros &&
           a->revenue_micros == b->revenue_micros;
}

static void differ(struct books_check *check, const struct books_difference *what)
{
    check->difference_total++;
    if (check->difference_count == BOOKS_DIFFERENCES_MOST)
        return;
    size_t capacity = check->difference_count; /* rare, so that the array grows one by one */
    *ARRAY_PUSH(check->differences, check->difference_count, capacity) = *what;
}

static struct books_difference difference_of(const struct book_key *key, enum books_rule rule)
{
    return (struct books_difference){
        .account_no = key->account_no,
        .app_no = key->app_no,
        .day = key->day,
        .lane = key->lane,
        .is_test = key->is_test,
        .rule = rule,
    };
}

static void compare_book(struct books_check *check, const struct book *ledger,
                         const struct book *events)
{
    const struct book_key *key = ledger ? &ledger->key : &events->key;
    static const struct statement_sums none[BOOK_STATES];
    const struct statement_sums *kept = ledger ? ledger->sums : none;
    const struct statement_sums *found = events ? events->sums : none;
    struct statement_sums in_states = {0};
    for (int state = BOOK_OWED + 1; state < BOOK_STATES; state++)
        book_add(&in_states, kept[state].count, kept[state].reward_micros,
                 kept[state].revenue_micros);
    if (!same_sums(&kept[BOOK_OWED], &in_states)) {
        struct books_difference what = difference_of(key, BOOKS_RULE_OWED);
        what.ledger = kept[BOOK_OWED];
        what.found = in_states;
        differ(check, &what);
    }
    for (int state = 0; state < BOOK_STATES; state++) {
        if (same_sums(&kept[state], &found[state]))
            continue;
        struct books_difference what = difference_of(key, BOOKS_RULE_EVENTS);
        what.state = (enum callback_state)state;
        what.ledger = kept[state];
        what.found = found[state];
        differ(check, &what);
    }
}

static void compare_books(const struct books_day *d, struct books_check *check)
{
    for (size_t i = 0; i < d->ledger.count; i++) {
        const struct book *ledger = &d->ledger.items[i];
        compare_book(check, ledger, books_find(&d->events, &ledger->key));
    }
    for (size_t i = 0; i < d->events.count; i++)
        if (!books_find(&d->ledger, &d->events.items[i].key))
            compare_book(check, NULL, &d->events.items[i]);
}

/* Compares revenue by app: the sum owed in the ledger over all lanes, and the sum that the report
 * counters say its clients earned. Both sums are collected in a book of the app without a lane. A
 * client that no event names counts as app 0. */
static void compare_earnings(const struct books_day *d, struct books_check *check)
{
    struct books sums = {0};
    for (size_t i = 0; i < d->ledger.count; i++) {
        struct book_key key = d->ledger.items[i].key;
        key.lane = LANE_NONE;
        books_at(&sums, &key)->sums[0].revenue_micros +=
            d->ledger.items[i].sums[BOOK_OWED].revenue_micros;
    }
    for (size_t i = 0; i < d->client_count; i++) {
        for (int test = 0; test < 2; test++) {
            struct book_key key = {.account_no = d->account_no,
                                   .app_no = d->clients[i].app_no,
                                   .day = d->day,
                                   .is_test = test};
            books_at(&sums, &key)->sums[1].revenue_micros += d->clients[i].earnings_micros[test];
        }
    }
    for (size_t i = 0; i < sums.count; i++) {
        const struct book *app = &sums.items[i];
        if (app->sums[0].revenue_micros == app->sums[1].revenue_micros)
            continue;
        struct books_difference what = difference_of(&app->key, BOOKS_RULE_EARNINGS);
        what.ledger.revenue_micros = app->sums[0].revenue_micros;
        what.found.revenue_micros = app->sums[1].revenue_micros;
        differ(check, &what);
    }
    books_free(&sums);
}

void books_day_end(struct books_day *d, struct books_check *check)
{
    compare_books(d, check);
    compare_earnings(d, check);
    for (size_t i = 0; i < d->events.count; i++)
        check->callbacks += d->events.items[i].sums[BOOK_OWED].count;
    check->days++;
    check->last_account_no = d->account_no;
    check->last_day = d->day;
}

void books_day_free(struct books_day *d)
{
    books_free(&d->ledger);
    books_free(&d->events);
    free(d->clients);
    *d = (struct books_day){0};
}

const char *books_rule_name(enum books_rule rule)
{
    switch (rule) {
    case BOOKS_RULE_OWED: return "owed_is_not_the_sum_of_its_states";
    case BOOKS_RULE_EVENTS: return "ledger_is_not_the_sum_of_its_events";
    case BOOKS_RULE_EARNINGS: return "revenue_owed_is_not_earnings";
    }
    UNREACHABLE();
}
