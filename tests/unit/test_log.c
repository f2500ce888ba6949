/* Whoever reads the log may stop reading: nothing may wait for them, and what is lost is told. */
#include "check.h"

#include "base/log.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static int reader, real_stderr;

static void begin(void)
{
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    real_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    reader = ends[0];
}

static void end(void)
{
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    close(reader);
}

static void read_all(char *text, size_t room)
{
    CHECK(fcntl(reader, F_SETFL, O_NONBLOCK) == 0);
    size_t n = 0;
    ssize_t more;
    while (n < room - 1 && (more = read(reader, text + n, room - 1 - n)) > 0)
        n += (size_t)more;
    text[n] = 0;
}

static void a_full_pipe_keeps_nobody(void)
{
    static char text[1 << 20], long_text[30000];
    memset(long_text, 'x', sizeof long_text - 1);
    begin();
    for (int i = 0; i < 2000; i++) /* some 100 bytes each: more than a pipe holds */
        log_info("something_happened", LOG_INT("number", i),
                 LOG_C("text", "a sentence that makes the line a little longer than it was"));
    log_info("long_line", LOG_C("text", long_text)); /* longer than what a pipe takes whole */
    read_all(text, sizeof text);
    CHECK(strstr(text, "number=1 ") != NULL);
    CHECK(strstr(text, "log_lines_lost") == NULL);
    log_info("afterwards");
    read_all(text, sizeof text);
    end();
    const char *lost = strstr(text, "log_lines_lost count=");
    CHECK(lost != NULL && strstr(lost, "afterwards\n") != NULL);
}

static void a_long_line_is_cut(void)
{
    static char text[1 << 20], long_text[30000];
    memset(long_text, 'x', sizeof long_text - 1);
    begin();
    for (int i = 0; i < 40; i++)
        log_info("long_line", LOG_C("text", long_text));
    read_all(text, sizeof text);
    end();
    CHECK(strlen(text) > 0);
    for (char *line = text, *next; *line; line = next + 1) {
        next = strchr(line, '\n');
        REQUIRE(next != NULL && next - line < PIPE_BUF);
    }
}

static void a_line_of_json_that_is_cut_is_json(void)
{
    static char text[1 << 20], long_text[30000];
    memset(long_text, '\n', sizeof long_text - 1);
    begin();
    log_set(LOG_INFO, true);
    log_info("long_line", LOG_C("text", long_text), LOG_INT("number", 7), LOG_C("why", "y"));
    log_set(LOG_INFO, false);
    read_all(text, sizeof text);
    end();
    CHECK(strlen(text) < PIPE_BUF);
    CHECK(strstr(text, "\\u000a\",\"number\":7,\"why\":\"\"}\n") != NULL);
}

static void nobody_reads_any_more(void)
{
    begin();
    close(reader);
    reader = -1;
    log_info("into_nothing");
    end();
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    RUN(a_full_pipe_keeps_nobody);
    RUN(a_long_line_is_cut);
    RUN(a_line_of_json_that_is_cut_is_json);
    RUN(nobody_reads_any_more);
    return check_done("log");
}
