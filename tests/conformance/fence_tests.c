/* Fences, where a store has leases: what was decided about a lane under a fence that is over is
 * refused whole, and what was decided under the present one is kept. */
#include "suite.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

static void never_run(struct task *task)
{
    (void)task;
}

/* Records outcomes under fences of their own, which subject_record does not do. */
static void record_under(struct subject *s, struct outcome *items, size_t count)
{
    struct outcome_batch b = {.done.run = never_run, .reply_to = &s->executor, .count = count};
    b.items = arena_alloc(&b.arena, count * sizeof *b.items);
    memcpy(b.items, items, count * sizeof *b.items);
    store_record(s->store, &b);
    subject_wait(s, &b.done);
    CHECK_EQ_INT(b.status, STORE_OK);
    memcpy(items, b.items, count * sizeof *items);
    arena_free(&b.arena);
}

static struct outcome delivered(struct subject *s, uint64_t event_no, enum lane_kind kind,
                                int64_t off)
{
    struct outcome o = outcome_of(ACCOUNT_A, event_no, kind, APP_A1, 1, CALLBACK_DELIVERED, 0);
    o.fence = leases_fence(store_leases(s->store), o.lane) + off;
    return o;
}

static void an_outcome_under_another_fence_is_refused(struct subject *s)
{
    CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_COMPLETED, "r-1")).kind, VERDICT_ACCEPTED);
    for (int64_t off = -1; off <= 1; off += 2) {
        struct outcome stale = delivered(s, 1, LANE_SUCCESS, off);
        record_under(s, &stale, 1);
        CHECK(stale.refused);
        CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-1").state, CALLBACK_PENDING);
        CHECK_EQ_UINT(row_of(s, ACCOUNT_A, "r-1").log_count, 0);
    }
    struct outcome good = delivered(s, 1, LANE_SUCCESS, 0);
    record_under(s, &good, 1);
    CHECK(!good.refused);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-1").state, CALLBACK_DELIVERED);
    CHECK_EQ_UINT(row_of(s, ACCOUNT_A, "r-1").log_count, 1);
}

/* Those of one batch are judged one by one. */
static void a_refused_outcome_takes_no_other_along(struct subject *s)
{
    CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_COMPLETED, "r-1")).kind, VERDICT_ACCEPTED);
    CHECK_EQ_INT(submit_one(s, item(EVENT_OFFER_CLICKED, "c-1")).kind, VERDICT_ACCEPTED);
    struct outcome both[] = {delivered(s, 1, LANE_SUCCESS, -1), delivered(s, 2, LANE_OFFER, 0)};
    record_under(s, both, ARRAY_LEN(both));
    CHECK(both[0].refused && !both[1].refused);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-1").state, CALLBACK_PENDING);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "c-1").state, CALLBACK_DELIVERED);
}

/* Each life of a node has fences of its own: what the life before had under way is refused. */
static void a_new_claim_has_a_new_fence(struct subject *s)
{
    CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_COMPLETED, "r-1")).kind, VERDICT_ACCEPTED);
    struct outcome before = delivered(s, 1, LANE_SUCCESS, 0);
    subject_reopen(s);
    CHECK(leases_fence(store_leases(s->store), before.lane) > before.fence);
    record_under(s, &before, 1);
    CHECK(before.refused);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-1").state, CALLBACK_PENDING);
}

void run_fence_tests(void)
{
    if (!has_leases())
        return;
    RUN_FRESH(an_outcome_under_another_fence_is_refused);
    RUN_FRESH(a_refused_outcome_takes_no_other_along);
    RUN_FRESH(a_new_claim_has_a_new_fence);
}
