/* Merges segments into bundles, one step at a time. The bundle's row stores how many steps are
 * done, so a restart continues with the next step. */
#include "store/sqlite/bundle.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdlib.h>

#include "store/sqlite/filter.h"
#include "store/sqlite/run_inputs.h"
#include "store/sqlite/schema.h"

/* A key, a panelist's event and the key's part of a filter, in blocks that fill their pages. */
#define BYTES_AN_EVENT 56

/* --- what is there ---------------------------------------------------------------------------- */

uint32_t bundle_count(struct sql *q)
{
    sqlite3_stmt *s =
        sql_prepare_f(q, "SELECT count(*) FROM bundle WHERE steps>=%u", BUNDLE_SLICES);
    int64_t count = sql_row(q, s) ? sql_int(s, 0) : 0;
    sql_finalize(s);
    return (uint32_t)count;
}

sqlite3_stmt *bundle_prepare_sets(struct sql *q, bool newest_first)
{
    return sql_prepare_f(q,
                         "SELECT no,no AS first FROM segment WHERE"
                         " no>%u*(SELECT count(*) FROM bundle WHERE steps>=%u)"
                         " UNION ALL SELECT no,(no-%u)*%u+1 FROM bundle WHERE steps>=%u"
                         " ORDER BY first %s",
                         BUNDLE_SEGMENTS, BUNDLE_SLICES, BUNDLE_NO_FIRST, BUNDLE_SEGMENTS,
                         BUNDLE_SLICES, newest_first ? "DESC" : "ASC");
}

sqlite3_stmt *bundle_prepare_tables(struct sql *q)
{
    return sql_prepare_f(q,
                         "SELECT no FROM segment WHERE"
                         " no>(SELECT coalesce(sum(max(steps-%u,0)),0) FROM bundle)"
                         " UNION ALL SELECT no FROM bundle",
                         BUNDLE_SLICES);
}

/* --- merging a slice -------------------------------------------------------------------------- */

struct slice_keys {
    struct key128 *items;
    size_t count, capacity;
};

