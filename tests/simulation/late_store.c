/* The store's contract over the in-memory oracle, one for each account, with time in between: a
 * change takes effect some time after it was asked for and is said to be done some time after
 * that; a page is read at some moment between being asked for and being answered. Outcomes go
 * through the journal's codec on the way, as they do in the daemon.
 *
 * A crash falls anywhere in between: what had not taken effect is gone, what had is kept, even if
 * nobody was told. */
#include "sim.h"

#include "base/alloc.h"
#include "store/journal/frame.h"
#include "store/journal/record.h"

#include <stdlib.h>

struct job {
    struct moment moment;
    struct link link;
    struct late_store *late;
    struct outcome_batch *batch; /* or */
    struct due_page *page;
    struct buf records;
    int64_t done_ms;
    uint64_t lot;
};

static void ignore(struct executor *executor, struct task *task)
{
    (void)executor;
    (void)task;
}
static struct executor nobody = {ignore}; /* the oracle answers before it returns */

static void run_nothing(struct task *task)
{
    (void)task;
}

const struct entry *late_store_entry(struct sim *sim, uint32_t account_no, uint64_t event_no)
{
    const struct memory_store *m = memory_of(sim->shards[account_no - 1].store);
    ASSERT(event_no >= 1 && event_no <= m->count);
    return m->entries[event_no - 1]; /* one account: entries stand by number */
}

/* --- taking effect
 * -------------------------------------------------------------------------------- */

static void apply_outcome(struct sim *sim, struct outcome *o)
{
    struct outcome_batch one = {
        .done = {.run = run_nothing}, .reply_to = &nobody, .items = o, .count = 1};
    uint64_t reversal_no = sim_witness(sim, o->account_no, o->event_no)->reversal_no;
    const struct entry *reversal =
        reversal_no ? late_store_entry(sim, o->account_no, reversal_no) : NULL;
    bool was_held = reversal && reversal->life.wait == WAIT_HELD;
    store_record(sim->shards[o->account_no - 1].store, &one);
    checks_durable(sim, o);
    if (was_held && reversal->life.wait == WAIT_DUE)
        checks_released(sim, o->account_no, reversal_no, reversal->life.place.due_ms);
}

static void apply(struct job *job)
{
    struct str rest = buf_str(&job->records);
    struct record record;
    bool bad = false;
    size_t count = 0;
    while (record_next(&rest, &record, &bad)) {
        ASSERT(record.kind == RECORD_OUTCOME && count < job->batch->count);
        /* Not in the journal: by then the store has decided what it means. */
        record.outcome.resend_no = job->batch->items[count].resend_no;
        apply_outcome(job->late->sim, &record.outcome);
        count++;
    }
    ASSERT(!bad && count == job->batch->count);
}

static void read_page(struct job *job)
{
    struct due_page *page = job->page;
    if (job->late->busy) {
        page->status = STORE_BUSY;
        return;
    }
    struct executor *asker = page->reply_to;
    page->reply_to = &nobody;
    uint32_t app_no = lane_app_no(page->lane);
    store_page(job->late->sim->shards[sim_account_of(app_no) - 1].store, page);
    page->reply_to = asker;
    plant_paged(page);
}

/* --- being told
 * ------------------------------------------------------------------------------------ */

static void tell(struct job *job)
{
    list_remove(&job->late->jobs, &job->link);
    if (job->batch)
        executor_post(job->batch->reply_to, &job->batch->done);
    else
        executor_post(job->page->reply_to, &job->page->done);
    buf_free(&job->records);
    free(job);
}

static void told(struct moment *m)
{
    struct job *job = CONTAINER_OF(m, struct job, moment);
    struct sim *sim = job->late->sim;
    bool batch = job->batch;
    tell(job);
    if (batch)
        (void)sim_crash_point(sim);
}

static void takes_effect(struct moment *m)
{
    struct job *job = CONTAINER_OF(m, struct job, moment);
    if (job->batch && sim_crash_point(job->late->sim)) { /* it falls into the write */
        timeline_add(&job->late->sim->timeline, m, m->at_ms, m->lot);
        return;
    }
    if (job->batch) {
        apply(job);
        job->batch->status = STORE_OK;
        (void)sim_crash_point(job->late->sim); /* durable, nobody knows */
    } else {
        read_page(job);
    }
    job->moment.happen = told;
    timeline_add(&job->late->sim->timeline, &job->moment, job->done_ms, job->lot);
}

