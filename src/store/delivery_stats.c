/* Counts attempts by endpoint and account. */
#include "store/delivery_stats.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "domain/clock.h"

#include <stdlib.h>

#define COLUMN(name) COLUMN_##name,
enum { DELIVERY_STATS_COLUMNS(COLUMN) COLUMN_COUNT };
#undef COLUMN
#define PLACE(ms) PLACE_##ms,
enum { LATENCY_BOUNDS(PLACE, LATENCY_NONE) };
#undef PLACE
#define IN_ITS_PLACE(ms)                                                                           \
    _Static_assert((int)COLUMN_ms_##ms == ATTEMPT_CLASSES + (int)PLACE_##ms, "columns in order");
LATENCY_BOUNDS(IN_ITS_PLACE, LATENCY_NONE)
_Static_assert(COLUMN_COUNT == DELIVERY_STATS_COUNTS, "a column for each class and bucket");

const struct delivery_stats_step delivery_stats_steps[DELIVERY_STATS_STEPS] = {
    {HOUR_MS / 12, 2 * HOUR_MS}, {HOUR_MS, 26 * HOUR_MS}, {6 * HOUR_MS, 30 * DAY_MS}};

int64_t delivery_stats_first_kept(int step, int64_t now_ms)
{
    const struct delivery_stats_step *s = &delivery_stats_steps[step - 1];
    return (now_ms - s->keep_ms) / s->step_ms;
}

void delivery_stats_count(struct delivery_stats *stats, const struct attempt *a)
{
    stats->classes[a->class]++;
    if (latency_is_measured(a->class))
        stats->latencies[latency_index(&latency_buckets, a->duration_ms)]++;
}

void delivery_stats_add(struct delivery_stats *to, const struct delivery_stats *from)
{
    for (size_t i = 0; i < ATTEMPT_CLASSES; i++)
        to->classes[i] += from->classes[i];
    for (size_t i = 0; i < LATENCY_BUCKETS; i++)
        to->latencies[i] += from->latencies[i];
}

/* --- rows by key ------------------------------------------------------------------------------ */

static bool same_key(const void *x, const void *y)
{
    const struct delivery_stats_key *a = x, *b = y;
    return a->lane == b->lane && a->account_no == b->account_no && a->slot == b->slot;
}

static uint64_t hash_of(const void *stats_key)
{
    const struct delivery_stats_key *key = stats_key;
    const uint64_t parts[] = {(uint64_t)key->slot, key->account_no, key->lane};
    return hash_fast(parts, sizeof parts);
}

static const struct key_table_type table_of_rows = {sizeof(struct delivery_stats_row), hash_of,
                                                    same_key};

static struct delivery_stats *stats_at(struct delivery_stats_rows *rows,
                                       const struct delivery_stats_key *key)
{
    bool is_new;
    size_t at = key_table_add(&rows->table, &table_of_rows, rows->items, key, &is_new);
    if (is_new) {
        *ARRAY_PUSH(rows->items, rows->count, rows->capacity) =
            (struct delivery_stats_row){.key = *key};
    }
    return &rows->items[at].stats;
}

void delivery_stats_rows_count(struct delivery_stats_rows *rows, uint32_t account_no, lane_no lane,
                               const struct attempt *a)
{
    struct delivery_stats_key key = {
        .slot = a->at_ms / delivery_stats_steps[0].step_ms, .account_no = account_no, .lane = lane};
    delivery_stats_count(stats_at(rows, &key), a);
}

static int by_key(const void *x, const void *y)
{
    const struct delivery_stats_key *a = &((const struct delivery_stats_row *)x)->key,
                                    *b = &((const struct delivery_stats_row *)y)->key;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->account_no != b->account_no)
        return a->account_no < b->account_no ? -1 : 1;
    return (a->lane > b->lane) - (a->lane < b->lane);
}

void delivery_stats_rows_end(struct delivery_stats_rows *rows)
{
    size_t lanes = rows->count;
    for (size_t i = 0; i < lanes; i++) {
        struct delivery_stats_row row = rows->items[i];
        struct delivery_stats_key of_account = {.slot = row.key.slot,
                                                .account_no = row.key.account_no,
                                                .lane = DELIVERY_STATS_ACCOUNT_LANE};
        delivery_stats_add(stats_at(rows, &of_account), &row.stats);
    }
    if (rows->count > 1)
        qsort(rows->items, rows->count, sizeof *rows->items, by_key);
}

void delivery_stats_rows_clear(struct delivery_stats_rows *rows)
{
    if (rows->capacity > KEY_TABLE_KEPT) {
        delivery_stats_rows_free(rows);
        return;
    }
    rows->count = 0;
    key_table_clear(&rows->table);
}

void delivery_stats_rows_free(struct delivery_stats_rows *rows)
{
    free(rows->items);
    key_table_free(&rows->table);
    *rows = (struct delivery_stats_rows){0};
}

/* --- reading ---------------------------------------------------------------------------------- */

void delivery_stats_lanes(const struct delivery_stats_query *q, lane_no *ret_first,
                          lane_no *ret_last)
{
    *ret_first = *ret_last = DELIVERY_STATS_ACCOUNT_LANE;
    if (q->app_no == 0)
        return;
    *ret_first = lane_of(q->app_no, q->lane == LANE_NONE ? LANE_SUCCESS : q->lane);
    *ret_last = lane_of(q->app_no, q->lane == LANE_NONE ? LANE_LAST : q->lane);
}

struct delivery_stats *delivery_stats_point(struct delivery_stats_query *q, int64_t at_ms)
{
    if (at_ms < q->from_ms || at_ms >= q->from_ms + (int64_t)q->count * q->step_ms)
        return NULL;
    return &q->points[(at_ms - q->from_ms) / q->step_ms];
}

void delivery_stats_slots(const struct delivery_stats_query *q, int step, int64_t *ret_first,
                          int64_t *ret_last)
{
    int64_t step_ms = delivery_stats_steps[step - 1].step_ms;
    *ret_first = q->from_ms / step_ms;
    *ret_last = (q->from_ms + (int64_t)q->count * q->step_ms - 1) / step_ms;
}
