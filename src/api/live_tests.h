/* The latest test callbacks of all accounts, which GET /api/v1/live streams to `postbackd listen`.
 * A bounded number is kept in memory, so that a stream that was interrupted can continue after its
 * Last-Event-ID. A restart loses them. */
#pragma once

#include "base/buf.h"

#include <pthread.h>

#define LIVE_TESTS_KEPT 128

/* An id is the test's time in milliseconds, made unique: ids also grow across a restart. */
struct live_test {
    int64_t id;
    uint32_t account_no;
    struct buf json;
};

struct live_tests {
    pthread_mutex_t lock;
    struct live_test kept[LIVE_TESTS_KEPT];
    uint64_t count;  /* so far; the next place is count % LIVE_TESTS_KEPT */
    int64_t last_id; /* the last id given to a test or a new stream; later ids are greater */
};

void live_tests_init(struct live_tests *tests);
void live_tests_free(struct live_tests *tests);
void live_tests_add(struct live_tests *tests, uint32_t account_no, int64_t now_ms, struct str json);
/* The position of a new stream: behind all tests so far. */
int64_t live_tests_end(struct live_tests *tests, int64_t now_ms);
/* Prints the account's tests after after_id as events, and returns the last id. */
int64_t live_tests_print(struct live_tests *tests, uint32_t account_no, int64_t after_id,
                         struct buf *to);
