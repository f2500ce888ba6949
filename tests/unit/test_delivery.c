/* Delivery as a whole, in a small world with virtual time (delivery_world.h). */
#include "delivery_world.h"

static void delivers_what_is_handed_over(void)
{
    struct world *w = world_open(1, "5s,1m");
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 100);
    world_run(w, 1 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 100);
    CHECK_EQ_INT(w->starts, 100);
    CHECK_EQ_INT(world_in_ram(w), 0);
    /* A lane with nothing to do is forgotten. */
    struct delivery_numbers n;
    delivery_get_numbers(w->delivery, &n);
    CHECK_EQ_INT(n.lanes, 1);
    CHECK_EQ_INT(n.attempts[ATTEMPT_OK], 100);
    CHECK_EQ_INT(n.callbacks_read_back, 0);
    world_run(w, 3 * MINUTE);
    delivery_get_numbers(w->delivery, &n);
    CHECK_EQ_INT(n.lanes, 0);
    world_close(w);
}

/* New callbacks fill three quarters of a lane's memory; those beyond wait in the store. */
static void counts_what_is_read_back_from_the_store(void)
{
    struct world *w = world_open(1, "5s,1m");
    struct delivery_numbers n;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, LIMIT_LANE_CALLBACKS_IN_RAM);
    world_run(w, 1 * MINUTE);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), LIMIT_LANE_CALLBACKS_IN_RAM);
    delivery_get_numbers(w->delivery, &n);
    CHECK_EQ_INT(n.callbacks_read_back, LIMIT_LANE_CALLBACKS_IN_RAM / 4);
    world_close(w);
}

static void follows_the_schedule_then_gives_up(void)
{
    struct world *w = world_open(1, "5s,1m,5m,15m,30m,1h,2h,5h,10h,24h,30h");
    w->answer = world_always_404;
    world_set_app(w, 1, 1);
    world_accept(w, 1, 1);
    world_run(w, 2 * SECOND);
    CHECK_EQ_INT(w->rows[0].life.attempts, 1);
    world_run(w, 4 * SECOND);
    CHECK_EQ_INT(w->rows[0].life.attempts, 2);
    world_run(w, 80 * HOUR);
    CHECK_EQ_INT(w->rows[0].life.state, CALLBACK_DEAD);
    CHECK_EQ_INT(w->rows[0].life.attempts, 12);
    int64_t span = w->rows[0].last_try_wall_ms - w->rows[0].first_try_wall_ms;
    int64_t planned = 5 * SECOND + (1 + 5 + 15 + 30) * MINUTE + (1 + 2 + 5 + 10 + 24 + 30) * HOUR;
    CHECK(span > planned * 9 / 10 && span < planned * 11 / 10); /* each step has 10 % of jitter */
    /* Waiting costs next to nothing: at most a page per attempt, not one per minute. */
    CHECK(w->pages_asked <= 12);
    world_close(w);
}

static void suspends_and_reopens(void)
{
    struct world *w = world_open(1, "5s,1m,5m,15m,30m,1h");
    w->answer = world_always_500;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 200);
    world_run(w, 1 * SECOND);
    struct delivery_numbers n;
    delivery_get_numbers(w->delivery, &n);
    CHECK_EQ_INT(n.lanes_suspended, 1);
    CHECK_EQ_INT(n.callbacks_in_ram, 0);
    int64_t tries = w->starts;
    CHECK_EQ_INT(tries, WINDOW_START); /* all fail, nothing more is begun */
    w->in_flight_max = 0;
    world_run(w, 3 * MINUTE);
    CHECK_EQ_INT(w->starts - tries, 5); /* 5, 10, 20, 40, 60 s apart: one at a time */
    CHECK_EQ_INT(w->in_flight_max, 1);
    int32_t attempts[200];
    for (size_t i = 0; i < 200; i++)
        attempts[i] = w->rows[i].life.attempts;
    w->answer = world_ok;
    world_run(w, 70 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED) + world_count(w, CALLBACK_PENDING), 200);
    world_run(w, 10 * MINUTE);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 200);
    for (size_t i = 0; i < 200; i++)
        CHECK_EQ_INT(w->rows[i].life.attempts, attempts[i] + 1);
    world_close(w);
}

