/*
 * conformance STORE [SEEDS [STEPS [FIRST-SEED]]]: every test of the store contract on one kind of
 * store (memory, sqlite, postgresql, clusters), then SEEDS random runs against the oracle.
 */
#include "openers.h"
#include "suite.h"

#include "base/alloc.h"

#include <stdlib.h>

struct subject *subject_under_test;
static struct test_env current_env;
static struct arena row_arena;

struct subject *fresh(void)
{
    test_env_init(&current_env, 1);
    subject_open(subject_under_test, &current_env);
    return subject_under_test;
}

void done_with(struct subject *s)
{
    subject_close(s);
    arena_free(&row_arena);
    pthread_mutex_destroy(&current_env.lock);
}

static void (*fresh_test)(struct subject *s);

bool has_leases(void)
{
    struct subject *s = fresh();
    bool has = store_leases(s->store) != NULL;
    done_with(s);
    return has;
}

static void run_on_fresh(void)
{
    struct subject *s = fresh();
    fresh_test(s);
    done_with(s);
}

void run_fresh(void (*test)(struct subject *s), const char *name)
{
    fresh_test = test;
    check_run(run_on_fresh, name);
}

void submit_traffic(struct subject *s)
{
    struct candidate items[16];
    size_t n = 0;
    items[n++] = item(EVENT_SURVEY_STARTED, "s-1");
    items[n++] = item(EVENT_SURVEY_STARTED, "s-2"); /* the same panelist */
    items[n] = item(EVENT_SURVEY_STARTED, "s-3");
    items[n++].panelist_id = STR("other");
    items[n] = item(EVENT_SURVEY_STARTED, "s-4");
    items[n].is_test = true;
    items[n++].panelist_id = STR("tester");
    items[n] = item(EVENT_SURVEY_STARTED, "s-5"); /* a live one, seen as a test too */
    items[n++].is_test = true;
    items[n++] = item(EVENT_SURVEY_COMPLETED, "r-1");
    items[n++] = item(EVENT_OFFER_COMPLETED, "o-1");
    items[n] = reversal("x-1", "o-1");
    items[n++].occurred_ms = BASE_MS - DAY;            /* its own day */
    items[n] = item(EVENT_SURVEY_DISQUALIFIED, "d-1"); /* a reward without revenue */
    items[n++].occurred_ms = BASE_MS / DAY * DAY - 1;  /* the last millisecond of yesterday */
    items[n] = item(EVENT_OFFER_CLICKED, "c-1");
    items[n++].occurred_ms = BASE_MS / DAY * DAY;
    items[n++] = item_of(APP_A2, EVENT_PROFILER_COMPLETED, "p-1");
    items[n] = item_of(APP_A2, EVENT_SURVEY_COMPLETED, "t-1");
    items[n].is_test = true;
    items[n++].occurred_ms = BASE_MS - 5 * DAY;
    items[n++] = item_of(APP_B1, EVENT_SURVEY_STARTED, "b-1");
    struct verdict v[16];
    CHECK_EQ_INT(subject_submit(s, items, n, BASE_MS, v), STORE_OK);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ_INT(v[i].kind, VERDICT_ACCEPTED);
}

struct verdict submit_one(struct subject *s, struct candidate c)
{
    struct verdict v = {0};
    CHECK_EQ_INT(subject_submit(s, &c, 1, BASE_MS, &v), STORE_OK);
    return v;
}

struct callback_row row_of(struct subject *s, uint32_t account_no, const char *event_id)
{
    arena_free(&row_arena);
    struct callback_get get = {.account_no = account_no, .event_id = str_of(event_id)};
    subject_get(s, &get);
    row_arena = get.arena;
    if (get.status == STORE_OK)
        return get.row;
    CHECK_EQ_INT(get.status, STORE_NOT_FOUND);
    return (struct callback_row){0};
}

int main(int argc, char **argv)
{
    struct subject subject;
    if (argc < 2 || !opener_find(argv[1], &subject)) {
        fprintf(stderr, "usage: %s STORE [SEEDS [STEPS [FIRST-SEED]]]\n", argv[0]);
        return 2;
    }
    int seeds = argc > 2 ? atoi(argv[2]) : 5;
    int steps = argc > 3 ? atoi(argv[3]) : 300;
    uint64_t first = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    subject_under_test = &subject;
    run_intake_tests();
    run_callback_tests();
    run_reading_tests();
    run_list_tests();
    run_erasing_tests();
    run_intraday_tests();
    run_delivery_stats_tests();
    run_statement_tests();
    run_turns_tests();
    run_books_tests();
    run_fence_tests();
    run_retention_tests();
    run_differential_tests(first, seeds, steps);
    run_history_tests(first, seeds, steps / 10);
    char name[64];
    snprintf(name, sizeof name, "conformance_%s", argv[1]);
    return check_done(name);
}
