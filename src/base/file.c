/* O_NONBLOCK: without it, opening a named pipe waits for a writer. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART_BYTES 4096

/* The kind of a file that is not a regular one. */
static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFIFO: return "a named pipe";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    case S_IFDIR: return "a directory";
    default: return "of an unknown kind";
    }
}

static char *not_regular(const char *path, mode_t mode)
{
    return xprintf("%s: it is %s; it must be a regular file", path, kind_of(mode));
}

/* Returns the descriptor; < 0: it cannot be read. */
static int open_regular(const char *path, struct stat *ret_at, char **ret_why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int error = errno;
    /* a socket is not opened at all */
    bool is_known = fd >= 0 ? fstat(fd, ret_at) == 0 : error == ENXIO && stat(path, ret_at) == 0;
    if (is_known && fd >= 0 && S_ISREG(ret_at->st_mode))
        return fd;
    *ret_why = is_known ? not_regular(path, ret_at->st_mode)
                        : xprintf("%s: %s", path, strerror(fd >= 0 ? errno : error));
    if (fd >= 0)
        close(fd);
    return -1;
}

bool file_read(const char *path, size_t bytes_most, struct buf *ret, mode_t *ret_mode,
               char **ret_why)
{
    struct stat at;
    int fd = open_regular(path, &at, ret_why);
    if (fd < 0)
        return false;
    struct buf text = {0};
    size_t likely = (uint64_t)at.st_size < bytes_most ? (size_t)at.st_size : bytes_most;
    buf_reserve(&text, likely + 2 * PART_BYTES);
    ssize_t n;
    do {
        n = read(fd, buf_reserve(&text, PART_BYTES), PART_BYTES);
        text.n += n > 0 ? (size_t)n : 0;
    } while (text.n <= bytes_most && (n > 0 || (n < 0 && errno == EINTR)));
    int error = errno;
    close(fd);
    if (n >= 0 && text.n <= bytes_most) {
        *ret = text;
        if (ret_mode)
            *ret_mode = at.st_mode;
        return true;
    }
    *ret_why = n < 0 ? xprintf("%s: %s", path, strerror(error))
                     : xprintf("%s: the file is too large, at most %zu bytes", path, bytes_most);
    explicit_bzero(text.p, text.capacity);
    buf_free(&text);
    return false;
}
