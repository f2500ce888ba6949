/* Attempts and account objects. */
#include "store/sqlite/apply.h"

#include "domain/clock.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/sqlite/row.h"
#include "store/sqlite/schema.h"

/* --- attempts: a table per day of the try ----------------------------------------------------- */

static int by_attempt(const void *x, const void *y)
{
    const struct mem_attempt *a = *(const struct mem_attempt *const *)x;
    const struct mem_attempt *b = *(const struct mem_attempt *const *)y;
    int32_t day_a = clock_day(a->attempt.at_ms), day_b = clock_day(b->attempt.at_ms);
    if (day_a != day_b)
        return day_a < day_b ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->attempt.number > b->attempt.number) - (a->attempt.number < b->attempt.number);
}

static void open_attempt_day(struct apply *a, int64_t day)
{
    if (a->attempt.add && a->attempt.day == day)
        return;
    sql_finalize(a->attempt.add);
    a->attempt.day = day;
    schema_create_attempt_day(&a->sql, day);
    a->attempt.add = sql_prepare_f(&a->sql,
                                   "INSERT OR REPLACE INTO attempt_%" PRId64
                                   " SELECT c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11 FROM feed",
                                   day);
}

static void attempt_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct mem_attempt *at = ((const struct mem_attempt *const *)context)[row];
    const struct attempt *attempt = &at->attempt;
    switch (column) {
    case 0: feed_int(to, (int64_t)at->id); break;
    case 1: feed_int(to, attempt->number); break;
    case 2: feed_int(to, attempt->at_ms); break;
    case 3: feed_int(to, attempt->manual); break;
    case 4: feed_int(to, attempt->duration_ms); break;
    case 5: feed_int(to, attempt->status); break;
    case 6: feed_int(to, attempt->class); break;
    case 7: feed_str(to, attempt->url); break;
    case 8: feed_str(to, attempt->detail); break;
    case 9: feed_str(to, attempt->request_headers); break;
    case 10: feed_str(to, attempt->response_headers); break;
    default: feed_blob(to, attempt->response_body); break;
    }
}

void apply_attempts(struct apply *a)
{
    const struct memtable *m = a->m;
    if (m->attempt_count == 0)
        return;
    const struct mem_attempt **order =
        apply_order(a, m->attempt_count, sizeof(struct mem_attempt *));
    for (size_t i = 0; i < m->attempt_count; i++)
        order[i] = &m->attempts[i];
    qsort(order, m->attempt_count, sizeof(struct mem_attempt *), by_attempt);
    size_t start = 0;
    for (size_t i = 1; i <= m->attempt_count; i++) {
        int32_t day = clock_day(order[start]->attempt.at_ms);
        if (i < m->attempt_count && clock_day(order[i]->attempt.at_ms) == day)
            continue;
        open_attempt_day(a, day);
        feed_run(&a->sql, a->attempt.add, &a->feed, i - start, attempt_column, order + start);
        start = i;
    }
}

/* --- objects ---------------------------------------------------------------------------------- */

void apply_objects(struct apply *a)
{
    for (size_t i = 0; i < a->m->object_count; i++) {
        const struct mem_object *o = &a->m->objects[i];
        sqlite3_stmt *s = o->document.p ? a->set_object : a->drop_object;
        sql_bind_int(s, 1, o->kind);
        sql_bind_str(s, 2, o->id);
        if (o->document.p)
            sql_bind_str(s, 3, o->document);
        sql_run(&a->sql, s);
    }
}
