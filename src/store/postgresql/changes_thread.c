/* The thread that runs changes: events, objects, resends, erasures, in the order of the requests.
 * Events of several requests share a transaction; any other change has its own.
 *
 * If the database refuses a group, the group is halved until the requests are found that the
 * database refuses alone. Those are answered STORE_REFUSED; the others are stored. An item whose
 * values are refused is found the same way, by trials that are rolled back, and rejected: the rest
 * of its request is stored. */
#include "store/postgresql/changes_thread.h"

#include "store/postgresql/commands.h"
#include "store/postgresql/pg_intake.h"
#include "store/postgresql/transaction_retry.h"

#include <stdlib.h>

/* A group is closed when it has this many; a request is never split between groups. */
#define PG_GROUP_EVENTS 4096u

static size_t weight(const struct request *r)
{
    return ((const struct intake_batch *)r->what)->count;
}

static size_t weigh(const struct request_list *list)
{
    size_t n = 0;
    for (const struct request *r = list->first; r; r = r->next)
        n += weight(r);
    return n;
}

static size_t count(const struct request_list *list)
{
    size_t n = 0;
    for (const struct request *r = list->first; r; r = r->next)
        n++;
    return n;
}

/* Takes requests with events from the front: at most `most`, and until they have most_events
 * events. */
static struct request_list take_group(struct request_list *from, size_t most, size_t most_events)
{
    struct request_list group = {0};
    for (size_t n = 0;
         from->first && from->first->kind == REQUEST_INTAKE && most > 0 && n < most_events;
         most--) {
        struct request *r = request_list_take(from);
        n += weight(r);
        request_list_add(&group, r);
    }
    return group;
}

/* --- events ----------------------------------------------------------------------------------- */

static enum store_status try_group(struct postgresql_store *s, const struct request_list *batches,
                                   const bool *left_out, bool is_trial)
{
    struct pg_intake_group group = {batches, left_out, is_trial};
    struct pg_writer *writer = &s->change_writer;
    ASSERT(batches->first); /* a group has at least one request */
    writer->asked_us = batches->first->asked_us;
    writer->weight = (int64_t)weigh(batches);
    return pg_try_write(s, writer, pg_take_in, &group, true);
}

static void end_group(struct postgresql_store *s, struct request_list *group,
                      enum store_status status)
{
    while (group->first) {
        struct request *r = request_list_take(group);
        store_intake_ended(&s->store, r->what);
        if (status == STORE_OK)
            timing_add_since(&s->numbers.timings[STORE_TIME_ACCEPT], r->asked_us);
        else if (status != STORE_FAILED)
            store_count_refusal(&s->store, STORE_REFUSES_DATABASE);
        request_finish(r, status);
    }
    pg_writer_hand_over(s, &s->change_writer);
    arena_free(&s->change_writer.scratch);
}

/* Finds the items whose values the database refuses. False: there are none, or finding them takes
 * too long. */
static bool find_bad(struct postgresql_store *s, const struct request_list *one,
                     struct pg_isolation *isolation, bool *ret_bad, bool *left_out)
{
    size_t total = weigh(one), found = 0;
    size_t most = total;
    for (size_t at = 0; at < total;) {
        size_t n = most < total - at ? most : total - at;
        for (size_t i = 0; i < total; i++)
            left_out[i] = i < at || i >= at + n || ret_bad[i];
        enum store_status status = try_group(s, one, left_out, true);
        pg_writer_drop_owed(&s->change_writer);
        arena_free(&s->change_writer.scratch);
        if (status == STORE_REFUSED) {
            if (!sqlstate_is_of_data(s->change_writer.pg.sqlstate) ||
                !pg_isolation_goes_on(isolation))
                return false;
            if (n > 1) {
                most = n / 2;
                continue;
            }
            ret_bad[at] = true;
            found++;
        } else if (status != STORE_OK) {
            return false;
        }
        at += n;
        most = n * 2;
    }
    return found > 0;
}

/* Stores a refused request without its refused items. */
static enum store_status take_good(struct postgresql_store *s, const struct request_list *one,
                                   struct pg_isolation *isolation)
{
    struct intake_batch *batch = one->first->what;
    bool *bad = arena_zalloc(&batch->arena, batch->count + 1);
    bool *left_out = arena_zalloc(&batch->arena, batch->count + 1);
    if (!find_bad(s, one, isolation, bad, left_out))
        return STORE_REFUSED;
    enum store_status status = try_group(s, one, bad, false);
    for (size_t i = 0; status == STORE_OK && i < batch->count; i++)
        if (bad[i])
            batch->verdicts[i] = (struct verdict){.kind = VERDICT_NOT_STORABLE};
    return status;
}

static void take_events(struct postgresql_store *s, struct request_list *todo)
{
    struct request_list left = take_group(todo, SIZE_MAX, PG_GROUP_EVENTS);
    struct pg_isolation isolation = {0};
    for (struct request *r = left.first; r; r = r->next) {
        struct intake_batch *b = r->what;
        b->verdicts = arena_zalloc(&b->arena, b->count * sizeof *b->verdicts + 1);
    }
    size_t most = count(&left);
    while (left.first) {
        struct request_list group = take_group(&left, most, SIZE_MAX);
        size_t requests = count(&group);
        enum store_status status = try_group(s, &group, NULL, false);
        if (status == STORE_REFUSED && requests > 1 && pg_isolation_goes_on(&isolation)) {
            s->change_writer.is_part = true;
            request_list_join(&group, &left);
            left = group;
            most = requests / 2;
            continue;
        }
        if (status == STORE_REFUSED && requests == 1)
            status = take_good(s, &group, &isolation);
        end_group(s, &group, status);
        most = requests * 2;
    }
    s->change_writer.is_part = false;
}

/* --- other changes ---------------------------------------------------------------------------- */

static void take_one(struct postgresql_store *s, struct request *r)
{
    enum store_status status, found = STORE_OK;
    s->change_writer.asked_us = r->asked_us;
    s->change_writer.weight = 0; /* its rows are not in append-only tables */
    switch (r->kind) {
    case REQUEST_OBJECT:
        status = pg_try_write(s, &s->change_writer, pg_change_object, r->what, true);
        found = ((struct object_change *)r->what)->status;
        break;
    case REQUEST_RESEND:
        status = pg_try_write(s, &s->change_writer, pg_resend, r->what, true);
        found = ((struct resend *)r->what)->status;
        break;
    case REQUEST_ERASE: status = pg_try_write(s, &s->change_writer, pg_erase, r->what, true); break;
    default: UNREACHABLE();
    }
    request_finish(r, status == STORE_OK ? found : status);
    pg_writer_hand_over(s, &s->change_writer);
    arena_free(&s->change_writer.scratch);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* While a group is in doubt no other change can run. Requests that have waited for PG_PATIENCE_MS
 * are refused: nothing of them is stored. */
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
            store_intake_ended(&s->store, r->what);
            store_count_refusal(&s->store, STORE_REFUSES_DATABASE);
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
