/* The thread that records outcomes, in groups of several requests. It is separate from the changes
 * thread: outcomes may overtake changes, and a commit of events and one of outcomes can share one
 * flush of the server's WAL.
 *
 * An outcome is never refused. If the database refuses a group, the group is halved until the
 * outcomes are found that the database refuses alone. Those are set aside and tried again, first
 * after a second. Their requests end only then, so delivery keeps the callbacks in memory and does
 * not send them again. A later outcome of the same callback is set aside, too, so that the order is
 * kept. */
#include "store/postgresql/outcomes_thread.h"

#include "base/alloc.h"
#include "base/log.h"
#include "store/idmap.h"
#include "store/postgresql/outcomes.h"
#include "store/postgresql/transaction_retry.h"

#include <stdlib.h>

/* A group is closed when it has this many; a request is never split between groups. */
#define PG_GROUP_OUTCOMES 2048u
/* A group with fewer outcomes waits for more, at most so long; of a node that is alone only if it
 * has so many that the node is busy. */
#define PG_GROUP_OUTCOMES_ENOUGH 512u
#define PG_GROUP_OUTCOMES_OF_BUSY 64u
#define PG_GATHER_MOST_US 50000

#define ASIDE_PAUSE_MS 1000
#define ASIDE_PAUSE_MOST_MS 30000

/* A request, and how many of its outcomes are not recorded yet. */
struct pg_outcomes_asked {
    struct request *request;
    size_t left;
    enum store_status status;
};

struct outcome_list {
    struct pg_outcome *items;
    size_t count, capacity;
};

struct recorder {
    struct postgresql_store *s;
    struct outcome_list aside;
    struct idmap aside_ids; /* the callbacks of the outcomes in `aside` */
    int64_t due_mono_ms, pause_ms;
};

static void add(struct outcome_list *list, const struct pg_outcome *o, size_t count)
{
    if (count == 0)
        return;
    list->items =
        xgrow(list->items, &list->capacity, list->count + count, sizeof(struct pg_outcome));
    memcpy(list->items + list->count, o, count * sizeof *o);
    list->count += count;
}

/* --- requests --------------------------------------------------------------------------------- */

static size_t weight(const struct request *r)
{
    return ((const struct outcome_batch *)r->what)->count;
}

static size_t weigh(const struct request_list *list)
{
    size_t n = 0;
    for (const struct request *r = list->first; r; r = r->next)
        n += weight(r);
    return n;
}

static void finish(struct postgresql_store *s, struct pg_outcomes_asked *asked)
{
    if (asked->status == STORE_OK)
        timing_add_since(&s->numbers.timings[STORE_TIME_RECORD], asked->request->asked_us);
    request_finish(asked->request, asked->status);
    free(asked);
}

/* Takes the outcomes of requests from the front until they make a group. */
static void take_group(struct postgresql_store *s, struct request_list *from,
                       struct outcome_list *ret)
{
    while (from->first && from->first->kind == REQUEST_OUTCOMES && ret->count < PG_GROUP_OUTCOMES) {
        struct pg_outcomes_asked *asked = xcalloc(1, sizeof *asked);
        asked->request = request_list_take(from);
        struct outcome_batch *batch = asked->request->what;
        asked->left = batch->count;
        for (size_t i = 0; i < batch->count; i++)
            add(ret, &(struct pg_outcome){&batch->items[i], asked}, 1);
        if (batch->count == 0)
            finish(s, asked);
    }
}

static void end_outcomes(struct postgresql_store *s, const struct pg_outcome *items, size_t count,
                         enum store_status status)
{
    for (size_t i = 0; i < count; i++) {
        struct pg_outcomes_asked *asked = items[i].asked;
        if (status != STORE_OK)
            asked->status = status;
        if (--asked->left == 0)
            finish(s, asked);
    }
    pg_writer_hand_over(s, &s->outcome_writer);
    arena_free(&s->outcome_writer.scratch);
}

/* --- refused outcomes ------------------------------------------------------------------------- */

