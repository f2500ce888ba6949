/* Delivery over time: bounds, clocks that jump, stopping, test callbacks, health. */
#include "delivery_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void memory_is_bounded(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = world_slow;
    for (uint32_t app = 1; app <= 4; app++) {
        world_set_app(w, app, (int)app);
        world_accept_many(w, app, 1, 3000);
    }
    int64_t most = 0;
    for (int i = 0; i < 2000 && world_count(w, CALLBACK_PENDING) > 0; i++) {
        world_run(w, 100);
        if (world_in_ram(w) > most)
            most = world_in_ram(w);
    }
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 12000);
    CHECK_EQ_INT(w->starts, 12000);
    CHECK(most <= 4 * 1024);
    CHECK(w->in_flight_max <= 64);
    world_close(w);
}

static struct world *world_with_many_seats(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->delivery->dispatchers[0]->seats.total = 10000;
    return w;
}

static void accept_of_90_apps(struct world *w, uint64_t each)
{
    for (uint32_t app = 1; app <= 90; app++) {
        world_set_app(w, app, (int)app);
        world_accept_many(w, app, 1, each);
    }
}

static void is_behind_what_comes_faster_than_it_starts(void)
{
    for (uint64_t each = 20; each <= 30; each += 10) {
        struct world *w = world_with_many_seats();
        struct dispatcher *d = w->delivery->dispatchers[0];
        CHECK(!delivery_is_behind(w->delivery, 0));
        accept_of_90_apps(w, each);
        world_run_tasks(w);
        CHECK(d->ready[0].first != NULL);
        CHECK_EQ_INT(delivery_is_behind(w->delivery, 0), each == 30);
        world_run(w, 5 * SECOND);
        CHECK(!delivery_is_behind(w->delivery, 0));
        CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 90 * each);
        CHECK_EQ_INT(d->shared.fresh, 0);
        world_close(w);
    }
}

/* Receivers that take their time, or a backlog that takes long, are no reason to take in less. */
static void slow_receivers_do_not_put_it_behind(void)
{
    struct world *w = world_with_many_seats();
    w->answer = world_slow;
    accept_of_90_apps(w, 30);
    world_run(w, 100);
    CHECK(w->delivery->dispatchers[0]->shared.fresh > LIMIT_FRESH_IN_TIME);
    CHECK(!delivery_is_behind(w->delivery, 0));
    world_close(w);
}

static void a_backlog_does_not_put_it_behind(void)
{
    struct world *w = world_with_many_seats();
    bool has_more = false;
    world_recover_apps(w, 500, 12);
    for (int i = 0; i < 20; i++) {
        world_run_store(w);
        world_run_tasks(w);
        has_more |= w->delivery->dispatchers[0]->ready[0].first != NULL;
        CHECK(!delivery_is_behind(w->delivery, 0));
    }
    CHECK(has_more);
    CHECK(world_in_ram(w) > LIMIT_FRESH_IN_TIME);
    world_close(w);
}

/* More comes in than the receiver takes, for ever: what waits in the store has its turn too. */
static void fresh_ones_do_not_keep_out_what_waits(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = world_slow;
    world_set_app(w, 1, 1)->max_concurrency = 4; /* some 13 a second */
    for (uint64_t i = 1; i <= 40; i++)
        world_add_row(w, 1, i);
    struct lane_backlog backlog = {lane_of(1, LANE_SUCCESS), WORLD_START_WALL_MS};
    uint64_t event = 1000;
    for (int i = 0; i < 3000; i++)
        world_accept(w, 1, ++event);
    delivery_recover(w->delivery, &backlog, 1);
    for (int second = 0; second < 20; second++) {
        for (int i = 0; i < 30; i++)
            world_accept(w, 1, ++event);
        world_run(w, 1 * SECOND);
    }
    for (size_t i = 0; i < 40; i++)
        CHECK_EQ_INT(w->rows[i].life.state, CALLBACK_DELIVERED);
    CHECK(world_count(w, CALLBACK_PENDING) > 3000);
    world_close(w);
}

