/* Keys, bodies and panelists, which live in segments: a segment is closed when it has its keys or
 * its age, and a memtable is never split between two. */
#include "store/sqlite/apply.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "domain/clock.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/sqlite/filter.h"
#include "store/sqlite/schema.h"

#define SEGMENT_DAYS 30

/* The filter of a segment that is full, so that a start need not read its keys. */
static void seal_segment(struct apply *a)
{
    struct filter filter;
    filter_init(&filter, (size_t)a->segment.keys);
    sqlite3_stmt *s = sql_prepare_f(&a->sql, "SELECT hi,lo FROM key_%u", a->segment.no);
    while (sql_row(&a->sql, s))
        filter_add(&filter, (struct key128){(uint64_t)sql_int(s, 0), (uint64_t)sql_int(s, 1)});
    sql_finalize(s);
    s = sql_prepare(&a->sql, "UPDATE segment SET filter=? WHERE no=?");
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
    sql_finalize(a->segment.add_key);
    sql_finalize(a->segment.add_body);
    sql_finalize(a->segment.add_panelist);
    a->segment.add_key = a->segment.add_body = a->segment.add_panelist = NULL;
    a->segment.no++;
    a->segment.keys = 0;
    a->segment.first_accepted_ms = accepted_ms;
    schema_create_segment(&a->sql, a->segment.no);
    a->segment.bodies = BODIES_BLOCKS;
    sql_exec_f(&a->sql, "INSERT INTO segment VALUES(%u,0,%" PRId64 ",%" PRId64 ",%d,NULL)",
               a->segment.no, accepted_ms, accepted_ms, BODIES_BLOCKS);
}

static void open_segment(struct apply *a)
{
    int64_t accepted_ms = a->m->events[0].accepted_ms;
    if (a->segment.no == 0 || a->segment.bodies != BODIES_BLOCKS ||
        a->segment.keys >= LIMIT_KEYS_PER_SEGMENT ||
        accepted_ms - a->segment.first_accepted_ms > SEGMENT_DAYS * DAY_MS)
        begin_segment(a, accepted_ms);
    if (a->segment.add_key)
        return;
    uint32_t no = a->segment.no;
    a->segment.add_key =
        sql_prepare_f(&a->sql, "INSERT OR FAIL INTO key_%u SELECT c0,c1,c2,c3,c4 FROM feed", no);
    a->segment.add_body = sql_prepare_f(
        &a->sql,
        "INSERT INTO bodies_%u SELECT c0,c1 FROM feed WHERE true"
        " ON CONFLICT(block) DO UPDATE SET bodies=CAST(bodies||excluded.bodies AS BLOB)",
        no);
    a->segment.add_panelist =
        sql_prepare_f(&a->sql, "INSERT OR IGNORE INTO panelist_%u SELECT c0,c1 FROM feed", no);
}

/* SQLite orders hashes as signed numbers. */
static uint64_t place_of(uint64_t hash)
{
    return hash ^ (uint64_t)INT64_MIN;
}

struct key_row {
    struct key128 key, content;
    uint64_t id;
};

static void key_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct key_row *r = (const struct key_row *)context + row;
    switch (column) {
    case 0: feed_int(to, (int64_t)r->key.hi); break;
    case 1: feed_int(to, (int64_t)r->key.lo); break;
    case 2: feed_int(to, (int64_t)r->content.hi); break;
    case 3: feed_int(to, (int64_t)r->content.lo); break;
    default: feed_int(to, (int64_t)r->id); break;
    }
}

/* In the order of hashes the events lie about in memory: they are fetched in a loop that does
 * nothing else, and so several at a time. */
static void add_keys(struct apply *a)
{
    const struct memtable *m = a->m;
    size_t count = m->event_count;
    struct key_row *rows = apply_order(a, count, sizeof *rows + 2 * sizeof(struct sort_item));
    struct sort_item *order = (struct sort_item *)(rows + count);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct sort_item){place_of(m->events[i].key.hi), i};
    sort_by_key(order, count, order + count);
    for (size_t i = 0; i < count; i++) {
        const struct event *e = &m->events[order[i].value];
        rows[i] = (struct key_row){e->key, e->content, event_id_of(e->account_no, e->event_no)};
    }
    feed_run(&a->sql, a->segment.add_key, &a->feed, count, key_column, rows);
}

static void panelist_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct sort_item *r = (const struct sort_item *)context + row;
    feed_int(to, (int64_t)(column == 0 ? place_of(r->key) : r->value));
}

static void add_panelists(struct apply *a)
{
    const struct memtable *m = a->m;
    size_t count = m->event_count;
    struct sort_item *order = apply_order(a, count * 2, sizeof *order);
    for (size_t i = 0; i < count; i++) {
        const struct event *e = &m->events[i];
        order[i] = (struct sort_item){place_of(a->panelists[i].hi),
                                      event_id_of(e->account_no, e->event_no)};
    }
    sort_by_key(order, count, order + count);
    feed_run(&a->sql, a->segment.add_panelist, &a->feed, count, panelist_column, order);
}

void apply_keys(struct apply *a)
{
    const struct memtable *m = a->m;
    if (m->event_count == 0)
        return;
    open_segment(a);
    add_keys(a);
    add_panelists(a);
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
