/* Bundles of two levels at every step of their making: keys and panelists are found in exactly one
 * of the sets that are asked, and a panelist who is erased is in none of the tables. A plain array
 * has the right answers. */
#include "base/alloc.h"
#include "base/env.h"
#include "check.h"

#include <stdlib.h>

#include "store/sqlite/bundle.h"
#include "store/sqlite/filter.h"
#include "store/sqlite/panelists.h"
#include "store/sqlite/run.h"
#include "store/sqlite/schema.h"

#define SEGMENTS (5 * BUNDLE_SEGMENTS + 2) /* the last one is open */
#define EVENTS_EACH 20
#define STEPS (5 * bundle_steps(1) + bundle_steps(2)) /* until nothing is due */
#define EVENTS (SEGMENTS * EVENTS_EACH)
#define PANELISTS 7
#define SLICE_BITS BUNDLE_SLICE_BITS
#define SLICES (1u << SLICE_BITS)
/* One panelist has more events than a block has room for. */
#define EVENTS_OF_LAST 600

static struct sql sql;
static struct rng rng;
static struct key_record keys[EVENTS];
static uint64_t hashes[PANELISTS];
static bool is_erased[PANELISTS];

static uint64_t event_of(size_t i, size_t repeat)
{
    return 1 + i * EVENTS_OF_LAST + repeat;
}

static int compare_places(const void *a, const void *b)
{
    struct run_place x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x.major != y.major)
        return x.major < y.major ? -1 : 1;
    return x.minor < y.minor ? -1 : x.minor > y.minor;
}

static void write_run(uint32_t segment, enum run_kind kind, void *records, size_t count)
{
    struct run_writer w;
    size_t width = run_width(kind);
    qsort(records, count, width, compare_places);
    run_writer_begin(&w, &sql, segment, kind, segment + 1);
    for (size_t i = 0; i < count; i++)
        run_writer_add(&w, (char *)records + i * width);
    run_writer_end(&w);
}

/* How many events of a panelist the event `i` stands for. */
static size_t repeats_of(size_t i)
{
    return i % PANELISTS == PANELISTS - 1 && i % EVENTS_EACH < PANELISTS ? EVENTS_OF_LAST : 1;
}

static void add_segment(uint32_t segment)
{
    static struct panelist_record panelists[EVENTS_EACH + 2 * EVENTS_OF_LAST];
    static struct key_record sorted[EVENTS_EACH];
    size_t first = (segment - 1) * EVENTS_EACH, count = 0;
    schema_create_segment(&sql, segment);
    sql_exec_f(&sql, "INSERT INTO segment VALUES(%u,%d,0,0,1,%s)", segment, EVENTS_EACH,
               segment < SEGMENTS ? "x'01'" : "NULL");
    sql_exec_f(&sql, "INSERT INTO run VALUES(%u,%u,%d)", segment, segment + 1, EVENTS_EACH);
    for (size_t i = first; i < first + EVENTS_EACH; i++) {
        keys[i] = (struct key_record){{rng_next(&rng), rng_next(&rng)}, i, event_of(i, 0)};
        if (i % 10 == 0) /* at the edges of slices */
            keys[i].key.hi = (uint64_t)(i / 10 % SLICES) << (64 - SLICE_BITS);
        if (i % 10 == 1)
            keys[i].key.hi = ((uint64_t)(i / 10 % SLICES) << (64 - SLICE_BITS)) - 1;
        for (size_t r = 0; r < repeats_of(i); r++)
            panelists[count++] = (struct panelist_record){hashes[i % PANELISTS], event_of(i, r)};
    }
    memcpy(sorted, &keys[first], sizeof sorted);
    write_run(segment, RUN_KEYS, sorted, EVENTS_EACH);
    write_run(segment, RUN_PANELISTS, panelists, count);
}

static void begin(uint64_t seed)
{
    char *why = NULL;
    ASSERT(sql_open(&sql, ":memory:", NULL, true, &why));
    ASSERT(migrate(&sql, &schema_migration, &why));
    rng_seed(&rng, seed);
    for (size_t i = 0; i < PANELISTS; i++) {
        hashes[i] = rng_next(&rng);
        is_erased[i] = false;
    }
    /* the last one's blocks begin at the end of a slice */
    hashes[PANELISTS - 1] = (UINT64_C(5) << (64 - SLICE_BITS)) - 1;
    for (uint32_t segment = 1; segment <= SEGMENTS; segment++)
        add_segment(segment);
    CHECK(!sql_failed(&sql));
}

static void end(void)
{
    CHECK(!sql_failed(&sql));
    sql_close(&sql);
}

/* --- checks ----------------------------------------------------------------------------------- */

static uint32_t known(void)
{
    struct bundle_set newest;
    return bundle_newest(&sql, &newest) ? newest.no : 0;
}

