/* Limits of each account, so that no account takes what others need. Each kind of use has a number
 * at once and a number per minute, for all keys and people of the account together. Uses that write
 * an entry of the audit log have a common number per day, which a restart forgets. api_handle takes
 * a use, the answer gives it back. A request beyond a limit does not wait: it is answered 429
 * (api/dispatch.c). Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum account_use {
    ACCOUNT_READS,
    ACCOUNT_SCANS,    /* large reads: reports, statements, lists of the log */
    ACCOUNT_WRITES,   /* also routes that show a secret, as they are audited */
    ACCOUNT_FORWARDS, /* reports of `postbackd listen`: kept in memory */
    ACCOUNT_TESTS,
    ACCOUNT_RECOVERIES,
    ACCOUNT_USES,
};

struct account_limits;

struct account_limits *account_limits_new(int32_t reads_per_minute);
void account_limits_set_reads(struct account_limits *limits, int32_t reads_per_minute);
void account_limits_free(struct account_limits *limits);

struct account_refusal {
    const char *of;                       /* "test callbacks" */
    int32_t at_once, per_minute, per_day; /* the limit that was reached; the others are 0 */
    int64_t retry_after_s;
};
/* Begins a use; account_limits_give ends it. False: it is refused, and counted. */
bool account_limits_take(struct account_limits *limits, uint32_t account_no, enum account_use use,
                         int64_t now_mono_ms, struct account_refusal *ret);
void account_limits_give(struct account_limits *limits, uint32_t account_no, enum account_use use);

const char *account_use_name(enum account_use use); /* for metrics */
int64_t account_limits_refused(const struct account_limits *limits, enum account_use use);
