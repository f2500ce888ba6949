/* Counting checks and printing what differs. */
#include "check.h"

struct check_state check_state;

static bool check_count(bool held, const char *file, int line)
{
    check_state.checks++;
    if (!held) {
        check_state.failures++;
        printf("%s:%d: ", file, line);
    }
    return held;
}

bool check_that(bool held, const char *text, const char *file, int line)
{
    if (!check_count(held, file, line))
        printf("does not hold: %s\n", text);
    return held;
}

bool check_int(intmax_t got, intmax_t want, const char *text, const char *file, int line)
{
    if (check_count(got == want, file, line))
        return true;
    printf("%s is %" PRIdMAX ", not %" PRIdMAX "\n", text, got, want);
    return false;
}

bool check_uint(uintmax_t got, uintmax_t want, const char *text, const char *file, int line)
{
    if (check_count(got == want, file, line))
        return true;
    printf("%s is %" PRIuMAX ", not %" PRIuMAX "\n", text, got, want);
    return false;
}

static void check_print_bytes(const void *p, size_t n)
{
    const unsigned char *bytes = p;
    putchar('"');
    for (size_t i = 0; i < n && i < 2000; i++) {
        if (bytes[i] >= 0x20 && bytes[i] < 0x7f)
            putchar(bytes[i]);
        else
            printf("\\x%02x", bytes[i]);
    }
    printf("\" (%zu bytes)", n);
}

bool check_bytes(const void *got, size_t got_bytes, const void *want, size_t want_bytes,
                 const char *text, const char *file, int line)
{
    bool same = got != NULL && got_bytes == want_bytes &&
                (want_bytes == 0 || memcmp(got, want, want_bytes) == 0);
    if (check_count(same, file, line))
        return true;
    printf("%s is\n    ", text);
    if (got == NULL)
        printf("NULL");
    else
        check_print_bytes(got, got_bytes);
    printf("\n  not\n    ");
    check_print_bytes(want, want_bytes);
    printf("\n");
    return false;
}

bool check_aborted(pid_t child, const char *text, const char *file, int line)
{
    int status = 0;
    bool waited = child > 0 && waitpid(child, &status, 0) == child;
    bool aborted = waited && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    if (!check_count(aborted, file, line))
        printf("does not abort: %s\n", text);
    return aborted;
}

void check_run(void (*test)(void), const char *name)
{
    check_state.checks = 0;
    check_state.failures = 0;
    test();
    if (check_state.checks == 0)
        printf("%s: checks nothing\n", name);
    if (check_state.checks > 0 && check_state.failures == 0) {
        check_state.tests_passed++;
    } else {
        check_state.tests_failed++;
        printf("FAILED %s\n", name);
    }
    fflush(stdout);
}

int check_done(const char *name)
{
    printf("%s: %d passed, %d failed\n", name, check_state.tests_passed, check_state.tests_failed);
    return check_state.tests_failed == 0 && check_state.tests_passed > 0 ? 0 : 1;
}
