/* What an account may use at once and in a minute, whoever of it asks. */
#include "check.h"

#include "base/limits.h"
#include "services/account_limits.h"

static struct account_refusal why;

static void at_once(void)
{
    struct account_limits *l = account_limits_new(600);
    for (int i = 0; i < LIMIT_ACCOUNT_TESTS_AT_ONCE; i++)
        CHECK(account_limits_take(l, 1, ACCOUNT_TESTS, 1000, &why));
    CHECK(!account_limits_take(l, 1, ACCOUNT_TESTS, 1000, &why));
    CHECK_EQ_INT(why.at_once, LIMIT_ACCOUNT_TESTS_AT_ONCE);
    CHECK_EQ_INT(why.per_minute, 0);
    CHECK_EQ_INT(why.retry_after_s, 1);
    CHECK_CSTR(why.of, "test callbacks");
    CHECK(account_limits_take(l, 2, ACCOUNT_TESTS, 1000, &why));    /* another account */
    CHECK(account_limits_take(l, 1, ACCOUNT_WRITES, 1000, &why));   /* another use */
    CHECK(account_limits_take(l, 1025, ACCOUNT_TESTS, 1000, &why)); /* in the same bucket */
    account_limits_give(l, 1, ACCOUNT_TESTS);
    CHECK(account_limits_take(l, 1, ACCOUNT_TESTS, 1000, &why));
    CHECK(!account_limits_take(l, 1, ACCOUNT_TESTS, 1000, &why));
    CHECK_EQ_INT(account_limits_refused(l, ACCOUNT_TESTS), 2);
    CHECK_EQ_INT(account_limits_refused(l, ACCOUNT_WRITES), 0);
    account_limits_free(l);
}

static int granted(struct account_limits *l, int asked, int64_t now_ms)
{
    int n = 0;
    for (int i = 0; i < asked; i++) {
        if (account_limits_take(l, 1, ACCOUNT_TESTS, now_ms, &why)) {
            account_limits_give(l, 1, ACCOUNT_TESTS);
            n++;
        }
    }
    return n;
}

static void a_minute(void)
{
    struct account_limits *l = account_limits_new(600);
    CHECK_EQ_INT(granted(l, 100, 5000), LIMIT_ACCOUNT_TESTS_PER_MINUTE);
    CHECK_EQ_INT(why.per_minute, LIMIT_ACCOUNT_TESTS_PER_MINUTE);
    CHECK_EQ_INT(why.retry_after_s, 1);
    CHECK_EQ_INT(granted(l, 10, 5999), 0);
    CHECK_EQ_INT(granted(l, 10, 6000), 1); /* after as long as was said */
    CHECK_EQ_INT(granted(l, 100, 16000), 10);
    CHECK_EQ_INT(granted(l, 100, 1000000), LIMIT_ACCOUNT_TESTS_PER_MINUTE);
    account_limits_free(l);
}

/* Without ever using up a minute. */
static void a_day_of_audited_uses(void)
{
    struct account_limits *l = account_limits_new(600);
    int64_t now_ms = 0;
    int n = 0;
    for (; n < 2 * LIMIT_ACCOUNT_AUDITED_PER_DAY; n++, now_ms += 100) {
        enum account_use use = n % 50 ? ACCOUNT_WRITES : ACCOUNT_TESTS;
        if (!account_limits_take(l, 1, use, now_ms, &why))
            break;
        account_limits_give(l, 1, use);
    }
    /* In that time a hundredth of a day's has come back. */
    CHECK(n >= LIMIT_ACCOUNT_AUDITED_PER_DAY && n <= LIMIT_ACCOUNT_AUDITED_PER_DAY * 51 / 50);
    CHECK_EQ_INT(why.per_day, LIMIT_ACCOUNT_AUDITED_PER_DAY);
    CHECK_EQ_INT(why.per_minute + why.at_once, 0);
    CHECK(why.retry_after_s >= 1 && why.retry_after_s <= 9);
    int64_t then_ms = now_ms + why.retry_after_s * 1000;
    CHECK(!account_limits_take(l, 1, ACCOUNT_TESTS, now_ms, &why));
    CHECK(account_limits_take(l, 1, ACCOUNT_FORWARDS, now_ms, &why)); /* are not audited */
    CHECK(account_limits_take(l, 1, ACCOUNT_READS, now_ms, &why));
    CHECK(account_limits_take(l, 2, ACCOUNT_WRITES, now_ms, &why)); /* another account */
    CHECK(account_limits_take(l, 1, ACCOUNT_TESTS, then_ms, &why));
    CHECK(!account_limits_take(l, 1, ACCOUNT_WRITES, then_ms, &why));
    account_limits_free(l);
}

static void reads_follow_the_keys(void)
{
    struct account_limits *l = account_limits_new(2);
    int n = 0;
    while (n < 100 && account_limits_take(l, 1, ACCOUNT_READS, 0, &why))
        n++;
    CHECK_EQ_INT(n, 2 * LIMIT_ACCOUNT_READS_OF_KEYS);
    CHECK_EQ_INT(why.retry_after_s, 6);
    account_limits_free(l);
}

int main(void)
{
    RUN(at_once);
    RUN(a_minute);
    RUN(a_day_of_audited_uses);
    RUN(reads_follow_the_keys);
    return check_done("account_limits");
}
