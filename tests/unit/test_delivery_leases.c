/* Delivery on a store that several nodes share: only what is leased is tried, and nothing is
 * recorded under a lease that is lost. */
#include "delivery_world.h"

/* The node gets the app's shard under that fence, or (0) lets it go. */
static void lease(struct world *w, uint32_t app_no, int64_t fence)
{
    atomic_store(&w->leases.fence[shard_of_app(app_no)], fence);
    atomic_store(&w->leases.until_mono_ms, INT64_MAX);
    delivery_leases_changed(w->delivery);
}

static void claim(struct world *w, uint32_t app_no, int64_t fence)
{
    struct lane_backlog backlog = {lane_of(app_no, LANE_SUCCESS), WORLD_START_WALL_MS};
    w->fences[shard_of_app(app_no)] = fence;
    lease(w, app_no, fence);
    delivery_recover(w->delivery, &backlog, 1);
}

static struct world *open_shared(size_t loops)
{
    world_is_shared = true;
    struct world *w = world_open(loops, "5s,1m");
    atomic_store(&w->leases.until_mono_ms, INT64_MAX);
    atomic_store(&w->leases.looked_until_mono_ms, INT64_MAX);
    world_set_app(w, 1, 1);
    world_set_app(w, 2, 2);
    return w;
}

static int busy(struct world *w, uint32_t app_no)
{
    return atomic_load(&w->leases.busy[shard_of_app(app_no)]);
}

static int64_t lanes(struct world *w)
{
    struct delivery_numbers n;
    delivery_get_numbers(w->delivery, &n);
    return n.lanes;
}

static void only_what_is_ours_is_tried(void)
{
    struct world *w = open_shared(2);
    REQUIRE(shard_of_app(1) != shard_of_app(2));
    claim(w, 1, 7);
    world_accept_many(w, 1, 1, 20);
    world_accept_many(w, 2, 1, 20);
    world_run(w, 30 * SECOND);
    CHECK_EQ_INT(w->tries[1], 20);
    CHECK_EQ_INT(w->tries[2], 0);
    CHECK_EQ_INT(lanes(w), 1);
    claim(w, 2, 3);
    world_run(w, 30 * SECOND);
    CHECK_EQ_INT(w->tries[2], 20);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 40);
    CHECK_EQ_INT(w->outcomes_refused, 0);
    CHECK_EQ_INT(busy(w, 1) + busy(w, 2), 0);
    world_close(w);
}

static void a_lost_lease_writes_nothing_and_the_next_one_begins_anew(void)
{
    struct world *w = open_shared(1);
    w->answer = world_slow;
    claim(w, 1, 7);
    world_accept_many(w, 1, 1, 10);
    world_run(w, 100);
    CHECK_EQ_INT(w->starts, 4);
    CHECK_EQ_INT(busy(w, 1), 4);
    w->fences[shard_of_app(1)] = 8; /* another's by now, and this node has not heard of it */
    world_run(w, 1 * SECOND);
    CHECK(w->outcomes_refused >= 4);
    CHECK_EQ_UINT(world_count(w, CALLBACK_PENDING), 10);
    lease(w, 1, 0);
    int64_t starts = w->starts;
    world_run(w, 30 * SECOND);
    CHECK(w->starts <= starts + 4); /* what had begun may end */
    CHECK_EQ_INT(lanes(w), 0);
    CHECK_EQ_INT(busy(w, 1), 0);
    CHECK_EQ_UINT(world_count(w, CALLBACK_PENDING), 10);
    w->answer = world_ok;
    claim(w, 1, 9);
    world_run(w, 30 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 10);
    world_close(w);
}

/* Another fence before the lane has left: it leaves, and comes back under the new one. */
static void a_lease_that_comes_back_is_another_one(void)
{
    struct world *w = open_shared(1);
    w->answer = world_slow;
    claim(w, 1, 7);
    world_accept_many(w, 1, 1, 10);
    world_run(w, 100);
    claim(w, 1, 9);
    world_run(w, 30 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 10);
    CHECK_EQ_INT(w->outcomes_refused, 4); /* of those under way */
    CHECK_EQ_INT(w->starts, 14);
    CHECK_EQ_INT(busy(w, 1), 0);
    world_close(w);
}