static int64_t some(struct late_store *late)
{
    return late->most_ms ? sim_below(late->sim, late->most_ms + 1) : 0;
}

static struct job *ask(struct late_store *late)
{
    struct job *job = xcalloc(1, sizeof(*job));
    job->late = late;
    job->moment.happen = takes_effect;
    list_push(&late->jobs, &job->link);
    return job;
}

/* Changes take effect, and are said to be done, in the order asked for: their lots are numbers. */
static void record(struct store *s, struct outcome_batch *batch)
{
    struct late_store *late = CONTAINER_OF(s, struct late_store, store);
    struct sim *sim = late->sim;
    if (sim->dropping) {
        batch->status = STORE_OK;
        executor_post(batch->reply_to, &batch->done);
        return;
    }
    struct job *job = ask(late);
    job->batch = batch;
    for (size_t i = 0; i < batch->count; i++) {
        checks_recorded(sim, &batch->items[i]);
        record_add_outcome(&job->records, &batch->items[i]);
    }
    int64_t at_ms = sim->mono_ms + some(late);
    late->last_commit_ms = at_ms > late->last_commit_ms ? at_ms : late->last_commit_ms;
    job->done_ms = late->last_commit_ms + some(late);
    late->last_done_ms = job->done_ms > late->last_done_ms ? job->done_ms : late->last_done_ms;
    job->done_ms = late->last_done_ms;
    job->lot = late->order++;
    timeline_add(&sim->timeline, &job->moment, late->last_commit_ms, job->lot);
}

static void page(struct store *s, struct due_page *page)
{
    struct late_store *late = CONTAINER_OF(s, struct late_store, store);
    struct sim *sim = late->sim;
    struct job *job = ask(late);
    job->page = page;
    int64_t at_ms = sim->mono_ms + some(late);
    job->done_ms = at_ms + some(late);
    job->lot = rng_next(&sim->rng);
    timeline_add(&sim->timeline, &job->moment, at_ms, job->lot);
}

/* Delivery's own, at once: what waits too late is asked for anew. */
static void resend(struct store *s, struct resend *r)
{
    struct late_store *late = CONTAINER_OF(s, struct late_store, store);
    struct sim *sim = late->sim;
    if (sim->dropping) {
        r->status = STORE_OK;
        executor_post(r->reply_to, &r->done);
        return;
    }
    struct store *shard = sim->shards[r->account_no - 1].store;
    const struct entry *e = memory_find(memory_of(shard), r->account_no, r->event_id);
    bool meant = e && e->event.body.p && (r->only_states & 1u << e->life.state);
    if (meant)
        checks_resent(sim, r->account_no, e->event.event_no, e->life.state != CALLBACK_PENDING,
                      e->life.state == CALLBACK_DELIVERED);
    store_resend(shard, r);
    if (meant)
        sim_witness(sim, r->account_no, e->event.event_no)->resend_no = e->resend.no;
}

/* --- life
 * -------------------------------------------------------------------------------------------- */

static size_t backlog(struct store *s, struct lane_backlog **ret_lanes)
{
    struct late_store *late = CONTAINER_OF(s, struct late_store, store);
    struct lane_backlog *all = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < late->sim->shard_count; i++) {
        struct lane_backlog *some_lanes;
        size_t n = store_backlog(late->sim->shards[i].store, &some_lanes);
        all = xgrow(all, &capacity, count + n + 1, sizeof(*all));
        for (size_t k = 0; k < n; k++)
            all[count++] = some_lanes[k];
        free(some_lanes);
    }
    *ret_lanes = all;
    return count;
}

static void start(struct store *s, struct owed_sink *sink)
{
    struct late_store *late = CONTAINER_OF(s, struct late_store, store);
    for (size_t i = 0; i < late->sim->shard_count; i++)
        store_start(late->sim->shards[i].store, sink);
}

