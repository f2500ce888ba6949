/* The oracle's statement: sorts all that happened on the day, then adds it up. */
#include "store/memory/memory.h"

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
        statement_add(&maker, &found[i]->event, found[i]->state);
    statement_end(&maker);
    free(found);
    pthread_mutex_unlock(&m->lock);
    query->status = STORE_OK;
    executor_post(query->reply_to, &query->done);
}
