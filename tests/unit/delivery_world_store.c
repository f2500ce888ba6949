/* The store: rows in a list, jobs that are done later. */
#include "delivery_world_store.h"

bool world_is_shared;

struct leases *world_leases(struct store *s)
{
    return world_is_shared ? &CONTAINER_OF(s, struct world, store)->leases : NULL;
}

struct callback *world_callback(const struct world_row *row)
{
    char id[32], body[128];
    const char *panelist = row->panelist ? row->panelist : "p";
    snprintf(body, sizeof(body),
             "{\"Sig\":\"00000000000000000000000000000000\",\"PanelistId\":\"%s\"}", panelist);
    snprintf(id, sizeof(id), "e-%llu", (unsigned long long)row->event_no);
    struct event e = {
        .account_no = 1,
        .app_no = lane_app_no(row->lane),
        .event_no = row->event_no,
        .type = EVENT_SURVEY_COMPLETED,
        .lane = lane_kind_of(row->lane),
        .accepted_ms = row->life.place.due_ms,
        .occurred_ms = WORLD_START_WALL_MS,
        .event_id = str_of(id),
        .panelist_id = str_of(panelist),
        .body = str_of(body),
    };
    struct callback *c = callback_new(&e, &row->life);
    c->resend_no = row->resend.no;
    return c;
}

void world_hand_over(struct world *w, const struct world_row *row)
{
    struct callback *c = world_callback(row);
    struct owed_sink *sink = delivery_sink(w->delivery);
    sink->owed(sink, &c, 1);
}

void world_owe_resend(struct world *w, struct world_row *row)
{
    life_resend(&row->life, world_wall(&w->loops[0].runtime), NULL);
    world_hand_over(w, row);
}

void world_erase_row(struct world_row *row)
{
    row->is_erased = true;
    life_erase(&row->life);
}

static void world_apply(struct world *w, struct outcome_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct outcome *o = &batch->items[i];
        if (world_is_shared && o->fence != w->fences[leases_shard(o->lane)]) {
            o->refused = true;
            w->outcomes_refused++;
            continue;
        }
        struct world_row *row = world_row(w, lane_app_no(o->lane), o->event_no);
        ASSERT(row);
        if (o->has_attempt) {
            row->oks += o->attempt.class == ATTEMPT_OK;
            if (!row->first_try_wall_ms)
                row->first_try_wall_ms = o->attempt.at_ms;
            row->last_try_wall_ms = o->attempt.at_ms;
            row->last_class = o->attempt.class;
            row->last_header_bytes = o->attempt.response_headers.n;
            ASSERT(o->attempt.number == row->life.attempts + 1);
        }
        struct callback_decision d = outcome_decision(o);
        d.is_erased = row->is_erased;
        life_decide(&row->life, &d);
        if (life_answer_resend(&row->resend, o->resend_no, row->is_erased))
            world_owe_resend(w, row);
    }
    w->records += (int64_t)batch->count;
    batch->status = STORE_OK;
}

static bool world_behind(const struct world_row *a, int64_t due_ms, uint64_t event_no)
{
    return a->life.place.due_ms > due_ms ||
           (a->life.place.due_ms == due_ms && a->event_no > event_no);
}

static int world_compare(const void *a, const void *b)
{
    const struct world_row *x = *(struct world_row *const *)a, *y = *(struct world_row *const *)b;
    if (x->life.place.due_ms != y->life.place.due_ms)
        return x->life.place.due_ms < y->life.place.due_ms ? -1 : 1;
    return x->event_no < y->event_no ? -1 : x->event_no > y->event_no;
}

