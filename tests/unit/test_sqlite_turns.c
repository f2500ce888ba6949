/* What one account asks of the store delays no other account's reads. */
#include "sqlite_store.h"

#include "sqlite_sql.h"

#include <semaphore.h>

static struct app_terms other_terms;

/* An event of account 8. */
static struct verdict submit_other(const char *event_id)
{
    other_terms = terms;
    other_terms.account_no = 8;
    other_terms.app_no = 12;
    struct candidate c = make(EVENT_SURVEY_COMPLETED, event_id, "bob");
    c.terms = &other_terms;
    c.key = event_key(store_hash_secret(store), other_terms.account_no, c.event_id);
    return submit(c);
}

/* A list that is answered in its own time. `begun` and `leave`: its answer runs on the thread that
 * read it, and keeps it busy from `begun` until `leave`. */
struct slow_list {
    struct callback_list list;
    struct executor executor;
    sem_t begun, leave;
};

static void hold_thread(struct executor *executor, struct task *task)
{
    struct slow_list *l = CONTAINER_OF(executor, struct slow_list, executor);
    task->run(task);
    sem_post(&l->begun);
    while (sem_wait(&l->leave) != 0)
        ;
}

static void ask_slowly(struct slow_list *l, uint32_t account_no)
{
    *l = (struct slow_list){.executor = {hold_thread}};
    sem_init(&l->begun, 0, 0);
    sem_init(&l->leave, 0, 0);
    l->list.account_no = account_no;
    l->list.limit = 100;
    l->list.done.run = nothing;
    l->list.reply_to = &l->executor;
    store_list_callbacks(store, &l->list);
}

static void let_go(struct slow_list *l)
{
    sem_post(&l->leave);
    arena_free(&l->list.arena);
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

/* How many callbacks the account has; it must not wait for what another one asked for. */
static size_t list_at_once(uint32_t account_no)
{
    static struct slow_list all[8]; /* a thread may still leave the one before */
    static size_t used;
    struct slow_list *l = &all[used++ % ARRAY_LEN(all)];
    struct timespec until;
    ask_slowly(l, account_no);
    ASSERT(clock_gettime(CLOCK_REALTIME, &until) == 0);
    until.tv_sec += 60;
    if (sem_timedwait(&l->begun, &until) != 0)
        abort(); /* it waits for ever: nothing can be closed */
    CHECK_EQ_INT(l->list.status, STORE_OK);
    size_t count = l->list.count;
    let_go(l);
    return count;
}

static void a_list_under_way_delays_no_other_account(void)
{
    static struct slow_list l;
    begin();
    (void)submit(make(EVENT_SURVEY_COMPLETED, "e-1", "ann"));
    (void)submit_other("e-2");
    CHECK_EQ_UINT(list_at_once(7), 1);
    ask_slowly(&l, 7);
    wait_for(&l.begun);
    CHECK_EQ_UINT(list_at_once(8), 1);
    let_go(&l);
    end();
}

static void events_of_one_account_delay_no_other(void)
{
    static struct slow_list own;
    begin();
    (void)submit(make(EVENT_SURVEY_COMPLETED, "e-1", "ann"));
    (void)submit_other("e-2");
    CHECK_EQ_UINT(list_at_once(7), 1);
    CHECK_EQ_UINT(list_at_once(8), 1);
    sqlite3 *db = open_database();
    sqlite3_busy_timeout(db, 30000);
    ASSERT(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    (void)submit(make(EVENT_SURVEY_COMPLETED, "e-3", "ann"));
    ask_slowly(&own, 7);
    CHECK_EQ_UINT(list_at_once(8), 1); /* the database cannot be written, and need not be */
    CHECK(sem_trywait(&own.begun) != 0);
    ASSERT(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    ASSERT(sqlite3_close(db) == SQLITE_OK);
    wait_for(&own.begun);
    CHECK_EQ_UINT(own.list.count, 2); /* its own are waited for */
    let_go(&own);
    end();
}

static size_t list_that_may_lag(void)
{
    struct callback_list l = {
        .account_no = 7, .may_lag = true, .order = LIST_OLDEST_FIRST, .limit = 10};
    ASK(store_list_callbacks, store, &l);
    CHECK_EQ_INT(l.status, STORE_OK);
    for (size_t i = 0; i < l.count; i++)
        CHECK_EQ_UINT(l.rows[i].event.event_no, i + 1);
    arena_free(&l.arena);
    return l.count;
}

/* Whoever reads all accounts in turn has no memtable written for any of them. */
static void a_read_that_may_lag_waits_for_nothing(void)
{
    begin();
    (void)submit(make(EVENT_SURVEY_COMPLETED, "e-1", "ann"));
    CHECK_EQ_UINT(list_at_once(7), 1);
    sqlite3 *db = open_database();
    sqlite3_busy_timeout(db, 30000);
    ASSERT(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    (void)submit(make(EVENT_SURVEY_COMPLETED, "e-2", "ann"));
    CHECK_EQ_UINT(list_that_may_lag(), 1); /* the database cannot be written */
    ASSERT(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    ASSERT(sqlite3_close(db) == SQLITE_OK);
    CHECK_EQ_UINT(list_at_once(7), 2);
    CHECK_EQ_UINT(list_that_may_lag(), 2);
    end();
}

int main(void)
{
    RUN(a_list_under_way_delays_no_other_account);
    RUN(events_of_one_account_delay_no_other);
    RUN(a_read_that_may_lag_waits_for_nothing);
    return check_done("sqlite_turns");
}
