/* Delivery of all loops: decides which loop owns a lane, and passes work and questions to the
 * loops.
 *
 * A lane belongs to the loop that its destination hashes to, so that one loop owns a destination
 * and all lanes on it. The affinity table says which loop owns a lane now. When the lane's URL
 * moves to a destination of another loop, the owner first ends the lane's exchanges and then gives
 * the lane up. */
#include "delivery/delivery.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/sort.h"
#include "delivery/dispatcher.h"

#include <stdlib.h>

static int loop_of_url(const struct delivery *delivery, const struct url *url)
{
    if (delivery->count == 1)
        return 0;
    struct buf name = {0};
    url_print_destination(&name, url);
    int loop = (int)(hash_fast(name.p, name.n) % delivery->count);
    buf_free(&name);
    return loop;
}

int delivery_loop_of(const struct delivery *delivery, const struct app *app, enum lane_kind kind)
{
    return app->url[kind].p ? loop_of_url(delivery, &app->parsed[kind]) : LOOP_NONE;
}

/* Any thread. */
static int route(struct delivery *delivery, lane_no lane)
{
    int owner = lane_affinity_get(delivery->affinity, lane);
    if (owner != LOOP_NONE)
        return owner;
    struct app *app = directory_app_by_no(delivery->options.directory, lane_app_no(lane));
    if (app) {
        owner = delivery_loop_of(delivery, app, lane_kind_of(lane));
        app_unref(app);
    }
    if (owner == LOOP_NONE)
        owner = (int)(lane % delivery->count);
    return lane_affinity_claim(delivery->affinity, lane, owner);
}

/* Runs on the store's thread. Consecutive callbacks for the same loop are handed over together. */
static void owed(struct owed_sink *sink, struct callback **callbacks, size_t count)
{
    struct delivery *delivery = CONTAINER_OF(sink, struct delivery, sink);
    for (size_t i = 0; i < count;) {
        int loop = route(delivery, lane_of(callbacks[i]->app_no, callbacks[i]->lane));
        size_t end = i + 1;
        while (end < count &&
               route(delivery, lane_of(callbacks[end]->app_no, callbacks[end]->lane)) == loop)
            end++;
        dispatcher_hand(delivery->dispatchers[loop], callbacks + i, end - i);
        i = end;
    }
}

struct delivery *delivery_new_on(const struct delivery_options *options,
                                 struct dispatcher_runtime **runtimes, size_t count)
{
    ASSERT(count > 0 && count <= LANE_AFFINITY_LOOPS_MAX);
    struct delivery *delivery = xcalloc(1, sizeof(*delivery));
    delivery->options = *options;
    delivery->leases = store_leases(options->store);
    delivery->affinity = lane_affinity_new();
    delivery->count = count;
    delivery->sink.owed = owed;
    atomic_init(&delivery->running, count);
    delivery->dispatchers = xcalloc(count, sizeof(struct dispatcher *));
    for (size_t i = 0; i < count; i++)
        delivery->dispatchers[i] =
            dispatcher_new(delivery, (int)i, runtimes[i], options->allowance_total,
                           LIMIT_CALLBACKS_IN_RAM / (int64_t)count);
    return delivery;
}

struct delivery *delivery_new(const struct delivery_options *options)
{
    struct dispatcher_runtime **runtimes =
        xcalloc(options->loop_count, sizeof(struct dispatcher_runtime *));
    for (size_t i = 0; i < options->loop_count; i++)
        runtimes[i] = dispatcher_runtime_new(options->loops[i], options->senders[i]);
    struct delivery *delivery = delivery_new_on(options, runtimes, options->loop_count);
    delivery->owns_runtimes = true;
    free(runtimes);
    struct store_numbers numbers;
    store_get_numbers(options->store, &numbers);
    delivery->newest_event_ms = numbers.last_accepted_ms;
    return delivery;
}

void delivery_free(struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->count; i++) {
        struct dispatcher_runtime *runtime = delivery->dispatchers[i]->runtime;
        dispatcher_free(delivery->dispatchers[i]);
        if (delivery->owns_runtimes)
            dispatcher_runtime_free(runtime);
    }
    lane_affinity_free(delivery->affinity);
    free(delivery->dispatchers);
    free(delivery);
}