static void a_clock_set_forward_or_back_neither_stalls_nor_spins(void)
{
    for (int back = 0; back < 2; back++) {
        struct world *w = world_open(1, "20s,30s,1m,2m");
        w->answer = world_always_404;
        world_set_app(w, 1, 1);
        world_accept_many(w, 1, 1, 50);
        world_run(w, 5 * SECOND);
        CHECK_EQ_INT(w->starts, 50);
        w->wall_skew_ms = back ? -24 * HOUR : 24 * HOUR;
        world_run(w, 90 * SECOND);
        CHECK(w->starts >= 100);
        CHECK(w->starts <= 250);
        CHECK(w->pages_asked < 200);
        world_run(w, 10 * MINUTE);
        CHECK_EQ_UINT(world_count(w, CALLBACK_DEAD), 50);
        world_close(w);
    }
}

static void stops_after_what_is_under_way(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = world_slow;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 50);
    world_run(w, 100);
    CHECK_EQ_INT(w->in_flight, 4);
    w->stopped_task.run = world_stopped;
    delivery_stop(w->delivery, &w->loops[0].executor, &w->stopped_task);
    world_run(w, 100);
    CHECK(!w->stopped);
    world_run(w, 1 * SECOND);
    CHECK(w->stopped);
    CHECK_EQ_INT(w->starts, 4);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 4);
    world_accept(w, 1, 51); /* nobody listens any more: it stays in the store */
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 4);
    world_close(w);
}

static struct world_answer never_ends(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w;
    (void)x;
    (void)app;
    return (struct world_answer){ATTEMPT_OK, 200, 1000 * HOUR, -1};
}

static void stopping_has_an_end(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = never_ends; /* not even the sender's deadline */
    world_set_app(w, 1, 1);
    world_accept(w, 1, 1);
    world_run(w, 1 * SECOND);
    w->stopped_task.run = world_stopped;
    delivery_stop(w->delivery, &w->loops[0].executor, &w->stopped_task);
    world_run(w, 10 * SECOND);
    CHECK(!w->stopped);
    world_run(w, 2 * SECOND);
    CHECK(w->stopped);
    CHECK_EQ_INT(w->rows[0].life.state, CALLBACK_PENDING);
    world_close(w);
}

static bool answered;
static void answer_came(struct task *task)
{
    (void)task;
    answered = true;
}

static void test_callbacks_answer_inline(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = world_always_500;
    world_set_app(w, 1, 1);
    struct delivery_test test = {
        .done = {.run = answer_came},
        .reply_to = &w->loops[0].executor,
        .app_no = 1,
        .event = {.event_id = STR("test_1"),
                  .panelist_id = STR("p"),
                  .lane = LANE_SUCCESS,
                  .body = STR("{\"Sig\":\"00000000000000000000000000000000\"}")},
    };
    answered = false;
    delivery_send_test(w->delivery, &test);
    world_run(w, 1 * SECOND);
    CHECK(answered);
    CHECK_EQ_INT(test.attempt.class, ATTEMPT_STATUS);
    CHECK_EQ_INT(test.attempt.status, 500);
    CHECK_EQ_INT(test.attempt.number, 1);
    CHECK_STR(test.attempt.url, "http://host1/app1/cb");
    CHECK_EQ_INT(w->records, 0);
    test.event.lane = LANE_OFFER; /* no URL there */
    answered = false;
    delivery_send_test(w->delivery, &test);
    world_run(w, 1 * SECOND);
    CHECK(answered);
    CHECK_EQ_INT(w->starts, 1);
    CHECK_EQ_INT(test.attempt.status, 0);
    CHECK(test.attempt.detail.n > 0);
    arena_free(&test.arena);
    world_close(w);
}

static struct world_answer slowly_ok(struct world *w, const struct exchange *x, uint32_t app_no)
{
    (void)w, (void)x, (void)app_no;
    return (struct world_answer){ATTEMPT_OK, 200, 100, -1};
}

static int came;

static void another_came(struct task *task)
{
    (void)task;
    came++;
}