static uint64_t callback_id(const struct outcome *o)
{
    uint64_t h = (o->event_no * 0x9e3779b97f4a7c15u) ^ o->account_no;
    return h ? h : 1;
}

static void set_aside(struct recorder *rec, const struct pg_outcome *items, size_t count)
{
    bool is_new;
    if (rec->aside.count == 0)
        rec->due_mono_ms = env_mono_ms(env_real()) + rec->pause_ms;
    add(&rec->aside, items, count);
    for (size_t i = 0; i < count; i++)
        (void)idmap_put(&rec->aside_ids, callback_id(items[i].outcome), &is_new);
    atomic_store(&rec->s->numbers.set_aside, (long long)rec->aside.count);
}

/* How many outcomes from `at` on may be tried, at most `most`. Outcomes before them whose callback
 * has one set aside are set aside, too. */
static size_t take_ready(struct recorder *rec, struct outcome_list *list, size_t at, size_t most)
{
    size_t end = at, kept = at;
    if (rec->aside.count == 0)
        return most < list->count - at ? most : list->count - at;
    for (; end < list->count && kept - at < most; end++) {
        if (idmap_find(&rec->aside_ids, callback_id(list->items[end].outcome)))
            set_aside(rec, &list->items[end], 1);
        else
            list->items[kept++] = list->items[end];
    }
    memmove(list->items + kept, list->items + end, (list->count - end) * sizeof *list->items);
    list->count -= end - kept;
    return kept - at;
}

/* Gives up isolating refused outcomes: what is left of the list joins those set aside, and goes in
 * front of them when they are tried again. */
static void put_off(struct recorder *rec, struct outcome_list *list, size_t at)
{
    struct outcome_list first = {0};
    size_t n = take_ready(rec, list, at, list->count);
    add(&first, list->items + at, n);
    add(&first, rec->aside.items, rec->aside.count);
    free(rec->aside.items);
    rec->aside = (struct outcome_list){0};
    set_aside(rec, first.items, first.count);
    free(first.items);
}

/* --- recording -------------------------------------------------------------------------------- */

static enum store_status try_some(struct recorder *rec, const struct pg_outcome *items,
                                  size_t count)
{
    struct pg_writer *writer = &rec->s->outcome_writer;
    struct pg_outcome_slice slice = {items, count, false};
    writer->asked_us = items[0].asked->request->asked_us;
    writer->weight = (int64_t)count;
    return pg_try_write(rec->s, writer, pg_record, &slice, false);
}

/* Each outcome is recorded or set aside, or the store has failed. */
static void record_list(struct recorder *rec, struct outcome_list *list)
{
    struct pg_isolation isolation = {0};
    size_t most = list->count;
    for (size_t at = 0; at < list->count;) {
        size_t n = take_ready(rec, list, at, most);
        if (n == 0)
            continue;
        enum store_status status = try_some(rec, list->items + at, n);
        if (status == STORE_REFUSED && !pg_isolation_goes_on(&isolation)) {
            put_off(rec, list, at);
            break;
        }
        if (status == STORE_REFUSED && n > 1) {
            most = n / 2;
            continue;
        }
        if (status == STORE_REFUSED)
            set_aside(rec, list->items + at, 1);
        else
            end_outcomes(rec->s, list->items + at, n, status);
        at += n;
        most = n * 2;
    }
}

static void retry_aside(struct recorder *rec)
{
    struct outcome_list list = rec->aside;
    rec->aside = (struct outcome_list){0};
    idmap_clear(&rec->aside_ids);
    size_t before = list.count;
    record_list(rec, &list);
    free(list.items);
    bool better = rec->aside.count < before;
    rec->pause_ms = better ? ASIDE_PAUSE_MS : rec->pause_ms * 2;
    if (rec->pause_ms > ASIDE_PAUSE_MOST_MS)
        rec->pause_ms = ASIDE_PAUSE_MOST_MS;
    rec->due_mono_ms = env_mono_ms(env_real()) + rec->pause_ms;
    atomic_store(&rec->s->numbers.set_aside, (long long)rec->aside.count);
    if (rec->aside.count == 0)
        log_info("outcomes_recorded_after_all", LOG_INT("count", before));
    else if (!better)
        log_warning("outcomes_set_aside", LOG_INT("count", rec->aside.count),
                    LOG_C("sqlstate", rec->s->outcome_writer.pg.sqlstate),
                    LOG_STR("why", buf_str(&rec->s->outcome_writer.pg.why)));
}

