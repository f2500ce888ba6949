/* GET /api/v1/live: server-sent events (WHATWG HTML, section 9.2) that tell open pages what to read
 * again. An event has only counts of changes per app and second, so a million outcomes cost a
 * reader as little as one. Only test callbacks are sent in full (live_tests.h). */
#pragma once

#include "delivery/delivery.h"

/* Streams in total and of one account, so that a few clients cannot use up all: 503 beyond. */
#define LIVE_STREAMS_MOST 500
#define LIVE_STREAMS_OF_ACCOUNT 100

struct live;
struct live *live_new(void);
void live_free(struct live *live);

/* Any thread; costs nearly nothing while no stream is open. */
void live_outcomes(struct live *live, const struct outcome *items, size_t count);
void live_endpoint(struct live *live, uint32_t account_no, uint32_t app_no);
void live_accepted(struct live *live, const struct intake_batch *batch);
/* A test callback as sent, as one JSON object: headers and body with their signatures. */
void live_test(struct live *live, uint32_t account_no, int64_t now_ms, struct str json);
