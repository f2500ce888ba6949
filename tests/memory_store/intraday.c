/* How a day went: every event is looked at, and for each start every earlier one of its day. */
#include "memory_store/memory_store.h"

#include "domain/clock.h"

static bool is_of_day(const struct intraday_query *q, const struct event *e)
{
    return e->account_no == q->account_no && clock_day(e->occurred_ms) == q->day && !e->is_test;
}

static bool is_counted(const struct intraday_query *q, const struct event *e)
{
    return is_of_day(q, e) && intraday_slot(e) >= 0;
}

/* Did the same panelist start at the same client before: earlier that day, or then and listed
 * first? */
static bool started_before(const struct memory_store *m, const struct intraday_query *q, size_t at)
{
    const struct event *e = &m->entries[at]->event;
    for (size_t i = 0; i < m->count; i++) {
        const struct event *other = &m->entries[i]->event;
        if (other->type != EVENT_SURVEY_STARTED || !is_counted(q, other) ||
            other->client_no != e->client_no || !str_eq(other->panelist_id, e->panelist_id))
            continue;
        int before = intraday_slot(other) - intraday_slot(e);
        if (before < 0 || (before == 0 && i < at))
            return true;
    }
    return false;
}

void memory_intraday(struct store *s, struct intraday_query *q)
{
    struct memory_store *m = memory_of(s);
    q->complete = true;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->count; i++) {
        const struct event *e = &m->entries[i]->event;
        if (!is_of_day(q, e))
            continue;
        if (!is_counted(q, e)) {
            q->complete = false;
            continue;
        }
        struct intraday_slot *slot = &q->slots[intraday_slot(e)];
        slot->earnings_micros += e->revenue_micros;
        slot->conversions += e->reward_micros > 0 && e->revenue_micros > 0;
        if (e->type == EVENT_SURVEY_STARTED) {
            slot->survey_starts++;
            slot->active_panelists += !started_before(m, q, i);
        }
    }
    pthread_mutex_unlock(&m->lock);
    q->status = STORE_OK;
    executor_post(q->reply_to, &q->done);
}
