/* Reads attempts by block: one look-up in each day's table for 64 neighbouring events. */
#include "store/copy/sqlite_log.h"

#include "base/alloc.h"

#include <stdlib.h>

#include "store/sqlite/attempt_block.h"
#include "store/sqlite/ids.h"

void sqlite_log_open(struct sqlite_log *l, struct sql *q)
{
    sqlite3_stmt *s = sql_prepare(q, "SELECT name FROM sqlite_schema WHERE type='table'"
                                     " AND name GLOB 'attempts_*'");
    while (sql_row(q, s)) {
        *ARRAY_PUSH(l->days, l->count, l->capacity) =
            sql_prepare_f(q, "SELECT attempts FROM \"%.*s\" WHERE block=?", STR_ARG(sql_str(s, 0)));
    }
    sql_finalize(s);
}

void sqlite_log_free(struct sqlite_log *l)
{
    free(l->days);
    free(l->found);
    free(l->found_ids);
    *l = (struct sqlite_log){0};
}

/* --- one block ---------------------------------------------------------------------------------
 */

struct block_reading {
    struct sqlite_log *log;
    struct arena *arena;
    uint64_t first_id; /* of the block */
    struct attempt_facts facts[ATTEMPT_BLOCK_IDS];
};

static void keep(struct sqlite_log *l, uint64_t id, const struct attempt *a)
{
    l->found = xgrow(l->found, &l->found_capacity, l->found_count + 1, sizeof *l->found);
    l->found_ids = xgrow(l->found_ids, &l->id_capacity, l->found_count + 1, sizeof *l->found_ids);
    l->found[l->found_count] = *a;
    l->found_ids[l->found_count++] = id;
}

static void keep_of_block(void *context, unsigned low, const struct attempt *a)
{
    struct block_reading *b = context;
    keep(b->log, b->first_id + low, a);
}

static void read_block(struct block_reading *b, struct sql *q)
{
    b->log->found_count = 0;
    for (size_t i = 0; i < b->log->count; i++) {
        sqlite3_stmt *s = b->log->days[i];
        sql_bind_int(s, 1, (int64_t)(b->first_id >> ATTEMPT_BLOCK_BITS));
        if (sql_row(q, s)) {
            attempt_block_read_all(sql_str(s, 0), b->facts, b->arena, keep_of_block, b);
            sql_reset(s);
        }
    }
}

static uint64_t id_of(const struct copied_event *e)
{
    return event_id_of(e->event.account_no, e->event.event_no);
}

static void take_log(struct block_reading *b, struct copied_event *e)
{
    const struct sqlite_log *l = b->log;
    uint64_t id = id_of(e);
    for (size_t i = 0; i < l->found_count; i++)
        e->log_count += l->found_ids[i] == id;
    if (e->log_count == 0)
        return;
    e->log = arena_alloc(b->arena, e->log_count * sizeof *e->log);
    size_t n = 0;
    for (size_t i = 0; i < l->found_count; i++)
        if (l->found_ids[i] == id)
            e->log[n++] = l->found[i];
    copied_event_sort_log(e);
}

/* --- a chunk -----------------------------------------------------------------------------------
 */

void sqlite_log_read(struct sqlite_log *l, struct sql *q, struct copy_chunk *c)
{
    struct block_reading b = {.log = l, .arena = &c->arena};
    for (size_t first = 0, end; first < c->count; first = end) {
        uint64_t block = id_of(&c->events[first]) >> ATTEMPT_BLOCK_BITS;
        bool any = false;
        memset(b.facts, 0, sizeof b.facts);
        for (end = first; end < c->count && id_of(&c->events[end]) >> ATTEMPT_BLOCK_BITS == block;
             end++) {
            const struct event *e = &c->events[end].event;
            b.facts[id_of(&c->events[end]) % ATTEMPT_BLOCK_IDS] =
                (struct attempt_facts){e->event_id, e->occurred_ms};
            any |= e->lane != LANE_NONE;
        }
        b.first_id = block << ATTEMPT_BLOCK_BITS;
        if (any)
            read_block(&b, q);
        for (size_t i = first; any && i < end; i++)
            take_log(&b, &c->events[i]);
    }
}