static void a_shard_that_leaves_ends_what_is_under_way(void)
{
    struct world *w = open_shared(1);
    w->answer = world_slow;
    claim(w, 1, 7);
    world_accept_many(w, 1, 1, 10);
    world_run(w, 100);
    lease(w, 1, 0); /* the store still takes outcomes of it */
    CHECK_EQ_INT(busy(w, 1), 4);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(busy(w, 1), 0);
    CHECK_EQ_INT(w->starts, 4);
    CHECK_EQ_INT(w->outcomes_refused, 0);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 4);
    CHECK_EQ_INT(world_in_ram(w), 0);
    world_close(w);
}

static void nothing_starts_when_the_lease_may_have_run_out(void)
{
    struct world *w = open_shared(1);
    claim(w, 1, 7);
    atomic_store(&w->leases.until_mono_ms, w->mono_ms + 1 * SECOND);
    world_run(w, 2 * SECOND);
    world_accept_many(w, 1, 1, 10);
    world_run(w, 10 * SECOND);
    CHECK_EQ_INT(w->starts, 0);
    atomic_store(&w->leases.until_mono_ms, w->mono_ms + 5 * SECOND);
    delivery_leases_changed(w->delivery);
    world_run(w, 1 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 10);
    world_close(w);
}

/* It was paused, for less than its lease: another process may have erased a panelist. */
static void nothing_starts_when_the_last_look_is_old(void)
{
    struct world *w = open_shared(1);
    claim(w, 1, 7);
    atomic_store(&w->leases.looked_until_mono_ms, w->mono_ms + 1 * SECOND);
    world_accept(w, 1, 1);
    world_run(w, 2 * SECOND);
    CHECK_EQ_INT(w->starts, 1);
    world_accept_many(w, 1, 2, 10);
    world_run(w, 10 * SECOND);
    CHECK_EQ_INT(w->starts, 1);
    atomic_store(&w->leases.looked_until_mono_ms, w->mono_ms + 1 * SECOND);
    delivery_leases_changed(w->delivery);
    world_run(w, 1 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 10);
    world_close(w);
}

static struct world_answer erase_the_rest(struct world *w, const struct exchange *x, uint32_t app)
{
    if (w->starts == 0) {
        for (size_t i = 0; i < 10; i++)
            if (w->rows[i].event_no != world_event_of(x))
                world_erase_row(&w->rows[i]);
        delivery_erased_elsewhere(w->delivery, 1, w->mono_ms);
    }
    return world_slow(w, x, app);
}

static struct world_answer pause_behind_the_first(struct world *w, const struct exchange *x,
                                                  uint32_t app)
{
    w->clock_ahead_ms = 2 * SECOND;
    return world_slow(w, x, app);
}

/* The time of the tick is still the one from before the pause. */
static void a_pause_during_a_tick_ends_its_starts(void)
{
    struct world *w = open_shared(1);
    w->answer = pause_behind_the_first;
    claim(w, 1, 7);
    atomic_store(&w->leases.looked_until_mono_ms, w->mono_ms + 1 * SECOND);
    world_accept_many(w, 1, 1, 10);
    world_run(w, 10);
    CHECK_EQ_INT(w->starts, 1);
    w->answer = world_ok;
    atomic_store(&w->leases.looked_until_mono_ms, INT64_MAX);
    delivery_leases_changed(w->delivery);
    world_run(w, 30 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 10);
    CHECK_EQ_INT(w->starts, 10); /* what was withheld counts as no attempt */
    CHECK_EQ_INT(busy(w, 1), 0);
    world_close(w);
}

/* Between the start and the request this process was found to have missed looks, and has caught up:
 * the request was made with settings from before. */
static void what_began_before_a_lapse_is_not_sent(void)
{
    struct world *w = open_shared(1);
    claim(w, 1, 7);
    world_run(w, 1 * SECOND);
    int64_t pages = w->pages_asked;
    w->lapses_left = 4;
    world_accept_many(w, 1, 1, 10);
    world_run(w, 30 * SECOND);
    CHECK_EQ_INT(w->lapses_left, 0);
    CHECK(w->pages_asked > pages);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 10);
    CHECK_EQ_INT(w->starts, 10);
    world_close(w);
}

static void an_erasure_that_is_told_during_a_tick_ends_its_starts(void)
{
    struct world *w = open_shared(1);
    w->answer = erase_the_rest;
    claim(w, 1, 7);
    w->apps[1]->terms.account_no = 1;
    world_accept_many(w, 1, 1, 10);
    world_run(w, 30 * SECOND);
    CHECK_EQ_INT(w->starts, 1);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 1);
    CHECK_EQ_UINT(world_count(w, CALLBACK_SKIPPED), 9);
    world_close(w);
}

