/* A read of one account that takes long delays no other account's: there are two threads for each
 * kind of read, and no account has both. */
#include "suite.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

/* An asker in whose hands the store's thread stays for as long as it likes. */
struct holder {
    struct executor executor;
    pthread_t asker;
    sem_t begun, leave, left;
};

static void hold_thread(struct executor *executor, struct task *task)
{
    struct holder *h = CONTAINER_OF(executor, struct holder, executor);
    (void)task;
    sem_post(&h->begun);
    if (!pthread_equal(h->asker, pthread_self())) /* a store without threads has none to hold */
        while (sem_wait(&h->leave) != 0)
            ;
    sem_post(&h->left);
}

static void never(struct task *task)
{
    (void)task;
    UNREACHABLE();
}

static struct holder *holder_begin(struct holder *h)
{
    *h = (struct holder){.executor = {hold_thread}, .asker = pthread_self()};
    sem_init(&h->begun, 0, 0);
    sem_init(&h->leave, 0, 0);
    sem_init(&h->left, 0, 0);
    return h;
}

/* Ends the test program where a read waits for one that never ends. */
static void wait_for(sem_t *semaphore)
{
    struct timespec until;
    ASSERT(clock_gettime(CLOCK_REALTIME, &until) == 0);
    until.tv_sec += 60;
    int result;
    do
        result = sem_timedwait(semaphore, &until);
    while (result != 0 && errno == EINTR);
    ASSERT(result == 0);
}

static void holder_end(struct holder *h)
{
    sem_post(&h->leave);
    wait_for(&h->left);
}

static void ask_statement(struct subject *s, struct statement_query *q, uint32_t account_no,
                          struct holder *h)
{
    *q = (struct statement_query){.account_no = account_no,
                                  .day = (int32_t)(BASE_MS / DAY),
                                  .done.run = never,
                                  .reply_to = &holder_begin(h)->executor};
    store_statement(s->store, q);
    wait_for(&h->begun);
}

static void ask_list(struct subject *s, struct callback_list *l, uint32_t account_no,
                     struct holder *h)
{
    *l = (struct callback_list){.account_no = account_no,
                                .order = LIST_NEWEST_FIRST,
                                .limit = 10,
                                .done.run = never,
                                .reply_to = &holder_begin(h)->executor};
    store_list_callbacks(s->store, l);
    wait_for(&h->begun);
}

static void a_statement_delays_no_other_account(struct subject *s)
{
    struct statement_query of_a, of_b;
    struct holder a, b;
    (void)submit_one(s, item(EVENT_SURVEY_COMPLETED, "r-1"));
    ask_statement(s, &of_a, ACCOUNT_A, &a);
    ask_statement(s, &of_b, ACCOUNT_B, &b);
    CHECK(of_a.status == STORE_OK && of_b.status == STORE_OK);
    CHECK(of_a.count == 1 && of_b.count == 0);
    holder_end(&b);
    holder_end(&a);
    free(of_a.apps);
    free(of_b.apps);
}

static void a_list_delays_no_other_account(struct subject *s)
{
    struct callback_list of_a, of_b;
    struct holder a, b;
    (void)submit_one(s, item(EVENT_SURVEY_COMPLETED, "r-1"));
    ask_list(s, &of_a, ACCOUNT_A, &a);
    ask_list(s, &of_b, ACCOUNT_B, &b);
    CHECK(of_a.status == STORE_OK && of_b.status == STORE_OK);
    CHECK(of_a.count == 1 && of_b.count == 0);
    holder_end(&b);
    holder_end(&a);
    arena_free(&of_a.arena);
    arena_free(&of_b.arena);
}

void run_turns_tests(void)
{
    RUN_FRESH(a_statement_delays_no_other_account);
    RUN_FRESH(a_list_delays_no_other_account);
}
