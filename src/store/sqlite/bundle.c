/* Merges segments and bundles into bundles, one step at a time. The bundle's row stores how many
 * steps are done, so a restart continues with the next step. */
#include "store/sqlite/bundle.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdlib.h>

#include "store/sqlite/filter.h"
#include "store/sqlite/run_inputs.h"
#include "store/sqlite/schema.h"

/* A key, a panelist's event and the key's part of a filter, in blocks that fill their pages. */
#define BYTES_AN_EVENT 58

/* --- what is there ---------------------------------------------------------------------------- */

/* A bundle whose slices are all merged is asked, until one of a higher level has its keys. */
sqlite3_stmt *bundle_prepare_sets(struct sql *q, bool newest_first)
{
    return sql_prepare_f(q,
                         "WITH made AS (SELECT * FROM bundle WHERE steps>=slices)"
                         " SELECT no,no AS first,1,0 FROM segment WHERE"
                         " no>=(SELECT coalesce(max(first+segments),0) FROM made)"
                         " UNION ALL SELECT no,first,segments,level FROM made m WHERE NOT EXISTS"
                         " (SELECT 1 FROM made h WHERE h.level>m.level"
                         " AND m.first>=h.first AND m.first<h.first+h.segments)"
                         " ORDER BY first %s",
                         newest_first ? "DESC" : "ASC");
}

bool bundle_next_set(struct sql *q, sqlite3_stmt *s, struct bundle_set *ret)
{
    if (!sql_row(q, s))
        return false;
    int64_t level = sql_int(s, 3);
    if ((sql_int(s, 0) >= BUNDLE_NO_FIRST) != (level > 0) || level > BUNDLE_LEVELS) {
        sql_damaged(q, "a bundle has an impossible level");
        return false;
    }
    *ret = (struct bundle_set){
        .no = (uint32_t)sql_int(s, 0),
        .first = (uint32_t)sql_int(s, 1),
        .segments = (uint32_t)sql_int(s, 2),
        .slice_bits = level > 0 ? bundle_slice_bits((unsigned)level) : 0,
    };
    return true;
}

sqlite3_stmt *bundle_prepare_tables(struct sql *q)
{
    return sql_prepare(q, "SELECT DISTINCT set_no FROM run");
}

bool bundle_newest(struct sql *q, struct bundle_set *ret)
{
    sqlite3_stmt *s = sql_prepare(q, "SELECT no,first,segments,level FROM bundle"
                                     " WHERE steps>=slices ORDER BY no DESC LIMIT 1");
    bool found = bundle_next_set(q, s, ret);
    sql_finalize(s);
    return found;
}

/* --- the bundle that is being made ------------------------------------------------------------ */

struct making {
    uint32_t no, first;
    unsigned level;
    uint32_t steps; /* that are done */
};

/* The bundle begun last. False: it has all its steps. */
static bool current(struct sql *q, struct making *ret)
{
    sqlite3_stmt *s =
        sql_prepare(q, "SELECT no,first,level,steps FROM bundle ORDER BY no DESC LIMIT 1");
    *ret = (struct making){.no = BUNDLE_NO_FIRST - 1};
    if (sql_row(q, s))
        *ret = (struct making){(uint32_t)sql_int(s, 0), (uint32_t)sql_int(s, 1),
                               (unsigned)sql_int(s, 2), (uint32_t)sql_int(s, 3)};
    sql_finalize(s);
    return ret->level > 0 && ret->steps < bundle_steps(ret->level);
}

/* The first segment that no bundle of this level or a higher one has. */
static uint32_t covered(struct sql *q, unsigned level)
{
    sqlite3_stmt *s = sql_prepare_f(q,
                                    "SELECT coalesce(max(first+segments),1) FROM bundle"
                                    " WHERE level>=%u AND steps>=slices",
                                    level);
    uint32_t first = sql_row(q, s) ? (uint32_t)sql_int(s, 0) : 1;
    sql_finalize(s);
    return first;
}

/* The segments from `first` on whose sets may become bundles of a level. */
struct waiting {
    uint32_t first, segments;
};

static void find_waiting(struct sql *q, uint32_t open_segment, struct waiting ret[BUNDLE_LEVELS])
{
    uint32_t upto = open_segment;
    for (unsigned level = 1; level <= BUNDLE_LEVELS; level++) {
        uint32_t first = upto > 1 ? covered(q, level) : 1;
        ret[level - 1] = (struct waiting){first, upto > first ? upto - first : 0};
        upto = first;
    }
}

