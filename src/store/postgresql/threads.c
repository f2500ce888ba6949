/* The threads that write and those that read: each takes what it is asked, in order.
 *
 * Of what changes something, events of several requests go into one transaction, and so do
 * outcomes; anything else is a transaction of its own, in its place in the order. Outcomes have a
 * thread of their own: they may overtake, and so a commit of events and one of outcomes share the
 * server's one write to its log. */
#include "store/postgresql/postgresql_store.h"

#include <stdlib.h>

static size_t weight(const struct request *r)
{
    if (r->kind == REQUEST_INTAKE)
        return ((const struct intake_batch *)r->what)->count;
    return ((const struct outcome_batch *)r->what)->count;
}

/* Requests of one kind from the front, as many as make a group. */
static struct request_list take_group(struct request_list *from, enum request_kind kind,
                                      size_t most)
{
    struct request_list group = {0};
    for (size_t n = 0; from->first && from->first->kind == kind && n < most;) {
        struct request *r = request_list_take(from);
        n += weight(r);
        request_list_add(&group, r);
    }
    return group;
}

static void begin_group(struct pg_side *side, const struct request *first, size_t group_weight)
{
    ASSERT(first); /* a group has one at least */
    side->asked_us = first->asked_us;
    side->weight = (int64_t)group_weight;
}

