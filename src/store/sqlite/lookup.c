/* Point look-ups. A body in a purged segment is absent, which is not an error. */
#include "store/sqlite/lookup.h"

#include "base/alloc.h"
#include "domain/clock.h"

#include <stdlib.h>
#include <string.h>

#include "store/sqlite/run.h"

static void prepare(struct event_lookup *l)
{
    l->row = sql_prepare(&l->sql, "SELECT " ROW_COLUMNS " FROM event WHERE id=?");
    l->status = sql_prepare(&l->sql, "SELECT " STATUS_COLUMNS " FROM event WHERE id=?");
    l->reversal = sql_prepare(&l->sql, "SELECT id FROM reversal WHERE original_id=?");
    l->payments = sql_prepare(&l->sql, "SELECT occurred_ms FROM cap WHERE app_no=? AND"
                                       " panelist_hash=? AND occurred_ms>? AND occurred_ms<?"
                                       " AND id>? AND id<?");
    l->has_bodies = sql_prepare(&l->sql, "SELECT has_bodies FROM segment WHERE no=?");
    l->last_no = sql_prepare(&l->sql, "SELECT max(id) FROM event WHERE id>=? AND id<=?");
}

bool lookup_open(struct event_lookup *l, const char *path, const char *vfs, char **ret_why)
{
    *l = (struct event_lookup){0};
    if (!sql_open(&l->sql, path, vfs, false, ret_why))
        return false;
    schema_configure(&l->sql, false, SCHEMA_CACHE_KIB_READER);
    prepare(l);
    key_sets_init(&l->keys, &l->sql, path);
    if (!sql_failed(&l->sql))
        return true;
    *ret_why = xstrdup(l->sql.why);
    lookup_close(l);
    return false;
}

void lookup_close(struct event_lookup *l)
{
    key_sets_free(&l->keys);
    body_block_free(&l->last_bodies.bodies);
    sql_close(&l->sql);
    *l = (struct event_lookup){0};
}

bool lookup_key(struct event_lookup *l, struct key128 key, struct key_found *ret)
{
    struct key_record record;
    if (!key_sets_find(&l->keys, key, &record))
        return false;
    *ret = (struct key_found){.content = record.content, .id = record.id};
    return true;
}

/* --- events --------------------------------------------------------------------------------- */

bool lookup_row(struct event_lookup *l, uint64_t id, struct event_row *ret)
{
    sql_reset(l->row);
    sql_bind_int(l->row, 1, (int64_t)id);
    if (!sql_row(&l->sql, l->row))
        return false;
    row_read(l->row, ret);
    return true;
}

bool lookup_status(struct event_lookup *l, uint64_t id, struct callback_life *ret)
{
    sql_bind_int(l->status, 1, (int64_t)id);
    if (!sql_row(&l->sql, l->status))
        return false;
    status_read(l->status, ret);
    sql_reset(l->status);
    return true;
}

/* Index of the segment's statement in l->bodies; -1: its bodies are purged. */
static int body_statement(struct event_lookup *l, uint32_t segment)
{
    for (int i = 0; i < BODY_STATEMENTS; i++) {
        if (l->bodies[i].find && l->bodies[i].segment == segment)
            return i;
    }
    /* a purged segment has no table; asking first distinguishes that from a failure */
    sql_bind_int(l->has_bodies, 1, segment);
    bool has_bodies = sql_row(&l->sql, l->has_bodies) && sql_int(l->has_bodies, 0) != 0;
    sql_reset(l->has_bodies);
    if (!has_bodies)
        return -1;
    int at = (int)(l->next_body++ % BODY_STATEMENTS);
    sql_finalize(l->bodies[at].find);
    l->bodies[at].segment = segment;
    l->bodies[at].find =
        sql_prepare_f(&l->sql, "SELECT bodies FROM bodies_%u WHERE block=?", segment);
    return at;
}

void lookup_end_bodies(struct event_lookup *l)
{
    l->last_bodies.segment = 0;
}

