/* Delivery under any order of pages, completions and commits. */
#include "delivery_world.h"

static struct world_answer any_answer(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)x;
    (void)app;
    static const struct world_answer answers[] = {
        {ATTEMPT_STATUS, 404, 3, -1},   {ATTEMPT_STATUS, 500, 3, -1},
        {ATTEMPT_TIMEOUT, 0, -1, -1},   {ATTEMPT_REFUSED, 0, 1, -1},
        {ATTEMPT_RESET, 0, 10, -1},     {ATTEMPT_REDIRECT, 302, 7, -1},
        {ATTEMPT_STATUS, 429, 3, 2000},
    };
    uint64_t n = rng_below(&w->rng, 24);
    if (n < ARRAY_LEN(answers))
        return answers[n];
    return (struct world_answer){ATTEMPT_OK, 200, (int64_t)rng_below(&w->rng, 60), -1};
}

static void random_step(struct world *w, uint64_t *next_event, uint32_t apps)
{
    uint32_t app = 1 + (uint32_t)rng_below(&w->rng, apps);
    uint64_t what = rng_below(&w->rng, 100);
    if (what < 60) {
        for (uint64_t n = rng_below(&w->rng, 200); n > 0; n--)
            world_accept(w, app, ++*next_event);
    } else if (what < 75) { /* stored, but the sink dropped it: only a page finds it */
        for (uint64_t n = rng_below(&w->rng, 50); n > 0; n--)
            world_add_row(w, app, ++*next_event);
        world_accept(w, app, ++*next_event);
        struct lane_backlog b = {lane_of(app, LANE_SUCCESS), 0};
        delivery_recover(w->delivery, &b, 1);
    } else if (what < 80) {
        world_set_app(w, app, (int)rng_below(&w->rng, 4));
        delivery_app_changed(w->delivery, app);
    } else if (what < 84) {
        bool enabled = w->apps[app]->enabled;
        world_set_app(w, app, (int)app)->enabled = !enabled;
        w->apps[app]->enabled_since_ms = world_wall(&w->loops[0].runtime);
        delivery_app_changed(w->delivery, app);
    } else if (what < 95 && w->row_count > 0) {
        for (uint64_t n = rng_below(&w->rng, 20); n > 0; n--)
            world_resend(w, &w->rows[rng_below(&w->rng, w->row_count)]);
    } else {
        w->store_delay_ms = (int64_t)rng_below(&w->rng, 2000);
    }
    world_run(w, (int64_t)rng_below(&w->rng, 3000));
}

/* Whatever the order in which pages, completions and commits come: each event is delivered
 * exactly once (a 2xx once, and at most one more for each resend), or dead after its tries; none is
 * lost, none is tried twice at once. */
static void nothing_is_lost_or_doubled(void)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct world *w = world_open(seed % 2 ? 1 : 3, "1s,2s,3s,5s,8s,20s,40s,1m,5m,10m");
        rng_seed(&w->rng, seed);
        w->answer = any_answer;
        w->store_delay_ms = (int64_t)rng_below(&w->rng, 300);
        uint64_t event = 0;
        for (uint32_t app = 1; app <= 4; app++)
            world_set_app(w, app, (int)app);
        for (int i = 0; i < 25; i++)
            random_step(w, &event, 4);
        for (uint32_t app = 1; app <= 4; app++) {
            world_set_app(w, app, (int)app);
            delivery_app_changed(w->delivery, app);
        }
        w->answer = world_ok;
        world_run(w, 30 * MINUTE);
        size_t delivered = world_count(w, CALLBACK_DELIVERED), dead = world_count(w, CALLBACK_DEAD);
        if (!CHECK_EQ_UINT(delivered + dead, w->row_count))
            printf("seed %llu\n", (unsigned long long)seed);
        for (size_t i = 0; i < w->row_count; i++) {
            const struct world_row *row = &w->rows[i];
            bool good = row->life.state == CALLBACK_DELIVERED ? row->oks >= 1 : row->oks == 0;
            if (!CHECK(good && row->oks <= 1 + row->resends))
                printf("seed %llu event %llu\n", (unsigned long long)seed,
                       (unsigned long long)row->event_no);
        }
        CHECK_EQ_INT(world_in_ram(w), 0);
        world_close(w);
    }
}

