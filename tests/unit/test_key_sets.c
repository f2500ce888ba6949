/* Every key of a store is found and no other, while its segments become bundles of two levels, and
 * after a start at any moment. */
#include "base/alloc.h"
#include "base/env.h"
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

#include "store/sqlite/bundle.h"
#include "store/sqlite/key_sets.h"
#include "store/sqlite/schema.h"

#define SEGMENTS (4 * BUNDLE_SEGMENTS + 1) /* the last one is open */
#define KEYS_EACH 1600                     /* so that a slice has several lines */
#define KEYS (SEGMENTS * KEYS_EACH)

static char folder[64], database[80];
static struct sql writing, reading;
static struct key_sets sets;
static struct key_record keys[KEYS], sorted[KEYS_EACH];

static int compare_keys(const void *a, const void *b)
{
    const struct key_record *x = a, *y = b;
    if (x->key.hi != y->key.hi)
        return x->key.hi < y->key.hi ? -1 : 1;
    return x->key.lo < y->key.lo ? -1 : x->key.lo > y->key.lo;
}

static void add_segment(uint32_t segment, struct rng *rng)
{
    struct run_writer w;
    struct key_record *own = &keys[(segment - 1) * KEYS_EACH];
    for (size_t i = 0; i < KEYS_EACH; i++) {
        uint64_t hi = rng_next(rng);
        own[i] = (struct key_record){{hi, rng_next(rng)}, i, segment * 1000000 + i};
    }
    memcpy(sorted, own, sizeof sorted);
    qsort(sorted, KEYS_EACH, sizeof *sorted, compare_keys);
    schema_create_segment(&writing, segment);
    sql_exec_f(&writing, "INSERT INTO segment VALUES(%u,%d,0,0,1,NULL)", segment, KEYS_EACH);
    sql_exec_f(&writing, "INSERT INTO run VALUES(%u,1,%d)", segment, KEYS_EACH);
    run_writer_begin(&w, &writing, segment, RUN_KEYS, 1);
    for (size_t i = 0; i < KEYS_EACH; i++)
        run_writer_add(&w, &sorted[i]);
    run_writer_end(&w);
}

/* As closing a segment does. */
static void close_segment(uint32_t segment)
{
    struct filter filter;
    filter_init(&filter, KEYS_EACH);
    key_sets_fill_filter(&writing, segment, &filter);
    sqlite3_stmt *s = sql_prepare_f(&writing, "UPDATE segment SET filter=? WHERE no=%u", segment);
    sql_bind_blob(s, 1, filter_bytes(&filter));
    sql_run(&writing, s);
    sql_finalize(s);
    filter_free(&filter);
}

static void begin(void)
{
    struct rng rng;
    char *why = NULL;
    snprintf(folder, sizeof folder, "/tmp/test-key-sets-XXXXXX");
    ASSERT(mkdtemp(folder) != NULL);
    snprintf(database, sizeof database, "%s/postbackd.db", folder);
    ASSERT(sql_open(&writing, database, NULL, true, &why));
    schema_configure(&writing, true, SCHEMA_CACHE_KIB_READER);
    ASSERT(migrate(&writing, &schema_migration, &why));
    ASSERT(sql_open(&reading, database, NULL, false, &why));
    rng_seed(&rng, 1);
    key_sets_init(&sets, &reading, database);
    for (uint32_t segment = 1; segment <= SEGMENTS; segment++) {
        sql_exec(&writing, "BEGIN");
        if (segment > 1)
            close_segment(segment - 1);
        add_segment(segment, &rng);
        sql_exec(&writing, "COMMIT");
    }
}

static void start_again(void)
{
    key_sets_free(&sets);
    key_sets_init(&sets, &reading, database);
}

static void end(void)
{
    key_sets_free(&sets);
    CHECK(!sql_failed(&reading) && !sql_failed(&writing));
    sql_close(&reading);
    sql_close(&writing);
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        char name[96];
        snprintf(name, sizeof name, "%s%s", database, suffixes[i]);
        unlink(name);
    }
    CHECK_EQ_INT(rmdir(folder), 0); /* no file of filters has a name */
}

/* Every `step`th key. */
static void check_keys(size_t step)
{
    size_t found = 0, others = 0, asked = 0;
    for (size_t i = 0; i < KEYS; i += step, asked++) {
        struct key_record record = {.id = 0};
        struct key128 other = {~keys[i].key.hi, ~keys[i].key.lo};
        key_sets_prefetch(&sets, keys[i].key);
        found += key_sets_find(&sets, keys[i].key, &record) && record.id == keys[i].id;
        others += key_sets_find(&sets, other, &record);
    }
    CHECK_EQ_UINT(found, asked);
    CHECK_EQ_UINT(others, 0);
}

/* What the writer does behind each memtable. */
static void follow(void)
{
    (void)key_sets_open_segment(&sets, SEGMENTS);
}

static void every_key_is_found_at_every_step(void)
{
    size_t mapped, ordinary;
    begin();
    check_keys(1);
    for (unsigned step = 0; bundle_step(&writing, SEGMENTS, sets.newest_bundle); step++) {
        if (step % 97 == 50)
            start_again();
        if (step % 11 == 0)
            check_keys(101);
    }
    for (unsigned rounds = 0; rounds < 1000 && sets.count > 2; rounds++) {
        follow();
        for (int i = 0; i < 20; i++)
            (void)!bundle_step(&writing, SEGMENTS, sets.newest_bundle);
        if (rounds % 7 == 3)
            start_again();
        check_keys(307);
    }
    CHECK_EQ_UINT(sets.count, 2);
    check_keys(1);
    mapped = key_sets_filter_bytes(&sets, &ordinary) - ordinary;
    CHECK(mapped > 4 * BUNDLE_SEGMENTS * KEYS_EACH * 3);
    CHECK(ordinary < mapped + (size_t)3 * 1500000);
    start_again();
    check_keys(1);
    CHECK_EQ_UINT(sets.count, 2);
    end();
}

/* A segment that begins while the daemon runs, and then the next. */
static void a_closed_segment_is_only_read(void)
{
    size_t before, after;
    begin();
    check_keys(1009);
    (void)key_sets_filter_bytes(&sets, &before);
    for (uint32_t segment = SEGMENTS + 1; segment < SEGMENTS + 3; segment++) {
        struct filter *filter = key_sets_open_segment(&sets, segment);
        filter_add(filter, (struct key128){segment, segment});
        CHECK(filter_may_have(filter, (struct key128){segment, segment}));
    }
    (void)key_sets_filter_bytes(&sets, &after);
    CHECK_EQ_UINT(after, before);
    for (size_t i = sets.count - 2; i < sets.count; i++) {
        struct key128 key = {sets.items[i].no, sets.items[i].no};
        CHECK(filter_may_have(&sets.items[i].filters[0], key));
        CHECK_EQ_INT(sets.items[i].in.is_mapped, i < sets.count - 1);
    }
    end();
}

int main(void)
{
    RUN(every_key_is_found_at_every_step);
    RUN(a_closed_segment_is_only_read);
    return check_done("key_sets");
}
