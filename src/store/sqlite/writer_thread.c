/* The writer: the single thread that decides. A round decides queued requests, writes the decisions
 * into one journal group, and makes it durable. Only then it answers and hands callbacks to lanes.
 *
 * Invariants
 *
 * - While a group is decided, only the active memtable has its changes. If the group cannot be made
 *   durable, the store stops and that memtable is never applied.
 * - Between groups the active memtable has exactly the journal's groups up to its `end`.
 * - At most one memtable is frozen. Intake that finds the active one full meanwhile waits in
 *   `stalled`. Other requests wait there behind it, in order, except outcomes, pages, reads without
 *   a barrier and the applier's results. If the applier lacks disk space, such intake is refused.
 * - A change that waits for journal space (for ever, if the disk stays full) holds up no intake. */
#include "store/sqlite/writer_thread.h"

#include "store/sqlite/handout.h"
#include "store/sqlite/page.h"
#include "store/sqlite/reads.h"
#include "store/sqlite/writer_freeze.h"
#include "store/sqlite/writer_intake.h"
#include "store/sqlite/writer_stall.h"

#include <stdlib.h>

/* How long a group that has only outcomes waits for more. */
#define OUTCOMES_PATIENCE_US 3000
/* How long the writer is idle before it frees the spare memtable. */
#define SPARE_MEMTABLE_MS 2000
/* The filters of keys are loaded when no request has come for so long after the start. */
#define FILTERS_QUIET_MS 50

/* --- answering ------------------------------------------------------------------------------ */

void request_answer(struct sqlite_store *s, struct request *r, enum store_status status)
{
    bool read = sqlite_reads(r->kind);
    if (r->kind == REQUEST_PAGE)
        page_work_free(r->page);
    request_finish(r, status);
    if (read)
        atomic_fetch_sub(&s->open_reads, 1);
}

static void writer_refuse(struct sqlite_store *s, struct intake_batch *batch,
                          enum store_refusal refusal)
{
    store_intake_ended(&s->store, batch);
    batch->status = STORE_BUSY;
    store_count_refusal(&s->store, refusal);
    if (refusal == STORE_REFUSES_JOURNAL)
        atomic_store(&s->admission.journal_stuck_mono_ms, env_mono_ms(s->env));
}

/* The status that the decision has stored in the asker's struct. */
static enum store_status decided_status(const struct request *r)
{
    switch (r->kind) {
    case REQUEST_INTAKE: return ((struct intake_batch *)r->what)->status;
    case REQUEST_OBJECT: return ((struct object_change *)r->what)->status;
    case REQUEST_RESEND: return ((struct resend *)r->what)->status;
    default: return STORE_OK;
    }
}

static void answer_all(struct sqlite_store *s, struct request_list *list, bool failed)
{
    for (struct request *r; (r = request_list_take(list)) != NULL;) {
        if (r->kind == REQUEST_INTAKE)
            timing_add_since(&s->numbers.timings[STORE_TIME_ACCEPT], r->asked_us);
        else if (r->kind == REQUEST_OUTCOMES)
            timing_add_since(&s->numbers.timings[STORE_TIME_RECORD], r->asked_us);
        request_answer(s, r, failed ? STORE_FAILED : decided_status(r));
    }
}

/* --- the group ------------------------------------------------------------------------------- */

static void begin_group(struct sqlite_store *s)
{
    struct writer *w = &s->writer;
    buf_clear(&w->group);
    arena_free(&w->scratch);
    s->view.woken_count = 0;
    w->first_event = s->view.active->event_count;
}

/* Makes the group durable, then answers and hands out. */
static void commit_group(struct sqlite_store *s)
{
    struct writer *w = &s->writer;
    struct memtable *m = s->view.active;
    if (sql_failed(&s->view.lookup.sql))
        store_fail(&s->store, s->view.lookup.sql.why);
    if (w->group.n > 0 && !writer_has_failed(s)) {
        int64_t begin_us = timing_now_us();
        struct journal_position end;
        if (journal_commit(s->journal, buf_str(&w->group), &end)) {
            int64_t now_ms = env_mono_ms(s->env);
            m->end = end;
            m->last_accepted_ms = s->view.last_accepted_ms;
            if (m->first_mono_ms == 0)
                m->first_mono_ms = now_ms;
            m->last_mono_ms = now_ms;
            timing_add_since(&s->numbers.timings[STORE_TIME_COMMIT], begin_us);
        } else {
            store_fail(&s->store, journal_error(s->journal));
        }
    }
    if (!writer_has_failed(s)) {
        long long added = (long long)(m->event_count - w->first_event);
        atomic_fetch_add(&s->numbers.accepted, added);
        atomic_store(&s->numbers.last_accepted_ms, s->view.last_accepted_ms);
        atomic_fetch_add(&s->numbers.memtable_events, added);
        writer_hand_out(s);
    }
    answer_all(s, &w->answers, writer_has_failed(s));
}

/* True: the batch is answered. False: the group is full, and the next group goes on with the
 * batch. */