static void reopened_lane_tries_every_overdue_one(void)
{
    struct world *w = world_open(1, "1s,2s,3s,1h");
    w->answer = world_always_500;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 500);
    world_run(w, 5 * MINUTE);
    CHECK_EQ_UINT(world_count(w, CALLBACK_PENDING), 500);
    w->answer = world_always_404; /* up again, but no use to anybody */
    int64_t before[500];
    for (size_t i = 0; i < 500; i++)
        before[i] = w->rows[i].life.attempts;
    world_run(w, 2 * HOUR);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DEAD), 500);
    for (size_t i = 0; i < 500; i++)
        CHECK(w->rows[i].life.attempts > before[i]);
    world_close(w);
}

static void a_dead_host_costs_one_try_at_a_time(void)
{
    struct world *w = world_open(1, "5s,1m,5m,15m,30m,1h,2h");
    w->answer = world_refused;
    for (uint32_t app = 1; app <= 500; app++) {
        world_set_app(w, app, 7);
        world_accept_many(w, app, 1, 4);
    }
    world_run(w, 2 * SECOND);
    int64_t tries = w->starts;
    CHECK_EQ_INT(tries, DISPATCHER_TICK_STARTS); /* what was under way when it died */
    w->in_flight_max = 0;
    world_run(w, 10 * MINUTE);
    CHECK_EQ_INT(w->starts - tries, 12); /* 5, 10, 20, 40 s apart, then 60 s */
    CHECK_EQ_INT(w->in_flight_max, 1);
    CHECK_EQ_INT(world_in_ram(w), 0);
    w->answer = world_ok;
    world_run(w, 2 * MINUTE);
    CHECK(world_count(w, CALLBACK_DELIVERED) > 1980);
    world_run(w, 15 * MINUTE); /* the few that were tried wait for their slots */
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 2000);
    world_close(w);
}

static struct world_answer hangs_for_1(struct world *w, const struct exchange *x, uint32_t app)
{
    if (app == 1)
        return (struct world_answer){ATTEMPT_TIMEOUT, 0, -1, -1};
    return world_ok(w, x, app);
}

static void a_hanging_lane_does_not_hold_up_a_healthy_one(void)
{
    struct world *w = world_open(1, "5s,1m,5m");
    w->answer = hangs_for_1;
    world_set_app(w, 1, 1);
    world_set_app(w, 2, 1); /* on the same host */
    world_accept_many(w, 1, 1, 2000);
    world_accept_many(w, 2, 1, 500);
    world_run(w, 2 * SECOND);
    size_t delivered = 0;
    for (size_t i = 0; i < w->row_count; i++)
        delivered +=
            lane_app_no(w->rows[i].lane) == 2 && w->rows[i].life.state == CALLBACK_DELIVERED;
    CHECK_EQ_UINT(delivered, 500);
    world_close(w);
}

static struct world_answer hangs_but_for_70(struct world *w, const struct exchange *x, uint32_t app)
{
    if (app != 70)
        return (struct world_answer){ATTEMPT_TIMEOUT, 0, -1, -1};
    return world_ok(w, x, app);
}

/* Seats are scarce, and the lanes that have failed before would hang in all of them. */
static void sick_lanes_hold_at_most_half_of_the_seats(void)
{
    struct world *w = world_open(1, "1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1h");
    w->answer = world_refused;
    for (uint32_t app = 1; app <= 60; app++) {
        world_set_app(w, app, (int)app);
        world_accept_many(w, app, 1, 2);
    }
    world_run(w, 500);
    CHECK_EQ_INT(w->starts, 120);
    w->answer = hangs_but_for_70;
    w->in_flight_max = 0;
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->in_flight_max, 32);
    world_set_app(w, 70, 70);
    world_accept_many(w, 70, 1, 300);
    world_run(w, 2 * SECOND);
    CHECK_EQ_INT(w->tries[70], 300);
    world_close(w);
}

