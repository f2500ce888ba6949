/* Counts of attempts: each in the point that it began in, by how it ended and how long it took, of
 * its endpoint and of its account. */
#include "suite.h"

#include "base/buf.h"

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define NOON BASE_MS

/* "point class=n.../bucket=n...;" of points with any. */
static const char *stats_text(struct subject *s, struct delivery_stats_query q)
{
    static struct buf b;
    buf_clear(&b);
    subject_delivery_stats(s, &q);
    CHECK_EQ_INT(q.status, STORE_OK);
    for (size_t i = 0; i < q.count; i++) {
        size_t start = b.n;
        for (int c = 0; c < ATTEMPT_CLASSES; c++)
            if (q.points[i].classes[c])
                buf_printf(&b, " %s=%lld", attempt_class_name((enum attempt_class)c),
                           (long long)q.points[i].classes[c]);
        for (size_t k = 0; k < LATENCY_BUCKETS; k++)
            if (q.points[i].latencies[k])
                buf_printf(&b, " %lldms=%lld", (long long)latency_buckets.bounds_ms[k],
                           (long long)q.points[i].latencies[k]);
        if (b.n > start)
            buf_printf(&b, " at %zu;", i);
    }
    return buf_c(&b);
}

static const char *hour_text(struct subject *s, uint32_t account_no, uint32_t app_no,
                             enum lane_kind lane)
{
    return stats_text(s, (struct delivery_stats_query){.account_no = account_no,
                                                       .app_no = app_no,
                                                       .lane = lane,
                                                       .from_ms = NOON,
                                                       .step_ms = 5 * MINUTE,
                                                       .count = 12});
}

static void try_at(struct subject *s, uint32_t app_no, enum lane_kind lane, int32_t number,
                   enum attempt_class class, int64_t at_ms, int32_t duration_ms)
{
    struct outcome o = outcome_of(
        app_no == APP_B1 ? ACCOUNT_B : ACCOUNT_A, lane == LANE_OFFER ? 2 : 1, lane, app_no, number,
        class == ATTEMPT_OK ? CALLBACK_DELIVERED : CALLBACK_PENDING, NOON + DAY);
    o.attempt.class = class;
    o.attempt.at_ms = at_ms;
    o.attempt.duration_ms = duration_ms;
    CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
}

static void submit_three(struct subject *s)
{
    CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_COMPLETED, "r-1")).kind, VERDICT_ACCEPTED);
    CHECK_EQ_INT(submit_one(s, item(EVENT_OFFER_COMPLETED, "o-1")).kind, VERDICT_ACCEPTED);
    CHECK_EQ_INT(submit_one(s, item_of(APP_B1, EVENT_SURVEY_COMPLETED, "b-1")).kind,
                 VERDICT_ACCEPTED);
}

