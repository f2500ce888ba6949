/* The five reports: their arguments and their output (contract, section 5).
 *
 * A report is written in three parts, so that it can be streamed while the store pages through its
 * rows: report_begin, report_rows for each page in order, report_end. */
#pragma once

#include "accounts/accounts.h"
#include "base/problem.h"
#include "store/store.h"

enum report_kind {
    REPORT_EARNINGS,
    REPORT_ARPDAU,
    REPORT_SURVEY_ATTEMPTS,
    REPORT_CONVERSIONS,
    REPORT_ACTIVE_PANELIST,
};

#define REPORT_DAYS_MAX 366
#define REPORT_DAYS_DEFAULT 30

/* The query parameters as received; absent: not given. */
struct report_arguments {
    struct str start_date, end_date, product_type, format, include_test;
    struct str accept; /* the Accept header */
};

struct report_request {
    enum report_kind kind;
    int32_t first_day, last_day;
    bool survey, offer; /* which products count */
    bool include_test;
    bool csv;
};

/* Adds a problem for each argument that is wrong. */
void report_parse(enum report_kind kind, const struct report_arguments *a, int32_t today,
                  struct problems *problems, struct report_request *ret);

const char *report_kind_name(enum report_kind kind); /* "survey-attempts" */

/* Writes one report. Zero-initialise, set request, directory and arena. */
struct report_writer {
    struct report_request request;
    struct directory *directory;
    struct arena *arena; /* lives as long as the writer; holds one id per client */
    struct report_names *names;
    struct report_row *day_rows; /* the last day so far: more of it may follow */
    size_t day_count, day_capacity;
    int32_t today;
    bool any_row;
};

void report_begin(struct report_writer *w, struct buf *to, int64_t generated_ms);
/* Takes rows in the store's order; rows of the last day are held back until it is complete. */
void report_rows(struct report_writer *w, struct buf *to, const struct report_row *rows,
                 size_t count);
void report_end(struct report_writer *w, struct buf *to);
void report_writer_free(struct report_writer *w);
