/* Dozing over a queue: what has time does not end it, anything else does at once. */
#include "check.h"

#include "base/timing.h"
#include "store/queue.h"

#include <pthread.h>
#include <stdlib.h>

#define LONG_US 10000000
#define SHORT_US 30000

static struct queue queue;

static void post(enum request_kind kind)
{
    queue_post(&queue, request_new(kind, NULL));
}

static void *post_two_later(void *arg)
{
    const struct timespec some = {.tv_nsec = 20000000};
    (void)arg;
    nanosleep(&some, NULL);
    post(REQUEST_OUTCOMES);
    nanosleep(&some, NULL);
    post(REQUEST_INTAKE);
    return NULL;
}

/* Takes what is there, which must be of these kinds, in this order. */
static void expect(const enum request_kind *kinds, size_t count)
{
    struct request_list all = queue_take_all(&queue, 0);
    struct request *r;
    size_t i = 0;
    for (; (r = request_list_take(&all)) != NULL; i++) {
        CHECK(i < count && r->kind == kinds[i]);
        free(r);
    }
    CHECK_EQ_UINT(i, count);
}

static void outcomes_wait_until_the_time_is_over(void)
{
    int64_t until_us = timing_now_us() + SHORT_US;
    post(REQUEST_OUTCOMES);
    queue_doze(&queue, until_us);
    CHECK(timing_now_us() >= until_us);
    expect((enum request_kind[]){REQUEST_OUTCOMES}, 1);
}

static void what_somebody_waits_for_ends_it(void)
{
    int64_t begin_us = timing_now_us();
    pthread_t other;
    post(REQUEST_OUTCOMES);
    REQUIRE(pthread_create(&other, NULL, post_two_later, NULL) == 0);
    queue_doze(&queue, begin_us + LONG_US);
    int64_t slept_us = timing_now_us() - begin_us;
    pthread_join(other, NULL);
    CHECK(slept_us >= 40000 && slept_us < LONG_US);
    expect((enum request_kind[]){REQUEST_OUTCOMES, REQUEST_OUTCOMES, REQUEST_INTAKE}, 3);
}

static void it_does_not_begin_where_somebody_waits(void)
{
    int64_t begin_us = timing_now_us();
    post(REQUEST_STOP);
    post(REQUEST_OUTCOMES);
    queue_doze(&queue, begin_us + LONG_US);
    CHECK(timing_now_us() - begin_us < LONG_US);
    expect((enum request_kind[]){REQUEST_STOP, REQUEST_OUTCOMES}, 2);
}

static void outcomes_wake_who_sleeps(void)
{
    pthread_t other;
    REQUIRE(pthread_create(&other, NULL, post_two_later, NULL) == 0);
    CHECK(queue_has_any(&queue, -1));
    expect((enum request_kind[]){REQUEST_OUTCOMES}, 1);
    pthread_join(other, NULL);
    expect((enum request_kind[]){REQUEST_INTAKE}, 1);
}

int main(void)
{
    queue_init(&queue);
    RUN(outcomes_wait_until_the_time_is_over);
    RUN(what_somebody_waits_for_ends_it);
    RUN(it_does_not_begin_where_somebody_waits);
    RUN(outcomes_wake_who_sleeps);
    queue_destroy(&queue);
    return check_done("queue");
}
