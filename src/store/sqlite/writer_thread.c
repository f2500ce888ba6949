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
#include "store/sqlite/sqlite_store.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdlib.h>

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

void writer_intake_ended(struct sqlite_store *s, const struct intake_batch *batch)
{
    atomic_fetch_sub(&s->numbers.queued_events, (long long)batch->count);
    atomic_fetch_sub(&s->numbers.queued_bytes, (long long)batch->bytes);
}

static void writer_refuse(struct sqlite_store *s, struct intake_batch *batch,
                          enum store_refusal refusal)
{
    writer_intake_ended(s, batch);
    batch->status = STORE_BUSY;
    admission_count(s, refusal);
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

static bool has_failed(const struct sqlite_store *s)
{
    return atomic_load_explicit(&s->numbers.failed, memory_order_acquire);
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

/* --- freezing and what waits for it ---------------------------------------------------------- */

/* True if intake has to wait for the next memtable. */
static bool is_full(const struct sqlite_store *s, const struct memtable *m)
{
    return m->event_count >= LIMIT_MEMTABLE_EVENTS || memtable_used_bytes(m) >= s->memtable_bytes;
}

/* True if outcomes and changes have to wait, too. */
static bool is_overfull(const struct sqlite_store *s, const struct memtable *m)
{
    return memtable_used_bytes(m) >= s->memtable_bytes + s->memtable_bytes / 4;
}

static void dispatch(struct sqlite_store *s, struct request *r)
{
    if (r->kind == REQUEST_ERASE)
        request_answer(s, r, STORE_OK);
    else if (r->kind == REQUEST_PAGE)
        queue_post(&s->to_pages, r);
    else if (request_work(r->kind) == WORK_SCAN) {
        atomic_store(&s->scan_asked_us, timing_now_us());
        queue_post(&s->to_scans, r);
    } else
        queue_post(&s->to_reads, r);
}

static void drop_spare(struct sqlite_store *s)
{
    memtable_free(s->writer.spare);
    s->writer.spare = NULL;
}

static struct memtable *next_memtable(struct sqlite_store *s, const struct memtable *m)
{
    struct memtable *spare = s->writer.spare;
    if (!spare || m->entry_count < SPARE_MEMTABLE_ENTRIES) {
        drop_spare(s);
        return memtable_new(m->generation + 1);
    }
    s->writer.spare = NULL;
    memtable_reset(spare, m->generation + 1);
    return spare;
}

static void freeze(struct sqlite_store *s)
{
    struct memtable *m = s->view.active;
    s->view.frozen = m;
    s->view.active = next_memtable(s, m);
    s->writer.freeze_now = s->writer.hurry = false;
    request_list_join(&s->writer.frozen, &s->writer.waiting);
    queue_post(&s->to_applier, request_new(REQUEST_APPLY, m));
}

/* A memtable that is filling up, with events or with outcomes of earlier ones, gets more time,
 * until no group has come for a while: the larger it is, the fewer pages are written for each
 * entry. */
static int64_t apply_at_mono_ms(const struct memtable *m)
{
    size_t entries = m->entry_count;
    int64_t soon_ms = m->first_mono_ms + LIMIT_APPLY_INTERVAL_MS;
    int64_t late_ms = m->first_mono_ms + LIMIT_APPLY_INTERVAL_BUSY_MS;
    int64_t quiet_ms = m->last_mono_ms + LIMIT_APPLY_QUIET_MS;
    bool fills = entries >= LIMIT_MEMTABLE_EVENTS / 8 && entries < LIMIT_MEMTABLE_EVENTS;
    if (!fills || quiet_ms < soon_ms)
        return soon_ms;
    return quiet_ms < late_ms ? quiet_ms : late_ms;
}

/* Requests behind the barrier freeze it sooner: a read at once. */
static int64_t freeze_at_mono_ms(const struct sqlite_store *s)
{
    const struct writer *w = &s->writer;
    const struct memtable *m = s->view.active;
    int64_t at_ms = apply_at_mono_ms(m), page_ms = m->first_mono_ms + PAGE_PATIENCE_MS;
    if (w->hurry)
        return m->first_mono_ms;
    return w->waiting.first && page_ms < at_ms ? page_ms : at_ms;
}

static bool is_old(const struct sqlite_store *s)
{
    return env_mono_ms(s->env) >= freeze_at_mono_ms(s);
}

/* Between groups: freezes the memtable if it is time, or releases what waited for a freeze. */
static void freeze_when_due(struct sqlite_store *s)
{
    struct writer *w = &s->writer;
    struct memtable *m = s->view.active;
    if (m->operations == 0) {
        w->freeze_now = w->hurry = false;
        if (s->view.frozen)
            request_list_join(&w->frozen, &w->waiting);
        for (struct request *r; (r = request_list_take(&w->waiting)) != NULL;)
            dispatch(s, r);
        return;
    }
    if (!s->view.frozen &&
        (is_full(s, m) || is_old(s) || w->freeze_now || w->stopping || w->stalled.first))
        freeze(s);
}

/* Handles the applier's result for the frozen memtable. */
static void take_applied(struct sqlite_store *s, struct request *r)
{
    struct writer *w = &s->writer;
    struct memtable *m = r->what;
    bool good = r->succeeded;
    free(r);
    ASSERT(m == s->view.frozen);
    if (!good) {
        sqlite_store_fail(s, s->apply.sql.why);
        return; /* it stays: the journal has it and SQLite has not */
    }
    view_let_go_frozen(&s->view);
    w->applied_generation = m->generation;
    atomic_fetch_sub(&s->numbers.memtable_events, (long long)m->event_count);
    bool is_kept = m->entry_count >= SPARE_MEMTABLE_ENTRIES &&
                   memtable_bytes(m) <= s->memtable_bytes + s->memtable_bytes / 2;
    if (is_kept && !w->spare)
        w->spare = m;
    else
        memtable_free(m);
    for (struct request *at; (at = request_list_take(&w->frozen)) != NULL;)
        dispatch(s, at);
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
        sqlite_store_fail(s, s->view.lookup.sql.why);
    if (w->group.n > 0 && !has_failed(s)) {
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
            sqlite_store_fail(s, journal_error(s->journal));
        }
    }
    if (!has_failed(s)) {
        long long added = (long long)(m->event_count - w->first_event);
        atomic_fetch_add(&s->numbers.accepted, added);
        atomic_store(&s->numbers.last_accepted_ms, s->view.last_accepted_ms);
        atomic_fetch_add(&s->numbers.memtable_events, added);
        writer_hand_out(s);
    }
    answer_all(s, &w->answers, has_failed(s));
}

static bool out_of_patience(const struct sqlite_store *s)
{
    int64_t since_ms = s->writer.unready_mono_ms;
    return since_ms != 0 && env_mono_ms(s->env) - since_ms >= JOURNAL_PATIENCE_MS;
}

enum room { ROOM, ROOM_LATER, ROOM_REFUSED };

/* Whether the journal has room for a batch, or its rest, now. A batch that has begun is not
 * refused. */
static enum room journal_room(struct sqlite_store *s, const struct request *r)
{
    struct writer *w = &s->writer;
    if (writer_intake_ready(s, r)) {
        w->unready_mono_ms = 0;
        return ROOM;
    }
    if (w->unready_mono_ms == 0)
        w->unready_mono_ms = env_mono_ms(s->env);
    return out_of_patience(s) && r->decided == 0 ? ROOM_REFUSED : ROOM_LATER;
}

/* True if an accepted event would have to wait for the applier. */
static bool waits_for_applier(const struct sqlite_store *s)
{
    return s->writer.freeze_now || (s->view.frozen && is_full(s, s->view.active));
}

/* True: the batch is answered. False: the group is full, and the next group goes on with the
 * batch. */
static bool take_intake(struct sqlite_store *s, struct request *r)
{
    if (journal_room(s, r) != ROOM)
        writer_refuse(s, r->what, STORE_REFUSES_JOURNAL);
    else if (waits_for_applier(s))
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
        sqlite_store_fail(s, "waiting callbacks cannot be read"); /* their loop would stand still */
        request_answer(s, r, STORE_FAILED);
        break;
    case PAGE_READ_AGAIN: queue_post(&s->to_pages, r); break;
    case PAGE_READ_BEHIND_BARRIER: request_list_add(&s->writer.waiting, r); break;
    }
}

