/* How callbacks end without success, and how long a receiver may make them wait. */
#include "delivery_world.h"

static size_t count_reason(const struct world *w, enum callback_reason reason)
{
    size_t n = 0;
    for (size_t i = 0; i < w->row_count; i++)
        n += w->rows[i].life.reason == reason;
    return n;
}

/* The receiver never comes back: what has passed its last slot (16 min) is given up once the lane
 * was down for as long again, though only one at a time was tried. */
static void a_lane_that_stays_down_gives_up(void)
{
    struct world *w = world_open(1, "5s,1m,5m,10m");
    w->answer = world_always_500;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 3000);
    world_run(w, 31 * MINUTE);
    CHECK(world_count(w, CALLBACK_PENDING) > 2900);
    CHECK_EQ_UINT(count_reason(w, REASON_ENDPOINT_DOWN), 0);
    world_run(w, 5 * MINUTE);
    CHECK(count_reason(w, REASON_ENDPOINT_DOWN) > 2900);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DEAD), 3000);
    for (size_t i = 0; i < w->row_count; i++) {
        CHECK(w->rows[i].life.attempts <= 5);
        CHECK_EQ_INT(w->rows[i].life.reason,
                     w->rows[i].life.attempts == 5 ? REASON_ATTEMPTS : REASON_ENDPOINT_DOWN);
    }
    world_close(w);
}

/* The clock is set forward by 40 days, and soon back, while the lane has been down for long: the
 * callbacks that wait are given up when they would have been without that, neither at once nor in
 * 40 days. Schedule and downtime take 16 min each. */
static void a_jump_delays_giving_up_by_as_much(void)
{
    for (int is_put_back = 0; is_put_back < 2; is_put_back++) {
        struct world *w = world_open(1, "5s,1m,5m,10m");
        w->answer = world_always_500;
        world_set_app(w, 1, 1);
        world_accept_many(w, 1, 1, 10);
        world_run(w, 60 * MINUTE);
        world_accept_many(w, 1, 101, 400);
        world_run(w, 10 * SECOND);
        w->wall_skew_ms = 40 * 24 * HOUR;
        world_run(w, 2 * MINUTE);
        w->wall_skew_ms = is_put_back ? 0 : w->wall_skew_ms;
        size_t given_up = count_reason(w, REASON_ENDPOINT_DOWN);
        world_accept_many(w, 1, 501, 600);
        world_run(w, 29 * MINUTE);
        CHECK_EQ_UINT(count_reason(w, REASON_ENDPOINT_DOWN), given_up);
        CHECK(given_up <= 10);
        CHECK(world_count(w, CALLBACK_PENDING) > 350);
        world_run(w, 20 * MINUTE);
        CHECK(count_reason(w, REASON_ENDPOINT_DOWN) > 350);
        world_close(w);
    }
}

static struct world_answer once_then_500(struct world *w, const struct exchange *x, uint32_t app)
{
    return w->starts == 4 ? world_ok(w, x, app) : world_always_500(w, x, app); /* the first probe */
}

/* It succeeds once and fails again: nothing that it has not tried since is given up, however long
 * the lane stays down. */
static void a_lane_that_fails_again_gives_up_none_it_has_not_tried(void)
{
    struct world *w = world_open(1, "1s,2s,3s");
    w->answer = once_then_500;
    world_set_app(w, 1, 1);
    for (uint64_t event_no = 1; event_no <= 300; event_no++)
        world_add_row(w, 1, event_no);
    world_accept_many(w, 1, 301, 301);
    struct lane_backlog backlog = {lane_of(1, LANE_SUCCESS), WORLD_START_WALL_MS};
    delivery_recover(w->delivery, &backlog, 1);
    int32_t before[301] = {0};
    world_run(w, 4 * SECOND);
    CHECK_EQ_INT(w->starts, 4);
    for (size_t i = 0; i < 301; i++)
        before[i] = w->rows[i].life.attempts;
    world_run(w, 4 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 1);
    world_run(w, 20 * MINUTE);
    for (size_t i = 0; i < 301; i++)
        if (w->rows[i].life.state == CALLBACK_DEAD)
            CHECK(w->rows[i].life.attempts > before[i]);
    CHECK(world_count(w, CALLBACK_PENDING) > 250);
    w->answer = world_ok;
    world_run(w, 5 * MINUTE);
    CHECK(world_count(w, CALLBACK_DELIVERED) > 250);
    CHECK_EQ_UINT(world_count(w, CALLBACK_PENDING), 0);
    world_close(w);
}