static void add_sources(struct run_inputs *inputs, uint32_t first_segment)
{
    sqlite3_stmt *s =
        sql_prepare_f(inputs->q, "SELECT set_no,no FROM run WHERE set_no>=%u AND set_no<%u",
                      first_segment, first_segment + BUNDLE_SEGMENTS);
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

static void merge_kind(struct sql *q, uint32_t bundle, unsigned slice, enum run_kind kind,
                       struct slice_keys *keys)
{
    struct run_bounds bounds = {(uint64_t)slice << (64 - BUNDLE_SLICE_BITS),
                                ((uint64_t)(slice + 1) << (64 - BUNDLE_SLICE_BITS)) - 1};
    if (slice + 1 == BUNDLE_SLICES)
        bounds.last = UINT64_MAX;
    struct run_inputs inputs;
    struct run_writer writer;
    run_writer_begin(&writer, q, bundle, kind, BUNDLE_RUN);
    writer.next_id = next_block_id(q, kind, bundle);
    run_inputs_begin(&inputs, q, kind, bounds, false);
    add_sources(&inputs, (bundle - BUNDLE_NO_FIRST) * BUNDLE_SEGMENTS + 1);
    for (const void *record; (record = run_inputs_next(&inputs)) != NULL;) {
        run_writer_add(&writer, record);
        if (kind != RUN_KEYS)
            continue;
        keys->items = xgrow(keys->items, &keys->capacity, keys->count + 1, sizeof *keys->items);
        keys->items[keys->count++] = ((const struct key_record *)record)->key;
    }
    run_inputs_end(&inputs);
    run_writer_end(&writer);
}

static void store_filter(struct sql *q, uint32_t bundle, unsigned slice,
                         const struct slice_keys *keys)
{
    struct filter filter;
    filter_init(&filter, keys->count);
    for (size_t i = 0; i < keys->count; i++)
        filter_add(&filter, bundle_filter_key(keys->items[i]));
    sqlite3_stmt *s = sql_prepare_f(q, "INSERT INTO slice VALUES(%u,%u,?)", bundle, slice);
    sql_bind_blob(s, 1, filter_bytes(&filter));
    sql_run(q, s);
    sql_finalize(s);
    filter_free(&filter);
}

static void merge_slice(struct sql *q, uint32_t bundle, unsigned slice)
{
    struct slice_keys keys = {0};
    merge_kind(q, bundle, slice, RUN_KEYS, &keys);
    merge_kind(q, bundle, slice, RUN_PANELISTS, NULL);
    store_filter(q, bundle, slice, &keys);
    free(keys.items);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void begin_bundle(struct sql *q, uint32_t bundle)
{
    uint32_t first = (bundle - BUNDLE_NO_FIRST) * BUNDLE_SEGMENTS + 1;
    schema_create_set(q, bundle);
    sql_exec_f(q, "INSERT INTO bundle VALUES(%u,0)", bundle);
    sql_exec_f(q,
               "INSERT INTO run SELECT %u,%u,sum(events) FROM run WHERE set_no>=%u AND set_no<%u",
               bundle, BUNDLE_RUN, first, first + BUNDLE_SEGMENTS);
}

/* A filter that is empty still tells that the segment is closed. */
static void drop_segment_keys(struct sql *q, uint32_t segment)
{
    sql_exec_f(q, "DROP TABLE keys_%u", segment);
    sql_exec_f(q, "DROP TABLE panelists_%u", segment);
    sql_exec_f(q, "DELETE FROM run WHERE set_no=%u", segment);
    sql_exec_f(q, "UPDATE segment SET filter=x'' WHERE no=%u", segment);
}

struct progress {
    uint32_t count; /* of bundles, the current one included */
    uint32_t steps; /* of the current one that are done */
};

static struct progress progress_of(struct sql *q)
{
    struct progress at = {0, BUNDLE_STEPS};
    sqlite3_stmt *s = sql_prepare(q, "SELECT no,steps FROM bundle ORDER BY no DESC LIMIT 1");
    if (sql_row(q, s)) {
        at.count = (uint32_t)sql_int(s, 0) - BUNDLE_NO_FIRST + 1;
        at.steps = (uint32_t)sql_int(s, 1);
    }
    sql_finalize(s);
    return at;
}

static void do_step(struct sql *q, struct progress at)
{
    uint32_t bundle = BUNDLE_NO_FIRST + at.count - 1;
    sql_exec(q, "BEGIN IMMEDIATE");
    if (at.steps == 0)
        begin_bundle(q, bundle);
    if (at.steps < BUNDLE_SLICES)
        merge_slice(q, bundle, at.steps);
    else
        drop_segment_keys(q, (at.count - 1) * BUNDLE_SEGMENTS + 1 + at.steps - BUNDLE_SLICES);
    sql_exec_f(q, "UPDATE bundle SET steps=%u WHERE no=%u", at.steps + 1, bundle);
    sql_exec(q, "COMMIT");
}

/* The next step's place. False: none is due. */
static bool next_step(struct sql *q, uint32_t open_segment, struct progress *ret)
{
    *ret = progress_of(q);
    if (ret->steps < BUNDLE_STEPS)
        return true;
    *ret = (struct progress){ret->count + 1, 0};
    return open_segment > ret->count * BUNDLE_SEGMENTS;
}

bool bundle_step(struct sql *q, uint32_t open_segment, uint32_t known)
{
    struct progress at;
    if (!next_step(q, open_segment, &at) || (at.steps >= BUNDLE_SLICES && known < at.count))
        return false;
    do_step(q, at);
    if (!sql_failed(q) && at.steps + 1 == BUNDLE_SLICES)
        log_debug("bundled", LOG_INT("bundle", at.count));
    return !sql_failed(q);
}

int64_t bundle_bytes_left(struct sql *q, uint32_t open_segment)
{
    struct progress at;
    if (!next_step(q, open_segment, &at) || at.steps >= BUNDLE_SLICES)
        return 0;
    uint32_t first = (at.count - 1) * BUNDLE_SEGMENTS + 1;
    sqlite3_stmt *s = sql_prepare_f(q, "SELECT sum(events) FROM run WHERE set_no>=%u AND set_no<%u",
                                    first, first + BUNDLE_SEGMENTS);
    int64_t events = sql_row(q, s) ? sql_int(s, 0) : 0;
    sql_finalize(s);
    return events / BUNDLE_SLICES * (BUNDLE_SLICES - at.steps) * BYTES_AN_EVENT;
}

bool bundle_is_urgent(struct sql *q, uint32_t open_segment)
{
    return open_segment > (bundle_count(q) + 2) * BUNDLE_SEGMENTS;
}
