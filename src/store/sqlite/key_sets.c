/* Looks keys up in the sets of key_sets.h, and loads their filters. Bundles are made in bundle.c.
 *
 * A bundle's filters are loaded a few at a time, because the thread that loads them also answers
 * requests. Until it has all, the bundle's segments are asked, which stay that long (bundle.h). */
#include "store/sqlite/key_sets.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/limits.h"

#include <stdlib.h>

#include "store/sqlite/bundle.h"

#define FOLLOW_SLICES 8 /* some 6 MB at once */

void key_sets_init(struct key_sets *k, struct sql *sql, const char *database)
{
    *k = (struct key_sets){.sql = sql, .database = database};
}

static void set_free(struct key_set *set)
{
    if (!set->in.bytes && set->filters && set->slice_bits == 0)
        filter_free(&set->filters[0]);
    filter_memory_free(&set->in);
    free(set->filters);
    sql_finalize(set->find);
    *set = (struct key_set){0};
}

void key_sets_free(struct key_sets *k)
{
    for (size_t i = 0; i < k->count; i++)
        set_free(&k->items[i]);
    free(k->items);
    set_free(&k->next);
    *k = (struct key_sets){0};
}

void key_sets_fill_filter(struct sql *q, uint32_t segment, struct filter *filter)
{
    sqlite3_stmt *s = sql_prepare_f(q, "SELECT block FROM keys_%u", segment);
    while (sql_row(q, s)) {
        struct str block = sql_str(s, 0);
        if (!run_block_good(q, RUN_KEYS, block))
            break;
        for (size_t i = 0; i < run_block_count(RUN_KEYS, block); i++) {
            struct run_place place = run_block_place(RUN_KEYS, block, i);
            filter_add(filter, (struct key128){place.major, place.minor});
        }
    }
    sql_finalize(s);
}

/* --- loading ---------------------------------------------------------------------------------- */

static struct key_set *add(struct key_sets *k, const struct key_set *set)
{
    k->items = xgrow(k->items, &k->capacity, k->count + 1, sizeof *k->items);
    k->items[k->count] = *set;
    return &k->items[k->count++];
}

static struct key_set set_of(uint32_t no, uint32_t first, unsigned slice_bits)
{
    struct key_set set = {.no = no, .first = first, .slice_bits = slice_bits};
    set.filters = xcalloc((size_t)1 << slice_bits, sizeof *set.filters);
    return set;
}

/* With a filter of its own, which takes more keys. */
static struct key_set *add_open_segment(struct key_sets *k, uint32_t segment)
{
    ASSERT(k->count == 0 || k->items[k->count - 1].first < segment);
    struct key_set set = set_of(segment, segment, 0);
    filter_init(&set.filters[0], LIMIT_KEYS_PER_SEGMENT + 4 * LIMIT_MEMTABLE_EVENTS);
    return add(k, &set);
}

static void begin_filters(struct key_sets *k, struct key_set *set, size_t size)
{
    filter_memory_begin(&set->in, k->database, size > 0 ? size : 1);
}

static void add_filter(struct key_sets *k, struct key_set *set, struct str bytes)
{
    struct filter filter;
    bool good = filter_view(&filter, bytes) && filter_memory_add(&set->in, bytes);
    if (!good)
        sql_damaged(k->sql, "a filter of keys has an impossible length");
    set->filters[set->loaded++].count = good ? filter.count : 0;
}

static void end_filters(struct key_set *set)
{
    size_t at = 0;
    filter_memory_end(&set->in);
    for (unsigned i = 0; i < set->loaded; i++) {
        size_t n = set->filters[i].count * sizeof(struct filter_line);
        (void)filter_view(&set->filters[i], (struct str){set->in.bytes + at, n});
        at += n;
    }
}

static void begin_bundle(struct key_sets *k, struct key_set *set)
{
    sqlite3_stmt *s = sql_prepare(k->sql, "SELECT sum(length(filter)) FROM slice WHERE bundle=?");
    sql_bind_int(s, 1, set->no);
    begin_filters(k, set, sql_row(k->sql, s) ? (size_t)sql_int(s, 0) : 0);
    sql_finalize(s);
}

/* True: the bundle has all filters now, or the connection failed. */
static bool load_slices(struct key_sets *k, struct key_set *set, unsigned most)
{
    unsigned all = 1u << set->slice_bits, end = set->loaded + most < all ? set->loaded + most : all;
    sqlite3_stmt *s = sql_prepare(
        k->sql, "SELECT filter FROM slice WHERE bundle=? AND no>=? AND no<? ORDER BY no");
    sql_bind_int(s, 1, set->no);
    sql_bind_int(s, 2, set->loaded);
    sql_bind_int(s, 3, end);
    while (sql_row(k->sql, s))
        add_filter(k, set, sql_str(s, 0));
    sql_finalize(s);
    if (set->loaded < end)
        sql_damaged(k->sql, "a bundle lacks a filter of its keys");
    if (set->loaded < all && !sql_failed(k->sql))
        return false;
    end_filters(set);
    return true;
}