static void what_another_node_erased_is_read_anew(void)
{
    struct world *w = open_shared(1);
    w->answer = world_slow;
    claim(w, 1, 7);
    world_set_app(w, 1, 1)->max_concurrency = 1;
    w->apps[1]->terms.account_no = 1;
    delivery_app_changed(w->delivery, 1);
    world_accept_many(w, 1, 1, 10);
    world_run(w, 100);
    CHECK_EQ_INT(w->starts, 1);
    for (size_t i = 5; i < 10; i++)
        world_erase_row(&w->rows[i]);
    delivery_erased_elsewhere(w->delivery, 1, w->mono_ms);
    world_run(w, 30 * SECOND);
    CHECK_EQ_INT(w->starts, 5);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 5);
    world_close(w);
}

static struct world_answer slow_404(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w, (void)x, (void)app;
    return (struct world_answer){ATTEMPT_STATUS, 404, 300, -1};
}

/* The retry of an attempt that was under way would send the text from before the erasure. */
static void what_another_node_erased_during_an_attempt_is_not_tried_again(void)
{
    struct world *w = open_shared(1);
    w->answer = slow_404;
    claim(w, 1, 7);
    w->apps[1]->terms.account_no = 1;
    world_accept_many(w, 1, 1, 2);
    world_run(w, 100);
    CHECK_EQ_INT(w->starts, 2);
    world_erase_row(&w->rows[0]);
    delivery_erased_elsewhere(w->delivery, 1, w->mono_ms);
    world_run(w, 7 * SECOND);
    CHECK_EQ_INT(w->starts, 3); /* the other one's retry */
    CHECK_EQ_INT(w->rows[0].life.state, CALLBACK_SKIPPED);
    CHECK_EQ_INT(w->rows[0].life.attempts, 1);
    CHECK_EQ_INT(w->rows[1].life.attempts, 2);
    world_close(w);
}

/* --- what other nodes carry here ---------------------------------------------------------------
 */

/* The row that tells of it was written behind since_mono_ms, and heard of under that fence. */
static void carry(struct world *w, const struct world_row *row, int64_t fence,
                  int64_t since_mono_ms)
{
    struct callback *c = world_callback(row);
    struct owed_sink *sink = delivery_sink(w->delivery);
    c->stamp = (struct handoff_stamp){fence, since_mono_ms};
    sink->owed(sink, &c, 1);
}

static void wait_here(struct world *w)
{
    struct lane_backlog waiting = {lane_of(1, LANE_SUCCESS), world_wall(&w->loops[0].runtime)};
    delivery_recover(w->delivery, &waiting, 1);
}

/* A lane under fence 7 that has looked, and has one callback of a former time behind it. */
static struct world *open_looked(void)
{
    struct world *w = open_shared(1);
    claim(w, 1, 7);
    world_accept(w, 1, 1);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 1);
    return w;
}

static void what_is_carried_is_tried_without_a_look(void)
{
    struct world *w = open_looked();
    int64_t pages = w->pages_asked;
    for (uint64_t i = 2; i <= 20; i++)
        carry(w, world_add_row(w, 1, i), 7, w->mono_ms);
    world_run(w, 10 * SECOND);
    CHECK_EQ_UINT(world_count(w, CALLBACK_DELIVERED), 20);
    CHECK_EQ_INT(w->starts, 20);
    CHECK_EQ_INT(w->pages_asked, pages);
    world_close(w);
}

static void what_a_page_has_shown_is_not_tried_again(void)
{
    struct world *w = open_looked();
    int64_t since = w->mono_ms;
    world_add_row(w, 1, 2);
    world_add_row(w, 1, 3);
    wait_here(w);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 3);
    int64_t pages = w->pages_asked;
    carry(w, world_row(w, 1, 2), 7, since);
    carry(w, world_row(w, 1, 3), 7, since);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 3);
    CHECK_EQ_INT(w->pages_asked, pages); /* it saw the whole lane: nothing to look for */
    carry(w, world_add_row(w, 1, 4), 7, since);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 4);
    world_close(w);
}

