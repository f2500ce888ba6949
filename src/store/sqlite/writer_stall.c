/* Which requests have to wait for the applier or the journal, and which are refused instead. */
#include "store/sqlite/writer_stall.h"

#include "store/sqlite/writer_freeze.h"
#include "store/sqlite/writer_intake.h"
#include "store/sqlite/writer_thread.h"

/* The journal makes its next segment in the background. If that takes longer than this, the disk is
 * probably full, and intake is refused as busy. */
#define JOURNAL_PATIENCE_MS 2000

static bool out_of_patience(const struct sqlite_store *s)
{
    int64_t since_ms = s->writer.unready_mono_ms;
    return since_ms != 0 && env_mono_ms(s->env) - since_ms >= JOURNAL_PATIENCE_MS;
}

/* Whether the journal has room for a batch, or its rest, now. A batch that has begun is not
 * refused. */
enum writer_room writer_journal_room(struct sqlite_store *s, const struct request *r)
{
    struct writer *w = &s->writer;
    if (writer_intake_ready(s, r)) {
        w->unready_mono_ms = 0;
        return WRITER_ROOM;
    }
    if (w->unready_mono_ms == 0)
        w->unready_mono_ms = env_mono_ms(s->env);
    return out_of_patience(s) && r->decided == 0 ? WRITER_ROOM_REFUSED : WRITER_ROOM_LATER;
}

/* True if an accepted event would have to wait for the applier. */
bool writer_waits_for_applier(const struct sqlite_store *s)
{
    return s->writer.freeze_now || (s->view.frozen && writer_is_full(s, s->view.active));
}

/* True if the read needs no barrier: SQLite has everything of the account, or the list may lag.
 * SQLite has each account's events in order, and every erasure that was answered. A memtable knows
 * the accounts of its events, not those of its objects. */
bool writer_is_settled_read(const struct sqlite_store *s, const struct request *r)
{
    const struct callback_list *list = r->kind == REQUEST_CALLBACKS ? r->what : NULL;
    if (list && list->may_lag)
        return true;
    bool is_of_events = request_is_read(r->kind) && r->kind != REQUEST_OBJECTS;
    uint32_t account_no = is_of_events ? request_account(r) : 0;
    return account_no != 0 && !memtable_may_have_account(s->view.active, account_no) &&
           !(s->view.frozen && memtable_may_have_account(s->view.frozen, account_no));
}

/* A stop does not wait for a database that cannot be written, nor long for a slow one: outcomes go
 * into the journal, for the next start to apply; what else would wait is answered. */
bool writer_leaves_blocked(const struct sqlite_store *s)
{
    int64_t at_ms = s->writer.give_up_mono_ms;
    return at_ms != 0 && (atomic_load(&s->numbers.blocked) || env_mono_ms(s->env) >= at_ms);
}

/* While a memtable is frozen, outcomes and changes may make the active one grow by a quarter. Then
 * they wait for the applier; delivery, which waits for its outcomes, starts no further attempts. */
static bool waits_for_memtable(const struct sqlite_store *s, const struct request *r)
{
    bool is_change = r->kind == REQUEST_OBJECT || r->kind == REQUEST_RESEND;
    bool is_outcomes = r->kind == REQUEST_OUTCOMES && !writer_leaves_blocked(s);
    return (is_change || is_outcomes) && s->view.frozen && writer_is_overfull(s, s->view.active);
}

/* True if the request must wait for the applier or the journal. */
bool writer_is_blocked(struct sqlite_store *s, const struct request *r)
{
    if (waits_for_memtable(s, r))
        return true;
    if (r->kind == REQUEST_OUTCOMES)
        return false;
    if (s->writer.freeze_now)
        return true;
    return r->kind == REQUEST_INTAKE &&
           (writer_waits_for_applier(s) || writer_journal_room(s, r) == WRITER_ROOM_LATER);
}

/* Outcomes and changes are never refused; they wait for journal space, because running out in the
 * middle of a commit is fatal. `bytes`: of the current group. */
bool writer_waits_for_journal(struct sqlite_store *s, const struct request *r, size_t bytes)
{
    struct writer *w = &s->writer;
    size_t own_bytes = writer_change_bytes_most(r);
    if (own_bytes == 0 || w->stopping || journal_ready(s->journal, bytes + own_bytes))
        return false;
    if (w->unready_mono_ms == 0)
        w->unready_mono_ms = env_mono_ms(s->env);
    return true;
}

bool writer_must_stall(struct sqlite_store *s, const struct request *r)
{
    if (writer_has_failed(s) || r->kind == REQUEST_APPLIED || r->kind == REQUEST_APPLIER_FAILED ||
        r->kind == REQUEST_LEAVE || r->kind == REQUEST_PAGE || writer_is_settled_read(s, r) ||
        admission_refuses_change(s, r))
        return false;
    if (r->kind == REQUEST_OUTCOMES && s->writer.outcomes_stalled)
        return true; /* outcomes stay in order */
    if (writer_waits_for_journal(s, r, s->writer.group.n))
        return true;
    if (r->kind == REQUEST_OUTCOMES)
        return writer_is_blocked(s, r);
    bool is_new_intake = r->kind == REQUEST_INTAKE && r->decided == 0;
    if (is_new_intake && out_of_patience(s) && !writer_intake_ready(s, r))
        return false; /* refused at once, even if other requests wait for space */
    if (is_new_intake && writer_waits_for_applier(s) && atomic_load(&s->numbers.blocked))
        /* refused, because nobody knows how long the applier will wait for disk space */
        return false;
    /* intake overtakes changes that wait for more space than it needs */
    if (r->kind == REQUEST_INTAKE)
        return s->writer.intake_stalled || writer_is_blocked(s, r);
    return s->writer.stalled.first || writer_is_blocked(s, r);
}

/* Whether a stop has waited for room for long enough: later outcomes get as long as others. */
bool writer_must_give_up(const struct sqlite_store *s, const struct request *r)
{
    int64_t at_ms = s->writer.give_up_mono_ms;
    return at_ms != 0 && (r->kind == REQUEST_OUTCOMES || r->decided > 0) &&
           env_mono_ms(s->env) >= at_ms && timing_now_us() - r->asked_us >= STOP_PATIENCE_MS * 1000;
}