/* The next step's bundle. False: none is due. */
static bool next_step(struct sql *q, uint32_t open_segment, struct making *ret)
{
    struct waiting waiting[BUNDLE_LEVELS];
    if (current(q, ret))
        return true;
    find_waiting(q, open_segment, waiting);
    for (unsigned level = 1; level <= BUNDLE_LEVELS; level++) {
        const struct waiting *at = &waiting[level - 1];
        if (at->segments < bundle_segments(level))
            continue;
        *ret = (struct making){ret->no + 1, at->first, level, 0};
        return true;
    }
    return false;
}

/* The runs of what is merged into the bundle: the set's number, the run's, how many events. */
static sqlite3_stmt *prepare_runs(struct sql *q, const struct making *m)
{
    uint32_t end = m->first + bundle_segments(m->level);
    if (m->level == 1)
        return sql_prepare_f(q, "SELECT set_no,no,events FROM run WHERE set_no>=%u AND set_no<%u",
                             m->first, end);
    return sql_prepare_f(q,
                         "SELECT r.set_no,r.no,r.events FROM run r JOIN bundle b ON b.no=r.set_no"
                         " WHERE b.level=%u AND b.first>=%u AND b.first<%u",
                         m->level - 1, m->first, end);
}

static int64_t events_of(struct sql *q, const struct making *m)
{
    int64_t events = 0;
    sqlite3_stmt *s = prepare_runs(q, m);
    while (sql_row(q, s))
        events += sql_int(s, 2);
    sql_finalize(s);
    return events;
}

/* --- merging a slice -------------------------------------------------------------------------- */

struct slice_keys {
    struct key128 *items;
    size_t count, capacity;
};

static struct run_bounds bounds_of(const struct making *m, unsigned slice)
{
    unsigned shift = 64 - bundle_slice_bits(m->level);
    uint64_t first = (uint64_t)slice << shift;
    return (struct run_bounds){first, first + (UINT64_C(1) << shift) - 1};
}

static void add_sources(struct run_inputs *inputs, const struct making *m)
{
    sqlite3_stmt *s = prepare_runs(inputs->q, m);
    while (sql_row(inputs->q, s))
        run_inputs_add(inputs, (uint32_t)sql_int(s, 0), (uint32_t)sql_int(s, 1));
    sql_finalize(s);
}

/* The blocks of a panelist with very many events may have ids of the next slice: run.h. */
static int64_t next_block_id(struct sql *q, enum run_kind kind, uint32_t bundle)
{
    sqlite3_stmt *s = sql_prepare_f(q, "SELECT max(id) FROM %s_%u", run_table(kind), bundle);
    int64_t last = sql_row(q, s) ? sql_int(s, 0) : 0;
    sql_finalize(s);
    return last + 1;
}

static void merge_kind(struct sql *q, const struct making *m, enum run_kind kind,
                       struct slice_keys *keys)
{
    struct run_inputs inputs;
    struct run_writer writer;
    run_writer_begin(&writer, q, m->no, kind, BUNDLE_RUN);
    writer.next_id = next_block_id(q, kind, m->no);
    run_inputs_begin(&inputs, q, kind, bounds_of(m, m->steps), false);
    add_sources(&inputs, m);
    for (const void *record; (record = run_inputs_next(&inputs)) != NULL;) {
        run_writer_add(&writer, record);
        if (kind != RUN_KEYS)
            continue;
        *ARRAY_PUSH(keys->items, keys->count, keys->capacity) =
            ((const struct key_record *)record)->key;
    }
    run_inputs_end(&inputs);
    run_writer_end(&writer);
}

static void store_filter(struct sql *q, const struct making *m, const struct slice_keys *keys)
{
    struct filter filter;
    filter_init(&filter, keys->count);
    for (size_t i = 0; i < keys->count; i++)
        filter_add(&filter, bundle_filter_key(keys->items[i], bundle_slice_bits(m->level)));
    sqlite3_stmt *s = sql_prepare_f(q, "INSERT INTO slice VALUES(%u,%u,?)", m->no, m->steps);
    sql_bind_blob(s, 1, filter_bytes(&filter));
    sql_run(q, s);
    sql_finalize(s);
    filter_free(&filter);
}

static void merge_slice(struct sql *q, const struct making *m)
{
    struct slice_keys keys = {0};
    merge_kind(q, m, RUN_KEYS, &keys);
    merge_kind(q, m, RUN_PANELISTS, NULL);
    store_filter(q, m, &keys);
    free(keys.items);
}

/* --- deleting what was merged ----------------------------------------------------------------- */