/* What waits for later is paged to be skipped when the URL is cleared, and the URL is set again
 * while that page is under way. */
static void what_was_to_be_skipped_keeps_its_time(void)
{
    struct world *w = world_open(1, "5s,1m");
    world_set_app(w, 1, -1);
    struct world_row *row = world_add_row(w, 1, 1);
    row->life.place.due_ms += HOUR;
    struct lane_backlog backlog = {lane_of(1, LANE_SUCCESS), row->life.place.due_ms};
    w->store_delay_ms = 10 * SECOND;
    delivery_recover(w->delivery, &backlog, 1);
    world_run(w, 0);
    REQUIRE(w->jobs && w->jobs->page);
    w->jobs->read_mono_ms = w->jobs->done_mono_ms = w->mono_ms + SECOND;
    world_set_app(w, 1, 1);
    delivery_app_changed(w->delivery, 1);
    world_run(w, HOUR - MINUTE);
    CHECK_EQ_INT(w->starts, 0);
    world_run(w, 2 * MINUTE);
    CHECK_EQ_INT(w->starts, 1);
    CHECK_EQ_INT(w->rows[0].life.state, CALLBACK_DELIVERED);
    world_close(w);
}

/* What comes in while pages are under way finds memory, though each page has reserved some. */
static void pages_under_way_leave_room_for_new_callbacks(void)
{
    enum { APPS = 64, NEW = 20 };
    struct world *w = world_open(1, "5s,1m");
    struct lane_backlog backlog[APPS];
    for (uint32_t app = 1; app <= APPS; app++) {
        world_set_app(w, app, (int)app);
        world_accept_many(w, app, 1, 500); /* windows grow, and with them the pages */
    }
    world_run(w, MINUTE);
    int64_t starts = w->starts;
    for (uint32_t app = 1; app <= APPS; app++) {
        int64_t due_ms = world_add_row(w, app, 501)->life.place.due_ms;
        backlog[app - 1] = (struct lane_backlog){lane_of(app, LANE_SUCCESS), due_ms};
    }
    w->store_delay_ms = HOUR;
    delivery_recover(w->delivery, backlog, APPS);
    world_run(w, 0);
    size_t pages = 0;
    for (struct world_store_job *job = w->jobs; job; job = job->next, pages++)
        job->read_mono_ms = job->done_mono_ms = w->mono_ms + HOUR;
    CHECK(pages > 0);
    for (uint32_t app = 1; app <= APPS; app++)
        world_accept_many(w, app, 502, 501 + NEW);
    world_run(w, SECOND);
    CHECK_EQ_INT(w->starts - starts, APPS * NEW);
    w->store_delay_ms = 0;
    world_run(w, 3 * HOUR);
    CHECK_EQ_INT(w->starts - starts, APPS * (NEW + 1));
    world_close(w);
}

static struct world_answer refuses_then_hangs(struct world *w, const struct exchange *x,
                                              uint32_t app)
{
    (void)app;
    if (str_is(x->url->host, "host2"))
        return (struct world_answer){ATTEMPT_OK, 200, 5, -1};
    if (w->starts < DESTINATION_DEAD_FAILURES)
        return (struct world_answer){ATTEMPT_REFUSED, 0, 1, -1};
    return (struct world_answer){ATTEMPT_TIMEOUT, 0, -1, -1};
}

/* The lane whose callback is the one try of a dead host moves away: the try still counts. */
static void a_dead_host_is_tried_once_though_the_lane_moves(void)
{
    struct world *w = world_open(1, "20s,1m,5m,1h");
    w->answer = refuses_then_hangs;
    for (uint32_t app = 1; app <= 4; app++) {
        world_set_app(w, app, 1);
        world_accept(w, app, 1);
        world_accept(w, app, 2);
    }
    world_run(w, SECOND);
    CHECK_EQ_INT(w->starts, DESTINATION_DEAD_FAILURES);
    for (int i = 0; i < 60 && w->in_flight == 0; i++)
        world_run(w, SECOND);
    REQUIRE(w->in_flight == 1);
    uint32_t holder = world_app_of(w->exchanges->x);
    world_set_app(w, holder, 2);
    delivery_app_changed(w->delivery, holder);
    world_run(w, 8 * SECOND);
    int64_t to_host1 = 0;
    for (const struct world_exchange *e = w->exchanges; e; e = e->next)
        to_host1 += str_is(e->x->url->host, "host1");
    CHECK_EQ_INT(to_host1, 1);
    world_close(w);
}