static bool take_intake(struct sqlite_store *s, struct request *r)
{
    if (writer_journal_room(s, r) != WRITER_ROOM)
        writer_refuse(s, r->what, STORE_REFUSES_JOURNAL);
    else if (writer_waits_for_applier(s))
        writer_refuse(s, r->what, STORE_REFUSES_DATABASE);
    else
        return writer_intake(s, r);
    return true;
}

static void take_change(struct sqlite_store *s, struct request *r)
{
    switch (r->kind) {
    case REQUEST_INTAKE:
        if (!take_intake(s, r)) {
            s->writer.under_way = r;
            return;
        }
        break;
    case REQUEST_OUTCOMES: writer_outcomes(s, r->what); break;
    case REQUEST_OBJECT: writer_object(s, r->what); break;
    case REQUEST_RESEND: writer_resend(s, r->what); break;
    default: UNREACHABLE();
    }
    request_list_add(&s->writer.answers, r);
}

static void take_page(struct sqlite_store *s, struct request *r)
{
    switch (page_filter(s, r->page)) {
    case PAGE_DONE: request_answer(s, r, STORE_OK); break;
    case PAGE_FAILED:
        store_fail(&s->store,
                   "waiting callbacks cannot be read"); /* their loop would stand still */
        request_answer(s, r, STORE_FAILED);
        break;
    case PAGE_READ_AGAIN: queue_post(&s->to_pages, r); break;
    case PAGE_READ_BEHIND_BARRIER: request_list_add(&s->writer.waiting, r); break;
    }
}

static void take_read(struct sqlite_store *s, struct request *r)
{
    struct key_found found = {0};
    struct callback_get *get = r->kind == REQUEST_CALLBACK ? r->what : NULL;
    struct callback_list *list = r->kind == REQUEST_CALLBACKS ? r->what : NULL;
    struct str event_id = get ? get->event_id : list ? list->event_id : STR_NONE;
    if (event_id.p) {
        uint32_t account_no = get ? get->account_no : list->account_no;
        bool known = event_id.n <= LIMIT_EVENT_ID_BYTES &&
                     view_key(&s->view, event_key(&s->view.secret, account_no, event_id), &found);
        r->id = known ? found.id : 0;
    }
    if (writer_is_settled_read(s, r)) {
        writer_dispatch(s, r);
        return;
    }
    request_list_add(&s->writer.waiting, r);
    s->writer.hurry = true;
}

static void take(struct sqlite_store *s, struct request *r)
{
    if (r->kind == REQUEST_APPLIED) {
        writer_take_applied(s, r);
    } else if (r->kind == REQUEST_APPLIER_FAILED) {
        free(r);
        store_fail(&s->store, s->apply.sql.why);
    } else if (r->kind == REQUEST_LEAVE) {
        s->writer.give_up_mono_ms = env_mono_ms(s->env) + STOP_PATIENCE_MS;
        free(r);
    } else if (r->kind == REQUEST_STOP) {
        s->writer.stopping = true;
        free(r);
    } else if (writer_has_failed(s)) {
        if (r->kind == REQUEST_INTAKE)
            writer_refuse(s, r->what, STORE_REFUSES_FAILED);
        request_answer(s, r, STORE_FAILED);
    } else if (admission_refuses_change(s, r)) {
        if (r->kind == REQUEST_INTAKE)
            writer_refuse(s, r->what, STORE_REFUSES_DIRECTORY);
        request_answer(s, r, STORE_BUSY);
    } else if (r->kind == REQUEST_PAGE) {
        take_page(s, r);
    } else if (r->kind == REQUEST_ERASE) {
        writer_erase(s, r->what);
        request_list_add(&s->writer.waiting, r);
        s->writer.freeze_now = true;
    } else if (request_is_read(r->kind)) {
        take_read(s, r);
    } else {
        take_change(s, r);
    }
}

/* The scratch arena counts, too: look-ups for rejected reversals are in no group. */
bool writer_group_is_full(const struct sqlite_store *s)
{
    return s->writer.group.n >= s->group_bytes || s->writer.scratch.total_bytes >= s->group_bytes ||
           s->view.active->event_count - s->writer.first_event >= GROUP_EVENTS;
}

static void note_memory(struct sqlite_store *s)
{
    struct numbers *n = &s->numbers;
    size_t bytes = memtable_bytes(s->view.active);
    if (s->view.frozen)
        bytes += memtable_bytes(s->view.frozen);
    atomic_store_explicit(&n->memtable_bytes, (long long)bytes, memory_order_relaxed);
    const struct key_sets *keys = &s->view.lookup.keys;
    size_t ordinary = 0, all = key_sets_filter_bytes(keys, &ordinary);
    atomic_store(&n->bundle_known, (long long)keys->newest_bundle);
    atomic_store(&n->filter_bytes, (long long)ordinary);
    atomic_store(&n->mapped_filter_bytes, (long long)(all - ordinary));
    store_note_cache(s, &s->view.lookup.sql, CACHE_WRITER);
}