struct owed_sink *delivery_sink(struct delivery *delivery)
{
    return &delivery->sink;
}

void delivery_recover(struct delivery *delivery, const struct lane_backlog *lanes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct note note = {
            .kind = NOTE_WAITING, .number = lanes[i].lane, .due_ms = lanes[i].next_due_ms};
        dispatcher_tell(delivery->dispatchers[route(delivery, lanes[i].lane)], note);
    }
}

void delivery_set_schedule(struct delivery *delivery, size_t loop, const struct schedule *schedule)
{
    dispatcher_set_schedule(delivery->dispatchers[loop], schedule);
}

bool delivery_is_behind(const struct delivery *delivery, size_t loop)
{
    return delivery->dispatchers[loop]->behind;
}

static void tell_all(struct delivery *delivery, struct note note)
{
    for (size_t i = 0; i < delivery->count; i++)
        dispatcher_tell(delivery->dispatchers[i], note);
}

void delivery_app_changed(struct delivery *delivery, uint32_t app_no)
{
    tell_all(delivery, (struct note){.kind = NOTE_APP, .number = app_no});
}

void delivery_gone_settled(struct delivery *delivery, uint32_t app_no, enum lane_kind kind)
{
    tell_all(delivery, (struct note){.kind = NOTE_GONE_SETTLED, .number = lane_of(app_no, kind)});
}

void delivery_leases_changed(struct delivery *delivery)
{
    tell_all(delivery, (struct note){.kind = NOTE_LEASES});
}

void delivery_erased_elsewhere(struct delivery *delivery, uint32_t account_no, int64_t mono_ms)
{
    tell_all(delivery,
             (struct note){.kind = NOTE_ERASED, .number = account_no, .mono_ms = mono_ms});
}

void delivery_stop(struct delivery *delivery, struct executor *reply_to, struct task *stopped)
{
    ASSERT(!delivery->stopped);
    delivery->reply_to = reply_to;
    delivery->stopped = stopped;
    tell_all(delivery, (struct note){.kind = NOTE_STOP});
}

/* --- questions to one loop -------------------------------------------------------------------- */

struct test_start {
    struct task task;
    struct dispatcher *dispatcher;
    struct delivery_test *test;
};

static void start_test(struct task *task)
{
    struct test_start *start = CONTAINER_OF(task, struct test_start, task);
    dispatcher_start_test(start->dispatcher, start->test);
    free(start);
}

void delivery_send_test(struct delivery *delivery, struct delivery_test *test)
{
    int loop = route(delivery, lane_of(test->app_no, test->event.lane));
    struct test_start *start = xcalloc(1, sizeof(*start));
    start->task.run = start_test;
    start->dispatcher = delivery->dispatchers[loop];
    start->test = test;
    executor_post(start->dispatcher->runtime->executor, &start->task);
}

struct health_ask {
    struct task task;
    struct dispatcher *dispatcher;
    struct lane_health_query *query;
};

static void answer_health(struct task *task)
{
    struct health_ask *ask = CONTAINER_OF(task, struct health_ask, task);
    struct lane_health_query *query = ask->query;
    dispatcher_fill_health(ask->dispatcher, query);
    free(ask);
    executor_post(query->reply_to, &query->done);
}

void delivery_get_health(struct delivery *delivery, struct lane_health_query *query)
{
    int loop = route(delivery, query->lane);
    struct health_ask *ask = xcalloc(1, sizeof(*ask));
    ask->task.run = answer_health;
    ask->dispatcher = delivery->dispatchers[loop];
    ask->query = query;
    executor_post(ask->dispatcher->runtime->executor, &ask->task);
}

/* --- questions to all loops --------------------------------------------------------------------
 */

/* A loop runs the question's task after everything that was posted to it before, so it has by then
 * every page and callback that the store gave away before the question was asked. */
static void post_to_next(struct delivery_round *round)
{
    executor_post(round->delivery->dispatchers[round->at]->runtime->executor, &round->task);
}

