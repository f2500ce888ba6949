/* Runs of keys and panelists: what is written is found, whatever runs it lies in and however they
 * were merged; a plain array has the right answers. */
#include "base/alloc.h"
#include "base/env.h"
#include "base/limits.h"
#include "check.h"

#include <stdlib.h>

#include "store/sqlite/panelists.h"
#include "store/sqlite/run.h"
#include "store/sqlite/run_merge.h"
#include "store/sqlite/schema.h"

#define SEGMENT 3
/* A bound on the runs of an open segment: fewer than 16 of each of three small sizes, and of the
 * two largest no 16 in a row with less than half a segment. */
#define RUNS_MOST (6 * RUN_MERGE_COUNT)

static struct sql sql;
static struct rng rng;

static void begin(uint64_t seed)
{
    char *why = NULL;
    ASSERT(sql_open(&sql, ":memory:", NULL, true, &why));
    ASSERT(migrate(&sql, &schema_migration, &why));
    schema_create_segment(&sql, SEGMENT);
    rng_seed(&rng, seed);
}

static void end(void)
{
    CHECK(!sql_failed(&sql));
    sql_close(&sql);
}

static int64_t number(const char *text)
{
    return sql_get_int(&sql, text, -1);
}

/* --- the plain array ----------------------------------------------------------------------------
 */

static int compare_places(const void *a, const void *b)
{
    struct run_place x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x.major != y.major)
        return x.major < y.major ? -1 : 1;
    return x.minor < y.minor ? -1 : x.minor > y.minor;
}

static void add_run(enum run_kind kind, const void *records, size_t count, uint32_t run)
{
    struct run_writer w;
    size_t width = run_width(kind);
    char *sorted = xmalloc(count * width + 1);
    memcpy(sorted, records, count * width);
    qsort(sorted, count, width, compare_places);
    run_writer_begin(&w, &sql, SEGMENT, kind, run);
    for (size_t i = 0; i < count; i++)
        run_writer_add(&w, sorted + i * width);
    run_writer_end(&w);
    free(sorted);
}

/* Runs of random length; each is merged as it would be in a store. */
static void add_runs(const struct key_record *keys, const struct panelist_record *panelists,
                     size_t count, size_t longest)
{
    for (size_t at = 0; at < count;) {
        size_t n = 1 + rng_below(&rng, longest);
        n = n < count - at ? n : count - at;
        uint32_t run = run_next(&sql, SEGMENT);
        add_run(RUN_KEYS, keys + at, n, run);
        add_run(RUN_PANELISTS, panelists + at, n, run);
        sql_exec_f(&sql, "INSERT INTO run VALUES(%d,%u,%zu)", SEGMENT, run, n);
        run_merge_some(&sql, SEGMENT);
        int64_t runs = number("SELECT count(*) FROM run");
        if (runs > RUNS_MOST)
            CHECK_EQ_INT(runs, RUNS_MOST);
        at += n;
    }
}

/* --- keys ---------------------------------------------------------------------------------------
 */

/* Many share their first half, or the bits of it that a block's id has; some are extreme. */
static struct key_record *make_keys(size_t count)
{
    struct key_record *keys = xcalloc(count, sizeof *keys);
    for (size_t i = 0; i < count; i++) {
        uint64_t hi = rng_next(&rng), lo = rng_next(&rng);
        if (i % 10 == 1)
            hi = keys[i - 1].key.hi;
        if (i % 10 == 2)
            hi = keys[i - 1].key.hi ^ 1;
        if (i % 100 == 3)
            hi = i % 200 == 3 ? 0 : UINT64_MAX;
        keys[i] = (struct key_record){{hi, lo}, ~i, i + 1};
    }
    return keys;
}

static void check_keys(const struct key_record *keys, size_t count)
{
    sqlite3_stmt *find = run_prepare_find(&sql, SEGMENT);
    size_t found = 0, wrong = 0;
    for (size_t i = 0; i < count; i++) {
        struct key_record r;
        found += run_find_key(&sql, find, keys[i].key, &r) && memcmp(&r, &keys[i], sizeof r) == 0;
        struct key128 near = keys[i].key;
        near.lo++;
        wrong += run_find_key(&sql, find, near, &r);
        wrong += run_find_key(&sql, find, (struct key128){rng_next(&rng), 0}, &r);
    }
    CHECK_EQ_UINT(found, count);
    CHECK_EQ_UINT(wrong, 0);
    sql_finalize(find);
}