/* Twenty receivers accept and never answer, from their first try on: until the first time-out they
 * look like everybody else, but for never having answered. 64 seats. */
static void receivers_that_never_answered_hold_few_seats(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = hangs_but_for_70;
    for (uint32_t app = 1; app <= 20; app++) {
        world_set_app(w, app, (int)app);
        world_accept_many(w, app, 1, 10);
    }
    world_run(w, 100);
    CHECK(w->in_flight_max < 64 - 64 / 16);
    world_set_app(w, 70, 70);
    world_accept_many(w, 70, 1, 300);
    world_run(w, 2 * SECOND);
    CHECK_EQ_INT(w->tries[70], 300);
    world_close(w);
}

static void a_disabled_app_waits_with_its_schedule_stopped(void)
{
    struct world *w = world_open(1, "5s,10s");
    w->answer = world_always_404;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 10);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 10);
    world_set_app(w, 1, 1)->enabled = false;
    delivery_app_changed(w->delivery, 1);
    world_accept(w, 1, 11);
    world_run(w, 5 * HOUR);
    CHECK_EQ_INT(w->starts, 10);
    CHECK_EQ_INT(world_in_ram(w), 0);
    world_set_app(w, 1, 1)->enabled_since_ms = world_wall(&w->loops[0].runtime);
    delivery_app_changed(w->delivery, 1);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 21);
    CHECK_EQ_UINT(world_count(w, CALLBACK_PENDING), 11); /* none lost its last slot meanwhile */
    world_run(w, 1 * MINUTE);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DEAD), 11);
    CHECK_EQ_INT(w->rows[0].life.attempts, 3);
    CHECK_EQ_INT(w->rows[10].life.attempts, 3);
    world_close(w);
}

static void a_cleared_url_skips_what_waits(void)
{
    struct world *w = world_open(1, "5s,1h");
    w->answer = world_always_404;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 600);
    world_run(w, 30 * SECOND); /* all wait for an hour now */
    CHECK_EQ_UINT(world_count(w, CALLBACK_PENDING), 600);
    world_set_app(w, 1, -1);
    delivery_app_changed(w->delivery, 1);
    world_run(w, 1 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_SKIPPED), 600);
    CHECK_EQ_INT(w->rows[0].life.reason, REASON_NO_URL);
    world_close(w);
}

static void waiting_ones_follow_a_changed_url(void)
{
    for (size_t loops = 1; loops <= 3; loops += 2) {
        struct world *w = world_open(loops, "5s,30s,30s,1h");
        w->answer = world_always_404;
        world_set_app(w, 1, 0);
        world_accept_many(w, 1, 1, 100);
        world_run(w, 1 * SECOND);
        /* Through many hosts, so that with three loops it moves between them. */
        for (int host = 1; host <= 12; host++) {
            world_set_app(w, 1, host);
            delivery_app_changed(w->delivery, 1);
            world_accept(w, 1, (uint64_t)(100 + host));
            world_run(w, 300);
        }
        w->answer = world_ok;
        world_run(w, 1 * MINUTE);
        CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 112);
        for (size_t i = 0; i < w->row_count; i++)
            CHECK_EQ_INT(w->rows[i].oks, 1);
        world_close(w);
    }
}

static void spreads_over_three_loops(void)
{
    struct world *w = world_open(3, "5s,1m");
    w->store_delay_ms = 20;
    for (uint32_t app = 1; app <= 90; app++) {
        world_set_app(w, app, (int)app);
        world_accept_many(w, app, 1, 30);
    }
    world_run(w, 5 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 2700);
    CHECK_EQ_INT(w->starts, 2700);
    for (size_t i = 0; i < 3; i++)
        CHECK(w->delivery->dispatchers[i]->lanes.count > 10);
    world_close(w);
}

