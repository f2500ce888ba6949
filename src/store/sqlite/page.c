/* Pages of due callbacks: the page reader reads them from SQLite, then the writer filters them,
 * because it knows the changes since.
 *
 * A memtable may have been applied and freed after the page's snapshot was taken. Then the writer
 * no longer knows that memtable's changes, and the page is read again.
 *
 * The memtables may have due callbacks of the lane that belong on this page. Then the page is read
 * again once behind a read barrier, so that everything acknowledged before the page was requested
 * is in SQLite. A brief page (due_page.brief) skips the barrier: such pages are read for hundreds
 * of lanes again and again, and would force memtables to be applied several times a second. */
#include "store/sqlite/page.h"

#include "base/alloc.h"
#include "base/log.h"
#include "store/sqlite/reads.h"

#include <stdlib.h>

struct page_work {
    struct due_page *page;
    struct callback **items;
    size_t count;
    uint64_t generation; /* of the snapshot */
    bool more, behind_barrier, failed;
    bool going_on; /* continues after the page's last row, because rows were dropped */
    struct scan_cursor last;
    int64_t next_due_ms;
};

struct page_work *page_work_new(struct due_page *page)
{
    struct page_work *w = xcalloc(1, sizeof *w);
    w->page = page;
    return w;
}

static void drop_items(struct page_work *w)
{
    for (size_t i = 0; i < w->count; i++)
        callback_free(w->items[i]);
    free(w->items);
    w->items = NULL;
    w->count = 0;
}

void page_work_free(struct page_work *w)
{
    drop_items(w);
    free(w);
}

/* --- the page reader -------------------------------------------------------------------------- */

/* The statements of a page, prepared once. */
struct page_reader {
    struct event_lookup *lookup;
    sqlite3_stmt *begin, *generation, *lane_id, *due, *commit;
};

/* A callback's columns of its event, ordered by due time and id. */
static const char page_text[] =
    "SELECT due.due_ms,due.id,segment,app_no,type,event.lane,is_test,signature_offset,original_no,"
    "occurred_ms,accepted_ms,event_id,panelist_id,state,manual,failed_attempts,slot,attempts"
    " FROM due CROSS JOIN event ON event.id=due.id WHERE due.lane=?1 AND due.due_ms>=?2"
    " AND (due.due_ms,due.id)>(?2,?3) ORDER BY due.due_ms,due.id";

static struct callback *callback_of(sqlite3_stmt *s, uint64_t id, struct str body)
{
    struct event e = {
        .account_no = account_of_id(id),
        .event_no = event_no_of_id(id),
        .app_no = (uint32_t)sql_int(s, 3),
        .type = (enum event_type)sql_int(s, 4),
        .lane = (enum lane_kind)sql_int(s, 5),
        .is_test = sql_int(s, 6) != 0,
        .signature_offset = (uint16_t)sql_int(s, 7),
        .original_no = (uint64_t)sql_int(s, 8),
        .occurred_ms = sql_int(s, 9),
        .accepted_ms = sql_int(s, 10),
        .event_id = sql_str(s, 11),
        .panelist_id = sql_str(s, 12),
        .body = body,
    };
    struct callback_life life = {
        .lane = lane_of(e.app_no, e.lane),
        .state = (enum callback_state)sql_int(s, 13),
        .wait = WAIT_DUE,
        .manual = sql_int(s, 14) != 0,
        .attempts = (int32_t)sql_int(s, 17),
        .place = {.failed_attempts = (int32_t)sql_int(s, 15),
                  .slot = (int32_t)sql_int(s, 16),
                  .due_ms = sql_int(s, 0)},
    };
    return callback_new(&e, &life);
}

static void read_one(struct event_lookup *l, sqlite3_stmt *s, struct page_work *w, uint64_t id)
{
    struct str body = STR_NONE;
    if (!w->page->brief)
        body = lookup_next_body(l, id, (uint32_t)sql_int(s, 2));
    if (body.p || w->page->brief)
        w->items[w->count++] = callback_of(s, id, body);
}

/* The due table is ordered by (lane, due_ms, id), and a lane belongs to one account. So (due,
 * event_no) becomes (due, id) with the account of any row of the lane. */
static int64_t position_id(struct page_reader *r, const struct page_work *w)
{
    if (w->last.event_no == 0)
        return 0;
    sql_bind_int(r->lane_id, 1, (int64_t)w->page->lane);
    uint64_t id = 0;
    if (sql_row(&r->lookup->sql, r->lane_id))
        id = event_id_of(account_of_id((uint64_t)sql_int(r->lane_id, 0)), w->last.event_no);
    sql_reset(r->lane_id);
    return (int64_t)id;
}

static void read_due(struct page_reader *r, struct page_work *w)
{
    struct due_page *page = w->page;
    struct event_lookup *l = r->lookup;
    sqlite3_stmt *due = r->due;
    size_t seen = w->count;
    sql_bind_int(due, 1, (int64_t)page->lane);
    sql_bind_int(due, 2, w->last.due_ms);
    sql_bind_int(due, 3, position_id(r, w));
    w->more = false;
    w->next_due_ms = INT64_MAX;
    while (sql_row(&l->sql, due)) {
        int64_t due_ms = sql_int(due, 0);
        uint64_t id = (uint64_t)sql_int(due, 1);
        if (due_ms > page->due_until_ms || seen == page->limit) {
            w->more = due_ms <= page->due_until_ms;
            w->next_due_ms = due_ms;
            break;
        }
        seen++;
        read_one(l, due, w, id);
        w->last = (struct scan_cursor){due_ms, event_no_of_id(id)};
    }
    sql_reset(due);
    lookup_end_bodies(l);
}

