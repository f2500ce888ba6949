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
    queue_wait_batch(&queue, until_us);
    CHECK(timing_now_us() >= until_us);
    expect((enum request_kind[]){REQUEST_OUTCOMES}, 1);
}

static void what_somebody_waits_for_ends_it(void)
{
    int64_t begin_us = timing_now_us();
    pthread_t other;
    post(REQUEST_OUTCOMES);
    REQUIRE(pthread_create(&other, NULL, post_two_later, NULL) == 0);
    queue_wait_batch(&queue, begin_us + LONG_US);
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
    queue_wait_batch(&queue, begin_us + LONG_US);
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

static struct callback_count counts[8];

static void post_count(size_t i, uint32_t account_no)
{
    counts[i].account_no = account_no;
    queue_post(&queue, request_new(REQUEST_COUNT, &counts[i]));
}

/* The account of what the taker gets; -1: nothing; -2: the end. */
static int64_t turn_of(size_t taker)
{
    struct request *r = queue_take_turn(&queue, taker, 0);
    int64_t got = !r ? -1 : r->kind == REQUEST_STOP ? -2 : (int64_t)request_account(r);
    free(r);
    return got;
}

static void accounts_take_turns(void)
{
    for (size_t i = 0; i < 4; i++)
        post_count(i, 7);
    post_count(4, 9);
    post_count(5, 3);
    static const int64_t expected[] = {3, 7, 9, 7, 7, 7, -1};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        CHECK_EQ_INT(turn_of(0), expected[i]);
}

/* The second thread is left to others, whatever the first one's account has waiting. */
static void an_account_has_one_thread(void)
{
    for (size_t i = 0; i < 3; i++)
        post_count(i, 7);
    CHECK_EQ_INT(turn_of(0), 7);
    CHECK_EQ_INT(turn_of(1), -1);
    post_count(3, 8);
    post_count(4, 8);
    CHECK_EQ_INT(turn_of(1), 8);
    CHECK_EQ_INT(turn_of(1), 8);
    CHECK_EQ_INT(turn_of(1), -1);
    CHECK_EQ_INT(turn_of(0), 7);
    CHECK_EQ_INT(turn_of(0), 7);
    CHECK_EQ_INT(turn_of(0), -1);
}

/* While the first thread does something else, the other one may take its account. */
static void a_turn_ends_before_the_next_one(void)
{
    post_count(0, 7);
    post_count(1, 7);
    CHECK_EQ_INT(turn_of(0), 7);
    CHECK_EQ_INT(turn_of(1), -1);
    queue_end_turn(&queue, 0);
    CHECK_EQ_INT(turn_of(1), 7);
    queue_end_turn(&queue, 1);
}

static void lists_of_objects_have_one_thread(void)
{
    struct object_list lists[2] = {{.account_no = 7}, {.account_no = 7}};
    for (size_t i = 0; i < 2; i++)
        queue_post(&queue, request_new(REQUEST_OBJECTS, &lists[i]));
    CHECK_EQ_INT(turn_of(0), 7);
    CHECK_EQ_INT(turn_of(1), -1);
    CHECK_EQ_INT(turn_of(0), 7);
    CHECK_EQ_INT(turn_of(0), -1);
}

static void the_end_comes_last(void)
{
    post(REQUEST_STOP);
    post(REQUEST_STOP);
    post_count(0, 7);
    post_count(1, 7);
    CHECK_EQ_INT(turn_of(0), 7);
    CHECK_EQ_INT(turn_of(1), -2); /* the rest is the first one's */
    CHECK_EQ_INT(turn_of(0), 7);
    CHECK_EQ_INT(turn_of(0), -2);
}

static void *take_one_later(void *arg)
{
    (void)arg;
    struct request *r = queue_take_turn(&queue, 1, -1);
    uint32_t account = request_account(r);
    free(r);
    return (void *)(uintptr_t)account;
}

/* What is there already, of an account that is being served, keeps nobody asleep. */
static void a_sleeping_thread_is_woken_for_another_account(void)
{
    pthread_t other;
    void *account = NULL;
    post_count(0, 7);
    post_count(1, 7);
    CHECK_EQ_INT(turn_of(0), 7);
    REQUIRE(pthread_create(&other, NULL, take_one_later, NULL) == 0);
    post_count(2, 8);
    pthread_join(other, &account);
    CHECK_EQ_INT((uintptr_t)account == 8, 1);
    CHECK_EQ_INT(turn_of(0), 7);
    CHECK_EQ_INT(turn_of(0), -1);
    CHECK_EQ_INT(turn_of(1), -1);
}

int main(void)
{
    queue_init(&queue);
    RUN(outcomes_wait_until_the_time_is_over);
    RUN(what_somebody_waits_for_ends_it);
    RUN(it_does_not_begin_where_somebody_waits);
    RUN(outcomes_wake_who_sleeps);
    RUN(accounts_take_turns);
    RUN(an_account_has_one_thread);
    RUN(a_turn_ends_before_the_next_one);
    RUN(lists_of_objects_have_one_thread);
    RUN(the_end_comes_last);
    RUN(a_sleeping_thread_is_woken_for_another_account);
    queue_destroy(&queue);
    return check_done("queue");
}