/* Deletes the blocks of a run that begin in the slice. Nobody reads them any more, so it does not
 * matter that the last one may have records of the slice behind. */
static void delete_blocks(struct sql *q, uint32_t set, uint32_t run, struct run_bounds bounds)
{
    static const enum run_kind kinds[] = {RUN_KEYS, RUN_PANELISTS};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        sql_exec_f(q, "DELETE FROM %s_%u WHERE id>=%lld AND id<=%lld", run_table(kinds[i]), set,
                   (long long)run_block_id(run, bounds.first),
                   (long long)run_block_id(run, bounds.last));
}

static void delete_slice(struct sql *q, const struct making *m, unsigned slice)
{
    sqlite3_stmt *s = prepare_runs(q, m);
    while (sql_row(q, s))
        delete_blocks(q, (uint32_t)sql_int(s, 0), (uint32_t)sql_int(s, 1), bounds_of(m, slice));
    sql_finalize(s);
}

/* A segment's filter that is empty still tells that the segment is closed. */
static void drop_set(struct sql *q, uint32_t set)
{
    sql_exec_f(q, "DROP TABLE keys_%u", set);
    sql_exec_f(q, "DROP TABLE panelists_%u", set);
    sql_exec_f(q, "DELETE FROM run WHERE set_no=%u", set);
    sql_exec_f(q, "UPDATE segment SET filter=x'' WHERE no=%u", set);
    sql_exec_f(q, "DELETE FROM slice WHERE bundle=%u", set);
    sql_exec_f(q, "DELETE FROM bundle WHERE no=%u", set);
}

/* A closed segment and a bundle have one run each. */
static void drop_inputs(struct sql *q, const struct making *m)
{
    uint32_t sets[BUNDLE_SEGMENTS];
    size_t count = 0;
    sqlite3_stmt *s = prepare_runs(q, m);
    while (count < ARRAY_LEN(sets) && sql_row(q, s))
        sets[count++] = (uint32_t)sql_int(s, 0);
    sql_finalize(s); /* SQLite drops no table while a statement reads */
    for (size_t i = 0; i < count; i++)
        drop_set(q, sets[i]);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void begin_bundle(struct sql *q, const struct making *m)
{
    schema_create_set(q, m->no);
    sql_exec_f(q, "INSERT INTO run VALUES(%u,%u,%lld)", m->no, BUNDLE_RUN,
               (long long)events_of(q, m));
    sql_exec_f(q, "INSERT INTO bundle VALUES(%u,%u,%u,%u,%u,0)", m->no, m->level, m->first,
               bundle_segments(m->level), bundle_merge_steps(m->level));
}

static void do_step(struct sql *q, const struct making *m)
{
    unsigned merges = bundle_merge_steps(m->level);
    sql_exec(q, "BEGIN IMMEDIATE");
    if (m->steps == 0)
        begin_bundle(q, m);
    if (m->steps < merges)
        merge_slice(q, m);
    else
        delete_slice(q, m, m->steps - merges);
    if (m->steps + 1 == bundle_steps(m->level))
        drop_inputs(q, m);
    sql_exec_f(q, "UPDATE bundle SET steps=%u WHERE no=%u", m->steps + 1, m->no);
    sql_exec(q, "COMMIT");
}

bool bundle_step(struct sql *q, uint32_t open_segment, uint32_t known)
{
    struct making m;
    if (!next_step(q, open_segment, &m))
        return false;
    unsigned merges = bundle_merge_steps(m.level);
    if (m.steps >= merges && known < m.no)
        return false;
    do_step(q, &m);
    if (!sql_failed(q) && m.steps + 1 == merges)
        log_debug("bundled", LOG_INT("bundle", m.no), LOG_INT("level", m.level));
    return !sql_failed(q);
}

int64_t bundle_bytes_left(struct sql *q, uint32_t open_segment)
{
    struct making m;
    if (!next_step(q, open_segment, &m) || m.steps >= bundle_merge_steps(m.level))
        return 0;
    unsigned merges = bundle_merge_steps(m.level);
    return events_of(q, &m) / merges * (merges - m.steps) * BYTES_AN_EVENT;
}

unsigned bundle_urgent_steps(struct sql *q, uint32_t open_segment)
{
    unsigned steps = 0;
    struct waiting waiting[BUNDLE_LEVELS];
    find_waiting(q, open_segment, waiting);
    for (unsigned level = 1; level <= BUNDLE_LEVELS; level++)
        steps += waiting[level - 1].segments / (2 * bundle_segments(level) + 1);
    return steps;
}
