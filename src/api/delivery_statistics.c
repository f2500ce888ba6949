/* GET /api/v1/delivery-statistics and /api/v1/apps/{AppId}/delivery-statistics: results and
 * durations of attempts, for an account, an app or one endpoint, in intervals of equal length that
 * end now. Intervals without attempts are left out. */
#include "api/internal.h"
#include "api/route.h"
#include "domain/clock.h"
#include "domain/latency.h"

static const struct period {
    const char *name;
    int64_t step_ms;
    size_t points;
} periods[] = {{"1h", 5 * MINUTE_MS, 12},
               {"24h", 60 * MINUTE_MS, 24},
               {"7d", 6 * 60 * MINUTE_MS, 28},
               {"30d", DAY_MS, 30}};

struct delivery_statistics_request {
    struct call *c;
    const struct period *period;
    struct delivery_stats_query query;
};

static void print_latency(struct json_writer *w, const char *name, const struct delivery_stats *s,
                          int percent)
{
    int64_t ms = latency_percentile_ms(&latency_buckets, s->latencies, percent);
    json_key(w, name);
    if (ms < 0)
        json_null(w);
    else
        json_int(w, ms);
}

static int64_t count_failed(const struct delivery_stats *s)
{
    int64_t n = 0;
    for (int i = 0; i < ATTEMPT_CLASSES; i++)
        n += i == ATTEMPT_OK ? 0 : s->classes[i];
    return n;
}

/* The members of a point and of the total; the object is open. */
static void print_stats(struct json_writer *w, const struct delivery_stats *s)
{
    json_key_int(w, "Succeeded", s->classes[ATTEMPT_OK]);
    json_key_int(w, "Failed", count_failed(s));
    json_key_object(w, "Failures");
    for (int i = 0; i < ATTEMPT_CLASSES; i++)
        if (i != ATTEMPT_OK && s->classes[i] > 0)
            json_key_int(w, attempt_class_name((enum attempt_class)i), s->classes[i]);
    json_end_object(w);
    print_latency(w, "LatencyP50Ms", s, 50);
    print_latency(w, "LatencyP95Ms", s, 95);
}

static void print_points(struct json_writer *w, const struct delivery_stats_query *q,
                         struct delivery_stats *total)
{
    json_key_array(w, "Points");
    for (size_t i = 0; i < q->count; i++) {
        const struct delivery_stats *s = &q->points[i];
        if (s->classes[ATTEMPT_OK] + count_failed(s) == 0)
            continue;
        delivery_stats_add(total, s);
        json_object(w);
        json_key_time(w, "From", q->from_ms + (int64_t)i * q->step_ms);
        print_stats(w, s);
        json_end_object(w);
    }
    json_end_array(w);
}

static void query_done(struct task *task)
{
    struct delivery_statistics_request *a =
        CONTAINER_OF(task, struct delivery_statistics_request, query.done);
    const struct delivery_stats_query *q = &a->query;
    if (!call_store_ok(a->c, q->status))
        return;
    struct delivery_stats total = {0};
    struct json_writer *w = call_begin_object(a->c);
    json_key_c(w, "Period", a->period->name);
    json_key_time(w, "From", q->from_ms);
    json_key_time(w, "To", q->from_ms + (int64_t)q->count * q->step_ms);
    json_key_int(w, "StepSeconds", q->step_ms / 1000);
    print_points(w, q, &total);
    json_key_object(w, "Total");
    print_stats(w, &total);
    json_end_object(w);
    call_end_object(a->c, 200);
}

static const struct period *parameter_period(struct call *c)
{
    struct str name = call_parameter(c, "period");
    for (size_t i = 0; i < ARRAY_LEN(periods); i++)
        if (str_is(name.p ? name : STR("24h"), periods[i].name))
            return &periods[i];
    problem_add(&c->problems, STR("period"), "invalid", "One of 1h, 24h, 7d and 30d.");
    return NULL;
}

static enum lane_kind parameter_endpoint(struct call *c)
{
    struct str name = call_parameter(c, "endpoint");
    for (enum lane_kind kind = LANE_SUCCESS; name.p && kind < LANE_KINDS; kind++)
        if (str_is(name, lane_kind_name(kind)))
            return kind;
    if (name.p)
        problem_add(&c->problems, STR("endpoint"), "invalid",
                    "One of success, failure, offer and test.");
    return LANE_NONE;
}

void delivery_statistics_get(struct call *c)
{
    struct delivery_statistics_request *a = call_alloc(c, sizeof *a);
    struct delivery_stats_query *q = &a->query;
    a->c = c;
    a->period = parameter_period(c);
    q->lane = parameter_endpoint(c);
    if (c->problems.count) {
        call_answer_invalid_query(c);
        return;
    }
    q->step_ms = a->period->step_ms;
    q->count = a->period->points;
    q->from_ms = (call_now_ms(c) / q->step_ms + 1 - (int64_t)q->count) * q->step_ms;
    q->account_no = c->account_no;
    q->app_no = c->app ? c->app->app_no : 0;
    q->done.run = query_done;
    q->reply_to = call_executor(c);
    store_delivery_stats(c->api->options.store, q);
}
