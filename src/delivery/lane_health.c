/* Numbers to show; domain/window.h decides that a lane is suspended and when it is tried again.
 *
 * Rings of time slots: the slot is time / width, modulo the ring's length. Before anything is added
 * or read, the slots skipped since the last attempt are cleared, so that no timer is needed. */
#include "delivery/lane_health.h"

#include "base/alloc.h"
#include "domain/clock.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH_MINUTE_MS INT64_C(5000)
#define WIDTH_HOUR_MS (5 * MINUTE_MS)
#define WIDTH_DAY_MS (60 * MINUTE_MS)
#define WIDTH_LATENCY_MS (15 * MINUTE_MS)

struct health *health_new(lane_no lane, int64_t now_mono_ms)
{
    struct health *h = xcalloc(1, sizeof(*h));
    h->lane = lane;
    h->last_mono_ms = now_mono_ms;
    return h;
}

void health_free(struct health *h)
{
    free(h->last_detail);
    free(h);
}

static void clear_skipped(void *ring, size_t slots, size_t slot_bytes, int64_t width_ms,
                          int64_t from_mono_ms, int64_t to_mono_ms)
{
    int64_t from = from_mono_ms / width_ms, to = to_mono_ms / width_ms;
    for (int64_t i = from + 1; i <= to && i <= from + (int64_t)slots; i++)
        memset((char *)ring + (size_t)(i % (int64_t)slots) * slot_bytes, 0, slot_bytes);
}

static void advance(struct health *h, int64_t now_mono_ms)
{
    int64_t from = h->last_mono_ms;
    h->last_mono_ms = now_mono_ms;
    if (from / WIDTH_MINUTE_MS == now_mono_ms / WIDTH_MINUTE_MS)
        return; /* the widths of the other rings are multiples of this one */
    clear_skipped(h->minute, HEALTH_SLOTS_1M, sizeof(h->minute[0]), WIDTH_MINUTE_MS, from,
                  now_mono_ms);
    clear_skipped(h->hour, HEALTH_SLOTS_1H, sizeof(h->hour[0]), WIDTH_HOUR_MS, from, now_mono_ms);
    clear_skipped(h->day, HEALTH_SLOTS_24H, sizeof(h->day[0]), WIDTH_DAY_MS, from, now_mono_ms);
    clear_skipped(h->latency, HEALTH_LATENCY_SLOTS, sizeof(h->latency[0]), WIDTH_LATENCY_MS, from,
                  now_mono_ms);
}

void health_add(struct health *h, bool success, int32_t duration_ms, int64_t now_mono_ms)
{
    advance(h, now_mono_ms);
    h->minute[now_mono_ms / WIDTH_MINUTE_MS % HEALTH_SLOTS_1M] += success;
    h->hour[now_mono_ms / WIDTH_HOUR_MS % HEALTH_SLOTS_1H][success]++;
    h->day[now_mono_ms / WIDTH_DAY_MS % HEALTH_SLOTS_24H][success]++;
    h->latency[now_mono_ms / WIDTH_LATENCY_MS % HEALTH_LATENCY_SLOTS]
              [latency_index(&latency_classes, duration_ms)]++;
}

void health_add_error(struct health *h, enum attempt_class c, int status,
                      enum request_format format, const char *detail, int64_t wall_ms)
{
    h->last_class = c;
    h->last_status = status;
    h->last_format = format;
    h->last_error_ms = wall_ms;
    free(h->last_detail);
    h->last_detail = xstrdup(detail);
}

bool health_is_stale(const struct health *h, int64_t now_mono_ms)
{
    return now_mono_ms - h->last_mono_ms > HEALTH_SLOTS_24H * WIDTH_DAY_MS;
}

static int32_t percentile(const int64_t counts[LATENCY_CLASSES], int percent)
{
    int64_t ms = latency_percentile_ms(&latency_classes, counts, percent);
    return ms < 0 ? 0 : (int32_t)ms;
}

struct health_summary health_summarise(const struct health *h, int64_t now_mono_ms)
{
    struct health_summary s = {0};
    /* Works on a copy: a read is no attempt and must not make the record look fresh. */
    struct health copy = *h;
    advance(&copy, now_mono_ms);
    for (size_t i = 0; i < HEALTH_SLOTS_1M; i++)
        s.succeeded_1m += copy.minute[i];
    for (size_t i = 0; i < HEALTH_SLOTS_1H; i++) {
        s.failed_1h += copy.hour[i][0];
        s.succeeded_1h += copy.hour[i][1];
    }
    for (size_t i = 0; i < HEALTH_SLOTS_24H; i++) {
        s.failed_24h += copy.day[i][0];
        s.succeeded_24h += copy.day[i][1];
    }
    int64_t counts[LATENCY_CLASSES] = {0};
    for (size_t i = 0; i < HEALTH_LATENCY_SLOTS; i++)
        for (size_t k = 0; k < LATENCY_CLASSES; k++)
            counts[k] += copy.latency[i][k];
    s.p50_ms = percentile(counts, 50);
    s.p95_ms = percentile(counts, 95);
    s.p99_ms = percentile(counts, 99);
    return s;
}
