/* Preloaded into a daemon under test: writes down what it would take to undo each change of a file
 * that no sync has made durable, so that power.py can take back what a power cut would have.
 *
 * POWER_ROOT   the folder whose files and names are watched, a real path
 * POWER_LOG    the folder, beside it on the same file system, where `log` is written, and where
 *              files that were unlinked or replaced keep a second name
 *
 * A record is made before its change and under one lock with it, so the log has the order of the
 * changes, and a process that is killed in between has made no change without a record. A sync is
 * recorded and not made: the disk is simulated, and the machine's own is spared. The WAL index
 * (-shm) is memory that processes share, and not watched. */
#undef _FILE_OFFSET_BITS /* or pwrite and pwrite64 would be one name here */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define ALIGNMENT 4096 /* of O_DIRECT */

enum kind { WRITE = 1, TRUNCATE, SYNC, SYNC_NAMES, CREATE, RENAME, UNLINK, MAKE_DIRECTORY };

/* power.py reads it: "<IIQqqq", then `bytes` bytes. */
struct record {
    uint32_t kind, bytes;
    uint64_t inode;
    int64_t offset, length; /* WRITE; TRUNCATE: the new size, 0 */
    int64_t size;           /* of the file, before */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static char *old; /* what a write replaces: aligned */
static size_t old_bytes;

static void fail(const char *what)
{
    fprintf(stderr, "power.so: %s: %s\n", what, strerror(errno));
    _exit(70);
}

/* The folder, without a slash at its end; NULL: nothing is watched. */
static const char *root(void)
{
    static const char *path;
    if (!path && (path = getenv("POWER_ROOT")) != NULL) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s/log", getenv("POWER_LOG"));
        log_fd = REAL(openat64)(AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log_fd < 0)
            fail(name);
    }
    return path;
}

static int is_watched(const char *path)
{
    size_t n = root() ? strlen(root()) : 0, end = strlen(path);
    if (n == 0 || strncmp(path, root(), n) != 0 || (path[n] != '/' && path[n] != 0))
        return 0;
    return end < 4 || strcmp(path + end - 4, "-shm") != 0;
}

/* Whether the descriptor is of a watched file or folder; its path. */
static int is_watched_fd(int fd, char *path)
{
    char link[64];
    if (!root())
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0)
        return 0;
    path[n] = 0;
    return is_watched(path);
}

/* The full path of a name that is looked up in the folder `at`; NULL: nobody watches it. */
static const char *path_at(int at, const char *name, char *path)
{
    if (at == AT_FDCWD || name[0] == '/')
        return is_watched(name) ? name : NULL;
    if (!is_watched_fd(at, path))
        return NULL;
    size_t n = strlen(path);
    if (strcmp(name, ".") != 0)
        snprintf(path + n, PATH_MAX - n, "/%s", name);
    return is_watched(path) ? path : NULL;
}

static void put(struct record r, const void *bytes)
{
    struct iovec parts[] = {{&r, sizeof r}, {(void *)bytes, r.bytes}};
    if (writev(log_fd, parts, 2) != (ssize_t)(sizeof r + r.bytes))
        fail("log");
}

static void put_name(enum kind kind, uint64_t inode, const char *path, const char *second)
{
    char text[2 * PATH_MAX];
    int n = snprintf(text, sizeof text, "%s%c%s", path, 0, second ? second : "");
    put((struct record){.kind = kind, .inode = inode, .bytes = (uint32_t)n}, text);
}

/* A second name for a file that loses its own, in POWER_LOG. */
static void keep(const char *path)
{
    struct stat st;
    char kept[PATH_MAX];
    if (stat(path, &st) != 0)
        return;
    snprintf(kept, sizeof kept, "%s/%llu", getenv("POWER_LOG"), (unsigned long long)st.st_ino);
    if (link(path, kept) != 0 && errno != EEXIST)
        fail(kept);
}

static uint64_t inode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* --- bytes ---------------------------------------------------------------------------------- */

/* With the lock held: what [offset, offset + n) holds now, of a file of that size. */
static size_t read_old(int fd, size_t n, int64_t offset, int64_t size)
{
    if (offset >= size)
        return 0;
    if (n > old_bytes) {
        free(old);
        old_bytes = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (posix_memalign((void **)&old, ALIGNMENT, old_bytes) != 0)
            fail("memory");
    }
    ssize_t got = pread64(fd, old, n, offset);
    if (got < 0)
        fail("read");
    return (size_t)got;
}

static ssize_t write_at(int fd, const void *from, size_t n, int64_t offset)
{
    char path[PATH_MAX];
    if (!is_watched_fd(fd, path))
        return REAL(pwrite64)(fd, from, n, offset);
    pthread_mutex_lock(&lock);
    struct stat st;
    if (fstat(fd, &st) != 0)
        fail("stat");
    size_t had = read_old(fd, n, offset, st.st_size);
    put((struct record){WRITE, (uint32_t)had, st.st_ino, offset, (int64_t)n, st.st_size}, old);
    ssize_t result = REAL(pwrite64)(fd, from, n, offset);
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t offset)
{
    return write_at(fd, from, n, offset);
}