/* Each transaction has a fixed cost for the server, and neighbouring outcomes share rows of the
 * books and of the counts of attempts. Nobody waits for outcomes, so a small group waits for more,
 * for as long as the last transaction took: a busy server gets fewer, larger groups. The wait is
 * bounded, because a callback whose outcome is lost with a node is sent again; for the same reason
 * a node that is alone waits only if it is busy (PG_GROUP_OUTCOMES_OF_BUSY). */
static void gather(struct postgresql_store *s, struct request_list *todo, int64_t took_us)
{
    bool alone = atomic_load(&s->nodes.alive) < 2;
    size_t least = alone ? PG_GROUP_OUTCOMES_OF_BUSY : 0;
    size_t n = request_list_is_outcomes(todo) ? weigh(todo) : PG_GROUP_OUTCOMES_ENOUGH;
    if (n < least || n >= PG_GROUP_OUTCOMES_ENOUGH)
        return;
    int64_t wait_us = took_us < PG_GATHER_MOST_US ? took_us : PG_GATHER_MOST_US;
    queue_wait_batch(&s->to_outcomes, timing_now_us() + wait_us);
    struct request_list more = queue_take_all(&s->to_outcomes, 0);
    request_list_join(todo, &more);
}

static int64_t record_group(struct recorder *rec, struct request_list *todo)
{
    struct outcome_list list = {0};
    int64_t begin_us = timing_now_us();
    take_group(rec->s, todo, &list);
    record_list(rec, &list);
    free(list.items);
    return timing_now_us() - begin_us;
}

/* Tries the outcomes set aside when they are due. While the daemon stops, tries them until the
 * store's time for stopping is over. */
static void tend_aside(struct recorder *rec)
{
    struct postgresql_store *s = rec->s;
    int64_t now = env_mono_ms(env_real());
    long long give_up_ms = atomic_load(&s->give_up_mono_ms);
    if (rec->aside.count == 0)
        return;
    if (give_up_ms && now >= give_up_ms)
        store_fail(&s->store,
                   "the database refuses outcomes, and the daemon is to stop: what it could"
                   " not record is done again after the next start");
    if (give_up_ms || atomic_load(&s->store.failed) || now >= rec->due_mono_ms)
        retry_aside(rec);
}

static int64_t wait_ms(const struct recorder *rec)
{
    int64_t rest = rec->due_mono_ms - env_mono_ms(env_real());
    if (rec->aside.count == 0)
        return -1;
    if (atomic_load(&rec->s->give_up_mono_ms))
        return PG_RETRY_MS;
    return rest < 0 ? 0 : rest < ASIDE_PAUSE_MS ? rest : ASIDE_PAUSE_MS;
}

void *pg_outcomes_main(void *arg)
{
    struct recorder rec = {.s = arg, .pause_ms = ASIDE_PAUSE_MS};
    struct postgresql_store *s = arg;
    CHECK_MAGIC(s, POSTGRESQL_STORE_MAGIC);
    pthread_setname_np(pthread_self(), "store-outcomes");
    int64_t took_us = 0;
    for (bool stop = false; !stop;) {
        struct request_list todo = queue_take_all(&s->to_outcomes, wait_ms(&rec));
        if (todo.first)
            gather(s, &todo, took_us);
        while (todo.first) {
            if (todo.first->kind == REQUEST_STOP) {
                free(request_list_take(&todo));
                stop = true;
                continue;
            }
            took_us = record_group(&rec, &todo);
        }
        tend_aside(&rec);
    }
    while (rec.aside.count > 0) {
        tend_aside(&rec);
        (void)queue_has_any(&s->nap, PG_RETRY_MS);
    }
    free(rec.aside.items);
    idmap_free(&rec.aside_ids);
    return NULL;
}