static struct world_answer hangs_for_1(struct world *w, const struct exchange *x, uint32_t app)
{
    if (app == 1)
        return (struct world_answer){ATTEMPT_TIMEOUT, 0, MINUTE, -1};
    return world_refused(w, x, app);
}

/* A resend of its lane is next at a dead host, and waits for the lane's try under way. If it is
 * given back to the store, other lanes need not wait for that try. */
static void a_dropped_resend_gives_back_the_turn_at_a_dead_host(void)
{
    struct world *w = world_open(1, "1h,1h");
    w->answer = hangs_for_1;
    for (uint32_t app = 1; app <= 5; app++) {
        world_set_app(w, app, 1);
        world_accept(w, app, 1);
        if (app > 1)
            world_accept(w, app, 2);
    }
    world_run(w, SECOND);
    CHECK_EQ_INT(w->starts, 1 + DESTINATION_DEAD_FAILURES);
    world_accept(w, 1, 2);
    world_accept(w, 2, 3);
    world_resend(w, world_row(w, 1, 2));
    world_run(w, SECOND);
    world_set_app(w, 1, 1)->enabled = false;
    delivery_app_changed(w->delivery, 1);
    world_run(w, SECOND);
    CHECK_EQ_INT(w->starts, 1 + DESTINATION_DEAD_FAILURES);
    world_run(w, 5 * SECOND);
    CHECK_EQ_INT(world_row(w, 2, 3)->life.attempts, 1);
    CHECK_EQ_INT(w->tries[1], 1);
    CHECK_EQ_INT(w->in_flight, 1); /* it hangs all the while */
    world_close(w);
}

static struct world_answer fails_for_1(struct world *w, const struct exchange *x, uint32_t app)
{
    return app == 1 ? world_always_500(w, x, app) : world_ok(w, x, app);
}

/* However much could start, a tick starts a bounded number and the next one goes on, at once; what
 * fails has its share of each tick while healthy lanes want all of it. */
static void a_tick_starts_a_bounded_number(void)
{
    enum { APPS = 60 };
    struct world *w = world_open(1, "1h");
    w->delivery->dispatchers[0]->seats.total = 1000;
    w->answer = fails_for_1;
    for (uint32_t app = 1; app <= APPS; app++) {
        world_set_app(w, app, (int)app);
        world_accept_many(w, app, 1, app == 1 ? 1 : 8);
    }
    world_run(w, 1 * SECOND);
    for (uint32_t app = 1; app <= APPS; app++)
        world_accept_many(w, app, 11, 14);
    int64_t wanted = w->starts - w->tries[1] + (APPS - 1) * 4, ticks = 0;
    CHECK_EQ_INT(w->tries[1], 1);
    while (w->starts - w->tries[1] < wanted && ticks < 10) {
        int64_t before = w->starts;
        (void)world_run_tasks(w); /* one tick */
        ticks++;
        CHECK(w->starts > before && w->starts - before <= DISPATCHER_TICK_STARTS);
        CHECK(w->tries[1] > 1);
        if (w->starts - w->tries[1] < wanted)
            CHECK_EQ_INT(w->loops[0].wake_mono_ms, w->mono_ms);
    }
    CHECK_EQ_INT(ticks, ((APPS - 1) * 4 + DISPATCHER_TICK_STARTS - 1) / DISPATCHER_TICK_STARTS);
    world_run(w, 1 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), (APPS - 1) * 12);
    world_close(w);
}

int main(void)
{
    log_set(LOG_ERROR, false);
    RUN(nothing_is_lost_or_doubled);
    RUN(what_was_to_be_skipped_keeps_its_time);
    RUN(pages_under_way_leave_room_for_new_callbacks);
    RUN(a_dead_host_is_tried_once_though_the_lane_moves);
    RUN(a_dropped_resend_gives_back_the_turn_at_a_dead_host);
    RUN(a_tick_starts_a_bounded_number);
    return check_done("delivery_order");
}