static void recovers_a_backlog(void)
{
    struct world *w = world_open(1, "5s,1m");
    world_recover_apps(w, 500, 12);
    world_run(w, 900);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 6000);
    CHECK_EQ_INT(w->starts, 6000);
    world_close(w);
}

static void concurrency_and_rate_are_kept(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = world_slow;
    struct app *app = world_set_app(w, 1, 1);
    app->max_concurrency = 3;
    app = world_set_app(w, 2, 2);
    app->rate_per_second = 5;
    for (uint64_t i = 1; i <= 200; i++) {
        world_accept(w, 1, i);
        world_accept(w, 2, i);
    }
    world_run(w, 10 * SECOND);
    CHECK_EQ_INT(w->app_in_flight_max[1], 3);
    CHECK_EQ_INT(w->tries[1], 34 * 3); /* three at a time, 300 ms each */
    CHECK_EQ_INT(w->tries[2], 1 + 10 * 5);
    world_close(w);
}

static void resends(void)
{
    struct world *w = world_open(1, "5s,1h");
    world_set_app(w, 1, 1);
    world_accept(w, 1, 1);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->rows[0].life.state, CALLBACK_DELIVERED);
    w->answer = world_always_404;
    world_resend(w, &w->rows[0]); /* one extra try, and it stays delivered */
    world_run(w, 1 * MINUTE);
    CHECK_EQ_INT(w->rows[0].life.state, CALLBACK_DELIVERED);
    CHECK_EQ_INT(w->rows[0].life.attempts, 2);

    world_accept(w, 1, 2);
    world_run(w, 1 * SECOND); /* waits in memory for its second try */
    CHECK_EQ_INT(w->rows[1].life.attempts, 1);
    world_resend(w, &w->rows[1]); /* due now */
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->rows[1].life.attempts, 2);
    world_run(w, 1 * MINUTE); /* waits in the store */
    CHECK_EQ_INT(w->rows[1].life.state, CALLBACK_PENDING);
    w->answer = world_slow;
    world_resend(w, &w->rows[1]);
    world_run(w, 100);
    world_resend(w, &w->rows[1]); /* while it is being tried */
    world_run(w, 2 * SECOND);
    CHECK_EQ_INT(w->rows[1].life.state, CALLBACK_DELIVERED);
    CHECK_EQ_INT(w->rows[1].life.attempts, 3);
    world_close(w);
}

/* Whoever asks for it wants to see whether the receiver works again: neither the spacing of the
 * tries nor what has waited longer comes before it. */
static void a_resend_is_the_next_try_of_what_is_down(void)
{
    struct world_answer (*const down[])(struct world *, const struct exchange *,
                                        uint32_t) = {world_always_500, world_refused};
    for (size_t i = 0; i < ARRAY_LEN(down); i++) {
        struct world *w = world_open(1, "5s,1m,5m,15m,30m,1h");
        w->answer = down[i];
        world_set_app(w, 1, 1);
        world_accept_many(w, 1, 1, 200);
        world_run(w, 1 * MINUTE);
        struct world_row *asked = &w->rows[150], *later = &w->rows[160];
        CHECK_EQ_INT(asked->life.attempts, 0);
        int64_t starts = w->starts;
        world_resend(w, asked);
        world_run(w, 500);
        CHECK_EQ_INT(asked->life.attempts, 1);
        CHECK_EQ_INT(w->starts, starts + 1);
        w->answer = world_slow;
        w->in_flight_max = 0;
        world_resend(w, later);
        world_resend(w, &w->rows[170]); /* one at a time all the same */
        world_run(w, 1 * SECOND);
        CHECK_EQ_INT(w->in_flight_max, 1);
        world_run(w, 10 * SECOND);
        CHECK_EQ_INT(later->life.state, CALLBACK_DELIVERED);
        world_run(w, 2 * HOUR);
        CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 200);
        world_close(w);
    }
}