static void numbers(struct store *s, struct store_numbers *ret)
{
    struct late_store *late = CONTAINER_OF(s, struct late_store, store);
    *ret = (struct store_numbers){.accepting = true,
                                  .events_accepted = late->sim->retired_events,
                                  .callbacks_delivered = late->sim->retired_delivered,
                                  .callbacks_dead = late->sim->retired_dead};
    for (size_t i = 0; i < late->sim->shard_count; i++) {
        struct store_numbers one;
        store_get_numbers(late->sim->shards[i].store, &one);
        ret->events_accepted += one.events_accepted;
        ret->callbacks_delivered += one.callbacks_delivered;
        ret->callbacks_dead += one.callbacks_dead;
        ret->callbacks_pending += one.callbacks_pending;
    }
}

static void request(struct store *s, enum request_kind kind, void *what)
{
    if (kind == REQUEST_OUTCOMES)
        record(s, what);
    else if (kind == REQUEST_PAGE)
        page(s, what);
    else if (kind == REQUEST_RESEND)
        resend(s, what);
    else
        UNREACHABLE();
}

static const struct store_ops late_ops = {
    .request = request,
    .backlog = backlog,
    .start = start,
    .numbers = numbers,
};

void late_store_open(struct sim *sim)
{
    sim->late = (struct late_store){.store = {.magic = STORE_MAGIC, .ops = &late_ops}, .sim = sim};
    sim->shards = xcalloc(sim->shard_count, sizeof(struct shard));
    for (size_t i = 0; i < sim->shard_count; i++)
        sim->shards[i].store = memory_store_open(&sim->env);
}

void late_store_close(struct sim *sim)
{
    ASSERT(sim->late.jobs.count == 0);
    for (size_t i = 0; i < sim->shard_count; i++) {
        store_close(sim->shards[i].store);
        free(sim->shards[i].witnesses);
    }
    free(sim->shards);
}

/* Up to `cut` bytes of the frame have reached a disk that held an older one there. */
static bool is_found_whole(struct sim *sim, const struct buf *records, size_t cut, bool *ret_told)
{
    struct frame_head head = {.journal_id = 1,
                              .segment = 1,
                              .sequence = sim->late.order,
                              .length = (uint32_t)records->n},
                      found;
    size_t bytes = frame_bytes(records->n);
    char *frame = xcalloc(1, bytes), *disk = xcalloc(1, bytes);
    memcpy(frame + FRAME_HEAD_BYTES, records->p, records->n);
    frame_seal(frame, &head);
    memset(disk, sim_chance(sim, 2) ? 0 : 0x5a, bytes);
    memcpy(disk, frame, cut);
    bool whole = frame_head_read(disk, &found) && found.sequence == head.sequence &&
                 frame_is_whole(disk, &found);
    *ret_told = memcmp(disk, frame, FRAME_HEAD_BYTES + records->n) == 0;
    free(frame);
    free(disk);
    return whole;
}

void late_store_tear(struct sim *sim)
{
    for (struct link *link = sim->late.jobs.first; link; link = link->next) {
        struct job *job = CONTAINER_OF(link, struct job, link);
        if (!job->batch || job->moment.happen != takes_effect)
            continue;
        bool written;
        size_t cut = (size_t)sim_below(sim, (int64_t)frame_bytes(job->records.n) + 1);
        bool whole = is_found_whole(sim, &job->records, cut, &written);
        sim->torn++;
        if (whole && !written)
            sim_found(sim, CHECK_TORN, "%zu bytes of a group of %zu are taken for all of it", cut,
                      job->records.n);
        if (whole)
            apply(job); /* nobody is told */
        return;
    }
}

void late_store_crash(struct sim *sim)
{
    struct link *link;
    while ((link = sim->late.jobs.first) != NULL) {
        struct job *job = CONTAINER_OF(link, struct job, link);
        timeline_remove(&sim->timeline, &job->moment);
        if (job->page && job->moment.happen == takes_effect)
            job->page->status = STORE_BUSY;
        if (job->batch)
            job->batch->status = STORE_OK; /* nobody believes it any more */
        tell(job);
    }
}
