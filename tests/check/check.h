/*
 * Checks for unit tests: no framework, one program per tests/unit/test_NAME.c.
 *
 *   static void parses_exponents(void) { CHECK_EQ_INT(parse("1e2"), 100); }
 *
 *   int main(void)
 *   {
 *       RUN(parses_exponents);
 *       return check_done("money");
 *   }
 *
 * A failed check prints file:line and both values; the test goes on, except after REQUIRE. A test
 * passes when all of its checks held and there was at least one: a test that checks nothing fails.
 * check_done() prints "NAME: N passed, M failed" (tests, not checks), which `./dev test` adds up.
 *
 * Checks may be called from the test's own thread only.
 */
#pragma once

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Shown for the checks' own test. */
extern struct check_state {
    int tests_passed, tests_failed;
    int checks, failures; /* of the running test */
} check_state;

/* True when the condition holds; each of the macros below is worth this value. */
#define CHECK(cond) check_that((cond), #cond, __FILE__, __LINE__)

/* Leaves the test at once: for what makes the rest of it meaningless. */
#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!CHECK(cond))                                                                          \
            return;                                                                                \
    } while (0)

#define CHECK_EQ_INT(got, want) check_int((got), (want), #got, __FILE__, __LINE__)
#define CHECK_EQ_UINT(got, want) check_uint((got), (want), #got, __FILE__, __LINE__)

/* got: anything with .p and .n (struct str, struct buf); want: a C string. */
#define CHECK_STR(got, want)                                                                       \
    __extension__({                                                                                \
        __auto_type check_got_ = (got);                                                            \
        const char *check_want_ = (want);                                                          \
        check_bytes(check_got_.p, check_got_.n, check_want_, strlen(check_want_), #got, __FILE__,  \
                    __LINE__);                                                                     \
    })

/* Both NUL-terminated; got may be NULL, which equals nothing. */
#define CHECK_CSTR(got, want)                                                                      \
    __extension__({                                                                                \
        const char *check_got_ = (got), *check_want_ = (want);                                     \
        check_bytes(check_got_, check_got_ != NULL ? strlen(check_got_) : 0, check_want_,          \
                    strlen(check_want_), #got, __FILE__, __LINE__);                                \
    })

#define CHECK_BYTES(got, got_bytes, want, want_bytes)                                              \
    check_bytes((got), (got_bytes), (want), (want_bytes), #got, __FILE__, __LINE__)

/* The statement must end the process by abort(): an ASSERT that has to fire. */
#define CHECK_ABORTS(statement)                                                                    \
    __extension__({                                                                                \
        fflush(NULL);                                                                              \
        pid_t check_child_ = fork();                                                               \
        if (check_child_ == 0) {                                                                   \
            if (freopen("/dev/null", "w", stderr) == NULL)                                         \
                _exit(1);                                                                          \
            statement;                                                                             \
            _exit(0);                                                                              \
        }                                                                                          \
        check_aborted(check_child_, #statement, __FILE__, __LINE__);                               \
    })

#define RUN(test) check_run(test, #test)

bool check_that(bool held, const char *text, const char *file, int line);

bool check_int(intmax_t got, intmax_t want, const char *text, const char *file, int line);

bool check_uint(uintmax_t got, uintmax_t want, const char *text, const char *file, int line);

bool check_bytes(const void *got, size_t got_bytes, const void *want, size_t want_bytes,
                 const char *text, const char *file, int line);

bool check_aborted(pid_t child, const char *text, const char *file, int line);

void check_run(void (*test)(void), const char *name);

/* The value for main() to return. No test at all is a failure too. */
int check_done(const char *name);
