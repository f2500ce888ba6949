/* The transaction that applies one memtable: its steps in order, then the position and the
 * counters. */
#include "store/sqlite/apply.h"

#include "base/alloc.h"
#include "store/sqlite/accepted.h"
#include "store/sqlite/apply_books.h"
#include "store/sqlite/apply_keys.h"
#include "store/sqlite/apply_objects.h"
#include "store/sqlite/apply_stats.h"
#include "store/sqlite/event_row.h"
#include "store/sqlite/report_row.h"
#include "store/sqlite/schema.h"

#include <stdlib.h>

static void prepare(struct apply *a)
{
    struct sql *q = &a->sql;
    a->rows.add = sql_prepare(
        q, "INSERT OR FAIL INTO event(" ROW_COLUMNS ") SELECT c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,"
           "c11,c12,c13,c14,c15,c16,c17,c18,c19,c20,c21,c22,c23,c24,c25,c26,c27,c28,c29,c30,c31,c32"
           " FROM input");
    /* See is_plain in apply_rows.c. */
    a->rows.add_plain = sql_prepare(
        q, "INSERT OR FAIL INTO event(" ROW_COLUMNS ") SELECT c0,c1,c2,c3,c4,0,c6,c7,c8,c9,c10,"
           "0,0,c13,c14,c15,NULL,NULL,NULL,NULL,NULL,0,0,?1,c24,0,c26,0,0,0,c30,c31,c32"
           " FROM input");
    a->erasing.find = sql_prepare(q, "SELECT " STATUS_COLUMNS " FROM event WHERE id=?");
    apply_older_prepare(a);
    apply_search_prepare(a);
    apply_due_prepare(a);
    a->waiting.add = sql_prepare(q, "INSERT INTO waiting VALUES(?1,?2,?3)"
                                    " ON CONFLICT DO UPDATE SET count=count+?3");
    a->waiting.drop =
        sql_prepare(q, "DELETE FROM waiting WHERE segment=? AND accepted_ms=? AND count=0");
    a->final_late.add =
        sql_prepare(q, "INSERT INTO final_late VALUES(?1,?2) ON CONFLICT DO UPDATE SET final_day=?2"
                       " WHERE final_day<?2");
    a->rows.add_reversal = sql_prepare(q, "INSERT OR IGNORE INTO reversal VALUES(?,?)");
    a->rows.add_cap = sql_prepare(q, "INSERT OR IGNORE INTO cap SELECT c0,c1,c2,c3 FROM input");
    a->reports.find = sql_prepare(q, "SELECT * FROM report WHERE account_no=? AND day=?"
                                     " AND client_no=?");
    a->reports.set =
        sql_prepare(q, "INSERT OR REPLACE INTO report VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,"
                       "?,?,?,?,?,?,?,?,?,?)");
    a->intraday.add = sql_prepare(
        q, "INSERT INTO intraday VALUES(?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT DO UPDATE SET"
           " survey_starts=survey_starts+?4,conversions=conversions+?5,"
           "active_panelists=active_panelists+?6," MONEY_ADD("earnings", "?7", "?8"));
    a->stats.add = apply_delivery_stats_prepare(q);
    a->ledger.add = books_prepare(q);
    a->objects.set = sql_prepare(q, "INSERT OR REPLACE INTO object VALUES(?,?,?)");
    a->objects.drop = sql_prepare(q, "DELETE FROM object WHERE kind=? AND id=?");
}

static void load_counters(struct apply *a)
{
    struct sql *q = &a->sql;
    a->generation = (uint64_t)meta_get_int(q, "generation", 0);
    a->counters = (struct apply_counters){
        .accepted = meta_get_int(q, "events_accepted", 0),
        .delivered = meta_get_int(q, "callbacks_delivered", 0),
        .dead = meta_get_int(q, "callbacks_dead", 0),
        .pending = meta_get_int(q, "callbacks_pending", 0),
        .latest_accepted_ms =
            meta_get_int(q, "latest_accepted_ms", meta_get_int(q, "last_accepted_ms", INT64_MIN)),
    };
}

static void load_open_segment(struct apply *a)
{
    a->segment.no = 0;
    sqlite3_stmt *s = sql_prepare(&a->sql, "SELECT no,keys,first_accepted_ms FROM segment"
                                           " ORDER BY no DESC LIMIT 1");
    if (sql_row(&a->sql, s)) {
        a->segment.no = (uint32_t)sql_int(s, 0);
        a->segment.keys = sql_int(s, 1);
        a->segment.first_accepted_ms = sql_int(s, 2);
        sql_reset(s);
    }
    sql_finalize(s);
}