/* True if the read needs no barrier: SQLite has everything of the account, or the list may lag.
 * SQLite has each account's events in order, and every erasure that was answered. A memtable knows
 * the accounts of its events, not those of its objects. */
static bool is_settled_read(const struct sqlite_store *s, const struct request *r)
{
    const struct callback_list *list = r->kind == REQUEST_CALLBACKS ? r->what : NULL;
    if (list && list->may_lag)
        return true;
    bool is_of_events = request_is_read(r->kind) && r->kind != REQUEST_OBJECTS;
    uint32_t account_no = is_of_events ? request_account(r) : 0;
    return account_no != 0 && !memtable_may_have_account(s->view.active, account_no) &&
           !(s->view.frozen && memtable_may_have_account(s->view.frozen, account_no));
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
    if (is_settled_read(s, r)) {
        dispatch(s, r);
        return;
    }
    request_list_add(&s->writer.waiting, r);
    s->writer.hurry = true;
}

static void take(struct sqlite_store *s, struct request *r)
{
    if (r->kind == REQUEST_APPLIED) {
        take_applied(s, r);
    } else if (r->kind == REQUEST_APPLIER_FAILED) {
        free(r);
        sqlite_store_fail(s, s->apply.sql.why);
    } else if (r->kind == REQUEST_LEAVE) {
        s->writer.give_up_mono_ms = env_mono_ms(s->env) + STOP_PATIENCE_MS;
        free(r);
    } else if (r->kind == REQUEST_STOP) {
        s->writer.stopping = true;
        free(r);
    } else if (has_failed(s)) {
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

/* A stop does not wait for a database that cannot be written, nor long for a slow one: outcomes go
 * into the journal, for the next start to apply; what else would wait is answered. */
static bool leaves_blocked(const struct sqlite_store *s)
{
    int64_t at_ms = s->writer.give_up_mono_ms;
    return at_ms != 0 && (atomic_load(&s->numbers.blocked) || env_mono_ms(s->env) >= at_ms);
}

/* While a memtable is frozen, outcomes and changes may make the active one grow by a quarter. Then
 * they wait for the applier; delivery, which waits for its outcomes, starts no further attempts. */
static bool waits_for_memtable(const struct sqlite_store *s, const struct request *r)
{
    bool is_change = r->kind == REQUEST_OBJECT || r->kind == REQUEST_RESEND;
    bool is_outcomes = r->kind == REQUEST_OUTCOMES && !leaves_blocked(s);
    return (is_change || is_outcomes) && s->view.frozen && is_overfull(s, s->view.active);
}

/* True if the request must wait for the applier or the journal. */
static bool is_blocked(struct sqlite_store *s, const struct request *r)
{
    if (waits_for_memtable(s, r))
        return true;
    if (r->kind == REQUEST_OUTCOMES)
        return false;
    if (s->writer.freeze_now)
        return true;
    return r->kind == REQUEST_INTAKE && (waits_for_applier(s) || journal_room(s, r) == ROOM_LATER);
}

/* Outcomes and changes are never refused; they wait for journal space, because running out in the
 * middle of a commit is fatal. `bytes`: of the current group. */
static bool waits_for_journal(struct sqlite_store *s, const struct request *r, size_t bytes)
{
    struct writer *w = &s->writer;
    size_t own_bytes = writer_change_bytes_most(r);
    if (own_bytes == 0 || w->stopping || journal_ready(s->journal, bytes + own_bytes))
        return false;
    if (w->unready_mono_ms == 0)
        w->unready_mono_ms = env_mono_ms(s->env);
    return true;
}

static bool must_stall(struct sqlite_store *s, const struct request *r)
{
    if (has_failed(s) || r->kind == REQUEST_APPLIED || r->kind == REQUEST_APPLIER_FAILED ||
        r->kind == REQUEST_LEAVE || r->kind == REQUEST_PAGE || is_settled_read(s, r) ||
        admission_refuses_change(s, r))
        return false;
    if (r->kind == REQUEST_OUTCOMES && s->writer.outcomes_stalled)
        return true; /* outcomes stay in order */
    if (waits_for_journal(s, r, s->writer.group.n))
        return true;
    if (r->kind == REQUEST_OUTCOMES)
        return is_blocked(s, r);
    bool is_new_intake = r->kind == REQUEST_INTAKE && r->decided == 0;
    if (is_new_intake && out_of_patience(s) && !writer_intake_ready(s, r))
        return false; /* refused at once, even if other requests wait for space */
    if (is_new_intake && waits_for_applier(s) && atomic_load(&s->numbers.blocked))
        /* refused, because nobody knows how long the applier will wait for disk space */
        return false;
    /* intake overtakes changes that wait for more space than it needs */
    if (r->kind == REQUEST_INTAKE)
        return s->writer.intake_stalled || is_blocked(s, r);
    return s->writer.stalled.first || is_blocked(s, r);
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

/* Whether a stop has waited for room for long enough: later outcomes get as long as others. */
static bool must_give_up(const struct sqlite_store *s, const struct request *r)
{
    int64_t at_ms = s->writer.give_up_mono_ms;
    return at_ms != 0 && (r->kind == REQUEST_OUTCOMES || r->decided > 0) &&
           env_mono_ms(s->env) >= at_ms && timing_now_us() - r->asked_us >= STOP_PATIENCE_MS * 1000;
}

static void take_or_stall(struct sqlite_store *s, struct request *r)
{
    bool stalls = must_stall(s, r);
    if (stalls && must_give_up(s, r))
        sqlite_store_fail(s, "no room for what a stop had left to record");
    bool is_kept =
        r->kind == REQUEST_INTAKE || r->kind == REQUEST_OUTCOMES || r->kind == REQUEST_STOP;
    if (!stalls || has_failed(s)) {
        take(s, r);
    } else if (leaves_blocked(s) && !is_kept) {
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
    if (has_failed(s)) {
        answer_all(s, &s->writer.waiting, true);
        answer_all(s, &s->writer.frozen, true);
    } else {
        freeze_when_due(s);
    }
    if (leaves_blocked(s)) {
        give_up_waiting(s, &s->writer.waiting);
        give_up_waiting(s, &s->writer.frozen);
    }
    note_memory(s);
}

/* --- the thread ------------------------------------------------------------------------------ */

static int64_t wait_ms(struct sqlite_store *s)
{
    const struct request *stalled = s->writer.stalled.first;
    if (stalled && !is_blocked(s, stalled) && !waits_for_journal(s, stalled, 0))
        return 0;
    if (s->writer.stopping || s->writer.give_up_mono_ms != 0)
        return 10; /* for reads that are still open, or an applier that becomes blocked */
    if (stalled && s->writer.unready_mono_ms != 0)
        return 5;
    if (stalled && s->view.frozen)
        return 100; /* the applier may have become blocked */
    if (has_failed(s) || s->view.frozen)
        return -1;
    if (s->view.active->operations == 0)
        return s->writer.spare ? SPARE_MEMTABLE_MS : -1;
    int64_t left = freeze_at_mono_ms(s) - env_mono_ms(s->env);
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
    return has_failed(s) || (!s->view.frozen && s->view.active->operations == 0);
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
            drop_spare(s);
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
    drop_spare(s);
    return NULL;
}