static void world_read(struct world *w, struct due_page *p)
{
    p->status = w->page_status;
    p->next_due_ms = INT64_MAX;
    if (p->status != STORE_OK)
        return;
    struct world_row **found = xcalloc(w->row_count + 1, sizeof(*found));
    size_t n = 0;
    for (size_t i = 0; i < w->row_count; i++) {
        struct world_row *row = &w->rows[i];
        if (row->lane != p->lane || row->life.wait != WAIT_DUE)
            continue;
        if (row->life.place.due_ms > p->due_until_ms) {
            if (row->life.place.due_ms < p->next_due_ms)
                p->next_due_ms = row->life.place.due_ms;
        } else if (world_behind(row, p->after.due_ms, p->after.event_no)) {
            found[n++] = row;
        }
    }
    qsort(found, n, sizeof(*found), world_compare);
    p->more = n > p->limit;
    p->count = p->more ? p->limit : n;
    p->items = xcalloc(p->count + 1, sizeof(*p->items));
    for (size_t i = 0; i < p->count; i++)
        p->items[i] = world_callback(found[i]);
    if (p->count) {
        p->last.due_ms = found[p->count - 1]->life.place.due_ms;
        p->last.event_no = found[p->count - 1]->event_no;
    }
    free(found);
}

static void world_add_job(struct world *w, struct world_store_job job)
{
    struct world_store_job *j = xcalloc(1, sizeof(*j));
    *j = job;
    int64_t most = w->store_delay_ms;
    j->read_mono_ms = w->mono_ms + (most ? (int64_t)rng_below(&w->rng, (uint64_t)most + 1) : 0);
    if (job.batch)
        j->read_mono_ms += w->record_delay_ms;
    j->done_mono_ms =
        j->read_mono_ms + (most ? (int64_t)rng_below(&w->rng, (uint64_t)most + 1) : 0);
    struct world_store_job **at = &w->jobs;
    while (*at) {
        /* Records take effect and are done in the order asked for. */
        if (job.batch && (*at)->batch) {
            if (j->read_mono_ms < (*at)->read_mono_ms)
                j->read_mono_ms = (*at)->read_mono_ms;
            if (j->done_mono_ms < (*at)->done_mono_ms)
                j->done_mono_ms = (*at)->done_mono_ms;
        }
        at = &(*at)->next;
    }
    if (j->done_mono_ms < j->read_mono_ms)
        j->done_mono_ms = j->read_mono_ms;
    *at = j;
}

static void world_record(struct store *s, struct outcome_batch *batch)
{
    struct world *w = CONTAINER_OF(s, struct world, store);
    world_add_job(w, (struct world_store_job){.batch = batch});
}

static void world_page(struct store *s, struct due_page *page)
{
    struct world *w = CONTAINER_OF(s, struct world, store);
    w->pages_asked++;
    world_add_job(w, (struct world_store_job){.page = page});
}

/* Delivery's own, at once. */
static void world_resend_op(struct store *s, struct resend *r)
{
    struct world *w = CONTAINER_OF(s, struct world, store);
    r->status = STORE_NOT_FOUND;
    for (size_t i = 0; i < w->row_count && r->status != STORE_OK; i++) {
        struct callback *c = world_callback(&w->rows[i]);
        if (str_eq(c->event_id, r->event_id)) {
            r->status = STORE_OK;
            w->rows[i].resends++;
            w->rows[i].resend.no = ++w->resends;
            world_owe_resend(w, &w->rows[i]);
        }
        callback_free(c);
    }
    executor_post(r->reply_to, &r->done);
}

void world_request(struct store *s, enum request_kind kind, void *what)
{
    if (kind == REQUEST_OUTCOMES)
        world_record(s, what);
    else if (kind == REQUEST_PAGE)
        world_page(s, what);
    else if (kind == REQUEST_RESEND)
        world_resend_op(s, what);
    else
        UNREACHABLE();
}

void world_run_store(struct world *w)
{
    for (struct world_store_job *j = w->jobs; j; j = j->next) {
        if (j->read || j->read_mono_ms > w->mono_ms)
            continue;
        j->read = true;
        if (j->batch)
            world_apply(w, j->batch);
        else
            world_read(w, j->page);
    }
    for (struct world_store_job **at = &w->jobs; *at;) {
        struct world_store_job *j = *at;
        if (!j->read || j->done_mono_ms > w->mono_ms) {
            at = &j->next;
            continue;
        }
        *at = j->next;
        if (j->batch)
            executor_post(j->batch->reply_to, &j->batch->done);
        else
            executor_post(j->page->reply_to, &j->page->done);
        free(j);
    }
}