static bool step_once(void)
{
    return bundle_step(&sql, SEGMENTS, known());
}

/* A slice's filter has the slice's keys. */
static void check_filter(const struct bundle_set *of, unsigned slice, struct str bytes)
{
    struct filter filter;
    struct filter_line *lines = aligned_alloc(sizeof *lines, bytes.n);
    size_t first = (of->first - 1) * EVENTS_EACH;
    memcpy(lines, bytes.p, bytes.n);
    CHECK(filter_view(&filter, (struct str){(char *)lines, bytes.n}));
    for (size_t i = first; i < first + of->segments * EVENTS_EACH; i++)
        if (bundle_slice_of(keys[i].key.hi, of->slice_bits) == slice)
            CHECK(filter_may_have(&filter, bundle_filter_key(keys[i].key, of->slice_bits)));
    free(lines);
}

/* Returns how many there are. */
static size_t check_filters(void)
{
    size_t count = 0;
    struct bundle_set of;
    sqlite3_stmt *sets = bundle_prepare_sets(&sql, false);
    while (bundle_next_set(&sql, sets, &of)) {
        sqlite3_stmt *s = sql_prepare(&sql, "SELECT no,filter FROM slice WHERE bundle=?");
        sql_bind_int(s, 1, of.no);
        for (; sql_row(&sql, s); count++)
            check_filter(&of, (unsigned)sql_int(s, 0), sql_str(s, 1));
        sql_finalize(s);
    }
    sql_finalize(sets);
    return count;
}

static void check_keys(void)
{
    static int found[EVENTS];
    struct key_record record;
    memset(found, 0, sizeof found);
    sqlite3_stmt *sets = bundle_prepare_sets(&sql, false);
    while (sql_row(&sql, sets)) {
        uint32_t set = (uint32_t)sql_int(sets, 0);
        sqlite3_stmt *find = run_prepare_find(&sql, set);
        for (size_t i = 0; i < EVENTS; i++) {
            if (!run_find_key(&sql, find, keys[i].key, &record))
                continue;
            found[i]++;
            CHECK_EQ_UINT(record.id, keys[i].id);
            CHECK_EQ_UINT(record.content, i);
        }
        sql_finalize(find);
    }
    sql_finalize(sets);
    for (size_t i = 0; i < EVENTS; i++)
        CHECK_EQ_INT(found[i], 1);
}

/* The events of the panelist in the order of a search, compared with all events in turn. */
static void check_panelist(size_t panelist, bool newest_first)
{
    enum { MOST = EVENTS * EVENTS_OF_LAST / PANELISTS };
    uint64_t *ids = xmalloc(2 * MOST * sizeof *ids);
    size_t at = 0;
    sqlite3_stmt *sets = bundle_prepare_sets(&sql, newest_first);
    while (sql_row(&sql, sets)) {
        struct panelist_query of = {
            (uint32_t)sql_int(sets, 0), hashes[panelist], {1, INT64_MAX}, newest_first};
        size_t count = panelist_ids(&sql, &of, ids, MOST);
        CHECK(count == 0 || !is_erased[panelist]);
        for (size_t i = 0; i < count; at++) {
            size_t event = newest_first ? EVENTS - 1 - at : at, repeats = repeats_of(event);
            if (event % PANELISTS != panelist)
                continue;
            for (size_t r = 0; r < repeats && i < count; r++, i++)
                CHECK_EQ_UINT(ids[i], event_of(event, newest_first ? repeats - 1 - r : r));
        }
    }
    for (; !is_erased[panelist] && at < EVENTS; at++)
        CHECK((newest_first ? EVENTS - 1 - at : at) % PANELISTS != panelist);
    sql_finalize(sets);
    free(ids);
}

static void check_all(void)
{
    check_keys();
    for (size_t i = 0; i < PANELISTS; i++) {
        check_panelist(i, true);
        check_panelist(i, false);
    }
}

static void erase(size_t panelist)
{
    sqlite3_stmt *tables = bundle_prepare_tables(&sql);
    while (sql_row(&sql, tables)) {
        struct panelist_query of = {
            (uint32_t)sql_int(tables, 0), hashes[panelist], {1, INT64_MAX}, false};
        panelist_forget(&sql, &of);
    }
    sql_finalize(tables);
    is_erased[panelist] = true;
}

/* --- tests ------------------------------------------------------------------------------------ */

static size_t sets_asked(void)
{
    size_t count = 0;
    struct bundle_set of;
    sqlite3_stmt *s = bundle_prepare_sets(&sql, false);
    while (bundle_next_set(&sql, s, &of))
        count++;
    sql_finalize(s);
    return count;
}