/* Of one host's seats and of all a few, so that they never take what deliveries need. */
static void tests_have_a_small_share(void)
{
    struct world *w = world_open(1, "5s,1m");
    w->answer = slowly_ok;
    world_set_app(w, 1, 1);
    struct delivery_test tests[5];
    static const char *const ids[] = {"e-1", "e-2", "e-3", "e-4", "e-5"};
    int busy = 0, tried = 0, most = 2; /* of the 64 seats */
    came = 0;
    for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
        tests[i] = (struct delivery_test){
            .done = {.run = another_came},
            .reply_to = &w->loops[0].executor,
            .app_no = 1,
            .event = {.event_id = str_of(ids[i]),
                      .panelist_id = STR("p"),
                      .lane = LANE_SUCCESS,
                      .body = STR("{\"Sig\":\"00000000000000000000000000000000\"}")},
        };
        delivery_send_test(w->delivery, &tests[i]);
    }
    world_run(w, 50);
    struct delivery_numbers n;
    delivery_get_numbers(w->delivery, &n);
    CHECK_EQ_INT(n.in_flight, most);
    world_run(w, 1 * SECOND);
    for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
        busy += tests[i].busy;
        tried += tests[i].attempt.number;
        arena_free(&tests[i].arena);
    }
    CHECK_EQ_INT(came, (int)ARRAY_LEN(tests));
    CHECK_EQ_INT(tried, most);
    CHECK_EQ_INT(busy, 5 - most);
    delivery_get_numbers(w->delivery, &n);
    CHECK_EQ_INT(n.in_flight, 0);
    CHECK_EQ_INT(n.attempts[ATTEMPT_OK], most);
    world_close(w);
}

static void health_is_told(void)
{
    struct world *w = world_open(1, "5s,1m,1h");
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 10);
    world_run(w, 1 * SECOND);
    w->answer = world_always_500;
    world_accept_many(w, 1, 11, 30);
    world_run(w, 2 * SECOND);
    struct lane_health_query q = {
        .done = {.run = answer_came},
        .reply_to = &w->loops[0].executor,
        .lane = lane_of(1, LANE_SUCCESS),
    };
    answered = false;
    delivery_get_health(w->delivery, &q);
    world_run(w, 1);
    CHECK(answered);
    CHECK(q.health.known);
    CHECK(q.health.suspended);
    CHECK_EQ_INT(q.health.succeeded_1h, 10);
    CHECK(q.health.failed_1h >= 3);
    CHECK_EQ_INT(q.health.last_class, ATTEMPT_STATUS);
    CHECK_CSTR(q.health.last_detail, "No luck.");
    CHECK(q.health.next_try_ms > world_wall(&w->loops[0].runtime));
    CHECK(q.health.latency_p50_ms >= 4 && q.health.latency_p50_ms <= 6);
    world_run(w, 30 * HOUR);
    delivery_get_health(w->delivery, &q);
    world_run(w, 1);
    CHECK_EQ_INT(q.health.succeeded_1h, 0);
    CHECK_EQ_INT(q.health.succeeded_24h, 0);
    world_close(w);
}