static void what_was_resent_meanwhile_is_not_tried_again(void)
{
    struct world *w = open_looked();
    int64_t since = w->mono_ms;
    world_resend(w, world_add_row(w, 1, 2));
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 2);
    carry(w, world_row(w, 1, 2), 7, since);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 2);
    world_close(w);
}

/* Another node had the lane in between, and has tried what was carried to this one before. */
static void what_was_carried_under_another_fence_is_looked_for(void)
{
    struct world *w = open_looked();
    int64_t since = w->mono_ms;
    struct world_row *row = world_add_row(w, 1, 2);
    claim(w, 1, 9);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 2);
    carry(w, row, 7, w->mono_ms);
    carry(w, row, 9, since); /* written before the lane was made under its fence */
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 2);
    row = world_add_row(w, 1, 3);
    carry(w, row, 7, w->mono_ms); /* still owed: found by a look */
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 3);
    world_close(w);
}

static void erased(struct task *task)
{
    (void)task;
}

static void what_was_erased_meanwhile_is_not_tried(void)
{
    struct world *w = open_looked();
    struct delivery_erase erase = {.done = {.run = erased},
                                   .reply_to = &w->loops[0].executor,
                                   .account_no = 1,
                                   .panelist_id = STR("somebody")};
    w->apps[1]->terms.account_no = 1;
    for (uint64_t i = 2; i <= 3; i++) {
        int64_t since = w->mono_ms;
        struct world_row *row = world_add_row(w, 1, i);
        struct world_row before = *row;
        world_erase_row(row);
        if (i == 2)
            delivery_erased_elsewhere(w->delivery, 1, w->mono_ms);
        erase.mono_ms = w->mono_ms;
        if (i == 3)
            delivery_erase(w->delivery, &erase);
        world_run(w, 10);
        carry(w, &before, 7, since);
        world_run(w, 1 * SECOND);
        CHECK_EQ_INT(w->starts, 1);
    }
    world_close(w);
}

/* The store's threads are no dispatcher: one has read a callback, and hands it over after another
 * one has told of the erasure. */
static void what_was_read_before_an_erasure_is_not_tried(void)
{
    struct world *w = open_looked();
    w->apps[1]->terms.account_no = 1;
    w->apps[2]->terms.account_no = 1;
    lease(w, 2, 8);
    w->fences[shard_of_app(2)] = 8;
    for (uint32_t app_no = 1; app_no <= 2; app_no++) { /* the second one's lane is not in memory */
        struct world_row *row = world_add_row(w, app_no, 2);
        struct world_row before = *row;
        int64_t since = w->mono_ms;
        world_run(w, 10);
        world_erase_row(row);
        delivery_erased_elsewhere(w->delivery, 1, w->mono_ms);
        world_run(w, 10);
        carry(w, &before, 0, since);
        world_run(w, 1 * SECOND);
        CHECK_EQ_INT(w->starts, 1);
    }
    int64_t pages = w->pages_asked;
    carry(w, world_add_row(w, 1, 3), 0, w->mono_ms);
    world_run(w, 1 * SECOND);
    CHECK_EQ_INT(w->starts, 2);
    CHECK_EQ_INT(w->pages_asked, pages);
    world_close(w);
}

int main(void)
{
    RUN(only_what_is_ours_is_tried);
    RUN(a_lost_lease_writes_nothing_and_the_next_one_begins_anew);
    RUN(a_lease_that_comes_back_is_another_one);
    RUN(a_shard_that_leaves_ends_what_is_under_way);
    RUN(nothing_starts_when_the_lease_may_have_run_out);
    RUN(nothing_starts_when_the_last_look_is_old);
    RUN(a_pause_during_a_tick_ends_its_starts);
    RUN(what_began_before_a_lapse_is_not_sent);
    RUN(what_was_read_before_an_erasure_is_not_tried);
    RUN(an_erasure_that_is_told_during_a_tick_ends_its_starts);
    RUN(what_another_node_erased_is_read_anew);
    RUN(what_another_node_erased_during_an_attempt_is_not_tried_again);
    RUN(what_is_carried_is_tried_without_a_look);
    RUN(what_a_page_has_shown_is_not_tried_again);
    RUN(what_was_resent_meanwhile_is_not_tried_again);
    RUN(what_was_carried_under_another_fence_is_looked_for);
    RUN(what_was_erased_meanwhile_is_not_tried);
    return check_done("delivery_leases");
}
