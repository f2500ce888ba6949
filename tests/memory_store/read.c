/* The oracle's answers: each looks at every entry and keeps what the question names. */
#include "memory_store/memory_store.h"

#include "base/alloc.h"
#include "domain/clock.h"

#include <stdlib.h>

/* --- due callbacks -------------------------------------------------------------------------- */

void memory_page(struct store *s, struct due_page *page)
{
    struct memory_store *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    page->items = xmalloc(page->limit * sizeof(struct callback *));
    page->count = 0;
    page->more = false;
    page->last = page->after;
    page->next_due_ms = INT64_MAX;
    bool from_start = scan_cursor_is_start(page->after);
    size_t at = memory_waiting_from(m, page->lane, from_start ? INT64_MIN : page->after.due_ms,
                                    from_start ? 0 : page->after.event_no + 1);
    for (; at < m->waiting_count && m->waiting[at].lane == page->lane; at++) {
        const struct waiting *w = &m->waiting[at];
        page->more = w->due_ms <= page->due_until_ms && page->count == page->limit;
        if (w->due_ms > page->due_until_ms || page->more) {
            page->next_due_ms = w->due_ms;
            break;
        }
        page->items[page->count++] = memory_callback(w->entry);
        page->last = (struct scan_cursor){w->due_ms, w->event_no};
    }
    pthread_mutex_unlock(&m->lock);
    page->status = STORE_OK;
    executor_post(page->reply_to, &page->done);
}

size_t memory_backlog(struct store *s, struct lane_backlog **ret_lanes)
{
    struct memory_store *m = memory_of(s);
    struct lane_backlog *lanes = xmalloc((m->waiting_count + 1) * sizeof *lanes);
    size_t n = 0;
    for (size_t i = 0; i < m->waiting_count; i++) {
        const struct waiting *w = &m->waiting[i];
        if (n == 0 || lanes[n - 1].lane != w->lane)
            lanes[n++] = (struct lane_backlog){w->lane, w->due_ms};
    }
    *ret_lanes = lanes;
    return n;
}

/* --- reports -------------------------------------------------------------------------------- */

static bool is_asked_for(const struct report_query *q, const struct event *e)
{
    int32_t day = clock_day(e->occurred_ms);
    if (e->account_no != q->account_no || day < q->first_day || day > q->last_day)
        return false;
    if (e->is_test && !q->include_test)
        return false;
    if (day < q->after_day || (day == q->after_day && e->client_no <= q->after_client_no))
        return false;
    if (!q->client_nos)
        return true;
    for (size_t i = 0; i < q->client_count; i++)
        if (q->client_nos[i] == e->client_no)
            return true;
    return false;
}

/* An earlier start of the same panelist on the same day at the same client? */
static bool was_active(const struct memory_store *m, const struct report_query *q, size_t upto)
{
    const struct event *e = &m->entries[upto]->event;
    for (size_t i = 0; i < upto; i++) {
        const struct event *other = &m->entries[i]->event;
        if (other->type == EVENT_SURVEY_STARTED && is_asked_for(q, other) &&
            other->client_no == e->client_no &&
            clock_day(other->occurred_ms) == clock_day(e->occurred_ms) &&
            str_eq(other->panelist_id, e->panelist_id))
            return true;
    }
    return false;
}

static int compare_rows(const void *a, const void *b)
{
    const struct report_row *x = a, *y = b;
    if (x->day != y->day)
        return x->day < y->day ? -1 : 1;
    return x->client_no < y->client_no ? -1 : x->client_no > y->client_no;
}

static struct report_row *row_of(struct report_query *q, size_t *capacity, const struct event *e)
{
    int32_t day = clock_day(e->occurred_ms);
    for (size_t i = 0; i < q->count; i++)
        if (q->rows[i].day == day && q->rows[i].client_no == e->client_no)
            return &q->rows[i];
    q->rows = xgrow(q->rows, capacity, q->count + 1, sizeof *q->rows);
    struct report_row *row = &q->rows[q->count++];
    *row = (struct report_row){.day = day, .client_no = e->client_no};
    return row;
}

