/*
 * Whether the process that a holder names is gone: only where that is certain.
 */
#include "check.h"
#include "store/nodes/process_identity.h"

#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static char own[PROCESS_IDENTITY_BYTES];

/* In a process of its own, with another /proc and another user; -1: it may not. */
static int asked_where_others_are_hidden(void)
{
    pid_t child = fork();
    if (child == 0) {
        bool hidden = unshare(CLONE_NEWNS) == 0 &&
                      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                      mount("proc", "/proc", "proc", 0, "hidepid=2") == 0 &&
                      setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0;
        _exit(hidden ? process_is_gone(str_of(own)) : 2);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status) == 2 ? -1 : WEXITSTATUS(status);
}

static void whoever_runs_is_not_gone(void)
{
    CHECK(!process_is_gone(str_of(own)));
    int gone = asked_where_others_are_hidden();
    if (gone < 0)
        puts("not as root: what /proc hides is not tested");
    CHECK(gone <= 0);
}

static void whoever_has_ended_is_gone(void)
{
    char holder[PROCESS_IDENTITY_BYTES] = "";
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        process_identity(holder);
        _exit(write(ends[1], holder, sizeof holder) != (ssize_t)sizeof holder);
    }
    int status;
    REQUIRE(read(ends[0], holder, sizeof holder) == (ssize_t)sizeof holder);
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    CHECK(process_is_gone(str_of(holder)));
    close(ends[0]);
    close(ends[1]);
}

/* The same number, another start: the one that it names is gone. */
static void a_number_may_be_anothers(void)
{
    char other[PROCESS_IDENTITY_BYTES];
    char *start = strrchr(own, ' ');
    REQUIRE(start != NULL);
    snprintf(other, sizeof other, "%.*s 1", (int)(start - own), own);
    CHECK(process_is_gone(str_of(other)));
}

static void of_other_machines_nothing_is_known(void)
{
    char other[PROCESS_IDENTITY_BYTES];
    snprintf(other, sizeof other, "%s", own);
    other[0] = other[0] == 'a' ? 'b' : 'a';
    CHECK(!process_is_gone(str_of(other)));
    CHECK(!process_is_gone(STR("")));
    CHECK(!process_is_gone(STR("shards")));
}

int main(void)
{
    process_identity(own);
    RUN(whoever_runs_is_not_gone);
    RUN(whoever_has_ended_is_gone);
    RUN(a_number_may_be_anothers);
    RUN(of_other_machines_nothing_is_known);
    return check_done("process_identity");
}