/* All records in the order of blocks. */
static size_t read_all(enum run_kind kind, char *to)
{
    size_t bytes = 0, wrong = 0;
    sqlite3_stmt *s =
        sql_prepare_f(&sql, "SELECT block FROM %s_%d ORDER BY id", run_table(kind), SEGMENT);
    while (sql_row(&sql, s)) {
        struct str block = sql_str(s, 0);
        wrong += !run_block_good(&sql, kind, block);
        wrong += kind == RUN_PANELISTS && block.n > RUN_BLOCK_BYTES;
        memcpy(to + bytes, block.p, block.n);
        bytes += block.n;
    }
    sql_finalize(s);
    CHECK_EQ_UINT(wrong, 0);
    return bytes / run_width(kind);
}

static void finds_every_key(void)
{
    static const size_t longest[] = {1, 40, 3000, 20000};
    for (size_t l = 0; l < ARRAY_LEN(longest); l++) {
        size_t count = longest[l] == 1 ? 2000 : 20000;
        begin(l);
        struct key_record *keys = make_keys(count), *sorted = xcalloc(count, sizeof *sorted);
        struct panelist_record *panelists = xcalloc(count, sizeof *panelists);
        for (size_t i = 0; i < count; i++)
            panelists[i] = (struct panelist_record){rng_below(&rng, 50) << 56, i + 1};
        add_runs(keys, panelists, count, longest[l]);
        CHECK_EQ_INT(number("SELECT sum(events) FROM run"), (int64_t)count);
        check_keys(keys, count);
        run_merge_all(&sql, SEGMENT);
        CHECK_EQ_INT(number("SELECT count(*) FROM run"), 1);
        CHECK_EQ_INT(number("SELECT events FROM run"), (int64_t)count);
        check_keys(keys, count);
        CHECK_EQ_UINT(read_all(RUN_KEYS, (char *)sorted), count);
        qsort(keys, count, sizeof *keys, compare_places);
        CHECK(memcmp(keys, sorted, count * sizeof *keys) == 0);
        CHECK_EQ_UINT(read_all(RUN_PANELISTS, (char *)sorted), count);
        qsort(panelists, count, sizeof *panelists, compare_places);
        CHECK(memcmp(panelists, sorted, count * sizeof *panelists) == 0);
        free(keys);
        free(sorted);
        free(panelists);
        end();
    }
}

/* A look-up asks each run for one block. */
static void keeps_keys_of_one_prefix_together(void)
{
    begin(7);
    static struct key_record keys[500];
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        keys[i] = (struct key_record){{UINT64_C(0x123456789a) << 24 | i, i}, i, i + 1};
    add_run(RUN_KEYS, keys, ARRAY_LEN(keys), 1);
    sql_exec_f(&sql, "INSERT INTO run VALUES(%d,1,500)", SEGMENT);
    CHECK_EQ_INT(number("SELECT count(*) FROM keys_3"), 1);
    check_keys(keys, ARRAY_LEN(keys));
    end();
}

static void orders_what_shares_its_first_half(void)
{
    struct panelist_record records[] = {{1, 9}, {1, 3}, {1, 5}, {2, 2}, {2, 1}, {3, 0}};
    run_sort_minor(RUN_PANELISTS, records, ARRAY_LEN(records));
    static const uint64_t ids[] = {3, 5, 9, 1, 2, 0};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        CHECK_EQ_UINT(records[i].id, ids[i]);
}

/* --- panelists ----------------------------------------------------------------------------------
 */

#define PANELISTS 6
#define EVENTS 6000

/* Two have so many events that they fill blocks; three are neighbours of these. */
static const uint64_t hashes[PANELISTS] = {0,          UINT64_MAX,        UINT64_C(1) << 40,
                                           UINT64_MAX, UINT64_C(1) << 24, UINT64_C(3) << 24};

static size_t expect(const struct panelist_record *all, const struct panelist_query *of,
                     uint64_t *ids, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < EVENTS && count < most; i++) {
        const struct panelist_record *r = &all[of->newest_first ? EVENTS - 1 - i : i];
        if (r->id != 0 && r->hash == of->hash && r->id >= of->range.first &&
            r->id <= of->range.last)
            ids[count++] = r->id;
    }
    return count;
}

