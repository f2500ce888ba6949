/* The oracle's books: the ledger is kept as things move; a check looks at every entry. */
#include "memory_store/memory_store.h"

#include "domain/clock.h"

void memory_moved(struct memory_store *m, const struct entry *e, enum callback_state from)
{
    struct book_key key = book_key_of(&e->event);
    books_move(&m->ledger, &key, e->event.reward_micros, e->event.revenue_micros, from,
               e->life.state);
}

/* The first (account, day) behind the position that has any event or any entry in the ledger. */
struct found_day {
    bool found;
    uint32_t account_no;
    int32_t day;
};

static void offer_day(struct found_day *best, const struct books_check *c, uint32_t account_no,
                      int32_t day)
{
    bool behind =
        account_no > c->last_account_no || (account_no == c->last_account_no && day > c->last_day);
    if (!behind || day < c->from_day)
        return;
    if (best->found &&
        (best->account_no < account_no || (best->account_no == account_no && best->day <= day)))
        return;
    *best = (struct found_day){true, account_no, day};
}

static struct found_day next_day(const struct memory_store *m, const struct books_check *c)
{
    struct found_day best = {0};
    for (size_t i = 0; i < m->count; i++)
        offer_day(&best, c, m->entries[i]->event.account_no,
                  clock_day(m->entries[i]->event.occurred_ms));
    for (size_t i = 0; i < m->ledger.count; i++)
        offer_day(&best, c, m->ledger.items[i].key.account_no, m->ledger.items[i].key.day);
    return best;
}

/* The oracle has no report counters: what a report says is what it adds up when asked, as here. */
static void check_day(const struct memory_store *m, const struct found_day *at,
                      struct books_check *c)
{
    struct books_day d = {0};
    books_day_begin(&d, at->account_no, at->day);
    for (size_t i = 0; i < m->ledger.count; i++) {
        const struct book *book = &m->ledger.items[i];
        if (book->key.account_no == at->account_no && book->key.day == at->day)
            *books_at(&d.ledger, &book->key) = *book;
    }
    for (size_t i = 0; i < m->count; i++) {
        const struct event *e = &m->entries[i]->event;
        if (e->account_no != at->account_no || clock_day(e->occurred_ms) != at->day)
            continue;
        books_day_event(&d, e, m->entries[i]->life.state);
        books_day_earnings(&d, e->client_no, e->is_test ? 0 : e->revenue_micros,
                           e->is_test ? e->revenue_micros : 0);
    }
    books_day_end(&d, c);
    books_day_free(&d);
}

void memory_check_books(struct store *s, struct books_check *check)
{
    struct memory_store *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    for (;;) {
        struct found_day at = next_day(m, check);
        if (!at.found)
            break;
        check->more = check->callbacks >= check->callbacks_most || check->days >= BOOKS_DAYS_MOST;
        if (check->more)
            break;
        check_day(m, &at, check);
    }
    pthread_mutex_unlock(&m->lock);
    check->status = STORE_OK;
    executor_post(check->reply_to, &check->done);
}

void memory_lane_waiting(struct store *s, struct lane_waiting *w)
{
    struct memory_store *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->count; i++) {
        const struct entry *e = m->entries[i];
        enum lane_kind kind = e->event.lane;
        if (e->event.account_no != w->account_no || e->event.app_no != w->app_no ||
            e->life.state != CALLBACK_PENDING)
            continue;
        if (w->count[kind]++ == 0) /* they come by number, and that is the order of acceptance */
            w->oldest_accepted_ms[kind] = e->event.accepted_ms;
    }
    pthread_mutex_unlock(&m->lock);
    w->status = STORE_OK;
    executor_post(w->reply_to, &w->done);
}