/* What is logged meanwhile. To be freed. */
static char *log_of_run(struct world *w, int64_t ms)
{
    FILE *log = tmpfile();
    int before = dup(STDERR_FILENO);
    ASSERT(log && before >= 0 && dup2(fileno(log), STDERR_FILENO) >= 0);
    log_set(LOG_INFO, false);
    world_run(w, ms);
    log_set(LOG_ERROR, false);
    ASSERT(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    char *text = xcalloc(1, 1 << 16);
    rewind(log);
    text[fread(text, 1, (1 << 16) - 1, log)] = '\0';
    fclose(log);
    return text;
}

static void a_suspension_that_is_forgotten_is_logged_and_not_reported(void)
{
    struct world *w = world_open(1, "5s,10s");
    world_set_app(w, 1, 1);
    w->answer = world_always_500;
    world_accept_many(w, 1, 1, 30);
    char *down = log_of_run(w, 5 * MINUTE);
    CHECK(strstr(down, "from=open to=suspended"));
    CHECK(!strstr(down, "to=open"));
    CHECK_EQ_UINT(world_count(w, CALLBACK_DEAD), 30);
    int64_t notices = w->notice_count;
    char *forgotten = log_of_run(w, 15 * MINUTE);
    CHECK(strstr(forgotten, "from=suspended to=open"));
    CHECK_EQ_INT(w->notice_count, notices);
    free(down);
    free(forgotten);
    world_close(w);
}

static void lanes_and_overview_are_told(void)
{
    struct world *w = world_open(1, "5s,1m,1h");
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 10);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->notice_count, 1);
    CHECK_EQ_INT(w->notices[0].state, LANE_STATE_OPEN); /* its first success */
    CHECK_EQ_INT(w->notices[0].error_ms, 0);
    w->answer = world_always_500;
    world_accept_many(w, 1, 11, 30);
    world_run(w, 2 * SECOND);
    CHECK_EQ_INT(w->notice_count, 2);
    CHECK_EQ_INT(w->notices[1].state, LANE_STATE_SUSPENDED);
    CHECK_EQ_INT(w->notices[1].kind, LANE_SUCCESS);
    CHECK_EQ_INT(w->notices[1].class, ATTEMPT_STATUS);
    CHECK_EQ_INT(w->notices[1].status, 500);
    CHECK(w->notices[1].since_ms > 0 && w->notices[1].error_ms > 0);
    struct delivery_overview_query q = {
        .done = {.run = answer_came},
        .reply_to = &w->loops[0].executor,
    };
    answered = false;
    delivery_get_overview(w->delivery, &q);
    world_run(w, 1);
    CHECK(answered);
    CHECK_EQ_INT(q.overview.lanes[LANE_STATE_SUSPENDED], 1);
    CHECK_EQ_INT(q.overview.lanes[LANE_STATE_OPEN], 0);
    CHECK_EQ_INT(q.overview.succeeded_1m, 10);
    CHECK_EQ_INT(q.overview.tried_1h, 1);
    struct delivery_numbers n;
    delivery_get_numbers(w->delivery, &n);
    int64_t tries = 0;
    for (size_t b = 0; b < LATENCY_BUCKETS; b++)
        tries += n.durations[b];
    CHECK_EQ_INT(tries, w->starts);
    w->answer = world_ok;
    world_run(w, 2 * HOUR);
    CHECK_EQ_INT(w->notices[2].state, LANE_STATE_OPEN);
    CHECK(w->notice_count >= 3);
    world_close(w);
}

static size_t count_tried(struct world *w, uint32_t account_no)
{
    struct delivery_tried tried = {
        .done = {.run = answer_came},
        .reply_to = &w->loops[0].executor,
        .account_no = account_no,
    };
    answered = false;
    delivery_get_tried(w->delivery, &tried);
    world_run(w, 0);
    CHECK(answered);
    for (size_t i = 1; i < tried.count; i++)
        CHECK(tried.event_nos[i - 1] < tried.event_nos[i]);
    for (size_t i = 0; i < tried.count; i++) {
        bool under_way = false;
        for (const struct world_exchange *e = w->exchanges; e; e = e->next)
            under_way |= world_event_of(e->x) == tried.event_nos[i];
        CHECK(under_way);
    }
    free(tried.event_nos);
    return tried.count;
}

static void it_is_told_what_is_being_tried(void)
{
    struct world *w = world_open(3, "5s,1m");
    w->answer = world_slow;
    uint64_t event = 0;
    for (uint32_t app = 1; app <= 5; app++) {
        world_set_app(w, app, (int)app);
        for (int i = 0; i < 10; i++)
            world_accept(w, app, ++event);
    }
    world_run(w, 100);
    CHECK_EQ_UINT(count_tried(w, 1), 20); /* five first windows */
    CHECK_EQ_UINT(count_tried(w, 2), 0);
    world_run(w, 1 * MINUTE);
    CHECK_EQ_UINT(count_tried(w, 1), 0);
    world_resend(w, &w->rows[0]); /* it stays delivered while it is tried again */
    world_run(w, 10);
    CHECK_EQ_INT(w->in_flight, 1);
    CHECK_EQ_UINT(count_tried(w, 1), 0);
    world_close(w);
}

/* Fails at first and is slow, so that callbacks are queued, under way and waiting for a retry. */
static struct world_answer fails_slowly(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w, (void)x, (void)app;
    return (struct world_answer){ATTEMPT_STATUS, 404, 300, -1};
}

static int64_t erased_sent;