static struct panelist_query random_query(uint64_t hash)
{
    struct panelist_query of = {SEGMENT, hash, {1, EVENTS}, rng_below(&rng, 2) == 0};
    if (rng_below(&rng, 3) > 0) {
        of.range.first = 1 + rng_below(&rng, EVENTS);
        of.range.last = of.range.first + rng_below(&rng, EVENTS - of.range.first + 1);
    }
    return of;
}

static void check_panelists(const struct panelist_record *all)
{
    static uint64_t wanted[EVENTS], got[2 * EVENTS];
    size_t wrong = 0;
    for (int i = 0; i < 300; i++) {
        struct panelist_query of = random_query(hashes[rng_below(&rng, PANELISTS)] + (i % 7 == 0));
        size_t most = rng_below(&rng, 2) ? 1 + rng_below(&rng, 20) : 1 + rng_below(&rng, EVENTS);
        size_t count = expect(all, &of, wanted, most);
        wrong += panelist_ids(&sql, &of, got, most) != count ||
                 memcmp(got, wanted, count * sizeof *got) != 0;
    }
    CHECK_EQ_UINT(wrong, 0);
}

static void finds_and_forgets_events_of_panelists(void)
{
    static const size_t longest[] = {30, 1500, EVENTS};
    static struct panelist_record all[EVENTS];
    for (size_t l = 0; l < ARRAY_LEN(longest); l++) {
        begin(20 + l);
        struct key_record *keys = make_keys(EVENTS);
        for (size_t i = 0; i < EVENTS; i++)
            all[i] = (struct panelist_record){hashes[rng_below(&rng, PANELISTS)], i + 1};
        add_runs(keys, all, EVENTS, longest[l]);
        check_panelists(all);
        for (int round = 0; round < 12; round++) {
            struct panelist_query of = random_query(hashes[rng_below(&rng, PANELISTS)]);
            if (round % 3 == 0) /* one event, as a copy does */
                of.hash = all[of.range.first - 1].hash, of.range.last = of.range.first;
            panelist_forget(&sql, &of);
            for (size_t i = of.range.first - 1; i < of.range.last; i++)
                if (all[i].hash == of.hash)
                    all[i].id = 0;
            check_panelists(all);
        }
        run_merge_all(&sql, SEGMENT);
        check_panelists(all);
        for (size_t h = 0; h < PANELISTS; h++) {
            struct panelist_query of = {SEGMENT, hashes[h], {1, EVENTS}, false};
            panelist_forget(&sql, &of);
        }
        CHECK_EQ_INT(number("SELECT count(*) FROM panelists_3"), 0);
        free(keys);
        end();
    }
}

/* --- how many, and damage -----------------------------------------------------------------------
 */

static void slow_memtables_leave_few_runs(void)
{
    begin(40);
    struct key_record *keys = make_keys(5000);
    struct panelist_record *panelists = xcalloc(5000, sizeof *panelists);
    int64_t most = 0;
    for (size_t i = 0; i < 5000; i++) {
        panelists[i].id = i + 1;
        add_runs(keys + i, panelists + i, 1, 1);
        int64_t runs = number("SELECT count(*) FROM run");
        most = runs > most ? runs : most;
    }
    CHECK(most <= 4 * RUN_MERGE_COUNT);
    CHECK(number("SELECT max(no) FROM run") < 5000 + 5000 / 8);
    check_keys(keys, 5000);
    free(keys);
    free(panelists);
    end();
}

static void add_empty_runs(int count, int64_t events)
{
    for (int i = 0; i < count; i++) {
        sql_exec_f(&sql, "INSERT INTO run VALUES(%d,%u,%" PRId64 ")", SEGMENT,
                   run_next(&sql, SEGMENT), events);
        run_merge_some(&sql, SEGMENT);
    }
}

static void merges_runs_of_one_size(void)
{
    begin(42);
    add_empty_runs(15, 5000);
    add_empty_runs(16, 3);
    CHECK_EQ_INT(number("SELECT count(*) FROM run WHERE events=5000"), 15);
    CHECK_EQ_INT(number("SELECT count(*) FROM run WHERE events=48"), 1);
    add_empty_runs(1, 4096);
    CHECK_EQ_INT(number("SELECT count(*) FROM run"), 2);
    CHECK_EQ_INT(number("SELECT max(events) FROM run"), 15 * 5000 + 4096);
    end();
}