/* Answers what a stop would wait for behind the barrier. An erasure is in the journal already. */
static void give_up_waiting(struct sqlite_store *s, struct request_list *list)
{
    for (struct request *r; (r = request_list_take(list)) != NULL;)
        request_answer(s, r, r->kind == REQUEST_ERASE ? STORE_FAILED : STORE_BUSY);
}

static void take_or_stall(struct sqlite_store *s, struct request *r)
{
    bool stalls = writer_must_stall(s, r);
    if (stalls && writer_must_give_up(s, r))
        store_fail(&s->store, "no room for what a stop had left to record");
    bool is_kept =
        r->kind == REQUEST_INTAKE || r->kind == REQUEST_OUTCOMES || r->kind == REQUEST_STOP;
    if (!stalls || writer_has_failed(s)) {
        take(s, r);
    } else if (writer_leaves_blocked(s) && !is_kept) {
        request_answer(s, r, STORE_BUSY);
    } else {
        request_list_add(&s->writer.stalled, r);
        s->writer.intake_stalled |= r->kind == REQUEST_INTAKE;
        s->writer.outcomes_stalled |= r->kind == REQUEST_OUTCOMES;
    }
}

static void round_of(struct sqlite_store *s, struct request_list *todo)
{
    begin_group(s);
    while (todo->first && !writer_group_is_full(s))
        take_or_stall(s, request_list_take(todo));
    if (s->writer.under_way)
        request_list_add_first(todo, s->writer.under_way);
    s->writer.under_way = NULL;
    commit_group(s);
    if (writer_has_failed(s)) {
        answer_all(s, &s->writer.waiting, true);
        answer_all(s, &s->writer.frozen, true);
    } else {
        writer_freeze_when_due(s);
    }
    if (writer_leaves_blocked(s)) {
        give_up_waiting(s, &s->writer.waiting);
        give_up_waiting(s, &s->writer.frozen);
    }
    note_memory(s);
}

/* --- the thread ------------------------------------------------------------------------------ */

static int64_t wait_ms(struct sqlite_store *s)
{
    const struct request *stalled = s->writer.stalled.first;
    if (stalled && !writer_is_blocked(s, stalled) && !writer_waits_for_journal(s, stalled, 0))
        return 0;
    if (s->writer.stopping || s->writer.give_up_mono_ms != 0)
        return 10; /* for reads that are still open, or an applier that becomes blocked */
    if (stalled && s->writer.unready_mono_ms != 0)
        return 5;
    if (stalled && s->view.frozen)
        return 100; /* the applier may have become blocked */
    if (writer_has_failed(s) || s->view.frozen)
        return -1;
    if (s->view.active->operations == 0)
        return s->writer.spare ? SPARE_MEMTABLE_MS : -1;
    int64_t left = writer_freeze_at_mono_ms(s) - env_mono_ms(s->env);
    return left > 0 ? left : 0;
}

/* Each group costs a write, a flush and wake-ups, and nobody waits for outcomes: alone they wait a
 * moment for more, or for another request that needs a group. */
static void gather_outcomes(struct sqlite_store *s, struct request_list *todo)
{
    if (!todo->first || !request_list_is_outcomes(todo) || s->writer.stalled.first ||
        s->writer.stopping)
        return;
    queue_wait_batch(&s->to_writer, todo->first->asked_us + OUTCOMES_PATIENCE_US);
    struct request_list more = queue_take_all(&s->to_writer, 0);
    request_list_join(todo, &more);
}

/* After the start pages and outcomes come first; the filters of keys are loaded when a key is
 * looked up or no request comes. */
static int64_t patience_ms(struct sqlite_store *s)
{
    int64_t most_ms = wait_ms(s);
    if (s->view.lookup.keys.is_loaded || (most_ms >= 0 && most_ms < FILTERS_QUIET_MS))
        return most_ms;
    return FILTERS_QUIET_MS;
}

static bool is_over(const struct sqlite_store *s)
{
    const struct writer *w = &s->writer;
    if (!w->stopping || w->stalled.first || atomic_load(&s->open_reads) > 0)
        return false;
    return writer_has_failed(s) || (!s->view.frozen && s->view.active->operations == 0);
}

void *writer_main(void *arg)
{
    struct sqlite_store *s = arg;
    CHECK_MAGIC(s, SQLITE_STORE_MAGIC);
    store_thread_begin("store-writer", 0);
    writer_hand_out_recovered(s);
    while (!is_over(s)) {
        int64_t most_ms = patience_ms(s);
        struct request_list todo = queue_take_all(&s->to_writer, most_ms);
        if (!todo.first && most_ms != 0)
            key_sets_load(&s->view.lookup.keys);
        if (!todo.first && s->view.active->operations == 0)
            writer_drop_spare(s);
        gather_outcomes(s, &todo);
        /* stalled requests came first; each is judged again */
        struct request_list stalled = s->writer.stalled;
        s->writer.stalled = (struct request_list){0};
        s->writer.intake_stalled = s->writer.outcomes_stalled = false;
        request_list_join(&stalled, &todo);
        do
            round_of(s, &stalled);
        while (stalled.first);
    }
    writer_drop_spare(s);
    return NULL;
}
