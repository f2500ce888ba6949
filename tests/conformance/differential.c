/* Random requests to the store under test and to the oracle; every answer must be the same. One
 * seed is one run, whatever the machine. */
#include "compare.h"
#include "openers.h"
#include "random_items.h"
#include "suite.h"

#include "base/check.h"
#include "domain/clock.h"

#include <stdlib.h>

struct run {
    struct traffic traffic;
    struct subject oracle;
    struct subject *store;
    int64_t now_ms;
    bool good;
    bool reopened; /* the oracle is not: it alone still knows of resends before that */
};

static uint64_t below(struct run *r, uint64_t bound)
{
    return rng_below(&r->traffic.rng, bound);
}

static void step_submit(struct run *r)
{
    struct candidate items[TRAFFIC_BATCH_MAX];
    struct verdict want[TRAFFIC_BATCH_MAX], got[TRAFFIC_BATCH_MAX];
    size_t count = 1 + below(r, TRAFFIC_BATCH_MAX);
    traffic_batch(&r->traffic, items, count, r->now_ms);
    r->good &= CHECK_EQ_INT(subject_submit(&r->oracle, items, count, r->now_ms, want), STORE_OK);
    r->good &= CHECK_EQ_INT(subject_submit(r->store, items, count, r->now_ms, got), STORE_OK);
    for (size_t i = 0; r->good && i < count; i++) {
        r->good &= CHECK_EQ_INT(got[i].kind, want[i].kind);
        if (want[i].kind == VERDICT_ACCEPTED || want[i].kind == VERDICT_DUPLICATE)
            r->good &= CHECK_EQ_UINT(got[i].event_no, want[i].event_no);
        if (want[i].field)
            r->good &= CHECK_CSTR(got[i].field, want[i].field);
    }
    r->good &= compare_owed(&r->oracle, r->store);
}

static struct outcome random_outcome(struct run *r, const struct callback *c)
{
    static const enum callback_state states[] = {CALLBACK_PENDING, CALLBACK_PENDING,
                                                 CALLBACK_DELIVERED, CALLBACK_DEAD};
    enum callback_state state = c->was_delivered ? CALLBACK_DELIVERED : states[below(r, 4)];
    struct outcome o =
        outcome_of(c->account_no, c->event_no, c->lane, c->app_no, c->attempts_made + 1, state,
                   r->now_ms + (int64_t)below(r, 100000));
    o.place.failed_attempts = c->place.failed_attempts + 1;
    o.place.slot = c->place.slot + 1;
    o.attempt.manual = c->manual;
    bool decided_before = !r->reopened && below(r, 4) == 0;
    o.resend_no = decided_before ? 0 : c->resend_no;
    if (state != CALLBACK_PENDING)
        o.place.due_ms = 0;
    if (below(r, 20) == 0 && !c->was_delivered) {
        o.has_attempt = false;
        o.state = CALLBACK_SKIPPED;
        o.reason = REASON_DISABLED;
    }
    return o;
}

/* Pages a lane of both stores, then lets some of what it found end somehow. */
static void step_deliver(struct run *r)
{
    uint32_t app_no = traffic_app(&r->traffic);
    struct due_page query = {
        .lane = lane_of(app_no, (enum lane_kind)(1 + below(r, LANE_LAST))),
        .due_until_ms = r->now_ms + (int64_t)below(r, 50000),
        .limit = 1 + (uint32_t)below(r, 40),
    };
    struct due_page page;
    r->good &= compare_page(&r->oracle, r->store, &query, &page);
    if (r->good && page.more) {
        query.after = page.last;
        struct due_page second;
        r->good &= compare_page(&r->oracle, r->store, &query, &second);
        drop_callbacks(second.items, second.count);
    }
    struct outcome outcomes[40];
    size_t n = 0;
    for (size_t i = 0; i < page.count; i++)
        if (below(r, 3) != 0)
            outcomes[n++] = random_outcome(r, page.items[i]);
    drop_callbacks(page.items, page.count);
    r->good &= CHECK_EQ_INT(subject_record(&r->oracle, outcomes, n), STORE_OK);
    r->good &= CHECK_EQ_INT(subject_record(r->store, outcomes, n), STORE_OK);
    r->good &= compare_owed(&r->oracle, r->store);
}

