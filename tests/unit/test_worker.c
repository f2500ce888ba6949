/* The worker: owners take turns, of one owner tasks keep their order, and all are run before it
 * stops. */
#include "check.h"

#include "base/check.h"
#include "base/turns.h"
#include "base/worker.h"

#include <semaphore.h>

static sem_t gate, at_gate;
static uint32_t ran[40];
static int ran_count;

static void wait_at_gate(struct task *task)
{
    (void)task;
    ASSERT(sem_post(&at_gate) == 0);
    ASSERT(sem_wait(&gate) == 0);
}

static void note(struct task *task)
{
    ran[ran_count++] = task->owner;
}

static void turns_go_in_a_circle(void)
{
    CHECK(turn_is_before(0, 1, 2));
    CHECK(turn_is_before(1, 2, 1));
    CHECK(turn_is_before(2, UINT32_MAX, 1));
    CHECK(turn_is_before(UINT32_MAX, 0, UINT32_MAX));
    CHECK(!turn_is_before(5, 5, 6));
    CHECK(!turn_is_before(3, 7, 7));
}

/* One with a lot to do delays each other by one task, whenever it came. */
static void owners_take_turns(void)
{
    struct worker *w = worker_start("test");
    struct task first = {.run = wait_at_gate}, tasks[20];
    executor_post(worker_executor(w), &first);
    ASSERT(sem_wait(&at_gate) == 0);
    ran_count = 0;
    for (int i = 0; i < 20; i++) {
        uint32_t owner = i < 16 ? 7 : i < 18 ? 9 : 3;
        tasks[i] = (struct task){.run = note, .owner = owner};
        executor_post(worker_executor(w), &tasks[i]);
    }
    ASSERT(sem_post(&gate) == 0);
    worker_stop(w);
    static const uint32_t begin[] = {3, 7, 9, 3, 7, 9, 7, 7};
    CHECK_EQ_INT(ran_count, 20);
    for (size_t i = 0; i < ARRAY_LEN(begin); i++)
        CHECK_EQ_UINT(ran[i], begin[i]);
}

struct numbered {
    struct task task;
    int number;
};

static int last_number;
static bool in_order = true;

static void note_number(struct task *task)
{
    struct numbered *n = CONTAINER_OF(task, struct numbered, task);
    in_order = in_order && n->number == last_number + 1;
    last_number = n->number;
}

static void one_owner_keeps_its_order(void)
{
    struct worker *w = worker_start("test");
    struct task first = {.run = wait_at_gate};
    struct numbered tasks[30];
    executor_post(worker_executor(w), &first);
    ASSERT(sem_wait(&at_gate) == 0);
    for (int i = 0; i < 30; i++) {
        tasks[i] = (struct numbered){{.run = note_number, .owner = 4}, i + 1};
        executor_post(worker_executor(w), &tasks[i].task);
    }
    ASSERT(sem_post(&gate) == 0);
    worker_stop(w);
    CHECK_EQ_INT(last_number, 30);
    CHECK(in_order);
}

/* One that hangs keeps its owner's next task waiting, and nobody else's. */
static void several_threads_run_one_task_of_an_owner(void)
{
    struct worker *w = worker_start_several("test", 3);
    struct task hangs = {.run = wait_at_gate, .owner = 7}, next = {.run = note, .owner = 7},
                other = {.run = wait_at_gate, .owner = 9};
    ran_count = 0;
    executor_post(worker_executor(w), &hangs);
    ASSERT(sem_wait(&at_gate) == 0);
    executor_post(worker_executor(w), &next);
    executor_post(worker_executor(w), &other);
    ASSERT(sem_wait(&at_gate) == 0); /* so it runs beside the first one */
    CHECK_EQ_INT(ran_count, 0);
    ASSERT(sem_post(&gate) == 0 && sem_post(&gate) == 0);
    worker_stop(w);
    CHECK_EQ_INT(ran_count, 1);
}

int main(void)
{
    ASSERT(sem_init(&gate, 0, 0) == 0 && sem_init(&at_gate, 0, 0) == 0);
    RUN(turns_go_in_a_circle);
    RUN(owners_take_turns);
    RUN(one_owner_keeps_its_order);
    RUN(several_threads_run_one_task_of_an_owner);
    return check_done("worker");
}