/* What would be more than half a segment is left for its closing, in few runs all the same. */
static void large_runs_wait(void)
{
    begin(41);
    int64_t most = 0;
    add_empty_runs(16, LIMIT_KEYS_PER_SEGMENT / 32);
    CHECK_EQ_INT(number("SELECT count(*) FROM run"), 1);
    sql_exec(&sql, "DELETE FROM run");
    add_empty_runs(16, LIMIT_KEYS_PER_SEGMENT / 32 + 1);
    CHECK_EQ_INT(number("SELECT count(*) FROM run"), 16);
    for (int i = 0; i < 112; i++) {
        add_empty_runs(1, 4096);
        int64_t runs = number("SELECT count(*) FROM run");
        most = runs > most ? runs : most;
    }
    CHECK(most <= RUNS_MOST);
    end();
}

static void refuse_damage(const char *damage, enum run_kind kind)
{
    begin(50);
    struct key_record key = {{1, 2}, 3, 5};
    struct panelist_record panelist = {1, 5};
    add_runs(&key, &panelist, 1, 1);
    sql_exec(&sql, damage);
    ASSERT(!sql_failed(&sql));
    if (kind == RUN_KEYS) {
        sqlite3_stmt *find = run_prepare_find(&sql, SEGMENT);
        CHECK(!run_find_key(&sql, find, key.key, &key));
    } else {
        uint64_t ids[2];
        struct panelist_query of = {SEGMENT, 1, {1, 9}, false};
        CHECK_EQ_UINT(panelist_ids(&sql, &of, ids, 1), 0);
    }
    CHECK_EQ_INT(sql.code, SQLITE_CORRUPT);
    CHECK(sql.why && strstr(sql.why, "impossible length"));
    sql_forget(&sql);
    sql_exec_f(&sql, "INSERT INTO run VALUES(%d,9,1)", SEGMENT);
    run_merge_all(&sql, SEGMENT);
    CHECK_EQ_INT(sql.code, SQLITE_CORRUPT);
    sql_forget(&sql);
    end();
}

static void refuses_blocks_of_impossible_length(void)
{
    refuse_damage("UPDATE keys_3 SET block=zeroblob(41)", RUN_KEYS);
    refuse_damage("UPDATE keys_3 SET block=x''", RUN_KEYS);
    refuse_damage("UPDATE panelists_3 SET block=substr(block,1,15)", RUN_PANELISTS);
    refuse_damage("UPDATE panelists_3 SET block=x''", RUN_PANELISTS);
}

/* A key that two runs have was accepted twice: whoever merged them would hide it. */
static void refuses_equal_records(void)
{
    for (int kind = RUN_KEYS; kind <= RUN_PANELISTS; kind++) {
        begin(9);
        for (uint32_t run = 1; run <= 2; run++) {
            struct key_record key = {{7, run_width((enum run_kind)kind)}, run, run};
            add_run((enum run_kind)kind, &key, 1, run);
            sql_exec_f(&sql, "INSERT INTO run VALUES(%d,%u,1)", SEGMENT, run);
        }
        CHECK(!sql_failed(&sql));
        run_merge_all(&sql, SEGMENT);
        CHECK_EQ_INT(sql.code, SQLITE_CORRUPT);
        sql_close(&sql);
    }
}

static void refuses_a_database_without_a_wal(void)
{
    begin(10);
    schema_configure(&sql, true, SCHEMA_CACHE_KIB_WRITER);
    CHECK(sql_failed(&sql)); /* in memory there is none */
    sql_close(&sql);
}

int main(void)
{
    RUN(orders_what_shares_its_first_half);
    RUN(finds_every_key);
    RUN(keeps_keys_of_one_prefix_together);
    RUN(finds_and_forgets_events_of_panelists);
    RUN(slow_memtables_leave_few_runs);
    RUN(merges_runs_of_one_size);
    RUN(large_runs_wait);
    RUN(refuses_blocks_of_impossible_length);
    RUN(refuses_equal_records);
    RUN(refuses_a_database_without_a_wal);
    return check_done("runs");
}