/* Whoever asks for a resend ten times a second must not hammer what is down: at most one try a
 * second is made for that, and none beside another. */
static void resends_of_what_is_down_are_spaced(void)
{
    struct world_answer (*const down[])(struct world *, const struct exchange *,
                                        uint32_t) = {world_always_500, world_refused};
    for (size_t i = 0; i < ARRAY_LEN(down); i++) {
        struct world *w = world_open(1, "5s,1m,5m,15m,30m,1h");
        w->answer = down[i];
        world_set_app(w, 1, 1);
        world_accept_many(w, 1, 1, 200);
        world_run(w, 5 * MINUTE); /* its own tries are a minute apart by now */
        int64_t starts = w->starts;
        w->in_flight_max = 0;
        for (size_t k = 0; k < 10; k++) /* all at once */
            world_resend(w, &w->rows[100 + k]);
        world_run(w, 900);
        CHECK_EQ_INT(w->starts, starts + 1);
        starts = w->starts;
        for (size_t k = 0; k < 100; k++) {
            world_resend(w, &w->rows[k]);
            world_run(w, 100);
        }
        CHECK_EQ_INT(w->starts - starts, 10); /* in ten seconds */
        CHECK_EQ_INT(w->in_flight_max, 1);
        starts = w->starts;
        world_run(w, 20 * SECOND);      /* nobody asks: its own spacing holds again */
        CHECK(w->starts - starts <= 2); /* the resend that waits, and perhaps its own */
        w->answer = world_slow;
        world_run(w, 3 * HOUR);
        CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 200);
        world_close(w);
    }
}

static struct world_answer slowly(enum attempt_class class, int status)
{
    return (struct world_answer){class, status, 300, -1};
}

static struct world_answer slow_404(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w, (void)x, (void)app;
    return slowly(ATTEMPT_STATUS, 404);
}

static struct world_answer slow_410(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w, (void)x, (void)app;
    return slowly(ATTEMPT_GONE, 410);
}