/* Four bundles of 8 segments become one of 32, and the fifth stays beside it. */
static void every_step_answers_the_same(void)
{
    begin(1);
    check_all();
    for (unsigned step = 0; step < STEPS; step++) {
        CHECK(step_once());
        if (step < bundle_steps(1) || step % 13 == 0)
            check_all();
    }
    CHECK(!step_once());
    check_all();
    CHECK_EQ_UINT(sets_asked(), 2 + SEGMENTS % BUNDLE_SEGMENTS);
    CHECK_EQ_UINT(check_filters(), bundle_merge_steps(1) + bundle_merge_steps(2));
    CHECK_EQ_INT(sql_get_int(&sql, "SELECT count(*) FROM slice", 0),
                 bundle_merge_steps(1) + bundle_merge_steps(2));
    CHECK_EQ_INT(sql_get_int(&sql,
                             "SELECT count(*) FROM sqlite_schema WHERE type='table' AND"
                             " (name GLOB 'keys_*' OR name GLOB 'panelists_*')",
                             0),
                 2 * 2 + 2 * 2);
    CHECK_EQ_INT(sql_get_int(&sql, "SELECT sum(events) FROM run", 0), EVENTS);
    CHECK_EQ_INT(sql_get_int(&sql, "SELECT count(*) FROM segment WHERE filter IS NULL", 0), 1);
    end();
}

static void whoever_is_erased_at_some_step_stays_so(void)
{
    for (unsigned after = 0; after <= STEPS; after += 53) {
        size_t panelist = after % PANELISTS;
        begin(2 + after);
        for (unsigned step = 0; step < after; step++)
            CHECK(step_once());
        erase(panelist);
        check_all();
        for (unsigned step = 0; step_once(); step++)
            if (step % 11 == 0)
                check_panelist(panelist, true);
        check_all();
        end();
    }
}

static int64_t keys_in(uint32_t set)
{
    char text[64];
    snprintf(text, sizeof text, "SELECT sum(length(block))/32 FROM keys_%u", set);
    return sql_get_int(&sql, text, 0);
}

/* Both levels: segments, and the bundles that were made of them. */
static void sets_that_somebody_still_asks_are_kept(void)
{
    begin(3);
    for (unsigned step = 0; step < bundle_merge_steps(1); step++)
        CHECK(bundle_step(&sql, SEGMENTS, 0));
    CHECK(!bundle_step(&sql, SEGMENTS, 0));
    CHECK_EQ_UINT(known(), BUNDLE_NO_FIRST);
    for (uint32_t segment = 1; segment <= BUNDLE_SEGMENTS; segment++)
        CHECK_EQ_INT(keys_in(segment), EVENTS_EACH);
    CHECK(bundle_step(&sql, SEGMENTS, BUNDLE_NO_FIRST));
    for (unsigned step = bundle_merge_steps(1) + 1; step < STEPS - bundle_steps(2); step++)
        CHECK(step_once());
    uint32_t before = known();
    for (unsigned step = 0; step < bundle_merge_steps(2); step++)
        CHECK(bundle_step(&sql, SEGMENTS, before));
    CHECK(!bundle_step(&sql, SEGMENTS, before));
    for (uint32_t bundle = BUNDLE_NO_FIRST; bundle < BUNDLE_NO_FIRST + 4; bundle++)
        CHECK_EQ_INT(keys_in(bundle), BUNDLE_SEGMENTS * EVENTS_EACH);
    CHECK(step_once());
    end();
}

static void an_open_segment_is_in_no_bundle(void)
{
    begin(4);
    CHECK(!bundle_step(&sql, BUNDLE_SEGMENTS, 0));
    CHECK(bundle_step(&sql, BUNDLE_SEGMENTS + 1, 0));
    CHECK_EQ_UINT(bundle_urgent_steps(&sql, 2 * BUNDLE_SEGMENTS + 1), 0);
    CHECK_EQ_UINT(bundle_urgent_steps(&sql, 2 * BUNDLE_SEGMENTS + 2), 1);
    CHECK_EQ_UINT(bundle_urgent_steps(&sql, 5 * BUNDLE_SEGMENTS), 2);
    end();
}

static void a_damaged_level_is_told(void)
{
    static const char *const damages[] = {"-1", "0", "7", "'x'"};
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        begin(5);
        for (unsigned step = 0; step < bundle_merge_steps(1); step++)
            CHECK(step_once());
        sql_exec_f(&sql, "UPDATE bundle SET level=%s", damages[i]);
        (void)sets_asked();
        CHECK(sql_failed(&sql));
        sql_forget(&sql);
        sql_close(&sql);
    }
}

int main(void)
{
    RUN(every_step_answers_the_same);
    RUN(whoever_is_erased_at_some_step_stays_so);
    RUN(sets_that_somebody_still_asks_are_kept);
    RUN(an_open_segment_is_in_no_bundle);
    RUN(a_damaged_level_is_told);
    return check_done("bundles");
}
