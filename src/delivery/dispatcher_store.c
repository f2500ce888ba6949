/* Exchanges between the lanes and the store: pages of due callbacks in, batches of outcomes out. */
#include "delivery/dispatcher.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"

#include <stdlib.h>

/* --- pages ----------------------------------------------------------------------------------- */

struct page_request {
    struct due_page page;
    struct dispatcher *dispatcher;
    int32_t reserved;
};

bool dispatcher_store_failed(struct dispatcher *d, enum store_status status)
{
    if (status != STORE_FAILED)
        return false;
    if (!d->failed)
        log_error("delivery_store_failed", LOG_INT("loop", d->index));
    d->failed = true;
    return true;
}

struct outcome dispatcher_outcome_of(const struct lane *lane, const struct callback *c)
{
    return (struct outcome){
        .account_no = c->account_no,
        .event_no = c->event_no,
        .lane = lane->no,
        .presumed = callback_presumed(c),
        .resend_no = c->resend_no,
        .place = c->place,
    };
}

/* A delivered callback that waits for the extra attempt of a resend stays delivered. */
static bool sweep_item(struct dispatcher *d, struct lane *lane, const struct callback *c,
                       const struct lane_now *now)
{
    if (!lane_gives_up(lane, &d->schedule, c, now))
        return false;
    struct outcome given_up = dispatcher_outcome_of(lane, c);
    given_up.state = c->was_delivered ? CALLBACK_DELIVERED : CALLBACK_DEAD;
    given_up.reason = c->was_delivered ? REASON_NONE : REASON_ENDPOINT_DOWN;
    lane_sweep_take(lane, c->event_no);
    dispatcher_record(d, &given_up);
    return true;
}

/* True: the lane owns the item from now on. */
static bool use_item(struct dispatcher *d, struct lane *lane, struct callback *c,
                     const struct lane_now *now, size_t *taken)
{
    bool used = true, kept = false;
    lane_page_shows(lane, c);
    switch ((enum lane_page_kind)lane->scans.kind) {
    case PAGE_SWEEP: used = sweep_item(d, lane, c, now); break;
    case PAGE_LATE: dispatcher_date(d, lane, c); break;
    case PAGE_FILL:
    case PAGE_DRAIN:
    case PAGE_PROBE: used = kept = lane_page_take(lane, c); break;
    }
    *taken += used;
    return kept;
}

static size_t use_items(struct dispatcher *d, struct lane *lane, const struct due_page *page,
                        const struct lane_now *now)
{
    bool idle = d->stopping || d->failed;
    size_t taken = 0, kept = 0;
    for (size_t i = 0; i < page->count; i++) {
        struct callback *c = page->items[i];
        CHECK_MAGIC(c, CALLBACK_MAGIC);
        if (!idle && use_item(d, lane, c, now, &taken))
            kept++;
        else
            callback_free(c);
    }
    atomic_fetch_add_explicit(&d->published.read_back, (long long)kept, memory_order_relaxed);
    return taken;
}

static void drop_items(const struct due_page *page)
{
    for (size_t i = 0; i < page->count; i++)
        callback_free(page->items[i]);
}

static void page_done(struct task *task)
{
    struct page_request *request =
        CONTAINER_OF(CONTAINER_OF(task, struct due_page, done), struct page_request, page);
    struct dispatcher *d = request->dispatcher;
    CHECK_MAGIC(d, DISPATCHER_MAGIC);
    struct lane *lane = dispatcher_find(d, request->page.lane);
    ASSERT(lane);
    struct lane_now now = dispatcher_now(d);
    d->pages--;
    d->room.reserved -= request->reserved;
    if (request->page.status == STORE_OK && lane->scans.is_stale) {
        drop_items(&request->page);
        lane_page_failed(lane, &now);
    } else if (request->page.status == STORE_OK) {
        size_t taken = use_items(d, lane, &request->page, &now);
        lane_page_ended(lane, &request->page, taken, &now);
    } else {
        (void)dispatcher_store_failed(d, request->page.status);
        lane_page_failed(lane, &now);
    }
    dispatcher_touch(d, lane);
    free(request->page.items);
    free(request);
}

void dispatcher_page(struct dispatcher *d, struct lane *lane, const struct lane_decision *what)
{
    struct page_request *request = xcalloc(1, sizeof(*request));
    bool sweep = what->page_kind == PAGE_SWEEP;
    request->dispatcher = d;
    request->page = (struct due_page){
        .done = {.run = page_done},
        .reply_to = d->runtime->executor,
        .lane = lane->no,
        .due_until_ms = what->page_until_ms,
        .after = lane_page_from(lane, what->page_kind),
        .limit = what->page_limit,
        .brief = sweep,
    };
    if (!sweep && what->page_kind != PAGE_LATE)
        request->reserved = (int32_t)what->page_limit;
    d->room.reserved += request->reserved;
    d->pages++;
    if (what->page_kind == PAGE_PROBE)
        destination_give_probe(lane->destination, lane);
    lane_page_asked(lane, what->page_kind);
    store_page(d->delivery->options.store, &request->page);
}

