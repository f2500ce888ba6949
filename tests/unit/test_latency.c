/* Classes and buckets of durations, and percentiles of counts on both scales. */
#include "domain/latency.h"

#include "check.h"

static int64_t percentile(const struct latency_scale *scale, const int64_t *durations_ms,
                          size_t count, int percent)
{
    int64_t counts[LATENCY_CLASSES] = {0};
    for (size_t i = 0; i < count; i++)
        counts[latency_index(scale, durations_ms[i])]++;
    return latency_percentile_ms(scale, counts, percent);
}

static void check_indexes(const struct latency_scale *scale)
{
    for (size_t i = 0; i < scale->count; i++) {
        CHECK_EQ_UINT(latency_index(scale, scale->bounds_ms[i]), i);
        if (i + 1 < scale->count)
            CHECK_EQ_UINT(latency_index(scale, scale->bounds_ms[i] + 1), i + 1);
    }
    CHECK_EQ_UINT(latency_index(scale, 0), 0);
    CHECK_EQ_UINT(latency_index(scale, INT32_MAX), scale->count - 1);
    CHECK_EQ_INT(scale->bounds_ms[scale->count - 1], 30000);
}

static void each_time_is_in_the_class_that_reaches_it(void)
{
    check_indexes(&latency_buckets);
    check_indexes(&latency_classes);
}

/* So that what is counted on one scale never contradicts the other. */
static void each_bucket_is_a_sum_of_classes(void)
{
    for (size_t i = 0; i < latency_buckets.count; i++) {
        int64_t ms = latency_buckets.bounds_ms[i];
        CHECK_EQ_INT(latency_classes.bounds_ms[latency_index(&latency_classes, ms)], ms);
    }
}

/* docs/partners/endpoints.md promises it. */
static void a_class_is_at_most_19_percent_wide(void)
{
    for (size_t i = 1; i < latency_classes.count; i++) {
        int64_t least = latency_classes.bounds_ms[i - 1] + 1, most = latency_classes.bounds_ms[i];
        CHECK(most > latency_classes.bounds_ms[i - 1]);
        CHECK((most - least) * 100 <= 19 * least);
    }
}

static void a_percentile_is_in_the_class_of_the_one_it_means(void)
{
    CHECK_EQ_INT(percentile(&latency_buckets, NULL, 0, 50), -1);
    int64_t one[] = {40};
    CHECK_EQ_INT(percentile(&latency_buckets, one, 1, 50), 50);
    CHECK_EQ_INT(percentile(&latency_classes, one, 1, 50), 44);
    int64_t four[] = {120, 130, 140, 9000};
    /* the second of three between 100 and 150 */
    CHECK_EQ_INT(percentile(&latency_buckets, four, 4, 50), 134);
    CHECK_EQ_INT(percentile(&latency_buckets, four, 4, 75), 150);
    CHECK_EQ_INT(percentile(&latency_buckets, four, 4, 95), 10000);
    CHECK_EQ_INT(percentile(&latency_classes, four, 4, 50), 130);
    CHECK_EQ_INT(percentile(&latency_classes, four, 4, 75), 150);
    int64_t endless[] = {600000};
    CHECK_EQ_INT(percentile(&latency_buckets, endless, 1, 100), 30000);
}

/* A time-out is noticed a few milliseconds late. */
static void a_class_is_never_shown_as_less_than_its_timeouts(void)
{
    int64_t late[] = {30000, 30001, 30004, 30012};
    CHECK_EQ_INT(percentile(&latency_classes, late, 4, 50), 30000);
    CHECK_EQ_INT(percentile(&latency_classes, late, 4, 99), 30000);
    int64_t of_15_s[] = {15001, 15001, 15002, 15005};
    CHECK_EQ_INT(percentile(&latency_classes, of_15_s, 4, 50), 15500);
    int64_t of_10_s[] = {10001, 10001, 10002, 10005};
    CHECK_EQ_INT(percentile(&latency_classes, of_10_s, 4, 99), 10100);
}

static void each_bucket_is_interpolated(void)
{
    int64_t counts[LATENCY_BUCKETS] = {0};
    counts[latency_index(&latency_buckets, 20500)] = 100; /* the last one */
    CHECK_EQ_INT(latency_percentile_ms(&latency_buckets, counts, 50), 25000);
    CHECK_EQ_INT(latency_percentile_ms(&latency_buckets, counts, 95), 29500);
    CHECK_EQ_INT(latency_percentile_ms(&latency_buckets, counts, 100), 30000);
    counts[latency_index(&latency_buckets, 5)] = 900; /* the first one */
    CHECK_EQ_INT(latency_percentile_ms(&latency_buckets, counts, 45), 5);
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
    RUN(each_time_is_in_the_class_that_reaches_it);
    RUN(each_bucket_is_a_sum_of_classes);
    RUN(a_class_is_at_most_19_percent_wide);
    RUN(a_percentile_is_in_the_class_of_the_one_it_means);
    RUN(a_class_is_never_shown_as_less_than_its_timeouts);
    RUN(each_bucket_is_interpolated);
    RUN(only_answers_and_their_absence_are_measured);
    return check_done("latency");
}
