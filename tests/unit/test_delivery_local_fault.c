/* Faults of this machine: no attempt is used up, nobody is judged, and tries keep their distance.
 */
#include "delivery_world.h"

static int64_t fault_until_ms; /* of virtual time since the start */
static int32_t prevented;

static struct world_answer cut_off(struct world *w, const struct exchange *x, uint32_t app)
{
    bool is_over = w->mono_ms - WORLD_START_MONO_MS >= fault_until_ms;
    w->fault = is_over ? LOCAL_FAULT_NONE : LOCAL_FAULT_ROUTE;
    prevented += !is_over;
    return is_over ? world_ok(w, x, app) : world_refused(w, x, app);
}

static void check_none_tried(const struct world *w)
{
    for (size_t i = 0; i < w->row_count; i++) {
        CHECK_EQ_INT(w->rows[i].life.state, CALLBACK_PENDING);
        CHECK_EQ_INT(w->rows[i].life.attempts, 0);
        CHECK_EQ_INT(w->rows[i].life.place.failed_attempts, 0);
    }
}

/* With a schedule of two seconds they would all be dead after an hour. */
static void callbacks_outlive_an_hour_without_a_route(void)
{
    struct delivery_numbers n;
    struct world *w = world_open(1, "1s,1s");
    w->answer = cut_off;
    fault_until_ms = HOUR;
    prevented = 0;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 100);
    world_run(w, HOUR - SECOND);
    check_none_tried(w);
    delivery_get_numbers(w->delivery, &n);
    CHECK_EQ_INT(n.lanes_suspended, 0);
    CHECK_EQ_INT(n.attempts[ATTEMPT_REFUSED], 0);
    CHECK_EQ_INT(n.local_faults[LOCAL_FAULT_ROUTE], prevented);
    CHECK(n.local_fault_ms[LOCAL_FAULT_ROUTE] > 0);
    CHECK(prevented > 3500 && prevented < 3620); /* one in a second, after the first window */
    world_run(w, 10 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 100);
    world_close(w);
}

/* Sixty lanes: each tries once in a second, all in all sixty times. */
static void many_lanes_try_once_in_a_second_each(void)
{
    struct world *w = world_open(1, "1s,1s");
    w->answer = cut_off;
    fault_until_ms = HOUR;
    prevented = 0;
    world_recover_apps(w, 60, 20);
    world_run(w, 20 * SECOND);
    int32_t before = prevented;
    world_run(w, 10 * SECOND);
    CHECK(prevented - before > 540 && prevented - before <= 660);
    check_none_tried(w);
    fault_until_ms = 0;
    world_run(w, 10 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 60 * 20);
    world_close(w);
}

static struct world_answer down_and_cut_off(struct world *w, const struct exchange *x, uint32_t app)
{
    if (w->mono_ms - WORLD_START_MONO_MS < MINUTE)
        return world_refused(w, x, app);
    return cut_off(w, x, app);
}

/* The host is dead when the fault begins. Its callbacks are not given up meanwhile, though the lane
 * has been down for longer than that takes (two seconds). */
static void a_dead_host_gives_nothing_up_meanwhile(void)
{
    struct world *w = world_open(1, "1s,1s,30s,1m");
    w->answer = down_and_cut_off;
    fault_until_ms = HOUR;
    world_set_app(w, 1, 1);
    world_accept_many(w, 1, 1, 50);
    world_run(w, MINUTE);
    size_t dead = world_count(w, CALLBACK_DEAD);
    world_run(w, HOUR);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DEAD), dead);
    world_run(w, MINUTE);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 50 - dead);
    world_close(w);
}

int main(void)
{
    RUN(callbacks_outlive_an_hour_without_a_route);
    RUN(many_lanes_try_once_in_a_second_each);
    RUN(a_dead_host_gives_nothing_up_meanwhile);
    return check_done("delivery_local_fault");
}