static void visit_here(struct task *task)
{
    struct delivery_round *round = CONTAINER_OF(task, struct delivery_round, task);
    round->visit(round, round->delivery->dispatchers[round->at++]);
    if (round->at < round->delivery->count)
        post_to_next(round);
    else
        executor_post(round->reply_to, round->done);
}

static void begin_round(struct delivery *delivery, struct delivery_round *round,
                        void (*visit)(struct delivery_round *round, struct dispatcher *d),
                        struct executor *reply_to, struct task *done)
{
    *round = (struct delivery_round){.task.run = visit_here,
                                     .delivery = delivery,
                                     .visit = visit,
                                     .reply_to = reply_to,
                                     .done = done};
    post_to_next(round);
}

static void oversee(struct delivery_round *round, struct dispatcher *d)
{
    dispatcher_oversee(d, &CONTAINER_OF(round, struct delivery_overview_query, round)->overview);
}

void delivery_get_overview(struct delivery *delivery, struct delivery_overview_query *query)
{
    query->overview = (struct delivery_overview){.worst_success_permille = 1000};
    begin_round(delivery, &query->round, oversee, query->reply_to, &query->done);
}

static void erase_panelist(struct delivery_round *round, struct dispatcher *d)
{
    const struct delivery_erase *erase = CONTAINER_OF(round, struct delivery_erase, round);
    dispatcher_erase(d, erase->account_no, erase->panelist_id, erase->mono_ms);
}

void delivery_erase(struct delivery *delivery, struct delivery_erase *erase)
{
    begin_round(delivery, &erase->round, erase_panelist, erase->reply_to, &erase->done);
}

static void add_tried(struct delivery_round *round, struct dispatcher *d)
{
    struct delivery_tried *tried = CONTAINER_OF(round, struct delivery_tried, round);
    dispatcher_add_tried(d, tried);
    if (round->at == round->delivery->count && tried->count > 0)
        qsort(tried->event_nos, tried->count, sizeof(uint64_t), sort_compare_numbers);
}

void delivery_get_tried(struct delivery *delivery, struct delivery_tried *tried)
{
    begin_round(delivery, &tried->round, add_tried, tried->reply_to, &tried->done);
}

static void fill_briefs(struct delivery_round *round, struct dispatcher *d)
{
    dispatcher_fill_briefs(d, CONTAINER_OF(round, struct delivery_briefs, round));
}

void delivery_get_briefs(struct delivery *delivery, struct delivery_briefs *briefs)
{
    begin_round(delivery, &briefs->round, fill_briefs, briefs->reply_to, &briefs->done);
}

void delivery_get_numbers(struct delivery *delivery, struct delivery_numbers *ret)
{
    *ret = (struct delivery_numbers){0};
    for (size_t i = 0; i < delivery->count; i++) {
        struct dispatcher *d = delivery->dispatchers[i];
        ret->in_flight += atomic_load_explicit(&d->published.in_flight, memory_order_relaxed);
        ret->callbacks_in_ram += atomic_load_explicit(&d->published.in_ram, memory_order_relaxed);
        ret->lanes += atomic_load_explicit(&d->published.lanes, memory_order_relaxed);
        ret->lanes_suspended += atomic_load_explicit(&d->published.suspended, memory_order_relaxed);
        ret->callbacks_read_back +=
            atomic_load_explicit(&d->published.read_back, memory_order_relaxed);
        ret->duration_ms_total +=
            atomic_load_explicit(&d->published.duration_ms_total, memory_order_relaxed);
        for (size_t b = 0; b < LATENCY_BUCKETS; b++)
            ret->durations[b] +=
                atomic_load_explicit(&d->published.durations[b], memory_order_relaxed);
        for (size_t c = 0; c < ATTEMPT_CLASSES; c++)
            ret->attempts[c] +=
                atomic_load_explicit(&d->published.attempts[c], memory_order_relaxed);
    }
    for (size_t f = 0; f < LOCAL_FAULTS; f++) {
        const struct local_fault_tally *tally = &delivery->local_faults[f];
        ret->local_faults[f] = atomic_load_explicit(&tally->count, memory_order_relaxed);
        ret->local_fault_ms[f] = atomic_load_explicit(&tally->last_wall_ms, memory_order_relaxed);
    }
}
