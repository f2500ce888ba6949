/* When the active memtable is frozen, and the requests that wait until it is in the database: reads
 * behind the barrier, and erasures. */
#include "store/sqlite/writer_freeze.h"

#include "store/sqlite/writer_thread.h"

#include <stdlib.h>

/* How long pages wait behind the barrier before they freeze a memtable, if no other read waits:
 * hundreds of suspended lanes that page for their next attempt would otherwise have it applied many
 * times a second. */
#define PAGE_PATIENCE_MS 250
/* A memtable of so many entries is kept for reuse, until the writer has been idle for
 * SPARE_MEMTABLE_MS (writer_thread.c). */
#define SPARE_MEMTABLE_ENTRIES (LIMIT_MEMTABLE_EVENTS / 8)

/* True if intake has to wait for the next memtable. */
bool writer_is_full(const struct sqlite_store *s, const struct memtable *m)
{
    return m->event_count >= LIMIT_MEMTABLE_EVENTS || memtable_used_bytes(m) >= s->memtable_bytes;
}

/* True if outcomes and changes have to wait, too. */
bool writer_is_overfull(const struct sqlite_store *s, const struct memtable *m)
{
    return memtable_used_bytes(m) >= s->memtable_bytes + s->memtable_bytes / 4;
}

void writer_dispatch(struct sqlite_store *s, struct request *r)
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

void writer_drop_spare(struct sqlite_store *s)
{
    memtable_free(s->writer.spare);
    s->writer.spare = NULL;
}

static struct memtable *next_memtable(struct sqlite_store *s, const struct memtable *m)
{
    struct memtable *spare = s->writer.spare;
    if (!spare || m->entry_count < SPARE_MEMTABLE_ENTRIES) {
        writer_drop_spare(s);
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
int64_t writer_freeze_at_mono_ms(const struct sqlite_store *s)
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
    return env_mono_ms(s->env) >= writer_freeze_at_mono_ms(s);
}

/* Between groups: freezes the memtable if it is time, or releases what waited for a freeze. */
void writer_freeze_when_due(struct sqlite_store *s)
{
    struct writer *w = &s->writer;
    struct memtable *m = s->view.active;
    if (m->operations == 0) {
        w->freeze_now = w->hurry = false;
        if (s->view.frozen)
            request_list_join(&w->frozen, &w->waiting);
        for (struct request *r; (r = request_list_take(&w->waiting)) != NULL;)
            writer_dispatch(s, r);
        return;
    }
    if (!s->view.frozen &&
        (writer_is_full(s, m) || is_old(s) || w->freeze_now || w->stopping || w->stalled.first))
        freeze(s);
}

/* Handles the applier's result for the frozen memtable. */
void writer_take_applied(struct sqlite_store *s, struct request *r)
{
    struct writer *w = &s->writer;
    struct memtable *m = r->what;
    bool good = r->succeeded;
    free(r);
    ASSERT(m == s->view.frozen);
    if (!good) {
        store_fail(&s->store, s->apply.sql.why);
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
        writer_dispatch(s, at);
}
