/*
 * The checks themselves: each must fail where it should, or every other test is worth nothing.
 */
#include "check.h"

#include <stdlib.h>

struct text {
    const char *p;
    size_t n;
};

static void checks_nothing(void)
{
}

/* The failures of `test`, or -1 when it was counted as passed; its output is thrown away. */
static int failures_of(void (*test)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL)
            _exit(100);
        check_state.tests_failed = 0;
        RUN(test);
        _exit(check_state.tests_failed == 1 ? check_state.failures : 101);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) >= 100)
        return -1;
    return WEXITSTATUS(status);
}

static void fails_five_times(void)
{
    CHECK(1 == 2);
    CHECK_EQ_INT(-1, 1);
    CHECK_EQ_UINT(UINT64_MAX, 1);
    CHECK_STR(((struct text){"ab", 1}), "ab");
    CHECK_CSTR(NULL, "");
}

static void stops_at_require(void)
{
    REQUIRE(1 == 2);
    CHECK(1 == 2);
}

static void does_not_abort(void)
{
    CHECK_ABORTS((void)0);
}

static void failing_checks_fail(void)
{
    CHECK_EQ_INT(failures_of(fails_five_times), 5);
    CHECK_EQ_INT(failures_of(stops_at_require), 1);
    CHECK_EQ_INT(failures_of(does_not_abort), 1);
    CHECK_EQ_INT(failures_of(checks_nothing), 0);
}

static void holding_checks_pass(void)
{
    CHECK(1 == 1);
    CHECK_EQ_INT(INT64_MIN, INT64_MIN);
    CHECK_EQ_UINT(UINT64_MAX, UINT64_MAX);
    CHECK_STR(((struct text){"abc", 2}), "ab");
    CHECK_CSTR("", "");
    CHECK_BYTES("\0a", 2, "\0a", 2);
    CHECK_ABORTS(abort());
}

int main(void)
{
    RUN(failing_checks_fail);
    RUN(holding_checks_pass);
    return check_done("check");
}