void memory_report(struct store *s, struct report_query *q)
{
    struct memory_store *m = memory_of(s);
    size_t capacity = 0;
    q->rows = NULL;
    q->count = 0;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->count; i++) {
        const struct event *e = &m->entries[i]->event;
        if (!is_asked_for(q, e))
            continue;
        struct report_row *row = row_of(q, &capacity, e);
        int product = event_type_is_offer(e->type) ? 1 : 0;
        row->earnings_micros[product] += e->revenue_micros;
        row->survey_outcomes += event_is_survey_outcome(e->type);
        row->conversions[product] += e->reward_micros > 0 && e->revenue_micros > 0;
        if (e->type == EVENT_SURVEY_STARTED) {
            row->survey_starts++;
            row->active_panelists += !was_active(m, q, i);
        }
    }
    pthread_mutex_unlock(&m->lock);
    if (q->count)
        qsort(q->rows, q->count, sizeof *q->rows, compare_rows);
    q->more = q->count > q->limit;
    if (q->more)
        q->count = q->limit;
    q->status = STORE_OK;
    executor_post(q->reply_to, &q->done);
}

/* --- the log of callbacks ------------------------------------------------------------------- */

static struct callback_row make_row(struct arena *a, const struct entry *e)
{
    struct callback_row row = callback_row_of(&e->event, &e->life);
    event_keep(&row.event, a);
    return row;
}

static void copy_log(struct arena *a, const struct entry *e, struct callback_row *row)
{
    row->log_count = e->log_count;
    row->log = arena_alloc(a, e->log_count * sizeof *row->log);
    for (size_t i = 0; i < e->log_count; i++) {
        row->log[i] = e->log[i];
        attempt_keep(&row->log[i], a);
    }
}

void memory_get_callback(struct store *s, struct callback_get *get)
{
    struct memory_store *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    const struct entry *e = memory_find(m, get->account_no, get->event_id);
    get->status = STORE_NOT_FOUND;
    if (e && e->event.lane != LANE_NONE) {
        get->status = STORE_OK;
        get->row = make_row(&get->arena, e);
        copy_log(&get->arena, e, &get->row);
    }
    pthread_mutex_unlock(&m->lock);
    executor_post(get->reply_to, &get->done);
}

static bool is_listed(const struct callback_list *l, const struct entry *entry)
{
    const struct event *e = &entry->event;
    if (e->account_no != l->account_no || (e->lane == LANE_NONE && !l->all_events))
        return false;
    if (l->after_event_no && (l->order == LIST_NEWEST_FIRST ? e->event_no >= l->after_event_no
                                                            : e->event_no <= l->after_event_no))
        return false;
    return (!l->event_id.p || str_eq(l->event_id, e->event_id)) &&
           (!l->panelist_id.p || str_eq(l->panelist_id, e->panelist_id)) &&
           (!l->type || l->type == e->type) &&
           (!l->state || l->state == callback_list_state(l, e->event_no, entry->life.state)) &&
           !(l->undelivered && entry->life.state == CALLBACK_DELIVERED) &&
           (!l->app_no || l->app_no == e->app_no) &&
           (!l->of_day || l->day == clock_day(e->occurred_ms)) &&
           (!l->has_from || e->accepted_ms >= l->accepted_from_ms) &&
           (!l->has_to || e->accepted_ms < l->accepted_to_ms);
}