static void step_resend(struct run *r)
{
    char id[40];
    traffic_id(&r->traffic, id);
    uint32_t account_no = 1 + (uint32_t)below(r, 2);
    enum store_status want = subject_resend(&r->oracle, account_no, id, r->now_ms);
    r->good &= CHECK_EQ_INT(subject_resend(r->store, account_no, id, r->now_ms), want);
    r->good &= compare_owed(&r->oracle, r->store);
    r->good &= compare_get(&r->oracle, r->store, account_no, id);
}

static void step_report(struct run *r)
{
    static const uint32_t clients[] = {110, 111, 121, 210, 211};
    int32_t today = clock_day(r->now_ms) - (below(r, 4) == 0 ? 150 : 0);
    struct report_query q = {
        .account_no = 1 + (uint32_t)below(r, 2),
        .first_day = today - (int32_t)below(r, 6),
        .last_day = today,
        .include_test = below(r, 2) != 0,
        .after_day = INT32_MIN,
        .limit = 1 + below(r, 20),
    };
    if (below(r, 3) == 0) {
        size_t skip = below(r, 4);
        q.client_nos = clients + skip;
        q.client_count = 1 + below(r, ARRAY_LEN(clients) - skip);
    }
    if (below(r, 3) == 0) {
        q.after_day = today - (int32_t)below(r, 3);
        q.after_client_no = 110 + (uint32_t)below(r, 2);
    }
    r->good &= compare_report(&r->oracle, r->store, &q);
}

/* What is older than that at the store's own time may be gone. */
static void step_intraday(struct run *r)
{
    int32_t first = (int32_t)(BASE_MS / DAY) - INTRADAY_DAYS;
    int32_t day = clock_day(r->now_ms) - (int32_t)below(r, 4);
    r->good &= compare_intraday(&r->oracle, r->store, 1 + (uint32_t)below(r, 2),
                                day < first ? first : day);
}

static void step_delivery_stats(struct run *r)
{
    static const uint32_t apps[] = {0, APP_A1, APP_A2, APP_B1};
    uint32_t app_no = apps[below(r, ARRAY_LEN(apps))];
    enum lane_kind lane = app_no ? (enum lane_kind)below(r, LANE_KINDS) : LANE_NONE;
    r->good &= compare_delivery_stats(&r->oracle, r->store, 1 + (uint32_t)below(r, 2), app_no, lane,
                                      r->now_ms);
}

static void step_statement(struct run *r)
{
    int32_t day = clock_day(r->now_ms) - (int32_t)below(r, 6) + (int32_t)below(r, 2);
    r->good &= compare_statement(&r->oracle, r->store, 1 + (uint32_t)below(r, 2), day);
}

static void step_count(struct run *r)
{
    struct callback_count q = {
        .account_no = 1 + (uint32_t)below(r, 2),
        .app_no = below(r, 2) ? traffic_app(&r->traffic) : 0,
        .states = 1 + (unsigned)below(r, (2u << CALLBACK_SKIPPED) - 1),
        .accepted_from_ms = r->now_ms - (int64_t)below(r, 200000),
        .accepted_to_ms = r->now_ms - (int64_t)below(r, 100000) + 1000,
    };
    r->good &= compare_count(&r->oracle, r->store, &q);
}

static void step_books(struct run *r)
{
    struct books_check check = {.from_day = INT32_MIN,
                                .callbacks_most = 1 + (int64_t)below(r, 200)};
    r->good &= compare_books(&r->oracle, r->store, &check);
    r->good &= compare_waiting(&r->oracle, r->store, traffic_app(&r->traffic));
}