/* A segment without a stored filter is open. */
static void load_segment(struct key_sets *k, uint32_t segment)
{
    sqlite3_stmt *s = sql_prepare(k->sql, "SELECT filter FROM segment WHERE no=?");
    sql_bind_int(s, 1, segment);
    struct str bytes = sql_row(k->sql, s) ? sql_str(s, 0) : STR_NONE;
    if (bytes.p) {
        struct key_set set = set_of(segment, segment, 0);
        begin_filters(k, &set, bytes.n);
        add_filter(k, &set, bytes);
        end_filters(&set);
        add(k, &set);
    } else {
        struct filter *filter = &add_open_segment(k, segment)->filters[0];
        key_sets_fill_filter(k->sql, segment, filter);
    }
    sql_finalize(s);
}

static void load_set(struct key_sets *k, const struct bundle_set *of)
{
    if (of->slice_bits == 0) {
        load_segment(k, of->no);
        return;
    }
    struct key_set set = set_of(of->no, of->first, of->slice_bits);
    begin_bundle(k, &set);
    (void)load_slices(k, &set, 1u << set.slice_bits);
    add(k, &set);
    if (set.no > k->newest_bundle)
        k->newest_bundle = set.no;
}

void key_sets_load(struct key_sets *k)
{
    struct bundle_set of;
    if (k->is_loaded)
        return;
    k->is_loaded = true;
    sqlite3_stmt *s = bundle_prepare_sets(k->sql, false);
    while (bundle_next_set(k->sql, s, &of))
        load_set(k, &of);
    sql_finalize(s);
    /* the keys of the open segment are not needed again */
    sql_release_cache(k->sql);
}

/* --- what changes ----------------------------------------------------------------------------- */

/* The bundle takes the place of the sets that were merged into it. */
static void ask_bundle(struct key_sets *k, uint32_t segments)
{
    struct key_set bundle = k->next;
    size_t kept = 0;
    bool is_placed = false;
    for (size_t i = 0; i < k->count; i++) {
        struct key_set set = k->items[i];
        if (set.first >= bundle.first && set.first < bundle.first + segments) {
            set_free(&set);
            if (is_placed)
                continue;
            is_placed = true;
            set = bundle;
        }
        k->items[kept++] = set;
    }
    ASSERT(is_placed);
    k->count = kept;
    k->newest_bundle = bundle.no;
    k->next = (struct key_set){0};
    sql_release_cache(k->sql);
}

static void follow_bundles(struct key_sets *k)
{
    struct bundle_set of;
    if (!bundle_newest(k->sql, &of) || of.no == k->newest_bundle)
        return;
    if (k->next.no == 0) {
        k->next = set_of(of.no, of.first, of.slice_bits);
        begin_bundle(k, &k->next);
    }
    if (load_slices(k, &k->next, FOLLOW_SLICES))
        ask_bundle(k, of.segments);
}

/* A closed segment's filter is only read. */
static void leave_segment(struct key_sets *k, struct key_set *set)
{
    struct filter own = set->filters[0];
    begin_filters(k, set, filter_bytes(&own).n);
    set->loaded = 0;
    add_filter(k, set, filter_bytes(&own));
    end_filters(set);
    filter_free(&own);
}

struct filter *key_sets_open_segment(struct key_sets *k, uint32_t segment)
{
    key_sets_load(k);
    follow_bundles(k);
    if (k->count > 0) {
        struct key_set *last = &k->items[k->count - 1];
        if (last->no == segment)
            return &last->filters[0];
        if (last->slice_bits == 0 && !last->in.bytes)
            leave_segment(k, last);
    }
    return &add_open_segment(k, segment)->filters[0];
}

/* --- asking ----------------------------------------------------------------------------------- */

static const struct filter *filter_of(const struct key_set *set, struct key128 *key)
{
    if (set->slice_bits == 0)
        return &set->filters[0];
    unsigned slice = bundle_slice_of(key->hi, set->slice_bits);
    *key = bundle_filter_key(*key, set->slice_bits);
    return &set->filters[slice];
}

static bool may_have(const struct key_set *set, struct key128 key)
{
    const struct filter *filter = filter_of(set, &key);
    return filter_may_have(filter, key);
}

/* Duplicates are mostly recent, so the newest set is asked first. */
bool key_sets_find(struct key_sets *k, struct key128 key, struct key_record *ret)
{
    key_sets_load(k);
    for (size_t i = k->count; i > 0; i--) {
        struct key_set *set = &k->items[i - 1];
        if (!may_have(set, key))
            continue;
        if (!set->find)
            set->find = run_prepare_find(k->sql, set->no);
        if (run_find_key(k->sql, set->find, key, ret))
            return true;
    }
    return false;
}

void key_sets_prefetch(const struct key_sets *k, struct key128 key)
{
    for (size_t i = 0; i < k->count; i++) {
        struct key128 part = key;
        const struct filter *filter = filter_of(&k->items[i], &part);
        filter_prefetch(filter, part);
    }
}

size_t key_sets_filter_bytes(const struct key_sets *k, size_t *ret_ordinary)
{
    size_t all = 0, ordinary = 0;
    for (size_t i = 0; i < k->count; i++) {
        const struct key_set *set = &k->items[i];
        size_t bytes = set->in.bytes ? set->in.size : filter_bytes(&set->filters[0]).n;
        all += bytes;
        ordinary += set->in.bytes && set->in.is_mapped ? 0 : bytes;
    }
    *ret_ordinary = ordinary;
    return all;
}