/* docs/state.md, "Resend": accepted in the middle of a try, or between its end and the disk. */
static void resends_of_what_is_being_tried(void)
{
    static const struct {
        struct world_answer (*answer)(struct world *w, const struct exchange *x, uint32_t app);
        int64_t resent_after_ms; /* 200: under way; 400: decided, not yet recorded */
        bool was_delivered;
        enum callback_state state;
        int32_t attempts; /* made in the end */
    } cases[] = {
        {world_slow, 200, false, CALLBACK_DELIVERED, 1}, /* by the one under way */
        {world_slow, 400, false, CALLBACK_DELIVERED, 2}, /* an extra try */
        {world_slow, 200, true, CALLBACK_DELIVERED, 2},
        {world_slow, 400, true, CALLBACK_DELIVERED, 3},
        {slow_404, 200, false, CALLBACK_DEAD, 4}, /* one try, then a schedule of three */
        {slow_404, 400, false, CALLBACK_DEAD, 4},
        {slow_404, 200, true, CALLBACK_DELIVERED, 3},
        {slow_404, 400, true, CALLBACK_DELIVERED, 3},
        {slow_410, 200, false, CALLBACK_DEAD, 2},
        {slow_410, 400, false, CALLBACK_DEAD, 2},
        {slow_410, 200, true, CALLBACK_DELIVERED, 3},
        {slow_410, 400, true, CALLBACK_DELIVERED, 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world *w = world_open(1, "1s,1s");
        world_set_app(w, 1, 1);
        struct world_row *row = world_add_row(w, 1, 1);
        if (cases[i].was_delivered) {
            world_hand_over(w, row);
            world_run(w, 1 * SECOND);
            w->answer = cases[i].answer;
            world_resend(w, row);
        } else { /* its last try */
            row->life.place = (struct schedule_place){2, 2, row->life.place.due_ms};
            w->answer = cases[i].answer;
            world_hand_over(w, row);
        }
        w->store_delay_ms = 10 * SECOND;
        world_run(w, cases[i].resent_after_ms);
        CHECK_EQ_INT(w->in_flight, cases[i].resent_after_ms < 300);
        if (w->in_flight == 0)
            REQUIRE(w->jobs && w->jobs->batch && !w->jobs->read);
        world_resend(w, row);
        world_run(w, 10 * MINUTE);
        if (!CHECK(row->life.state == cases[i].state && row->life.attempts == cases[i].attempts))
            printf("case %zu: %s after %d\n", i, callback_state_name(row->life.state),
                   row->life.attempts);
        CHECK_EQ_UINT(row->resend.no, 0);
        world_close(w);
    }
}

static struct world_answer many_headers(struct world *w, const struct exchange *x, uint32_t app)
{
    static const char line[] = "X-More: of the same\n"; /* 20 bytes */
    for (int i = 0; i < 1000; i++)
        buf_add_c((struct buf *)&x->response_headers, line);
    return world_always_404(w, x, app);
}

/* The log keeps whole lines, up to its limit. */
static void keeps_few_of_many_headers(void)
{
    struct world *w = world_open(1, "5s");
    w->answer = many_headers;
    world_set_app(w, 1, 1);
    world_accept(w, 1, 1);
    world_run(w, 2 * SECOND);
    CHECK_EQ_INT(w->rows[0].life.attempts, 1);
    CHECK_EQ_UINT(w->rows[0].last_header_bytes, LIMIT_ATTEMPT_HEADERS_KEPT_BYTES / 20 * 20);
    world_close(w);
}

static struct world_answer ok_with_headers(struct world *w, const struct exchange *x, uint32_t app)
{
    struct world_answer answer = many_headers(w, x, app);
    answer.class = ATTEMPT_OK;
    answer.status = 200;
    return answer;
}

/* A store that records nothing for an hour: what waits for it in memory has an end, and all goes on
 * when it records again. */
static void nothing_starts_while_outcomes_wait(void)
{
    struct world *w = world_open(2, "5s");
    w->answer = ok_with_headers;
    w->record_delay_ms = 60 * MINUTE;
    for (uint32_t app = 1; app <= 8; app++) {
        world_set_app(w, app, (int)app);
        world_accept_many(w, app, 1, 1000);
    }
    world_run(w, 30 * MINUTE);
    int64_t most = LIMIT_OUTCOMES_UNRECORDED_BYTES / LIMIT_ATTEMPT_HEADERS_KEPT_BYTES;
    CHECK(w->starts > most / 4 && w->starts < most * 5 / 4);
    CHECK_EQ_INT(w->in_flight, 0);
    w->record_delay_ms = 0;
    world_run(w, 60 * MINUTE);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 8000);
    world_close(w);
}

int main(void)
{
    log_set(LOG_ERROR, false);
    RUN(delivers_what_is_handed_over);
    RUN(counts_what_is_read_back_from_the_store);
    RUN(follows_the_schedule_then_gives_up);
    RUN(suspends_and_reopens);
    RUN(reopened_lane_tries_every_overdue_one);
    RUN(a_dead_host_costs_one_try_at_a_time);
    RUN(a_hanging_lane_does_not_hold_up_a_healthy_one);
    RUN(sick_lanes_hold_at_most_half_of_the_seats);
    RUN(receivers_that_never_answered_hold_few_seats);
    RUN(a_disabled_app_waits_with_its_schedule_stopped);
    RUN(a_cleared_url_skips_what_waits);
    RUN(waiting_ones_follow_a_changed_url);
    RUN(spreads_over_three_loops);
    RUN(recovers_a_backlog);
    RUN(nothing_starts_while_outcomes_wait);
    RUN(concurrency_and_rate_are_kept);
    RUN(keeps_few_of_many_headers);
    RUN(resends);
    RUN(a_resend_is_the_next_try_of_what_is_down);
    RUN(resends_of_what_is_down_are_spaced);
    RUN(resends_of_what_is_being_tried);
    return check_done("delivery");
}
