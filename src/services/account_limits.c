/* The table of limits, and each account's present use. The numbers per minute and day come back
 * evenly: base/allowance.h. */
#include "services/account_limits.h"

#include "base/alloc.h"
#include "base/allowance.h"
#include "base/check.h"
#include "base/hash_map.h"
#include "base/limits.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MINUTE_US INT64_C(60000000)
#define DAY_US (24 * 60 * MINUTE_US)

static const struct allowance audited_day = {DAY_US / LIMIT_ACCOUNT_AUDITED_PER_DAY, DAY_US};

struct rule {
    const char *name, *of;
    int32_t at_once;    /* 0: no limit */
    int32_t per_minute; /* 0: no limit; for reads and scans: --reads-per-minute */
    bool is_audited;    /* each writes an entry of the audit log */
};

static const struct rule rules[ACCOUNT_USES] = {
    [ACCOUNT_READS] = {"reads", "read requests", 0, 0, false},
    [ACCOUNT_SCANS] = {"scans", "reports and lists", LIMIT_ACCOUNT_SCANS_AT_ONCE, 0, false},
    [ACCOUNT_WRITES] = {"writes", "changes", LIMIT_ACCOUNT_WRITES_AT_ONCE,
                        LIMIT_ACCOUNT_WRITES_PER_MINUTE, true},
    [ACCOUNT_FORWARDS] = {"forwards", "reports of forwarded callbacks",
                          LIMIT_ACCOUNT_WRITES_AT_ONCE, LIMIT_ACCOUNT_WRITES_PER_MINUTE, false},
    [ACCOUNT_TESTS] = {"tests", "test callbacks", LIMIT_ACCOUNT_TESTS_AT_ONCE,
                       LIMIT_ACCOUNT_TESTS_PER_MINUTE, true},
    [ACCOUNT_RECOVERIES] = {"recoveries", "recoveries being begun",
                            LIMIT_ACCOUNT_RECOVERIES_AT_ONCE, LIMIT_ACCOUNT_RECOVERIES_PER_MINUTE,
                            true},
};

struct usage {
    int32_t at_once;
    int64_t full_us; /* monotonic: when all of the minute's number is available */
};

/* An account that has sent requests. Accounts are never deleted, and neither is this. */
struct account {
    struct hash_node node; /* the hash is the account's number */
    struct usage uses[ACCOUNT_USES];
    int64_t day_full_us; /* the same for audited_day */
};

struct account_limits {
    pthread_mutex_t lock;
    int32_t per_minute[ACCOUNT_USES];
    struct hash_map accounts;
    atomic_llong refused[ACCOUNT_USES];
};

struct account_limits *account_limits_new(int32_t reads_per_minute)
{
    struct account_limits *limits = xcalloc(1, sizeof *limits);
    ASSERT(pthread_mutex_init(&limits->lock, NULL) == 0);
    for (int use = 0; use < ACCOUNT_USES; use++)
        limits->per_minute[use] = rules[use].per_minute;
    account_limits_set_reads(limits, reads_per_minute);
    return limits;
}

void account_limits_set_reads(struct account_limits *limits, int32_t reads_per_minute)
{
    int64_t reads = (int64_t)reads_per_minute * LIMIT_ACCOUNT_READS_OF_KEYS;
    int32_t most = reads < INT32_MAX ? (int32_t)reads : INT32_MAX;
    pthread_mutex_lock(&limits->lock);
    limits->per_minute[ACCOUNT_READS] = limits->per_minute[ACCOUNT_SCANS] = most;
    pthread_mutex_unlock(&limits->lock);
}

static void free_account(void *context, struct hash_node *node)
{
    (void)context;
    free(CONTAINER_OF(node, struct account, node));
}

void account_limits_free(struct account_limits *limits)
{
    hash_map_visit(&limits->accounts, free_account, NULL);
    hash_map_free(&limits->accounts);
    pthread_mutex_destroy(&limits->lock);
    free(limits);
}

static struct account *find(struct account_limits *limits, uint32_t account_no)
{
    struct hash_node *node = hash_map_first(&limits->accounts, account_no);
    if (!node) {
        struct account *a = xcalloc(1, sizeof *a);
        node = &a->node;
        hash_map_add(&limits->accounts, node, account_no);
    }
    return CONTAINER_OF(node, struct account, node);
}

static int64_t seconds_of(int64_t us)
{
    return (us + 999999) / 1000000;
}

static bool may_use(struct account_limits *limits, struct account *a, enum account_use use,
                    int64_t now_us, struct account_refusal *ret)
{
    struct usage *u = &a->uses[use];
    int32_t per_minute = limits->per_minute[use];
    *ret = (struct account_refusal){.of = rules[use].of, .retry_after_s = 1};
    if (rules[use].at_once && u->at_once >= rules[use].at_once) {
        ret->at_once = rules[use].at_once;
        return false;
    }
    struct allowance minute = {per_minute ? MINUTE_US / per_minute : 0, MINUTE_US};
    int64_t wait = per_minute ? allowance_wait(minute, u->full_us, now_us) : 0;
    if (wait > 0) {
        ret->per_minute = per_minute;
        ret->retry_after_s = seconds_of(wait);
        return false;
    }
    wait = rules[use].is_audited ? allowance_wait(audited_day, a->day_full_us, now_us) : 0;
    if (wait > 0) {
        ret->per_day = LIMIT_ACCOUNT_AUDITED_PER_DAY;
        ret->retry_after_s = seconds_of(wait);
        return false;
    }
    u->at_once++;
    if (rules[use].is_audited)
        a->day_full_us = allowance_use(audited_day, a->day_full_us, now_us);
    if (per_minute)
        u->full_us = allowance_use(minute, u->full_us, now_us);
    return true;
}

bool account_limits_take(struct account_limits *limits, uint32_t account_no, enum account_use use,
                         int64_t now_mono_ms, struct account_refusal *ret)
{
    pthread_mutex_lock(&limits->lock);
    bool good = may_use(limits, find(limits, account_no), use, now_mono_ms * 1000, ret);
    pthread_mutex_unlock(&limits->lock);
    if (!good)
        atomic_fetch_add(&limits->refused[use], 1);
    return good;
}

void account_limits_give(struct account_limits *limits, uint32_t account_no, enum account_use use)
{
    pthread_mutex_lock(&limits->lock);
    struct usage *u = &find(limits, account_no)->uses[use];
    ASSERT(u->at_once > 0);
    u->at_once--;
    pthread_mutex_unlock(&limits->lock);
}

const char *account_use_name(enum account_use use)
{
    return rules[use].name;
}

int64_t account_limits_refused(const struct account_limits *limits, enum account_use use)
{
    return atomic_load(&limits->refused[use]);
}