void apply_drop_cached(struct apply *a)
{
    sql_finalize(a->segment.add_body);
    a->segment.add_body = NULL;
    sql_finalize(a->active.any);
    sql_finalize(a->active.find);
    sql_finalize(a->active.add);
    sql_finalize(a->active.update);
    a->active.any = a->active.find = a->active.add = a->active.update = NULL;
    sql_finalize(a->attempt.add);
    a->attempt.add = NULL;
}

void apply_open(struct apply *a)
{
    meta_get_secret(&a->sql, &a->secret);
    load_counters(a);
    load_open_segment(a);
    a->attempt.chunk = xcalloc(1, sizeof *a->attempt.chunk);
    array_vtab_register(&a->sql, &a->input);
    prepare(a);
}

void apply_close(struct apply *a)
{
    sql_close(&a->sql);
    if (a->attempt.chunk)
        buf_free(&a->attempt.chunk->texts.out);
    free(a->attempt.chunk);
    idmap_free(&a->active.touched);
    body_packer_free(&a->bodies);
    free(a->panelists);
    free(a->order);
    free(a->due.coming.items);
    free(a->due.leaving.items);
    free(a->erasing.late);
    free(a->waiting.items);
    free(a->final_late.items);
    free(a->search.items);
    books_free(&a->ledger.books);
    delivery_stats_rows_free(&a->stats.rows);
    *a = (struct apply){0};
}

void *apply_order(struct apply *a, size_t count, size_t size)
{
    a->order = xgrow(a->order, &a->order_capacity, count * size + 1, 1);
    return a->order;
}

void apply_count(struct apply *a, enum callback_state before, enum callback_state after,
                 unsigned counted)
{
    a->counters.pending += (after == CALLBACK_PENDING) - (before == CALLBACK_PENDING);
    a->counters.delivered += (counted & COUNTED_DELIVERED) != 0;
    a->counters.dead += (counted & COUNTED_DEAD) != 0;
}

static void hash_panelists(struct apply *a)
{
    const struct memtable *m = a->m;
    a->panelists = xgrow(a->panelists, &a->panelist_capacity, m->event_count, sizeof *a->panelists);
    for (size_t i = 0; i < m->event_count; i++)
        a->panelists[i] =
            panelist_key(&a->secret, m->events[i].account_no, m->events[i].panelist_id);
}

static void apply_meta(struct apply *a)
{
    const struct memtable *m = a->m;
    struct sql *q = &a->sql;
    a->counters.accepted += (int64_t)m->event_count;
    meta_set_int(q, "generation", (int64_t)m->generation);
    meta_set_int(q, "journal_segment", (int64_t)m->end.segment);
    meta_set_int(q, "journal_offset", (int64_t)m->end.offset_bytes);
    meta_set_int(q, "last_accepted_ms", m->last_accepted_ms);
    meta_set_int(q, "latest_accepted_ms", a->counters.latest_accepted_ms);
    meta_set_int(q, "events_accepted", a->counters.accepted);
    meta_set_int(q, "callbacks_delivered", a->counters.delivered);
    meta_set_int(q, "callbacks_dead", a->counters.dead);
    meta_set_int(q, "callbacks_pending", a->counters.pending);
}

bool apply_memtable(struct apply *a, struct memtable *m)
{
    CHECK_MAGIC(m, MEMTABLE_MAGIC);
    struct apply_counters before = a->counters;
    a->m = m;
    a->due.coming.count = a->due.leaving.count = a->erasing.late_count = a->waiting.count = 0;
    a->search.count = a->final_late.count = 0;
    books_clear(&a->ledger.books);
    hash_panelists(a);
    sql_exec(&a->sql, "BEGIN IMMEDIATE");
    apply_keys(a);
    apply_rows(a);
    apply_accepted(a);
    apply_reports(a);
    apply_attempts(a);
    apply_delivery_stats(a);
    apply_objects(a);
    apply_erases(a);
    apply_books(a);
    apply_waiting_counts(a);
    apply_write_final_late(a);
    apply_search(a);
    apply_meta(a);
    if (a->ending)
        a->ending(a, a->ending_context);
    sql_exec(&a->sql, "COMMIT");
    a->m = NULL;
    if (!sql_failed(&a->sql)) {
        a->generation = m->generation;
        m->segment = a->segment.no;
        return true;
    }
    a->counters = before;
    return false;
}

bool apply_passing(const struct apply *a)
{
    return sql_is_passing(a->sql.code);
}

void apply_recover(struct apply *a)
{
    sql_recover(&a->sql);
    apply_drop_cached(a);
    load_open_segment(a);
}
