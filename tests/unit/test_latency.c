/* Percentiles of counts in buckets. */
#include "domain/latency.h"

#include "check.h"

static int64_t percentile(const int64_t *durations_ms, size_t count, int percent)
{
    int64_t counts[LATENCY_BUCKETS] = {0};
    for (size_t i = 0; i < count; i++)
        counts[latency_bucket(durations_ms[i])]++;
    return latency_percentile_ms(counts, percent);
}

static void each_time_is_in_the_bucket_that_reaches_it(void)
{
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        CHECK_EQ_UINT(latency_bucket(latency_bounds_ms[i]), i);
        if (i + 1 < LATENCY_BUCKETS)
            CHECK_EQ_UINT(latency_bucket(latency_bounds_ms[i] + 1), i + 1);
    }
    CHECK_EQ_UINT(latency_bucket(0), 0);
    CHECK_EQ_UINT(latency_bucket(INT32_MAX), LATENCY_BUCKETS - 1);
}

static void a_percentile_is_in_the_bucket_of_the_one_it_means(void)
{
    CHECK_EQ_INT(percentile(NULL, 0, 50), -1);
    int64_t one[] = {40};
    CHECK_EQ_INT(percentile(one, 1, 50), 50);
    int64_t four[] = {120, 130, 140, 9000};
    CHECK_EQ_INT(percentile(four, 4, 50), 134); /* the second of three between 100 and 150 */
    CHECK_EQ_INT(percentile(four, 4, 75), 150);
    CHECK_EQ_INT(percentile(four, 4, 95), 10000);
    int64_t endless[] = {600000};
    CHECK_EQ_INT(percentile(endless, 1, 100), 30000);
}

/* What is unreachable is not quick. */
static void only_answers_and_their_absence_are_measured(void)
{
    CHECK(latency_is_measured(ATTEMPT_OK) && latency_is_measured(ATTEMPT_STATUS));
    CHECK(latency_is_measured(ATTEMPT_TIMEOUT) && latency_is_measured(ATTEMPT_UNEXPECTED_ANSWER));
    CHECK(!latency_is_measured(ATTEMPT_REFUSED) && !latency_is_measured(ATTEMPT_CONNECT_TIMEOUT));
}

int main(void)
{
    RUN(each_time_is_in_the_bucket_that_reaches_it);
    RUN(a_percentile_is_in_the_bucket_of_the_one_it_means);
    RUN(only_answers_and_their_absence_are_measured);
    return check_done("latency");
}
