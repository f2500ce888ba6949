/* What is shown of a lane's last hour and day. */
#include "delivery/lane_health.h"

#include "check.h"

#define MINUTE INT64_C(60000)

static void timeouts_of_30_seconds_are_shown_as_such(void)
{
    struct health *h = health_new(lane_of(1, LANE_SUCCESS), 0);
    for (int i = 0; i < 40; i++)
        health_add(h, false, 30000 + i % 5, 1000 * i);
    struct health_summary s = health_summarise(h, MINUTE);
    CHECK_EQ_INT(s.failed_1h, 40);
    CHECK_EQ_INT(s.p50_ms, 30000);
    CHECK_EQ_INT(s.p99_ms, 30000);
    health_free(h);
}

/* An app's TimeoutSeconds may be any number: what all attempts have reached is not undercut. */
static void no_latency_is_below_a_timeout_of_15_seconds(void)
{
    struct health *h = health_new(lane_of(1, LANE_SUCCESS), 0);
    for (int i = 0; i < 40; i++)
        health_add(h, false, 15001 + i % 5, 1000 * i);
    struct health_summary s = health_summarise(h, MINUTE);
    CHECK_EQ_INT(s.p50_ms, 15500);
    CHECK_EQ_INT(s.p99_ms, 15500);
    health_free(h);
}

static void latencies_are_shown_to_within_19_percent_for_an_hour(void)
{
    struct health *h = health_new(lane_of(1, LANE_SUCCESS), 0);
    for (int ms = 1; ms < 30000; ms += ms / 50 + 1) {
        CHECK_EQ_INT(health_summarise(h, 0).p50_ms, 0);
        health_add(h, true, ms, 0);
        struct health_summary s = health_summarise(h, 0);
        if (!CHECK(s.p50_ms >= ms && s.p50_ms * 100 <= ms * 119))
            printf("    %d ms: %d\n", ms, s.p50_ms);
        health_free(h);
        h = health_new(lane_of(1, LANE_SUCCESS), 0);
    }
    health_add(h, true, 200, 0);
    CHECK(health_summarise(h, 44 * MINUTE).p50_ms > 0);
    CHECK_EQ_INT(health_summarise(h, 75 * MINUTE).p50_ms, 0);
    health_free(h);
}

/* What is said of it fits the request that failed, not the app as it is now. */
static void the_last_error_keeps_the_format_of_its_request(void)
{
    struct health *h = health_new(lane_of(1, LANE_SUCCESS), 0);
    health_add_error(h, ATTEMPT_STATUS, 405, REQUEST_GET, "No GET.", 1000);
    CHECK_EQ_INT(h->last_format, REQUEST_GET);
    health_add_error(h, ATTEMPT_STATUS, 415, REQUEST_FORM, "No form.", 2000);
    CHECK_EQ_INT(h->last_format, REQUEST_FORM);
    CHECK_CSTR(h->last_detail, "No form.");
    health_free(h);
}

int main(void)
{
    RUN(timeouts_of_30_seconds_are_shown_as_such);
    RUN(no_latency_is_below_a_timeout_of_15_seconds);
    RUN(latencies_are_shown_to_within_19_percent_for_an_hour);
    RUN(the_last_error_keeps_the_format_of_its_request);
    return check_done("lane_health");
}