/* A callback whose body is lost is passed over; all others go on. */
static void note_damaged(struct event_lookup *l, uint64_t block, uint32_t segment)
{
    if (damage_say_now(&l->damage_said))
        body_block_say_damaged(block, segment);
    l->damaged_block = block;
}

/* False: it is purged, or damaged. */
static bool read_bodies(struct event_lookup *l, uint64_t block, uint32_t segment)
{
    int at = segment > 0 ? body_statement(l, segment) : -1; /* 0: erased */
    if (at < 0)
        return false;
    sqlite3_stmt *s = l->bodies[at].find;
    sql_bind_int(s, 1, (int64_t)block);
    bool had_failed = sql_failed(&l->sql);
    bool found = sql_row(&l->sql, s);
    if (!found && !had_failed && (l->sql.code & 0xff) == SQLITE_ERROR)
        sql_forget(&l->sql); /* purged since the statement was prepared */
    bool good = found && body_block_read(&l->last_bodies.bodies, sql_str(s, 0));
    if (found && !good)
        note_damaged(l, block, segment);
    sql_reset(s);
    return good;
}

struct str lookup_next_body(struct event_lookup *l, uint64_t id, uint32_t segment)
{
    uint64_t block = id >> BODY_BLOCK_BITS;
    if (segment == 0 || l->last_bodies.segment != segment || l->last_bodies.block != block) {
        l->last_bodies.segment = 0;
        if (!read_bodies(l, block, segment))
            return STR_NONE;
        l->last_bodies.segment = segment;
        l->last_bodies.block = block;
    }
    return l->last_bodies.bodies.of[id % BODY_BLOCK_IDS];
}

struct str lookup_body(struct event_lookup *l, uint64_t id, uint32_t segment, struct arena *arena)
{
    struct str body = arena_str(arena, lookup_next_body(l, id, segment));
    lookup_end_bodies(l);
    return body;
}

uint64_t lookup_reversal(struct event_lookup *l, uint64_t original_id)
{
    uint64_t id = 0;
    sql_bind_int(l->reversal, 1, (int64_t)original_id);
    if (sql_row(&l->sql, l->reversal)) {
        id = (uint64_t)sql_int(l->reversal, 0);
        sql_reset(l->reversal);
    }
    return id;
}

void lookup_payments(struct event_lookup *l, struct payment_search *search)
{
    sqlite3_stmt *s = l->payments;
    sql_bind_int(s, 1, search->app_no);
    sql_bind_int(s, 2, (int64_t)search->panelist_hash);
    sql_bind_int(s, 3, search->after_ms);
    sql_bind_int(s, 4, search->before_ms);
    sql_bind_int(s, 5, (int64_t)search->after_id);
    sql_bind_int(s, 6, (int64_t)search->least_id);
    while (search->count < search->most && sql_row(&l->sql, s))
        search->at_ms[search->count++] = sql_int(s, 0);
    sql_reset(s);
}

bool lookup_has_object(struct event_lookup *l, enum object_kind kind, struct str id)
{
    sqlite3_stmt *s = sql_prepare(&l->sql, "SELECT 1 FROM object WHERE kind=? AND id=?");
    sql_bind_int(s, 1, kind);
    sql_bind_str(s, 2, id);
    bool found = sql_row(&l->sql, s);
    sql_finalize(s);
    return found;
}

uint64_t lookup_last_event_no(struct event_lookup *l, uint32_t account_no)
{
    uint64_t last = 0;
    sql_bind_int(l->last_no, 1, (int64_t)event_id_of(account_no, 0));
    sql_bind_int(l->last_no, 2, (int64_t)event_id_of(account_no, EVENT_NO_LAST));
    if (sql_row(&l->sql, l->last_no)) {
        last = event_no_of_id((uint64_t)sql_int(l->last_no, 0));
        sql_reset(l->last_no);
    }
    return last;
}