ssize_t pwrite64(int fd, const void *from, size_t n, off64_t offset)
{
    return write_at(fd, from, n, offset);
}

static int set_size(int fd, int64_t size)
{
    char path[PATH_MAX];
    if (!is_watched_fd(fd, path))
        return REAL(ftruncate64)(fd, size);
    pthread_mutex_lock(&lock);
    struct stat st;
    if (fstat(fd, &st) != 0)
        fail("stat");
    size_t n = st.st_size > size ? (size_t)(st.st_size - size) : 0;
    size_t had = n ? read_old(fd, n, size, st.st_size) : 0;
    put((struct record){TRUNCATE, (uint32_t)had, st.st_ino, size, 0, st.st_size}, old);
    int result = REAL(ftruncate64)(fd, size);
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate(int fd, off_t size)
{
    return set_size(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    return set_size(fd, size);
}

/* 0, or 1 where the descriptor is not watched. */
static int note_sync(int fd)
{
    char path[PATH_MAX];
    if (!is_watched_fd(fd, path))
        return 1;
    struct stat st;
    pthread_mutex_lock(&lock);
    if (fstat(fd, &st) != 0)
        fail("stat");
    if (S_ISDIR(st.st_mode))
        put_name(SYNC_NAMES, 0, path, NULL);
    else
        put((struct record){.kind = SYNC, .inode = st.st_ino}, NULL);
    pthread_mutex_unlock(&lock);
    return 0;
}

int fdatasync(int fd)
{
    return note_sync(fd) ? REAL(fdatasync)(fd) : 0;
}

int fsync(int fd)
{
    return note_sync(fd) ? REAL(fsync)(fd) : 0;
}

/* --- names ---------------------------------------------------------------------------------- */

static int open_noting(int at, const char *name, int flags, mode_t mode)
{
    char buffer[PATH_MAX];
    const char *path = flags & O_CREAT ? path_at(at, name, buffer) : NULL;
    if (!path)
        return REAL(openat64)(at, name, flags, mode);
    pthread_mutex_lock(&lock);
    int is_new = access(path, F_OK) != 0;
    int fd = REAL(openat64)(at, name, flags, mode);
    int error = errno;
    if (fd >= 0 && is_new)
        put_name(CREATE, inode_of(path), path, NULL);
    pthread_mutex_unlock(&lock);
    errno = error;
    return fd;
}

static mode_t mode_of(int flags, va_list rest)
{
    return flags & O_CREAT ? va_arg(rest, mode_t) : 0;
}

#define TAKE_MODE(flags)                                                                           \
    va_list rest;                                                                                  \
    va_start(rest, flags);                                                                         \
    mode_t mode = mode_of(flags, rest);                                                            \
    va_end(rest)

int open(const char *path, int flags, ...)
{
    TAKE_MODE(flags);
    return open_noting(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    TAKE_MODE(flags);
    return open_noting(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *name, int flags, ...)
{
    TAKE_MODE(flags);
    return open_noting(at, name, flags, mode);
}

int openat64(int at, const char *name, int flags, ...)
{
    TAKE_MODE(flags);
    return open_noting(at, name, flags, mode);
}

int renameat(int from_at, const char *from_name, int to_at, const char *to_name)
{
    char from_buffer[PATH_MAX], to_buffer[PATH_MAX];
    const char *from = path_at(from_at, from_name, from_buffer);
    const char *to = path_at(to_at, to_name, to_buffer);
    if (!from || !to)
        return REAL(renameat)(from_at, from_name, to_at, to_name);
    pthread_mutex_lock(&lock);
    keep(to);
    put_name(RENAME, inode_of(from), from, to);
    int result = REAL(renameat)(from_at, from_name, to_at, to_name);
    pthread_mutex_unlock(&lock);
    return result;
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int at, const char *name, int flags)
{
    char buffer[PATH_MAX];
    const char *path = path_at(at, name, buffer);
    if (!path || flags != 0 || access(path, F_OK) != 0)
        return REAL(unlinkat)(at, name, flags);
    pthread_mutex_lock(&lock);
    keep(path);
    put_name(UNLINK, inode_of(path), path, NULL);
    int result = REAL(unlinkat)(at, name, flags);
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int mkdirat(int at, const char *name, mode_t mode)
{
    char buffer[PATH_MAX];
    const char *path = path_at(at, name, buffer);
    if (!path)
        return REAL(mkdirat)(at, name, mode);
    pthread_mutex_lock(&lock);
    int result = REAL(mkdirat)(at, name, mode);
    int error = errno;
    if (result == 0)
        put_name(MAKE_DIRECTORY, 0, path, NULL);
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}