void memory_list_callbacks(struct store *s, struct callback_list *l)
{
    struct memory_store *m = memory_of(s);
    l->rows = arena_alloc(&l->arena, l->limit * sizeof *l->rows);
    l->count = 0;
    l->more = false;
    int64_t place_ms = 0;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->count; i++) {
        bool newest_first = l->order == LIST_NEWEST_FIRST;
        const struct entry *e = m->entries[newest_first ? m->count - 1 - i : i];
        if (e->event.account_no == l->account_no && e->event.event_no == l->after_event_no)
            place_ms = e->event.accepted_ms;
        if (!is_listed(l, e))
            continue;
        if (l->count == l->limit) {
            l->more = true;
            break;
        }
        struct callback_row *row = &l->rows[l->count++];
        *row = make_row(&l->arena, e);
        if (l->no_bodies)
            row->event.body = STR_NONE;
        if (callback_list_state(l, e->event.event_no, e->life.state) == CALLBACK_DELIVERING)
            callback_row_set_tried(row);
        if (callback_list_wants_attempts(l, row)) {
            row->log = e->log;
            row->log_count = e->log_count;
            callback_list_keep_log(l, row);
        }
    }
    pthread_mutex_unlock(&m->lock);
    l->status = callback_list_is_foreign(l, place_ms) ? STORE_FOREIGN : STORE_OK;
    executor_post(l->reply_to, &l->done);
}

/* --- objects -------------------------------------------------------------------------------- */

/* The highest that is there below `below`; NULL: none. */
static const struct object *object_below(const struct memory_store *m,
                                         const struct object_list *list, struct str below)
{
    const struct object *best = NULL;
    for (size_t i = 0; i < m->object_count; i++) {
        const struct object *o = &m->objects[i];
        if (o->kind == list->kind && o->document.p && str_cmp(o->id, list->from) >= 0 &&
            str_cmp(o->id, below) < 0 && (!best || str_cmp(o->id, best->id) > 0))
            best = o;
    }
    return best;
}

void memory_list_objects(struct store *s, struct object_list *list)
{
    struct memory_store *m = memory_of(s);
    list->rows = arena_alloc(&list->arena, list->limit * sizeof *list->rows);
    list->count = 0;
    pthread_mutex_lock(&m->lock);
    const struct object *o = object_below(m, list, list->below);
    for (; o && list->count < list->limit; o = object_below(m, list, o->id))
        list->rows[list->count++] = (struct object_row){arena_str(&list->arena, o->id),
                                                        arena_str(&list->arena, o->document)};
    list->more = o != NULL;
    pthread_mutex_unlock(&m->lock);
    list->status = STORE_OK;
    executor_post(list->reply_to, &list->done);
}

/* --- numbers -------------------------------------------------------------------------------- */

void memory_numbers(struct store *s, struct store_numbers *ret)
{
    struct memory_store *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    *ret = (struct store_numbers){
        .events_accepted = (int64_t)m->count,
        .callbacks_delivered = m->delivered,
        .callbacks_dead = m->dead,
        .last_accepted_ms = m->last_accepted_ms,
        .retention_clock_ms = env_wall_ms(m->env),
        .commits = m->commits,
        .accepting = true,
    };
    for (size_t i = 0; i < m->count; i++) {
        const struct entry *e = m->entries[i];
        if (e->life.state != CALLBACK_PENDING)
            continue;
        ret->callbacks_pending++;
        if (ret->oldest_pending_ms == 0 || e->event.accepted_ms < ret->oldest_pending_ms)
            ret->oldest_pending_ms = e->event.accepted_ms;
    }
    pthread_mutex_unlock(&m->lock);
}

/* --- counts of attempts ----------------------------------------------------------------------- */

void memory_delivery_stats(struct store *s, struct delivery_stats_query *query)
{
    struct memory_store *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->count; i++) {
        const struct entry *e = m->entries[i];
        if (e->event.account_no != query->account_no ||
            (query->app_no != 0 && e->event.app_no != query->app_no) ||
            (query->lane != LANE_NONE && e->event.lane != query->lane))
            continue;
        for (size_t k = 0; k < e->log_count; k++) {
            struct delivery_stats *to = delivery_stats_point(query, e->log[k].at_ms);
            if (to)
                delivery_stats_count(to, &e->log[k]);
        }
    }
    pthread_mutex_unlock(&m->lock);
    query->status = STORE_OK;
    executor_post(query->reply_to, &query->done);
}