static uint64_t generation_of(struct page_reader *r)
{
    bool known = sql_row(&r->lookup->sql, r->generation);
    uint64_t generation = known ? (uint64_t)sql_int(r->generation, 0) : 0;
    sql_reset(r->generation);
    return generation;
}

static void page_read(struct page_reader *r, struct page_work *w)
{
    struct sql *q = &r->lookup->sql;
    if (!w->going_on) {
        drop_items(w);
        w->items = xcalloc(w->page->limit, sizeof(struct callback *));
        w->last = w->page->after;
        w->generation = UINT64_MAX;
    }
    sql_run(q, r->begin);
    uint64_t generation = generation_of(r);
    if (generation < w->generation)
        w->generation = generation;
    read_due(r, w);
    sql_run(q, r->commit);
    w->failed = sql_failed(q);
    if (w->failed) {
        log_error("page_not_read", LOG_C("why", q->why));
        sql_recover(q);
    }
}

static struct page_reader reader_on(struct event_lookup *l)
{
    struct sql *q = &l->sql;
    return (struct page_reader){
        .lookup = l,
        .begin = sql_prepare(q, "BEGIN"),
        .generation = sql_prepare(q, "SELECT value FROM meta WHERE name='generation'"),
        .lane_id = sql_prepare(q, "SELECT id FROM due WHERE lane=? LIMIT 1"),
        .due = sql_prepare(q, page_text),
        .commit = sql_prepare(q, "COMMIT"),
    };
}

void *pages_main(void *arg)
{
    struct sqlite_store *s = arg;
    CHECK_MAGIC(s, SQLITE_STORE_MAGIC);
    store_thread_begin("store-pages", READER_NICER);
    struct page_reader reader = reader_on(&s->pages);
    struct request *r;
    while ((r = reader_next(s, &s->to_pages, 0, &s->pages.sql, CACHE_PAGES))->kind !=
           REQUEST_STOP) {
        page_read(&reader, r->page);
        queue_post(&s->to_writer, r);
    }
    free(r);
    return NULL;
}

/* --- the writer ------------------------------------------------------------------------------- */

/* True if the callback still waits as in the snapshot. */
static bool still_waits(const struct view *v, const struct callback *c)
{
    uint64_t id = event_id_of(c->account_no, c->event_no);
    const struct mem_entry *entry = memtable_entry(v->active, id);
    if (!entry && v->frozen)
        entry = memtable_entry(v->frozen, id);
    return !entry || (entry->life.wait == WAIT_DUE && entry->life.place.due_ms == c->place.due_ms);
}

/* The first due time of the lane in the memtables, or INT64_MAX. */
static int64_t least_due_in_memory(const struct view *v, lane_no lane)
{
    int64_t least_ms = INT64_MAX;
    const struct memtable *layers[] = {v->active, v->frozen};
    for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
        const struct mem_lane *at = layers[i] ? memtable_lane(layers[i], lane) : NULL;
        if (at && at->count > 0 && at->least_due_ms < least_ms)
            least_ms = at->least_due_ms;
    }
    return least_ms;
}

/* Drops the callbacks that have changed since. Those whose erasure waits for the applier, too:
 * lanes forget a panelist when the erasure is answered, and one that a replay found is never
 * answered. */
static void drop_settled(const struct view *v, struct page_work *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        struct callback *c = w->items[i];
        if (!still_waits(v, c) || view_has_erasure(v, c)) {
            callback_free(c);
            continue;
        }
        c->resend_no = pending_resends_no(&v->resends, event_id_of(c->account_no, c->event_no));
        w->items[kept++] = c;
    }
    w->count = kept;
}

enum page_verdict page_filter(struct sqlite_store *s, struct page_work *w)
{
    struct due_page *page = w->page;
    page->items = NULL;
    page->count = 0;
    if (w->failed)
        return PAGE_FAILED;
    w->going_on = false;
    if (w->generation < s->writer.applied_generation)
        return PAGE_READ_AGAIN;
    int64_t memory_due_ms = page->brief ? INT64_MAX : least_due_in_memory(&s->view, page->lane);
    bool in_memory = memory_due_ms != INT64_MAX && memory_due_ms <= page->due_until_ms;
    bool belongs = in_memory && (!w->more || memory_due_ms <= w->last.due_ms);
    if (belongs && !w->behind_barrier) {
        w->behind_barrier = true;
        return PAGE_READ_BEHIND_BARRIER;
    }
    drop_settled(&s->view, w);
    w->going_on = w->more && w->count < page->limit;
    if (w->going_on)
        return PAGE_READ_AGAIN;
    page->items = w->items;
    page->count = w->count;
    page->more = w->more || in_memory;
    page->last = w->last;
    page->next_due_ms = w->next_due_ms < memory_due_ms ? w->next_due_ms : memory_due_ms;
    w->items = NULL;
    w->count = 0;
    return PAGE_DONE;
}