static void step_list(struct run *r)
{
    static const enum callback_state states[] = {CALLBACK_PENDING, CALLBACK_DELIVERED,
                                                 CALLBACK_DEAD, CALLBACK_SKIPPED};
    char panelist[40];
    snprintf(panelist, sizeof panelist, "p%llu", (unsigned long long)below(r, 13));
    struct callback_list q = {
        .account_no = 1 + (uint32_t)below(r, 2),
        .limit = 1 + (uint32_t)below(r, 50),
        .order = below(r, 2) ? LIST_NEWEST_FIRST : LIST_OLDEST_FIRST,
        .attempts = (enum list_attempts)below(r, 3),
        .no_bodies = below(r, 2) == 0,
        .undelivered = below(r, 3) == 0,
        .all_events = below(r, 3) == 0,
    };
    if (below(r, 3) == 0)
        q.panelist_id = str_of(panelist);
    if (below(r, 3) == 0)
        q.type = (enum event_type)(1 + below(r, EVENT_TYPE_LAST));
    if (below(r, 3) == 0)
        q.state = states[below(r, 4)];
    if (below(r, 3) == 0)
        q.app_no = traffic_app(&r->traffic);
    if (below(r, 3) == 0)
        q.has_from = true;
    q.accepted_from_ms = r->now_ms - (int64_t)below(r, 100000);
    if (below(r, 3) == 0)
        q.has_to = true;
    q.accepted_to_ms = r->now_ms - (int64_t)below(r, 50000);
    q.of_day = below(r, 3) == 0;
    q.day = clock_day(r->now_ms) - (int32_t)below(r, 4);
    if (below(r, 2) == 0)
        q.after_event_no = 1 + below(r, 200);
    r->good &= compare_list(&r->oracle, r->store, &q);
}

static void step_get(struct run *r)
{
    char id[40];
    traffic_id(&r->traffic, id);
    r->good &= compare_get(&r->oracle, r->store, 1 + (uint32_t)below(r, 2), id);
}

static void step_erase(struct run *r)
{
    char panelist[40];
    snprintf(panelist, sizeof panelist, "p%llu", (unsigned long long)below(r, 12));
    uint32_t account_no = 1 + (uint32_t)below(r, 2);
    int64_t want = 0, got = 0;
    r->good &= CHECK_EQ_INT(subject_erase(&r->oracle, account_no, panelist, &want), STORE_OK);
    r->good &= CHECK_EQ_INT(subject_erase(r->store, account_no, panelist, &got), STORE_OK);
    r->good &= CHECK_EQ_INT(got, want);
}

static void step_reopen(struct run *r)
{
    if (!r->store->keeps)
        return;
    subject_reopen(r->store);
    r->reopened = true;
    /* What waits is found by paging; the store may hand some of it to the sink as well. */
    r->good &= compare_numbers(&r->oracle, r->store);
}

static void step(struct run *r)
{
    static const struct {
        void (*run)(struct run *r);
        uint64_t weight;
    } steps[] = {
        {step_submit, 30},        {step_deliver, 21}, {step_resend, 6}, {step_report, 8},
        {step_list, 10},          {step_get, 6},      {step_erase, 1},  {step_reopen, 1},
        {step_statement, 4},      {step_count, 3},    {step_books, 2},  {step_intraday, 4},
        {step_delivery_stats, 4},
    };
    uint64_t at = below(r, 100);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (at < steps[i].weight) {
            steps[i].run(r);
            return;
        }
        at -= steps[i].weight;
    }
    UNREACHABLE(); /* the weights add up to 100 */
}

static uint64_t run_seed;
static int run_steps;

static void one_run(void)
{
    struct run r = {.store = subject_under_test, .now_ms = BASE_MS, .good = true};
    struct test_env oracle_env, store_env;
    test_env_init(&oracle_env, run_seed);
    test_env_init(&store_env, run_seed + 1);
    opener_memory(&r.oracle);
    subject_open(&r.oracle, &oracle_env);
    subject_open(r.store, &store_env);
    rng_seed(&r.traffic.rng, run_seed);
    r.traffic.ids = 50 + (int)below(&r, 1000);
    int done = 0;
    for (; r.good && done < run_steps; done++) {
        r.now_ms += (int64_t)below(&r, 3000);
        if (below(&r, 100) == 0) /* the clock is put forward or back */
            r.now_ms += (int64_t)below(&r, 3 * DAY) - 3 * DAY / 2;
        step(&r);
    }
    r.good &= compare_numbers(&r.oracle, r.store);
    struct books_check all = {.from_day = INT32_MIN, .callbacks_most = INT64_MAX};
    r.good &= compare_books(&r.oracle, r.store, &all);
    if (!r.good)
        printf("seed %llu: step %d\n", (unsigned long long)run_seed, done);
    subject_close(&r.oracle);
    subject_close(r.store);
}

void run_differential_tests(uint64_t first_seed, int seeds, int steps)
{
    run_steps = steps;
    for (int i = 0; i < seeds; i++) {
        char name[64];
        run_seed = first_seed + (uint64_t)i;
        snprintf(name, sizeof name, "agrees_with_the_oracle, seed %llu",
                 (unsigned long long)run_seed);
        check_run(one_run, name);
    }
}
