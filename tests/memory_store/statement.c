/* The oracle's statement, which sorts all that happened on the day and adds it up, and its counts.
 */
#include "memory_store/memory_store.h"

#include "base/alloc.h"
#include "domain/clock.h"
#include "store/statement.h"

#include <stdlib.h>

static int by_app_and_id(const void *a, const void *b)
{
    const struct event *x = &(*(struct entry *const *)a)->event;
    const struct event *y = &(*(struct entry *const *)b)->event;
    if (x->app_no != y->app_no)
        return x->app_no < y->app_no ? -1 : 1;
    return str_cmp(x->event_id, y->event_id);
}

void memory_statement(struct store *s, struct statement_query *query)
{
    struct memory_store *m = memory_of(s);
    struct statement_maker maker;
    pthread_mutex_lock(&m->lock);
    struct entry **found = xmalloc((m->count + 1) * sizeof(struct entry *));
    size_t n = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct event *e = &m->entries[i]->event;
        if (e->account_no == query->account_no && clock_day(e->occurred_ms) == query->day)
            found[n++] = m->entries[i];
    }
    qsort(found, n, sizeof(struct entry *), by_app_and_id);
    statement_begin(&maker, query);
    for (size_t i = 0; i < n; i++)
        statement_add(&maker, &found[i]->event, found[i]->life.state);
    statement_end(&maker);
    free(found);
    pthread_mutex_unlock(&m->lock);
    query->status = STORE_OK;
    executor_post(query->reply_to, &query->done);
}

static bool is_counted(const struct callback_count *c, const struct entry *entry)
{
    const struct event *e = &entry->event;
    return e->account_no == c->account_no && e->lane != LANE_NONE &&
           (!c->app_no || c->app_no == e->app_no) && (c->states & 1u << entry->life.state) &&
           e->accepted_ms >= c->accepted_from_ms && e->accepted_ms < c->accepted_to_ms;
}

static int by_app(const void *a, const void *b)
{
    const struct callback_count_row *x = a, *y = b;
    return (x->app_no > y->app_no) - (x->app_no < y->app_no);
}

void memory_count_callbacks(struct store *s, struct callback_count *c)
{
    struct memory_store *m = memory_of(s);
    size_t capacity = 0;
    c->apps = NULL;
    c->count = 0;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->count; i++) {
        if (!is_counted(c, m->entries[i]))
            continue;
        size_t at = 0;
        while (at < c->count && c->apps[at].app_no != m->entries[i]->event.app_no)
            at++;
        if (at == c->count) {
            *ARRAY_PUSH(c->apps, c->count, capacity) =
                (struct callback_count_row){m->entries[i]->event.app_no, 0};
        }
        c->apps[at].count++;
    }
    pthread_mutex_unlock(&m->lock);
    if (c->count)
        qsort(c->apps, c->count, sizeof *c->apps, by_app);
    c->status = STORE_OK;
    executor_post(c->reply_to, &c->done);
}
