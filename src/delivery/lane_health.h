/* Health of a lane: successes and failures of the last hour and day, latencies of the last hour,
 * the text of the last failure. Kept only for lanes with an attempt within the last day. These are
 * numbers to show; domain/window.h decides that a lane is suspended and when it is tried again. */
#pragma once

#include "base/hash_map.h"
#include "domain/attempt.h"
#include "domain/event.h"
#include "domain/latency.h"

#define HEALTH_SLOTS_1M 12     /* of 5 seconds */
#define HEALTH_SLOTS_1H 12     /* of 5 minutes */
#define HEALTH_SLOTS_24H 24    /* of an hour */
#define HEALTH_LATENCY_SLOTS 4 /* of 15 minutes */

struct health {
    struct hash_node node;
    lane_no lane;
    int64_t last_mono_ms;
    uint32_t minute[HEALTH_SLOTS_1M];  /* successes */
    uint32_t hour[HEALTH_SLOTS_1H][2]; /* 0: failures, 1: successes */
    uint32_t day[HEALTH_SLOTS_24H][2];
    uint32_t latency[HEALTH_LATENCY_SLOTS][LATENCY_CLASSES];
    enum attempt_class last_class;
    int last_status; /* 0: none */
    enum request_format last_format;
    int64_t last_error_ms; /* wall clock; 0: no failure yet */
    char *last_detail;     /* owned; NULL: none */
    /* wall clock, 0: none: its expiry, and when that was last logged */
    int64_t certificate_expires_ms, certificate_said_ms;
    /* it was reported that the certificate lasts */
    bool certificate_well;
};

struct health *health_new(lane_no lane, int64_t now_mono_ms);
void health_free(struct health *h);
void health_add(struct health *h, bool success, int32_t duration_ms, int64_t now_mono_ms);
void health_add_error(struct health *h, enum attempt_class c, int status,
                      enum request_format format, const char *detail, int64_t wall_ms);
bool health_is_stale(const struct health *h, int64_t now_mono_ms); /* no attempt for a day */

struct health_summary {
    int64_t succeeded_1m, succeeded_1h, failed_1h, succeeded_24h, failed_24h;
    int32_t p50_ms, p95_ms, p99_ms; /* 0: no attempt within the hour */
};
struct health_summary health_summarise(const struct health *h, int64_t now_mono_ms);
