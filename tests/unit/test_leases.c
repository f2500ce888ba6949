/* An exchange starts under the fence that its lane was made under, or not at all; and a shard waits
 * for what is under way in it. */
#include "check.h"

#include "store/leases.h"

#define APP 11u

static struct leases leases;

static atomic_llong *fence_of(lane_no lane)
{
    return &leases.fence[leases_shard(lane)];
}

static int busy(lane_no lane)
{
    return atomic_load(&leases.busy[leases_shard(lane)]);
}

static void an_exchange_starts_under_its_own_fence(void)
{
    lane_no lane = lane_of(APP, LANE_SUCCESS);
    leases = (struct leases){0};
    CHECK(!leases_begin(&leases, lane, 7)); /* not here */
    atomic_store(fence_of(lane), 7);
    CHECK(leases_begin(&leases, lane, 7));
    CHECK_EQ_INT(busy(lane), 1);
    CHECK(!leases_begin(&leases, lane, 6) && !leases_begin(&leases, lane, 8));
    CHECK_EQ_INT(busy(lane), 1);
    atomic_store(fence_of(lane), 8);
    CHECK(!leases_begin(&leases, lane, 7) && leases_lost(&leases, lane, 7));
    leases_end(&leases, lane);
    CHECK_EQ_INT(busy(lane), 0);
}

static void a_store_of_one_process_has_everything(void)
{
    lane_no lane = lane_of(APP, LANE_SUCCESS);
    CHECK(leases_begin(NULL, lane, 0) && leases_have(NULL, lane) && leases_first(NULL));
    CHECK(leases_run(NULL, INT64_MAX) && leases_fresh(NULL, INT64_MAX));
    CHECK(!leases_lost(NULL, lane, 5));
    leases_end(NULL, lane);
}

static void nothing_starts_behind_the_end(void)
{
    leases = (struct leases){0};
    atomic_store(&leases.until_mono_ms, 1000);
    CHECK(!leases_run(&leases, 1)); /* it has not looked yet */
    atomic_store(&leases.looked_until_mono_ms, 500);
    CHECK(leases_run(&leases, 499) && !leases_run(&leases, 500));
    atomic_store(&leases.looked_until_mono_ms, 2000);
    CHECK(leases_run(&leases, 999) && !leases_run(&leases, 1000));
    CHECK(leases_fresh(&leases, 999 + LEASES_FRESH_MS));
    CHECK(!leases_fresh(&leases, 1000 + LEASES_FRESH_MS));
}

int main(void)
{
    RUN(an_exchange_starts_under_its_own_fence);
    RUN(a_store_of_one_process_has_everything);
    RUN(nothing_starts_behind_the_end);
    return check_done("leases");
}