static void end_group(struct postgresql_store *s, struct pg_side *side, struct request_list *group,
                      enum store_status status)
{
    while (group->first) {
        struct request *r = request_list_take(group);
        enum store_timing which = r->kind == REQUEST_INTAKE ? STORE_TIME_ACCEPT : STORE_TIME_RECORD;
        if (status == STORE_OK)
            timing_add_since(&s->numbers.timings[which], r->asked_us);
        request_finish(r, status);
    }
    pg_side_hand_over(s, side);
    arena_free(&side->scratch);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void take_events(struct postgresql_store *s, struct request_list *todo)
{
    struct request_list group = take_group(todo, REQUEST_INTAKE, PG_GROUP_EVENTS);
    size_t events = 0;
    for (const struct request *r = group.first; r; r = r->next) {
        struct intake_batch *b = r->what;
        b->verdicts = arena_zalloc(&b->arena, b->count * sizeof *b->verdicts + 1);
        events += b->count;
    }
    begin_group(&s->changes, group.first, events);
    enum store_status status = pg_try_write(s, &s->changes, pg_take_in, &group, true);
    for (const struct request *r = group.first; r; r = r->next)
        pg_intake_ended(s, r->what);
    if (status == STORE_BUSY)
        for (const struct request *r = group.first; r; r = r->next)
            atomic_fetch_add(&s->numbers.refused[STORE_REFUSES_DATABASE], 1);
    end_group(s, &s->changes, &group, status);
}

static void take_one(struct postgresql_store *s, struct request *r)
{
    enum store_status status, found = STORE_OK;
    struct request_list none = {0};
    begin_group(&s->changes, r, 0); /* none of it adds to what only grows */
    switch (r->kind) {
    case REQUEST_OBJECT:
        status = pg_try_write(s, &s->changes, pg_change_object, r->what, true);
        found = ((struct object_change *)r->what)->status;
        break;
    case REQUEST_RESEND:
        status = pg_try_write(s, &s->changes, pg_resend, r->what, true);
        found = ((struct resend *)r->what)->status;
        break;
    case REQUEST_ERASE: status = pg_try_write(s, &s->changes, pg_erase, r->what, true); break;
    default: UNREACHABLE();
    }
    request_finish(r, status == STORE_OK ? found : status);
    end_group(s, &s->changes, &none, STORE_OK);
}

/* Behind a group in doubt nothing else can be done; but what has waited for as long as a database
 * is waited for is refused: nothing of it is stored. */
void pg_changes_refuse_old(struct postgresql_store *s)
{
    int64_t before_us = timing_now_us() - PG_PATIENCE_MS * INT64_C(1000);
    struct request_list more = queue_take_all(&s->to_changes, 0), kept = {0};
    request_list_join(&s->changes_todo, &more);
    while (s->changes_todo.first) {
        struct request *r = request_list_take(&s->changes_todo);
        if (r->kind == REQUEST_STOP || r->asked_us > before_us) {
            request_list_add(&kept, r);
            continue;
        }
        if (r->kind == REQUEST_INTAKE) {
            pg_intake_ended(s, r->what);
            atomic_fetch_add(&s->numbers.refused[STORE_REFUSES_DATABASE], 1);
        }
        request_finish(r, STORE_BUSY);
    }
    s->changes_todo = kept;
}

void *pg_changes_main(void *arg)
{
    struct postgresql_store *s = arg;
    CHECK_MAGIC(s, POSTGRESQL_STORE_MAGIC);
    pthread_setname_np(pthread_self(), "store-changes");
    for (bool stop = false; !stop;) {
        struct request_list *todo = &s->changes_todo;
        *todo = queue_take_all(&s->to_changes, -1);
        while (todo->first) {
            if (todo->first->kind == REQUEST_INTAKE) {
                take_events(s, todo);
            } else if (todo->first->kind == REQUEST_STOP) {
                free(request_list_take(todo));
                stop = true;
            } else {
                take_one(s, request_list_take(todo));
            }
        }
    }
    return NULL;
}

/* --- outcomes --------------------------------------------------------------------------------- */

static size_t weigh(const struct request_list *list)
{
    size_t n = 0;
    for (const struct request *r = list->first; r; r = r->next)
        n += weight(r);
    return n;
}

/* With several nodes groups are small, and each costs the server something whatever is in it.
 * Nobody waits for outcomes: a small group waits for more, for as long as the last one took. So a
 * server that is busy is asked less often; but what is not recorded when a node dies is sent again,
 * so never for long. A node alone makes groups that are large where it matters. */
static void gather_outcomes(struct postgresql_store *s, struct request_list *todo, int64_t took_us)
{
    bool alone = atomic_load(&s->nodes.alive) < 2;
    if (alone || !request_list_has_time(todo) || weigh(todo) >= PG_GROUP_OUTCOMES_ENOUGH)
        return;
    int64_t wait_us = took_us < PG_GATHER_MOST_US ? took_us : PG_GATHER_MOST_US;
    queue_doze(&s->to_outcomes, timing_now_us() + wait_us);
    struct request_list more = queue_take_all(&s->to_outcomes, 0);
    request_list_join(todo, &more);
}

static void record_group(struct postgresql_store *s, struct request_list *todo)
{
    struct request_list group = take_group(todo, REQUEST_OUTCOMES, PG_GROUP_OUTCOMES);
    begin_group(&s->outcomes, group.first, weigh(&group));
    enum store_status status = pg_try_write(s, &s->outcomes, pg_record, &group, false);
    end_group(s, &s->outcomes, &group, status);
}

void *pg_outcomes_main(void *arg)
{
    struct postgresql_store *s = arg;
    CHECK_MAGIC(s, POSTGRESQL_STORE_MAGIC);
    pthread_setname_np(pthread_self(), "store-outcomes");
    int64_t took_us = 0;
    for (bool stop = false; !stop;) {
        struct request_list todo = queue_take_all(&s->to_outcomes, -1);
        gather_outcomes(s, &todo, took_us);
        while (todo.first) {
            if (todo.first->kind == REQUEST_STOP) {
                free(request_list_take(&todo));
                stop = true;
                continue;
            }
            int64_t begin_us = timing_now_us();
            record_group(s, &todo);
            took_us = timing_now_us() - begin_us;
        }
    }
    return NULL;
}

/* --- reads ------------------------------------------------------------------------------------ */

static pg_work work_of(enum request_kind kind)
{
    switch (kind) {
    case REQUEST_REPORT: return pg_read_report;
    case REQUEST_INTRADAY: return pg_read_intraday;
    case REQUEST_STATEMENT: return pg_read_statement;
    case REQUEST_COUNT: return pg_read_count;
    case REQUEST_BOOKS: return pg_read_books;
    case REQUEST_WAITING: return pg_read_waiting;
    case REQUEST_GET: return pg_read_callback;
    case REQUEST_LIST: return pg_read_list;
    case REQUEST_OBJECTS: return pg_read_objects;
    case REQUEST_FEED: return pg_read_feed;
    default: UNREACHABLE();
    }
}

static void read_all(struct postgresql_store *s, struct queue *from, struct pg *pg)
{
    for (;;) {
        struct request *r = queue_take(from, -1);
        if (r->kind == REQUEST_STOP) {
            free(r);
            return;
        }
        pg_work work = work_of(r->kind);
        enum store_status status = pg_replica_read(s, pg, r->kind, work, r->what)
                                       ? STORE_OK
                                       : pg_try_read(s, pg, work, r->what);
        if (status == STORE_OK && r->kind == REQUEST_GET)
            status = ((struct callback_get *)r->what)->status;
        request_finish(r, status);
    }
}

/* Lanes ask when they run dry, which is often at once: as many of them as make a group. */
static struct request_list take_pages(struct request_list *from)
{
    struct request_list group = {0};
    bool brief = ((const struct due_page *)from->first->what)->brief;
    for (size_t n = 0; from->first && from->first->kind == REQUEST_PAGE && n < PG_GROUP_PAGED;) {
        const struct due_page *page = from->first->what;
        if (page->brief != brief)
            break;
        n += page->limit;
        request_list_add(&group, request_list_take(from));
    }
    return group;
}

void *pg_pages_main(void *arg)
{
    struct postgresql_store *s = arg;
    CHECK_MAGIC(s, POSTGRESQL_STORE_MAGIC);
    pthread_setname_np(pthread_self(), "store-pages");
    for (bool stop = false; !stop;) {
        struct request_list todo = queue_take_all(&s->to_pages, -1);
        while (todo.first) {
            if (todo.first->kind == REQUEST_STOP) {
                free(request_list_take(&todo));
                stop = true;
                continue;
            }
            struct request_list group = take_pages(&todo);
            enum store_status status = pg_try_read(s, &s->pages, pg_read_pages, &group);
            while (group.first)
                request_finish(request_list_take(&group), status);
        }
    }
    return NULL;
}

void *pg_reads_main(void *arg)
{
    struct postgresql_store *s = arg;
    CHECK_MAGIC(s, POSTGRESQL_STORE_MAGIC);
    pthread_setname_np(pthread_self(), "store-reads");
    read_all(s, &s->to_reads, &s->reads);
    return NULL;
}

void *pg_scans_main(void *arg)
{
    struct postgresql_store *s = arg;
    CHECK_MAGIC(s, POSTGRESQL_STORE_MAGIC);
    pthread_setname_np(pthread_self(), "store-scans");
    read_all(s, &s->to_scans, &s->scans);
    return NULL;
}
