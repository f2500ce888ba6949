/* Counters of how attempts ended and how long they took, by endpoint and by account.
 *
 * They are updated in the commit that records the attempts, so that a chart of a month reads a few
 * hundred rows instead of all attempts.
 *
 * An attempt counts at the time it began, first in a slot of five minutes. Older slots are merged
 * into slots of an hour, and later into slots of six hours. Each attempt is in the rows of exactly
 * one slot length, so a query adds up all rows within its time. An endpoint without attempts has no
 * rows. */
#pragma once

#include "base/executor.h"
#include "domain/latency.h"
#include "store/key_table.h"
#include "store/outcome.h"
#include "store/status.h"

#define DELIVERY_STATS_COUNTS (ATTEMPT_CLASSES + LATENCY_BUCKETS)

struct delivery_stats {
    int64_t classes[ATTEMPT_CLASSES];
    /* attempts by latency; only attempts whose latency is measured */
    int64_t latencies[LATENCY_BUCKETS];
};

/* The columns in both databases: the attempt classes in their order, then the latency buckets by
 * their bounds. The first column is listed apart for lists that need a separator between
 * columns. */
#define DELIVERY_STATS_COLUMNS(X) X(ok) DELIVERY_STATS_MORE_COLUMNS(X)
/* clang-format off */
#define DELIVERY_STATS_MORE_COLUMNS(X)                                                             \
    X(dns) X(destination_refused) X(refused) X(connect_timeout) X(tls) X(timeout) X(reset)         \
    X(protocol) X(redirect) X(status) X(gone) X(unexpected_answer)                                 \
    X(ms_10) X(ms_20) X(ms_50) X(ms_100) X(ms_150) X(ms_200) X(ms_300) X(ms_500) X(ms_750)         \
    X(ms_1000) X(ms_1500) X(ms_2000) X(ms_3000) X(ms_5000) X(ms_10000) X(ms_20000) X(ms_30000)
/* clang-format on */

/* Stored as 1, 2, 3: append only. */
#define DELIVERY_STATS_STEPS 3
struct delivery_stats_step {
    int64_t step_ms; /* a multiple of the step before */
    /* afterwards rows are merged into those of the next step, or deleted after the last one */
    int64_t keep_ms;
};
extern const struct delivery_stats_step delivery_stats_steps[DELIVERY_STATS_STEPS];

/* The first slot of the step that is still kept; `now_ms` by the retention clock. */
int64_t delivery_stats_first_kept(int step, int64_t now_ms);

/* The lane number in rows that count a whole account. */
#define DELIVERY_STATS_ACCOUNT_LANE ((lane_no)0)

void delivery_stats_count(struct delivery_stats *stats, const struct attempt *a);
void delivery_stats_add(struct delivery_stats *to, const struct delivery_stats *from);

/* The counter in the column with index `at`. */
static inline int64_t *delivery_stats_column(struct delivery_stats *stats, size_t at)
{
    return at < ATTEMPT_CLASSES ? &stats->classes[at] : &stats->latencies[at - ATTEMPT_CLASSES];
}

/* --- what a transaction adds to slots of five minutes ------------------------------------------
 */

struct delivery_stats_key {
    int64_t slot;
    uint32_t account_no;
    lane_no lane;
};

struct delivery_stats_row {
    struct delivery_stats_key key;
    struct delivery_stats stats;
};

/* A table of rows by key. All zeros: empty. */
struct delivery_stats_rows {
    struct delivery_stats_row *items;
    size_t count, capacity;
    struct key_table table;
};

/* Counts the attempt in the row of its lane. */
void delivery_stats_rows_count(struct delivery_stats_rows *rows, uint32_t account_no, lane_no lane,
                               const struct attempt *a);
/* Adds the rows of accounts and sorts all by key; then they are only read. */
void delivery_stats_rows_end(struct delivery_stats_rows *rows);
/* empties it, keeps some memory for reuse */
void delivery_stats_rows_clear(struct delivery_stats_rows *rows);
void delivery_stats_rows_free(struct delivery_stats_rows *rows);

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads how attempts ended and how long they took: of an account, of one app or of one endpoint, in
 * points of equal length from `from_ms` on, which is a multiple of that length.
 *
 * Where a point is shorter than the slots that are kept for its time, the whole slot is in the
 * point in which the slot begins. Attempts for test events and manual attempts count; test
 * callbacks do not, because they belong to no event. */
#define DELIVERY_STATS_POINTS_MOST 30

struct delivery_stats_query {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    uint32_t app_no;     /* 0: the whole account */
    enum lane_kind lane; /* LANE_NONE: the whole account or app */
    int64_t from_ms, step_ms;
    size_t count; /* of points */
    /* results */
    enum store_status status;
    struct delivery_stats points[DELIVERY_STATS_POINTS_MOST];
};

/* For implementations: the lanes whose rows the query reads. */
void delivery_stats_lanes(const struct delivery_stats_query *q, lane_no *ret_first,
                          lane_no *ret_last);
/* For implementations: the point to which a row of that time is added; NULL: none. */
struct delivery_stats *delivery_stats_point(struct delivery_stats_query *q, int64_t at_ms);
/* For implementations: the first and last slot of the step that the query reads. */
void delivery_stats_slots(const struct delivery_stats_query *q, int step, int64_t *ret_first,
                          int64_t *ret_last);
