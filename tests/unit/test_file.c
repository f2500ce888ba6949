/* Files of settings: a regular one is read whole, and nothing else is waited for. */
#include "base/file.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char directory[] = "/tmp/test_file.XXXXXX";

static char *write_file(const char *name, size_t bytes, mode_t mode)
{
    char *path = xprintf("%s/%s", directory, name);
    FILE *f = fopen(path, "we");
    ASSERT(f);
    for (size_t i = 0; i < bytes; i++)
        ASSERT(fputc('a' + (int)(i % 26), f) != EOF);
    ASSERT(fclose(f) == 0 && chmod(path, mode) == 0);
    return path;
}

static void a_regular_file_is_read_whole(void)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 20000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char *path = write_file("regular", sizes[i], 0640), *why = NULL;
        struct buf text = {0};
        mode_t mode = 0;
        CHECK(file_read(path, sizes[i], &text, &mode, &why));
        CHECK(text.n == sizes[i]);
        CHECK_EQ_INT(mode & 0777, 0640);
        for (size_t k = 0; k < text.n; k++)
            REQUIRE(text.p[k] == 'a' + (int)(k % 26));
        buf_free(&text);
        if (sizes[i] > 0) {
            CHECK(!file_read(path, sizes[i] - 1, &text, NULL, &why));
            CHECK(why && strstr(why, ": the file is too large, at most "));
            CHECK(!text.p);
        }
        REQUIRE(unlink(path) == 0);
        free(path);
        free(why);
    }
}

static void check_refused(const char *path, const char *reason)
{
    struct buf text = {0};
    char *why = NULL, *wanted = xprintf("%s: %s", path, reason);
    CHECK(!file_read(path, 100, &text, NULL, &why));
    CHECK_CSTR(why, wanted);
    CHECK(!text.p);
    free(why);
    free(wanted);
}

static void others_are_named_and_not_waited_for(void)
{
    char *pipe = xprintf("%s/pipe", directory), *none = xprintf("%s/none", directory);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s/s", directory);
    REQUIRE(mkfifo(pipe, 0600) == 0);
    REQUIRE(s >= 0 && bind(s, (struct sockaddr *)&at, sizeof at) == 0);
    check_refused(pipe, "it is a named pipe; it must be a regular file");
    check_refused(at.sun_path, "it is a socket; it must be a regular file");
    check_refused("/dev/zero", "it is a device; it must be a regular file");
    check_refused(directory, "it is a directory; it must be a regular file");
    check_refused(none, "No such file or directory");
    close(s);
    REQUIRE(unlink(pipe) == 0 && unlink(at.sun_path) == 0);
    free(pipe);
    free(none);
}

int main(void)
{
    ASSERT(mkdtemp(directory));
    RUN(a_regular_file_is_read_whole);
    RUN(others_are_named_and_not_waited_for);
    ASSERT(rmdir(directory) == 0);
    return check_done("file");
}