static struct world_answer busy_for_a_while(struct world *w, const struct exchange *x, uint32_t app)
{
    if (w->mono_ms < WORLD_START_MONO_MS + 20 * SECOND)
        return (struct world_answer){ATTEMPT_STATUS, 429, 5, 20 * SECOND};
    return world_ok(w, x, app);
}

static void retry_after_pauses_the_lane(void)
{
    struct world *w = world_open(1, "5s,1m,5m");
    w->answer = busy_for_a_while;
    world_set_app(w, 1, 1)->max_concurrency = 1;
    world_accept_many(w, 1, 1, 20);
    world_run(w, 19 * SECOND);
    CHECK_EQ_INT(w->starts, 1);
    world_run(w, 3 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 20);
    world_close(w);
}

static struct world_answer busy_for_ever(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w;
    (void)x;
    (void)app;
    return (struct world_answer){ATTEMPT_STATUS, 503, 5, 1000 * HOUR};
}

static struct world_answer busy_for_an_hour(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w;
    (void)x;
    (void)app;
    return (struct world_answer){ATTEMPT_STATUS, 429, 5, HOUR};
}

/* Whatever the schedule says: its next two waits are 30 s. */
static void retry_after_is_kept_as_it_was_asked(void)
{
    struct world *w = world_open(1, "10s,20s,1h");
    w->answer = busy_for_an_hour;
    world_set_app(w, 1, 1);
    world_accept(w, 1, 1);
    world_run(w, 59 * MINUTE);
    world_accept(w, 1, 2); /* its lane is asked to wait, too */
    CHECK_EQ_INT(w->starts, 1);
    world_run(w, 2 * MINUTE);
    CHECK_EQ_INT(w->starts, 3);
    world_close(w);
}

static void retry_after_is_at_most_a_day(void)
{
    struct world *w = world_open(1, "10s,20s,1h");
    w->answer = busy_for_ever;
    world_set_app(w, 1, 1);
    world_accept(w, 1, 1);
    world_run(w, 24 * HOUR - SECOND);
    CHECK_EQ_INT(w->starts, 1);
    world_run(w, 2 * SECOND);
    CHECK_EQ_INT(w->starts, 2);
    world_close(w);
}

static struct world_answer gone(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w;
    (void)x;
    (void)app;
    return (struct world_answer){ATTEMPT_GONE, 410, 50, -1};
}

/* What the daemon does for delivery's wish, or for a partner's. */
static void set_disabled(struct world *w, bool disabled)
{
    struct app *app = world_set_app(w, 1, 1);
    app->terms.lane_disabled[LANE_SUCCESS] = disabled;
    if (!disabled)
        app->lane_enabled_ms[LANE_SUCCESS] = world_wall(&w->loops[0].runtime);
    delivery_app_changed(w->delivery, 1);
    delivery_gone_settled(w->delivery, 1, LANE_SUCCESS);
    world_run(w, 10);
}

static void five_410s_in_a_row_hold_the_lane(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = gone;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 3000);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->disables_asked, 1);
    size_t dead = world_count(w, CALLBACK_DEAD);
    CHECK(dead >= 5 && dead <= 8); /* those under way together with the fifth */
    CHECK_EQ_UINT(count_reason(w, REASON_GONE), dead);
    CHECK_EQ_UINT(world_count(w, CALLBACK_PENDING), 3000 - dead);
    CHECK_EQ_INT(world_in_ram(w), 0);
    set_disabled(w, true);
    int64_t starts = w->starts;
    world_accept(w, 1, 3001);
    world_run(w, 30 * SECOND);
    CHECK_EQ_INT(w->starts, starts); /* nothing is tried, nothing thrown away */
    CHECK_EQ_UINT(world_count(w, CALLBACK_PENDING), 3001 - dead);
    w->answer = world_ok;
    set_disabled(w, false);
    world_run(w, 10 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 3001 - dead);
    world_close(w);
}

