/* The wall clock is set while callbacks wait: docs/state.md, "The clock". */
#include "delivery_world.h"

#define WAIT_MOST (66 * MINUTE) /* an hour and 10 % */

static struct world_answer not_found(struct world *w, const struct exchange *x, uint32_t app_no)
{
    (void)w;
    (void)x;
    (void)app_no;
    return (struct world_answer){ATTEMPT_STATUS, 404, 20, -1};
}

static struct world_answer unavailable(struct world *w, const struct exchange *x, uint32_t app_no)
{
    (void)w;
    (void)x;
    (void)app_no;
    return (struct world_answer){ATTEMPT_STATUS, 503, 20, 90 * MINUTE};
}

static struct world_answer refused(struct world *w, const struct exchange *x, uint32_t app_no)
{
    (void)w;
    (void)x;
    (void)app_no;
    return (struct world_answer){ATTEMPT_REFUSED, 0, 20, -1};
}

static int64_t now(struct world *w)
{
    return world_wall(&w->loops[0].runtime);
}

/* The latest of what waits, from now on. */
static int64_t longest_wait(struct world *w)
{
    int64_t most = 0;
    for (size_t i = 0; i < w->row_count; i++)
        if (w->rows[i].life.state == CALLBACK_PENDING &&
            w->rows[i].life.place.due_ms - now(w) > most)
            most = w->rows[i].life.place.due_ms - now(w);
    return most;
}

static struct world *open_ahead(const char *schedule, int64_t ahead_ms)
{
    struct world *w = world_open(1, schedule);
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 1); /* the dispatcher has seen the right time, and the jump */
    world_run(w, SECOND);
    w->wall_skew_ms = ahead_ms;
    return w;
}

static void retries_wait_no_longer_once_the_clock_is_put_back(void)
{
    for (int64_t delay_ms = 0; delay_ms <= 200; delay_ms += 200) {
        struct world *w = open_ahead("1h", 24 * HOUR);
        w->store_delay_ms = delay_ms;
        w->answer = not_found;
        world_accept_many(w, 1, 100, 699); /* more than one page */
        world_run(w, 10 * SECOND);
        CHECK_EQ_INT(w->starts, 601);
        world_accept_many(w, 1, 700, 709);
        world_run(w, 25 + delay_ms / 2); /* tried, and not all of it recorded yet */
        w->wall_skew_ms = 0;
        world_run(w, 2 * MINUTE);
        CHECK_EQ_UINT(world_count(w, CALLBACK_PENDING), 610);
        CHECK(longest_wait(w) > 50 * MINUTE);
        CHECK(longest_wait(w) <= WAIT_MOST);
        CHECK_EQ_INT(w->starts, 611);
        int64_t pages = w->pages_asked;
        world_run(w, 10 * MINUTE); /* once */
        CHECK_EQ_INT(w->pages_asked, pages);
        world_run(w, WAIT_MOST);
        CHECK_EQ_INT(w->starts, 611 + 610);
        world_close(w);
    }
}

static void several_steps_back_add_up(void)
{
    struct world *w = open_ahead("1h", 3 * HOUR);
    w->answer = not_found;
    world_accept_many(w, 1, 100, 119);
    world_run(w, 10 * SECOND);
    for (int i = 2; i >= 0; i--) {
        w->wall_skew_ms = i * HOUR;
        world_run(w, i == 1 ? 5 : 2 * MINUTE);
    }
    CHECK(longest_wait(w) <= WAIT_MOST);
    CHECK_EQ_INT(w->starts, 21);
    world_close(w);
}

static void a_small_step_back_changes_nothing(void)
{
    struct world *w = world_open(1, "1h");
    w->answer = not_found;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 20);
    world_run(w, 10 * SECOND);
    int64_t pages = w->pages_asked, records = w->records;
    w->wall_skew_ms = -4 * SECOND;
    world_run(w, 10 * MINUTE);
    CHECK_EQ_INT(w->pages_asked, pages);
    CHECK_EQ_INT(w->records, records);
    world_close(w);
}

static void retry_after_is_kept(void)
{
    struct world *w = open_ahead("1h,1h", 24 * HOUR);
    w->answer = unavailable;
    world_accept(w, 1, 100);
    world_run(w, MINUTE);
    w->answer = world_ok;
    w->wall_skew_ms = 0;
    world_run(w, 88 * MINUTE);
    CHECK_EQ_INT(w->starts, 2);
    world_run(w, 3 * MINUTE);
    CHECK_EQ_INT(w->starts, 3);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 2);
    world_close(w);
}

/* Its lane is suspended: they wait in the store, with the time of their acceptance. */
static void first_tries_and_resends_are_due_at_once(void)
{
    struct world *w = open_ahead("1h,1h,1h", 24 * HOUR);
    w->answer = refused;
    world_accept_many(w, 1, 100, 110);
    world_run(w, MINUTE);
    world_accept_many(w, 1, 200, 210);
    world_resend(w, world_row(w, 1, 1)); /* a delivered one, and one that waits */
    world_resend(w, world_row(w, 1, 100));
    w->wall_skew_ms = 0;
    world_run(w, 2 * MINUTE);
    CHECK(world_row(w, 1, 1)->life.place.due_ms <= now(w));
    CHECK(world_row(w, 1, 100)->life.place.due_ms <= now(w) + WAIT_MOST);
    for (uint64_t no = 200; no <= 210; no++)
        CHECK(world_row(w, 1, no)->life.attempts > 0 ||
              world_row(w, 1, no)->life.place.due_ms <= now(w));
    w->answer = world_ok;
    world_run(w, 2 * MINUTE);
    for (uint64_t no = 200; no <= 210; no++)
        CHECK(world_row(w, 1, no)->life.state == CALLBACK_DELIVERED ||
              world_row(w, 1, no)->life.attempts > 0);
    CHECK_EQ_INT(world_row(w, 1, 1)->life.state, CALLBACK_DELIVERED);
    CHECK(world_row(w, 1, 1)->life.attempts >= 2);
    world_run(w, WAIT_MOST);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 23);
    world_close(w);
}

