/* How attempts ended and how long they took, counted by endpoint and account in the commit that
 * records the attempts: so that a chart of a month reads some hundred rows and not its attempts.
 *
 * An attempt is counted where it began, first in a slot of five minutes. Slots of which nobody asks
 * for so much detail any more are merged into those of an hour, and these into those of six hours:
 * each attempt is in the rows of exactly one step, and what is asked for is the sum of all rows of
 * its time. An endpoint without attempts has no rows. */
#pragma once

#include "base/executor.h"
#include "domain/latency.h"
#include "store/outcome.h"
#include "store/status.h"

#define DELIVERY_STATS_COUNTS (ATTEMPT_CLASSES + LATENCY_BUCKETS)

struct delivery_stats {
    int64_t classes[ATTEMPT_CLASSES];
    int64_t latencies[LATENCY_BUCKETS]; /* of those of them that are measured */
};

/* The columns of both databases: the classes in their order, then the buckets by their bounds. The
 * first one stands apart for lists that have something between two. */
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
    int64_t step_ms; /* each a multiple of the one before */
    int64_t keep_ms; /* then its rows are merged into those of the next step, or deleted */
};
extern const struct delivery_stats_step delivery_stats_steps[DELIVERY_STATS_STEPS];

/* The first slot of the step that stays, `now_ms` by the retention clock. */
int64_t delivery_stats_first_kept(int step, int64_t now_ms);

/* The lane of rows of a whole account. */
#define DELIVERY_STATS_ACCOUNT_LANE ((lane_no)0)

void delivery_stats_count(struct delivery_stats *stats, const struct attempt *a);
void delivery_stats_add(struct delivery_stats *to, const struct delivery_stats *from);

/* The count of the column at this place. */
static inline int64_t *delivery_stats_column(struct delivery_stats *stats, size_t at)
{
    return at < ATTEMPT_CLASSES ? &stats->classes[at] : &stats->latencies[at - ATTEMPT_CLASSES];
}

/* --- what a transaction adds to slots of five minutes ------------------------------------------
 */

struct delivery_stats_row {
    int64_t slot;
    uint32_t account_no;
    lane_no lane;
    struct delivery_stats stats;
};

/* Rows by their keys. Zero-initialised is empty. */
struct delivery_stats_rows {
    struct delivery_stats_row *items;
    size_t count, capacity;
    uint32_t *places; /* index + 1; 0: free */
    size_t place_count;
};

/* In the row of its lane. */
void delivery_stats_rows_count(struct delivery_stats_rows *rows, uint32_t account_no, lane_no lane,
                               const struct attempt *a);
/* Adds the rows of accounts and sorts all by key; then they are only read. */
void delivery_stats_rows_end(struct delivery_stats_rows *rows);
void delivery_stats_rows_clear(struct delivery_stats_rows *rows); /* keeps room for a few */
void delivery_stats_rows_free(struct delivery_stats_rows *rows);

/* --- reading ---------------------------------------------------------------------------------- */

/* How the attempts of a stretch of time ended and how long they took, of an account, of one of its
 * apps or of one endpoint of that: in points of one length, from `from_ms` on, which is a multiple
 * of that length. Whoever asks for points that are shorter than six hours finds what is older than
 * store/delivery_stats.h keeps in such detail in the point that the longer slot begins in.
 * Callbacks of test events count, and manual attempts; test callbacks do not, as they are of no
 * event. */
#define DELIVERY_STATS_POINTS_MOST 30

struct delivery_stats_query {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    uint32_t app_no;     /* 0: the account */
    enum lane_kind lane; /* none: the account, or all of the app's */
    int64_t from_ms, step_ms;
    size_t count; /* of points */
    /* results */
    enum store_status status;
    struct delivery_stats points[DELIVERY_STATS_POINTS_MOST];
};

/* The lanes whose rows are asked for. For stores. */
void delivery_stats_lanes(const struct delivery_stats_query *q, lane_no *ret_first,
                          lane_no *ret_last);
/* The point that a row of that time is added to; NULL: none. For stores. */
struct delivery_stats *delivery_stats_point(struct delivery_stats_query *q, int64_t at_ms);
/* The slots of the step that the query is about. For stores. */
void delivery_stats_slots(const struct delivery_stats_query *q, int step, int64_t *ret_first,
                          int64_t *ret_last);