/* --- outcomes -------------------------------------------------------------------------------- */

#define SPARE_RECORDING_BYTES (1u << 20)

struct outcomes_sent {
    struct outcome_batch batch;
    struct dispatcher *dispatcher;
    size_t capacity;
    int64_t bytes;
    uint32_t clock_epoch;
};

static void recording_free(struct outcomes_sent *r)
{
    if (!r)
        return;
    arena_free(&r->batch.arena);
    free(r->batch.items);
    free(r);
}

/* Keeps one batch with its memory for reuse, unless it has grown large: a busy loop records in each
 * tick. */
static void recording_give(struct dispatcher *d, struct outcomes_sent *r)
{
    if (d->recording.spare || r->batch.arena.total_bytes > SPARE_RECORDING_BYTES) {
        recording_free(r);
        return;
    }
    struct outcome_batch *b = &r->batch;
    arena_reset(&b->arena);
    *b = (struct outcome_batch){.arena = b->arena, .items = b->items};
    r->bytes = 0;
    d->recording.spare = r;
}

void dispatcher_free_spare_recording(struct dispatcher *d)
{
    recording_free(d->recording.spare);
    d->recording.spare = NULL;
}

/* Reports the outcomes that were stored. Refused ones belong to another node, which reports its
 * own. */
static void tell_outcomes(const struct delivery *delivery, struct outcome_batch *b)
{
    size_t told = 0;
    if (!delivery->options.on_outcomes_durable || b->status != STORE_OK)
        return;
    for (size_t i = 0; i < b->count; i++)
        if (!b->items[i].refused)
            b->items[told++] = b->items[i];
    delivery->options.on_outcomes_durable(delivery->options.context, b->items, told);
}

static void recorded(struct task *task)
{
    struct outcomes_sent *r =
        CONTAINER_OF(CONTAINER_OF(task, struct outcome_batch, done), struct outcomes_sent, batch);
    struct dispatcher *d = r->dispatcher;
    CHECK_MAGIC(d, DISPATCHER_MAGIC);
    (void)dispatcher_store_failed(d, r->batch.status);
    struct lane_now now = dispatcher_now(d);
    for (size_t i = 0; i < r->batch.count; i++) {
        const struct outcome *o = &r->batch.items[i];
        struct lane *lane = dispatcher_find(d, o->lane);
        ASSERT(lane);
        lane_recorded(lane, o->event_no, o->state, o->place.due_ms, &now);
        dispatcher_touch(d, lane);
        if (o->has_attempt)
            leases_end(d->delivery->leases, o->lane);
    }
    tell_outcomes(d->delivery, &r->batch);
    d->recording.under_way--;
    d->recording.bytes -= r->bytes;
    if (r->clock_epoch != d->clock.epoch)
        dispatcher_recorded_old(d);
    recording_give(d, r);
}

/* True if the lane is in another cluster than the batch. A batch is for one cluster, so that an
 * unreachable cluster does not delay the outcomes of the others. */
static bool goes_elsewhere(const struct dispatcher *d, lane_no lane)
{
    struct leases *all = d->delivery->leases;
    return d->recording.gathering && all && all->of &&
           leases_of(all, lane) != leases_of(all, d->recording.gathering->batch.items[0].lane);
}

void dispatcher_record(struct dispatcher *d, const struct outcome *outcome)
{
    if (goes_elsewhere(d, outcome->lane))
        dispatcher_submit(d);
    if (!d->recording.gathering) {
        d->recording.gathering =
            d->recording.spare ? d->recording.spare : xcalloc(1, sizeof(*d->recording.gathering));
        d->recording.spare = NULL;
        d->recording.gathering->dispatcher = d;
        d->recording.gathering->clock_epoch = d->clock.epoch;
        d->recording.under_way++;
    }
    struct outcomes_sent *r = d->recording.gathering;
    struct outcome_batch *b = &r->batch;
    struct outcome *o = ARRAY_PUSH(b->items, b->count, r->capacity);
    *o = *outcome;
    if (d->delivery->leases)
        o->fence = dispatcher_find(d, o->lane)->fence;
    if (o->has_attempt)
        attempt_keep(&o->attempt, &b->arena);
    if (o->presumed.due_ms)
        o->presumed.event_id = arena_str(&b->arena, o->presumed.event_id);
    if (b->count >= DISPATCHER_OUTCOMES)
        dispatcher_submit(d);
}

void dispatcher_submit(struct dispatcher *d)
{
    struct outcomes_sent *r = d->recording.gathering;
    if (!r)
        return;
    d->recording.gathering = NULL;
    r->bytes = (int64_t)(r->batch.arena.total_bytes + r->batch.count * sizeof *r->batch.items);
    d->recording.bytes += r->bytes;
    r->batch.done.run = recorded;
    r->batch.reply_to = d->runtime->executor;
    store_record(d->delivery->options.store, &r->batch);
}
