/* Erases a panelist: removes every trace of the id from every table, and keeps all sums.
 *
 * A waiting callback cannot be sent without its body: it becomes skipped, reason disabled. The sets
 * of active panelists and the payments that the cap counts contain keyed hashes of the id. These
 * are removed, too. In a set, the hash of the replacement takes the place of the old hash, so that
 * the day's count stays. */
#include "store/sqlite/apply_erase.h"

#include "base/alloc.h"
#include "domain/clock.h"
#include "store/sqlite/apply.h"
#include "store/sqlite/apply_moves.h"
#include "store/sqlite/bundle.h"
#include "store/sqlite/event_row.h"
#include "store/sqlite/panelists.h"

#include <inttypes.h>
#include <stdlib.h>

/* Events looked up at a time: few queries for many events, and 1 MiB. */
#define ERASED_AT_ONCE 65536

struct erasure_slices {
    const struct mem_erase *what;
    struct key128 before, after; /* panelist keys */
    sqlite3_stmt *clear, *has_bodies;
};

static bool table_exists(struct sql *q, const char *kind, int64_t number)
{
    sqlite3_stmt *s =
        sql_prepare_f(q, "SELECT 1 FROM sqlite_schema WHERE name='%s_%" PRId64 "'", kind, number);
    bool found = sql_row(q, s);
    sql_finalize(s);
    return found;
}

static void erase_active(struct apply *a, const struct erasure_slices *e, int64_t day,
                         int64_t client_no)
{
    if (!table_exists(&a->sql, "active", day))
        return;
    sql_exec_f(&a->sql,
               "UPDATE OR IGNORE \"active_%" PRId64 "\" SET hi=%" PRId64 ",lo=%" PRId64
               " WHERE client_no=%" PRId64 " AND hi=%" PRId64 " AND lo=%" PRId64,
               day, (int64_t)e->after.hi, (int64_t)e->after.lo, client_no, (int64_t)e->before.hi,
               (int64_t)e->before.lo);
}

/* `segment`: of its body. */
static void erase_callback(struct apply *a, const struct erasure_slices *e, uint64_t id,
                           uint32_t segment)
{
    struct sql *q = &a->sql;
    struct callback_life before;
    sql_bind_int(a->erasing.find, 1, (int64_t)id);
    if (!sql_row(q, a->erasing.find))
        return;
    status_read(a->erasing.find, &before);
    int64_t client_no = sql_int(a->erasing.find, STATUS_CLIENT_COLUMN);
    int64_t occurred_ms = sql_int(a->erasing.find, STATUS_OCCURRED_COLUMN);
    struct apply_callback callback = apply_callback_read(a->erasing.find, id);
    callback.segment = segment; /* the row itself has segment 0 (erased) by now */
    sql_reset(a->erasing.find);
    if (callback.type == EVENT_SURVEY_STARTED)
        erase_active(a, e, clock_day(occurred_ms), client_no);
    if (callback.type == EVENT_SURVEY_DISQUALIFIED)
        sql_exec_f(q,
                   "DELETE FROM cap WHERE app_no=%" PRIu32 " AND panelist_hash=%" PRId64
                   " AND occurred_ms=%" PRId64 " AND id=%" PRIu64,
                   lane_app_no(before.lane), (int64_t)e->before.hi, occurred_ms, id);
    if (before.wait == WAIT_DUE)
        sql_exec_f(q,
                   "DELETE FROM due WHERE lane=%" PRIu64 " AND due_ms=%" PRId64 " AND id=%" PRIu64,
                   before.lane, before.place.due_ms, id);
    if (before.wait == WAIT_NOT)
        return;
    struct callback_life after = before;
    life_erase(&after);
    sql_exec_f(q, "UPDATE event SET queue=%d,state=%d,reason=%d WHERE id=%" PRIu64, after.wait,
               after.state, after.reason, id);
    apply_moved(a, &callback, before.state, after.state, 0);
}

static void set_block(struct sql *q, sqlite3_stmt *s, struct str bytes, uint64_t block)
{
    sql_bind_blob(s, 1, bytes);
    sql_bind_int(s, 2, (int64_t)block);
    sql_run(q, s);
    sql_finalize(s);
}

static void erase_in_block(struct apply *a, struct str table, uint64_t id)
{
    struct sql *q = &a->sql;
    uint64_t block = id >> ATTEMPT_BLOCK_BITS;
    sqlite3_stmt *find =
        sql_prepare_f(q, "SELECT attempts FROM %.*s WHERE block=?", STR_ARG(table));
    sql_bind_int(find, 1, (int64_t)block);
    bool found = sql_row(q, find);
    if (found)
        attempt_block_erase(sql_str(find, 0), id, a->attempt.chunk);
    sql_finalize(find);
    if (found)
        set_block(q, sql_prepare_f(q, "UPDATE %.*s SET attempts=? WHERE block=?", STR_ARG(table)),
                  buf_str(&a->attempt.chunk->texts.out), block);
}