static struct world_answer counts_erased(struct world *w, const struct exchange *x, uint32_t app)
{
    char body[128];
    snprintf(body, sizeof body, "%.*s", STR_ARG(x->body));
    erased_sent += strstr(body, "erase-me") != NULL;
    return world_ok(w, x, app);
}

static void what_was_erased_is_not_sent(void)
{
    struct world *w = world_open(3, "5s,1h");
    w->answer = fails_slowly;
    for (uint32_t app = 1; app <= 6; app++) {
        world_set_app(w, app, (int)app);
        for (uint64_t i = 1; i <= 20; i++) {
            struct world_row *row = world_add_row(w, app, i);
            row->panelist = i % 2 ? "erase-me" : "other";
            world_hand_over(w, row);
        }
    }
    world_run(w, 400);
    CHECK_EQ_INT(world_in_ram(w), 120);
    CHECK(w->in_flight > 0);
    /* What the store does first: it has nothing to send any more. */
    for (size_t i = 0; i < w->row_count; i++)
        if (strcmp(w->rows[i].panelist, "erase-me") == 0)
            world_erase_row(&w->rows[i]);
    struct delivery_erase erase = {
        .done = {.run = answer_came},
        .reply_to = &w->loops[0].executor,
        .account_no = 1,
        .panelist_id = STR("erase-me"),
    };
    answered = false;
    w->answer = counts_erased;
    erased_sent = 0;
    delivery_erase(w->delivery, &erase);
    world_run(w, 1);
    CHECK(answered);
    CHECK(world_in_ram(w) <= 60 + w->in_flight);
    world_run(w, 2 * HOUR);
    CHECK_EQ_INT(erased_sent, 0);
    CHECK_EQ_INT(world_in_ram(w), 0);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 60);
    world_close(w);
}

static void a_failed_store_ends_all_starts(void)
{
    struct world *w = world_open(1, "1s,1s,1s,1s,1s");
    w->answer = world_always_404;
    world_set_app(w, 1, 1);
    world_set_app(w, 2, 2);
    world_accept_many(w, 1, 1, 20);
    world_run(w, 500);
    w->page_status = STORE_FAILED;
    world_add_row(w, 2, 1);
    struct lane_backlog backlog = {lane_of(2, LANE_SUCCESS), WORLD_START_WALL_MS};
    delivery_recover(w->delivery, &backlog, 1);
    world_run(w, 1 * HOUR); /* waiting for the end must not spin either: world_run asserts it */
    CHECK_EQ_INT(w->starts, 20);
    world_close(w);
}

static void a_busy_store_is_asked_again(void)
{
    struct world *w = world_open(1, "5s,1m");
    world_set_app(w, 1, 1);
    world_add_row(w, 1, 1);
    w->page_status = STORE_BUSY;
    struct lane_backlog backlog = {lane_of(1, LANE_SUCCESS), WORLD_START_WALL_MS};
    delivery_recover(w->delivery, &backlog, 1);
    world_run(w, 5 * SECOND);
    CHECK(w->pages_asked >= 4 && w->pages_asked <= 6);
    w->page_status = STORE_OK;
    world_run(w, 2 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 1);
    world_close(w);
}

int main(void)
{
    log_set(LOG_ERROR, false);
    RUN(memory_is_bounded);
    RUN(is_behind_what_comes_faster_than_it_starts);
    RUN(slow_receivers_do_not_put_it_behind);
    RUN(a_backlog_does_not_put_it_behind);
    RUN(fresh_ones_do_not_keep_out_what_waits);
    RUN(a_clock_set_forward_or_back_neither_stalls_nor_spins);
    RUN(stops_after_what_is_under_way);
    RUN(stopping_has_an_end);
    RUN(test_callbacks_answer_inline);
    RUN(tests_have_a_small_share);
    RUN(health_is_told);
    RUN(lanes_and_overview_are_told);
    RUN(a_suspension_that_is_forgotten_is_logged_and_not_reported);
    RUN(it_is_told_what_is_being_tried);
    RUN(what_was_erased_is_not_sent);
    RUN(a_failed_store_ends_all_starts);
    RUN(a_busy_store_is_asked_again);
    return check_done("delivery_life");
}