static void a_disabled_app_s_wait_no_longer_either(void)
{
    struct world *w = open_ahead("1h", 24 * HOUR);
    w->answer = not_found;
    world_accept_many(w, 1, 100, 119);
    world_run(w, 10 * SECOND);
    world_set_app(w, 1, 1)->enabled = false;
    delivery_app_changed(w->delivery, 1);
    world_run(w, SECOND);
    w->wall_skew_ms = 0;
    world_run(w, 2 * MINUTE);
    CHECK(longest_wait(w) <= WAIT_MOST);
    world_close(w);
}

/* What comes in with a date of before is found when it is handed over. */
static void a_late_date_that_is_handed_over_is_mended(void)
{
    struct world *w = world_open(1, "1h");
    world_set_app(w, 1, 1);
    w->answer = refused;
    world_accept_many(w, 1, 100, 110);
    world_run(w, MINUTE); /* suspended */
    struct world_row *row = world_add_row(w, 1, 200);
    row->life.place.due_ms += 24 * HOUR;
    world_hand_over(w, row);
    world_run(w, MINUTE);
    CHECK(world_row(w, 1, 200)->life.attempts > 0 ||
          world_row(w, 1, 200)->life.place.due_ms <= now(w));
    world_close(w);
}

static struct world *open_with_late_rows(const char *schedule, int64_t ahead_ms)
{
    struct world *w = world_open(1, schedule);
    world_set_app(w, 1, 1);
    for (uint64_t no = 1; no <= 610; no++) { /* more than one page */
        struct world_row *row = world_add_row(w, 1, no);
        row->life.place = (struct schedule_place){1, 1, now(w) + ahead_ms};
    }
    return w;
}

static void recover_rows(struct world *w)
{
    struct lane_backlog backlog = {lane_of(1, LANE_SUCCESS), world_row(w, 1, 1)->life.place.due_ms};
    delivery_recover(w->delivery, &backlog, 1);
    world_run(w, 2 * MINUTE);
}

/* An earlier process had a clock that was 40 days ahead. */
static void dates_that_no_wait_allows_are_mended_at_the_start(void)
{
    struct world *w = open_with_late_rows("1h,2h", 40 * 24 * HOUR);
    recover_rows(w);
    CHECK(longest_wait(w) > 50 * MINUTE);
    CHECK(longest_wait(w) <= WAIT_MOST);
    int64_t pages = w->pages_asked;
    delivery_recover(w->delivery, &(struct lane_backlog){lane_of(1, LANE_SUCCESS), now(w) + HOUR},
                     1);
    world_run(w, 10 * MINUTE);
    CHECK_EQ_INT(w->pages_asked, pages); /* once */
    world_run(w, WAIT_MOST);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 610);
    world_close(w);
}

/* Dates that a long wait, or a Retry-After, would allow: only an event of the future proves them
 * wrong. */
static void an_event_of_the_future_makes_a_start_mend_all_dates(void)
{
    for (int is_proven = 0; is_proven < 2; is_proven++) {
        struct world *w = open_with_late_rows("1h,2h", 23 * HOUR);
        w->delivery->newest_event_ms = now(w) + (is_proven ? 22 * HOUR : 0);
        recover_rows(w);
        CHECK(longest_wait(w) > (is_proven ? 50 * MINUTE : 22 * HOUR));
        CHECK(longest_wait(w) <= (is_proven ? WAIT_MOST : 23 * HOUR));
        CHECK_EQ_INT(w->records > 0, is_proven);
        world_close(w);
    }
}

/* Otherwise a clock that was ahead, was put back and is set forward again as far looks to it as if
 * it had never been touched. */
static void a_loop_without_lanes_looks_at_the_clock(void)
{
    struct world *w = world_open(1, "5s,1m");
    for (int i = 0; i < 3; i++) {
        CHECK(w->loops[0].wake_mono_ms > w->mono_ms);
        CHECK(w->loops[0].wake_mono_ms <= w->mono_ms + DISPATCHER_CHECK_MS);
        world_run(w, 5 * MINUTE);
    }
    world_close(w);
}

int main(void)
{
    log_set(LOG_ERROR, false);
    RUN(retries_wait_no_longer_once_the_clock_is_put_back);
    RUN(several_steps_back_add_up);
    RUN(a_small_step_back_changes_nothing);
    RUN(retry_after_is_kept);
    RUN(first_tries_and_resends_are_due_at_once);
    RUN(a_loop_without_lanes_looks_at_the_clock);
    RUN(a_disabled_app_s_wait_no_longer_either);
    RUN(a_late_date_that_is_handed_over_is_mended);
    RUN(dates_that_no_wait_allows_are_mended_at_the_start);
    RUN(an_event_of_the_future_makes_a_start_mend_all_dates);
    return check_done("delivery_clock");
}