static void attempts_are_counted_where_they_began(struct subject *s)
{
    submit_three(s);
    CHECK_CSTR(hour_text(s, ACCOUNT_A, 0, LANE_NONE), "");
    try_at(s, APP_A1, LANE_SUCCESS, 1, ATTEMPT_REFUSED, NOON, 3);
    try_at(s, APP_A1, LANE_SUCCESS, 2, ATTEMPT_TIMEOUT, NOON + 5 * MINUTE - 1, 10001);
    try_at(s, APP_A1, LANE_SUCCESS, 3, ATTEMPT_STATUS, NOON + 5 * MINUTE, 10);
    try_at(s, APP_A1, LANE_OFFER, 1, ATTEMPT_STATUS, NOON + 5 * MINUTE, 11);
    try_at(s, APP_A1, LANE_SUCCESS, 4, ATTEMPT_OK, NOON + HOUR - 1, 600000);
    try_at(s, APP_A1, LANE_OFFER, 2, ATTEMPT_OK, NOON + HOUR, 1); /* behind the last point */
    try_at(s, APP_B1, LANE_SUCCESS, 1, ATTEMPT_UNEXPECTED_ANSWER, NOON + 10 * MINUTE, 0);
    const char *of_success = " refused=1 timeout=1 20000ms=1 at 0; status=1 10ms=1 at 1;"
                             " ok=1 30000ms=1 at 11;";
    const char *of_all = " refused=1 timeout=1 20000ms=1 at 0; status=2 10ms=1 20ms=1 at 1;"
                         " ok=1 30000ms=1 at 11;";
    for (int again = 0; again < 2; again++) {
        CHECK_CSTR(hour_text(s, ACCOUNT_A, APP_A1, LANE_SUCCESS), of_success);
        CHECK_CSTR(hour_text(s, ACCOUNT_A, APP_A1, LANE_OFFER), " status=1 20ms=1 at 1;");
        CHECK_CSTR(hour_text(s, ACCOUNT_A, APP_A1, LANE_FAILURE), "");
        CHECK_CSTR(hour_text(s, ACCOUNT_A, APP_A1, LANE_NONE), of_all);
        CHECK_CSTR(hour_text(s, ACCOUNT_A, 0, LANE_NONE), of_all);
        CHECK_CSTR(hour_text(s, ACCOUNT_B, 0, LANE_NONE), " unexpected_answer=1 10ms=1 at 2;");
        CHECK_CSTR(hour_text(s, ACCOUNT_B, APP_A1, LANE_NONE), ""); /* a stranger's */
        CHECK_CSTR(hour_text(s, 3, 0, LANE_NONE), "");
        if (!s->keeps)
            return;
        subject_reopen(s);
    }
}

/* Of two in one transaction, and of the same endpoint in several. */
static void what_is_counted_is_added_up(struct subject *s)
{
    submit_three(s);
    struct outcome both[] = {
        outcome_of(ACCOUNT_A, 1, LANE_SUCCESS, APP_A1, 1, CALLBACK_PENDING, NOON + DAY),
        outcome_of(ACCOUNT_A, 1, LANE_SUCCESS, APP_A1, 2, CALLBACK_PENDING, NOON + DAY)};
    CHECK_EQ_INT(subject_record(s, both, 2), STORE_OK);
    CHECK_CSTR(hour_text(s, ACCOUNT_A, 0, LANE_NONE), " status=2 20ms=2 at 0;");
    for (int32_t number = 3; number < 6; number++)
        try_at(s, APP_A1, LANE_SUCCESS, number, ATTEMPT_STATUS, NOON + number, 12);
    CHECK_CSTR(hour_text(s, ACCOUNT_A, 0, LANE_NONE), " status=5 20ms=5 at 0;");
    struct delivery_stats_query month = {
        .account_no = ACCOUNT_A, .from_ms = (NOON / DAY - 29) * DAY, .step_ms = DAY, .count = 30};
    CHECK_CSTR(stats_text(s, month), " status=5 20ms=5 at 29;");
}

/* As a group is recorded again whose commit is in doubt, which only stores with leases know. */
static void what_is_recorded_twice_is_counted_once(struct subject *s)
{
    submit_three(s);
    struct outcome o =
        outcome_of(ACCOUNT_A, 1, LANE_SUCCESS, APP_A1, 1, CALLBACK_PENDING, NOON + DAY);
    for (int again = 0; again < 2; again++)
        CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
    CHECK_CSTR(hour_text(s, ACCOUNT_A, 0, LANE_NONE), " status=1 20ms=1 at 0;");
    CHECK_CSTR(hour_text(s, ACCOUNT_A, APP_A1, LANE_SUCCESS), " status=1 20ms=1 at 0;");
    struct store_numbers numbers;
    store_get_numbers(s->store, &numbers);
    CHECK_EQ_INT(numbers.statements_refused, 0); /* it is seen before the database refuses it */
}

void run_delivery_stats_tests(void)
{
    RUN_FRESH(attempts_are_counted_where_they_began);
    RUN_FRESH(what_is_counted_is_added_up);
    if (has_leases())
        RUN_FRESH(what_is_recorded_twice_is_counted_once);
}
