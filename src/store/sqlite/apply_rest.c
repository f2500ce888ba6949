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
    a->attempt.add = sql_prepare_f(
        &a->sql, "INSERT OR REPLACE INTO attempt_%" PRId64 " VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", day);
}

static void add_attempt(struct apply *a, const struct mem_attempt *at)
{
    const struct attempt *attempt = &at->attempt;
    open_attempt_day(a, clock_day(attempt->at_ms));
    sqlite3_stmt *s = a->attempt.add;
    sql_bind_int(s, 1, (int64_t)at->id);
    sql_bind_int(s, 2, attempt->number);
    sql_bind_int(s, 3, attempt->at_ms);
    sql_bind_int(s, 4, attempt->manual);
    sql_bind_int(s, 5, attempt->duration_ms);
    sql_bind_int(s, 6, attempt->status);
    sql_bind_int(s, 7, attempt->class);
    sql_bind_str(s, 8, attempt->url);
    sql_bind_str(s, 9, attempt->detail);
    sql_bind_str(s, 10, attempt->request_headers);
    sql_bind_str(s, 11, attempt->response_headers);
    sql_bind_blob(s, 12, attempt->response_body);
    sql_run(&a->sql, s);
}

void apply_attempts(struct apply *a)
{
    const struct memtable *m = a->m;
    if (m->attempt_count == 0)
        return;
    const struct mem_attempt **order = apply_order(a, m->attempt_count, sizeof *order);
    for (size_t i = 0; i < m->attempt_count; i++)
        order[i] = &m->attempts[i];
    qsort(order, m->attempt_count, sizeof *order, by_attempt);
    for (size_t i = 0; i < m->attempt_count; i++)
        add_attempt(a, order[i]);
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
