/* Writes keys, bodies and panelists into the open segment. A segment is closed when it has enough
 * keys, has as many runs as can be numbered, or is old enough. A memtable is never split between
 * two segments. */
#include "store/sqlite/apply_keys.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "domain/clock.h"
#include "store/sqlite/apply.h"
#include "store/sqlite/key_sets.h"
#include "store/sqlite/run.h"
#include "store/sqlite/run_merge.h"
#include "store/sqlite/schema.h"

#include <inttypes.h>
#include <stdlib.h>

#define SEGMENT_DAYS 30

/* Merges a full segment into one run and stores its filter, so that a start need not read its
 * keys. */
static void seal_segment(struct apply *a)
{
    struct filter filter;
    run_merge_all(&a->sql, a->segment.no);
    filter_init(&filter, (size_t)a->segment.keys);
    key_sets_fill_filter(&a->sql, a->segment.no, &filter);
    sqlite3_stmt *s = sql_prepare(&a->sql, "UPDATE segment SET filter=? WHERE no=?");
    sql_bind_blob(s, 1, filter_bytes(&filter));
    sql_bind_int(s, 2, a->segment.no);
    sql_run(&a->sql, s);
    sql_finalize(s);
    filter_free(&filter);
}

static void begin_segment(struct apply *a, int64_t accepted_ms)
{
    if (a->segment.no > 0)
        seal_segment(a);
    sql_finalize(a->segment.add_body);
    a->segment.add_body = NULL;
    a->segment.no++;
    a->segment.keys = 0;
    a->segment.first_accepted_ms = accepted_ms;
    schema_create_segment(&a->sql, a->segment.no);
    sql_exec_f(&a->sql, "INSERT INTO segment VALUES(%u,0,%" PRId64 ",%" PRId64 ",1,NULL)",
               a->segment.no, accepted_ms, accepted_ms);
}

static void open_segment(struct apply *a)
{
    int64_t accepted_ms = a->m->events[0].accepted_ms;
    if (a->segment.no == 0 || a->segment.keys >= LIMIT_KEYS_PER_SEGMENT ||
        run_next(&a->sql, a->segment.no) > RUN_NO_MOST ||
        accepted_ms - a->segment.first_accepted_ms > SEGMENT_DAYS * DAY_MS)
        begin_segment(a, accepted_ms);
    if (a->segment.add_body)
        return;
    a->segment.add_body = sql_prepare_f(
        &a->sql,
        "INSERT INTO bodies_%u SELECT c0,c1 FROM input WHERE true"
        " ON CONFLICT(block) DO UPDATE SET bodies=CAST(bodies||excluded.bodies AS BLOB)",
        a->segment.no);
}

static void write_run(struct apply *a, enum run_kind kind, uint32_t run, void *records,
                      size_t count)
{
    struct run_writer w;
    run_sort_minor(kind, records, count);
    run_writer_begin(&w, &a->sql, a->segment.no, kind, run);
    for (size_t i = 0; i < count; i++)
        run_writer_add(&w, (const char *)records + i * run_width(kind));
    run_writer_end(&w);
}

/* In the order of hashes the events are scattered in memory. A loop that only loads them lets the
 * processor have several loads under way. */
static void add_keys(struct apply *a, uint32_t run)
{
    const struct memtable *m = a->m;
    size_t count = m->event_count;
    struct key_record *records =
        apply_order(a, count, sizeof *records + 2 * sizeof(struct sort_item));
    struct sort_item *order = (struct sort_item *)(records + count);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct sort_item){m->events[i].key.hi, i};
    sort_by_key(order, count, order + count);
    for (size_t i = 0; i < count; i++) {
        const struct event *e = &m->events[order[i].value];
        records[i] =
            (struct key_record){e->key, e->content, event_id_of(e->account_no, e->event_no)};
    }
    write_run(a, RUN_KEYS, run, records, count);
}

static void add_panelists(struct apply *a, uint32_t run)
{
    const struct memtable *m = a->m;
    size_t count = m->event_count;
    struct panelist_record *records =
        apply_order(a, count, sizeof *records + 2 * sizeof(struct sort_item));
    struct sort_item *order = (struct sort_item *)(records + count);
    for (size_t i = 0; i < count; i++) {
        const struct event *e = &m->events[i];
        order[i] = (struct sort_item){a->panelists[i].hi, event_id_of(e->account_no, e->event_no)};
    }
    sort_by_key(order, count, order + count);
    for (size_t i = 0; i < count; i++)
        records[i] = (struct panelist_record){order[i].key, order[i].value};
    write_run(a, RUN_PANELISTS, run, records, count);
}

void apply_keys(struct apply *a)
{
    const struct memtable *m = a->m;
    if (m->event_count == 0)
        return;
    open_segment(a);
    uint32_t run = run_next(&a->sql, a->segment.no);
    add_keys(a, run);
    add_panelists(a, run);
    sql_exec_f(&a->sql, "INSERT INTO run VALUES(%u,%u,%zu)", a->segment.no, run, m->event_count);
    run_merge_some(&a->sql, a->segment.no);
    a->segment.keys += (int64_t)m->event_count;
    int64_t latest_ms = INT64_MIN; /* times may go back with the clock */
    for (size_t i = 0; i < m->event_count; i++)
        if (m->events[i].accepted_ms > latest_ms)
            latest_ms = m->events[i].accepted_ms;
    sql_exec_f(&a->sql,
               "UPDATE segment SET keys=%" PRId64 ",last_accepted_ms=max(last_accepted_ms,%" PRId64
               ") WHERE no=%u",
               a->segment.keys, latest_ms, a->segment.no);
}
