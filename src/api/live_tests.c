/* A ring buffer behind a lock; see live_tests.h. */
#include "api/live_tests.h"

void live_tests_init(struct live_tests *tests)
{
    pthread_mutex_init(&tests->lock, NULL);
}

void live_tests_free(struct live_tests *tests)
{
    pthread_mutex_destroy(&tests->lock);
    for (size_t i = 0; i < LIVE_TESTS_KEPT; i++)
        buf_free(&tests->kept[i].json);
}

void live_tests_add(struct live_tests *tests, uint32_t account_no, int64_t now_ms, struct str json)
{
    pthread_mutex_lock(&tests->lock);
    struct live_test *test = &tests->kept[tests->count++ % LIVE_TESTS_KEPT];
    test->id = now_ms > tests->last_id ? now_ms : tests->last_id + 1;
    test->account_no = account_no;
    buf_clear(&test->json);
    buf_add_str(&test->json, json);
    tests->last_id = test->id;
    pthread_mutex_unlock(&tests->lock);
}

int64_t live_tests_end(struct live_tests *tests, int64_t now_ms)
{
    pthread_mutex_lock(&tests->lock);
    if (now_ms > tests->last_id)
        tests->last_id = now_ms;
    int64_t end = tests->last_id;
    pthread_mutex_unlock(&tests->lock);
    return end;
}

int64_t live_tests_print(struct live_tests *tests, uint32_t account_no, int64_t after_id,
                         struct buf *to)
{
    pthread_mutex_lock(&tests->lock);
    uint64_t first = tests->count > LIVE_TESTS_KEPT ? tests->count - LIVE_TESTS_KEPT : 0;
    for (uint64_t i = first; i < tests->count; i++) {
        const struct live_test *test = &tests->kept[i % LIVE_TESTS_KEPT];
        if (test->account_no != account_no || test->id <= after_id)
            continue;
        after_id = test->id;
        buf_printf(to, "event: test\nid: %lld\ndata: %.*s\n\n", (long long)test->id,
                   STR_ARG(buf_str(&test->json)));
    }
    pthread_mutex_unlock(&tests->lock);
    return after_id;
}