static void what_missed_its_last_slot_on_a_disabled_lane_is_skipped(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = gone;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 300);
    world_run(w, 1 * SECOND);
    size_t dead = world_count(w, CALLBACK_DEAD);
    set_disabled(w, true);
    world_run(w, 60 * SECOND);
    world_accept_many(w, 1, 301, 310); /* have slots left when it is enabled */
    world_run(w, 10 * SECOND);
    w->answer = world_ok;
    set_disabled(w, false);
    world_run(w, 10 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 10);
    CHECK_EQ_UINT(count_reason(w, REASON_DISABLED), 300 - dead);
    CHECK_EQ_UINT(world_count(w, CALLBACK_SKIPPED), 300 - dead);
    world_close(w);
}

/* It was enabled by a clock that was 40 days ahead. What waited then, and what is accepted by the
 * right clock, is sent: nothing of it had waited for long. */
static void a_lane_enabled_by_a_clock_that_was_ahead_skips_none(void)
{
    for (int is_forgotten = 0; is_forgotten < 2; is_forgotten++) {
        struct world *w = world_open(1, "5s,1m");
        w->answer = gone;
        world_set_app(w, 1, 1);
        world_accept_many(w, 1, 1, 30);
        world_run(w, 1 * SECOND);
        size_t dead = world_count(w, CALLBACK_DEAD);
        set_disabled(w, true);
        w->wall_skew_ms = 40 * 24 * HOUR;
        w->answer = world_ok;
        world_run(w, 10 * SECOND);
        set_disabled(w, false);
        world_run(w, 10 * SECOND);
        CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 30 - dead);
        w->wall_skew_ms = 0;
        world_run(w, is_forgotten ? 2 * HOUR : SECOND);
        world_accept_many(w, 1, 31, 40);
        world_run(w, 10 * SECOND);
        CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 40 - dead);
        world_close(w);
    }
}

/* The next process reads the time at which the lane was enabled: of what waits for it, all slots
 * have passed, because nothing ran. */
static void a_start_skips_none_by_an_enabling_in_the_future(void)
{
    struct world *w = world_open(1, "5s,1m");
    struct app *app = world_set_app(w, 1, 1);
    app->lane_enabled_ms[LANE_SUCCESS] = WORLD_START_WALL_MS + 40 * 24 * HOUR;
    for (uint64_t event_no = 1; event_no <= 20; event_no++)
        world_add_row(w, 1, event_no)->life.place.due_ms -= 2 * HOUR;
    struct lane_backlog backlog = {lane_of(1, LANE_SUCCESS), WORLD_START_WALL_MS - 2 * HOUR};
    delivery_recover(w->delivery, &backlog, 1);
    world_run(w, 10 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 20);
    world_close(w);
}

static struct world_answer gone_for_every_fifth(struct world *w, const struct exchange *x,
                                                uint32_t app)
{
    return world_event_of(x) % 5 == 0 ? gone(w, x, app) : world_ok(w, x, app);
}

static void removed_users_are_no_removed_endpoint(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = gone_for_every_fifth;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 500);
    world_run(w, 1 * MINUTE);
    CHECK_EQ_UINT(count_reason(w, REASON_GONE), 100);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 400);
    world_close(w);
}

/* Few and far between, and forgotten in between by no lane. */
static void rare_410s_add_up(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = gone;
    world_set_app(w, 1, 1);
    for (uint64_t event_no = 1; event_no <= 5; event_no++) {
        CHECK_EQ_INT(w->disables_asked, 0);
        world_accept(w, 1, event_no);
        world_run(w, HOUR);
    }
    CHECK_EQ_INT(w->disables_asked, 1);
    world_close(w);
}

int main(void)
{
    RUN(five_410s_in_a_row_hold_the_lane);
    RUN(what_missed_its_last_slot_on_a_disabled_lane_is_skipped);
    RUN(a_lane_enabled_by_a_clock_that_was_ahead_skips_none);
    RUN(a_start_skips_none_by_an_enabling_in_the_future);
    RUN(removed_users_are_no_removed_endpoint);
    RUN(rare_410s_add_up);
    RUN(a_lane_that_stays_down_gives_up);
    RUN(a_jump_delays_giving_up_by_as_much);
    RUN(a_lane_that_fails_again_gives_up_none_it_has_not_tried);
    RUN(retry_after_pauses_the_lane);
    RUN(retry_after_is_kept_as_it_was_asked);
    RUN(retry_after_is_at_most_a_day);
    return check_done("delivery_end");
}