static void erase_body(struct apply *a, uint32_t segment, uint64_t id)
{
    struct sql *q = &a->sql;
    uint64_t block = id >> BODY_BLOCK_BITS;
    sqlite3_stmt *find = sql_prepare_f(q, "SELECT bodies FROM bodies_%u WHERE block=?", segment);
    sql_bind_int(find, 1, (int64_t)block);
    struct body_block bodies = {0};
    bool found = sql_row(q, find);
    if (found && !body_block_read(&bodies, sql_str(find, 0)))
        body_block_say_damaged(block, segment); /* what cannot be read is not kept */
    sql_finalize(find);
    body_block_erase(&bodies, id, &a->bodies);
    struct str rest = body_packer_end(&a->bodies);
    if (found)
        set_block(q, sql_prepare_f(q, "UPDATE bodies_%u SET bodies=? WHERE block=?", segment), rest,
                  block);
    body_block_free(&bodies);
}

static uint32_t segment_of(struct apply *a, uint64_t id)
{
    sql_bind_int(a->erasing.find, 1, (int64_t)id);
    if (!sql_row(&a->sql, a->erasing.find))
        return 0;
    uint32_t segment = apply_callback_read(a->erasing.find, id).segment;
    sql_reset(a->erasing.find);
    return segment;
}

/* Responses of partners' servers may repeat the id, and so may the Location of a redirect. */
static void erase_attempts(struct apply *a, uint64_t id)
{
    struct sql *q = &a->sql;
    sqlite3_stmt *s = sql_prepare(q, "SELECT name FROM sqlite_schema WHERE type='table'"
                                     " AND name GLOB 'attempts_*'");
    while (sql_row(q, s))
        erase_in_block(a, sql_str(s, 0), id);
    sql_finalize(s);
}

static bool has_bodies(struct apply *a, const struct erasure_slices *e, uint32_t segment)
{
    sql_bind_int(e->has_bodies, 1, segment);
    bool found = sql_row(&a->sql, e->has_bodies) && sql_int(e->has_bodies, 0) != 0;
    sql_reset(e->has_bodies);
    return found;
}

static void erase_event(struct apply *a, const struct erasure_slices *e, uint64_t id)
{
    struct sql *q = &a->sql;
    uint32_t segment = segment_of(a, id);
    sql_bind_str(e->clear, 1, e->what->replacement);
    sql_bind_int(e->clear, 2, (int64_t)id);
    sql_bind_str(e->clear, 3, e->what->panelist_id);
    sql_run(q, e->clear);
    if (sqlite3_changes(q->db) == 0)
        return;
    a->erasing.erased++;
    erase_callback(a, e, id, segment);
    erase_attempts(a, id);
    if (has_bodies(a, e, segment))
        erase_body(a, segment, id);
}

/* Erases the panelist's events in one segment or bundle. Another panelist may have the same hash,
 * so the id in the row decides. */
static void erase_in_set(struct apply *a, const struct erasure_slices *e,
                         struct panelist_query left)
{
    uint64_t *ids = xmalloc(2 * ERASED_AT_ONCE * sizeof *ids);
    size_t count = ERASED_AT_ONCE;
    while (count == ERASED_AT_ONCE) {
        count = panelist_ids(&a->sql, &left, ids, ERASED_AT_ONCE);
        for (size_t i = 0; i < count; i++)
            erase_event(a, e, ids[i]);
        if (count > 0)
            left.range.first = ids[count - 1] + 1;
    }
    free(ids);
}

static void apply_erase(struct apply *a, const struct mem_erase *what)
{
    struct erasure_slices e = {
        .what = what,
        .before = panelist_key(&a->secret, what->account_no, what->panelist_id),
        .after = panelist_key(&a->secret, what->account_no, what->replacement),
        .clear = sql_prepare(&a->sql, "UPDATE event SET panelist_id=?,session_id=NULL,mid=NULL,"
                                      "segment=0,signature_offset=0 WHERE id=? AND panelist_id=?"),
        .has_bodies = sql_prepare(&a->sql, "SELECT has_bodies FROM segment WHERE no=?"),
    };
    struct panelist_query of = {
        .hash = e.before.hi,
        .range = {1, event_id_of(what->account_no, what->upto_event_no)},
    };
    a->erasing.erased = 0;
    sqlite3_stmt *s = bundle_prepare_sets(&a->sql, false);
    for (; sql_row(&a->sql, s); erase_in_set(a, &e, of))
        of.set = (uint32_t)sql_int(s, 0);
    sql_finalize(s);
    s = bundle_prepare_tables(&a->sql);
    for (; sql_row(&a->sql, s); panelist_forget(&a->sql, &of))
        of.set = (uint32_t)sql_int(s, 0);
    sql_finalize(s);
    sql_finalize(e.clear);
    sql_finalize(e.has_bodies);
    if (what->request)
        what->request->erased = a->erasing.erased;
}

void apply_erases(struct apply *a)
{
    for (size_t i = 0; i < a->erasing.late_count; i++)
        erase_attempts(a, a->erasing.late[i]);
    for (size_t i = 0; i < a->m->erase_count; i++)
        apply_erase(a, &a->m->erases[i]);
}
