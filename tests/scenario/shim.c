/* Preloaded into a daemon under test: a disk that begins to fail, a wall clock that jumps, and a
 * process that is stopped in the middle of its work.
 *
 * SHIM_DISK   names a control file. While it is there, what it says fails on the store's journal:
 *             "sync" fdatasync and fsync with EIO, "write" every write with EIO, "full" every
 *             write with ENOSPC.
 * SHIM_CLOCK  names a file of one int64, seconds added to CLOCK_REALTIME; mapped, so that a
 *             jump is seen by the very next reading.
 * SHIM_STOP   names a control file: "port count". While it is there, the process stops itself
 *             (SIGSTOP) before the count-th connection to that TCP port, and the file goes.
 * SHIM_EARLY  a signal's number: the process gets it at the beginning of main, when it initialises
 *             libsodium.
 * Only CLOCK_REALTIME is moved, and what waits for a moment of it, which is <threads.h> alone: all
 * else waits on the monotonic clock, as in real life. */
#undef _FILE_OFFSET_BITS /* or pwrite and pwrite64 would be one name here */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* --- the disk ------------------------------------------------------------------------------- */

static int is_journal(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = 0;
    return strstr(path, "journal") != NULL;
}

/* The errno to fail with, or 0. */
static int failure(int fd, int syncs)
{
    const char *control = getenv("SHIM_DISK");
    if (!control || access(control, F_OK) != 0 || !is_journal(fd))
        return 0;
    char word[16] = "";
    int c = open(control, O_RDONLY | O_CLOEXEC);
    if (c < 0 || REAL(read)(c, word, sizeof word - 1) < 0)
        word[0] = 0;
    if (c >= 0)
        close(c);
    if (strcmp(word, "sync") == 0)
        return syncs ? EIO : 0;
    if (strcmp(word, "write") == 0)
        return syncs ? 0 : EIO;
    return !syncs && strcmp(word, "full") == 0 ? ENOSPC : 0;
}

#define FAIL_IF(fd, syncs)                                                                         \
    do {                                                                                           \
        int error = failure(fd, syncs);                                                            \
        if (error) {                                                                               \
            errno = error;                                                                         \
            return -1;                                                                             \
        }                                                                                          \
    } while (0)

int fdatasync(int fd)
{
    FAIL_IF(fd, 1);
    return REAL(fdatasync)(fd);
}

int fsync(int fd)
{
    FAIL_IF(fd, 1);
    return REAL(fsync)(fd);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t offset)
{
    FAIL_IF(fd, 0);
    return REAL(pwrite)(fd, from, n, offset);
}

ssize_t pwrite64(int fd, const void *from, size_t n, off64_t offset)
{
    FAIL_IF(fd, 0);
    return REAL(pwrite64)(fd, from, n, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    FAIL_IF(fd, 0);
    return REAL(pwritev)(fd, parts, count, offset);
}

/* --- the clock ------------------------------------------------------------------------------ */

static int64_t added_s(void)
{
    static const int64_t *mapped;
    if (!mapped) {
        static const int64_t none = 0;
        const char *path = getenv("SHIM_CLOCK");
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *mapped, PROT_READ, MAP_SHARED, fd, 0);
        if (fd >= 0)
            close(fd);
        mapped = p == MAP_FAILED ? &none : p;
    }
    return __atomic_load_n(mapped, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int result = REAL(clock_gettime)(clock, t);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        t->tv_sec += added_s();
    return result;
}

time_t time(time_t *to)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (to)
        *to = t.tv_sec;
    return t.tv_sec;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec t;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    tv->tv_sec = t.tv_sec;
    tv->tv_usec = t.tv_nsec / 1000;
    return 0;
}

int timespec_get(struct timespec *t, int base)
{
    return clock_gettime(CLOCK_REALTIME, t) == 0 ? base : 0;
}

/* As the kernel does it: over once the clock has passed the moment, however the clock is moved
 * meanwhile. It looks every SLICE_NS, on the clock that is not moved. */
#define SLICE_NS 20000000
int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
                  const struct timespec *restrict until)
{
    struct timespec now, slice;
    int result = thrd_timedout;
    do {
        clock_gettime(CLOCK_REALTIME, &now);
        int64_t left = until->tv_sec - now.tv_sec, left_ns = SLICE_NS;
        if (left < 2)
            left_ns = left * 1000000000 + until->tv_nsec - now.tv_nsec;
        if (left_ns <= 0)
            return thrd_timedout;
        REAL(clock_gettime)(CLOCK_REALTIME, &slice);
        slice.tv_nsec += left_ns < SLICE_NS ? left_ns : SLICE_NS;
        slice.tv_sec += slice.tv_nsec / 1000000000;
        slice.tv_nsec %= 1000000000;
        result = REAL(cnd_timedwait)(condition, mutex, &slice);
    } while (result == thrd_timedout);
    return result;
}

/* --- a stop --------------------------------------------------------------------------------- */

static void stop_before(int port)
{
    static int connections;
    const char *control = getenv("SHIM_STOP");
    FILE *f = control ? fopen(control, "re") : NULL;
    int at = 0, count = 0;
    if (!f)
        return;
    if (fscanf(f, "%d %d", &at, &count) == 2 && at == port && ++connections == count) {
        unlink(control);
        raise(SIGSTOP); /* of this thread: it goes no step further, and all others stop with it */
    }
    fclose(f);
}

int connect(int fd, const struct sockaddr *to, socklen_t n)
{
    if (to->sa_family == AF_INET)
        stop_before(ntohs(((const struct sockaddr_in *)to)->sin_port));
    return REAL(connect)(fd, to, n);
}

/* --- a signal at once ------------------------------------------------------------------------- */

int sodium_init(void);

int sodium_init(void)
{
    const char *number = getenv("SHIM_EARLY");
    if (number)
        raise(atoi(number));
    return REAL(sodium_init)();
}
