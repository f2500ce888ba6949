/* Loops put lines into a bounded buffer; a thread of its own writes them. So a sleeping reader or a
 * slow or full disk delays no loop: lines are lost, and when writing works again the daemon's log
 * reports how many. A write has whole lines of at most PIPE_BUF bytes together, which a ready pipe
 * takes at once and never mixes with others' lines. */
#include "http/access_log.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/worker.h"
#include "domain/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define ACCESS_LOG_MAGIC 0xACCE5501u
#define LOOK_EVERY_MS 100 /* while nobody reads: checks whether to stop, or to use another file */

/* Of all access logs of this process: a reload may open another one. */
static atomic_llong lines_lost;

struct access_log {
    uint32_t magic;
    char *path;
    atomic_bool probes;
    struct worker *worker;
    struct task flush;
    int fd; /* the worker's */
    struct buf writing;
    size_t written;
    bool failing, torn; /* torn: the last write ended within a line */
    long lost_told;     /* how many the daemon's log has reported */
    pthread_mutex_t lock;
    /* Under the lock: */
    struct buf waiting;
    long lost;
    int next_fd;    /* the file to continue with; -1: none */
    bool scheduled; /* `flush` is posted, or runs */
    bool stopping;
};

/* ---- what is written */

static bool is_stderr(const char *path)
{
    return strcmp(path, "-") == 0;
}

static int open_at(const char *path, char **ret_why)
{
    /* Not blocking, so that nothing waits for the reader of a named pipe. */
    int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = is_stderr(path) ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, flags, 0600);
    if (fd < 0)
        *ret_why = xprintf("access-log: %s: %s", path, strerror(errno));
    return fd;
}

static void print_text(struct buf *to, const char *name, struct str text)
{
    buf_printf(to, ",\"%s\":\"", name);
    log_add_escaped(to, text);
    buf_add_char(to, '"');
}

static void print_entry(struct buf *to, const struct access_entry *e)
{
    buf_add_c(to, "{\"time\":\"");
    clock_print(to, e->wall_ms);
    buf_add_c(to, "\",\"client\":\"");
    address_print(to, &e->client);
    buf_add_char(to, '"');
    print_text(to, "request_id", e->request_id);
    print_text(to, "caller", e->caller);
    print_text(to, "method", e->method);
    print_text(to, "path", e->path); /* the last text, because it may be cut */
    buf_printf(
        to, ",\"status\":%d,\"request_bytes\":%lld,\"response_bytes\":%lld,\"duration_ms\":%lld}\n",
        e->status, (long long)e->request_bytes, (long long)e->response_bytes,
        (long long)e->duration_ms);
    ASSERT(to->n <= PIPE_BUF);
}

/* ---- the worker */

static long count_lines(const char *p, size_t n)
{
    long count = 0;
    for (size_t i = 0; i < n; i++)
        count += p[i] == '\n';
    return count;
}

/* The size of the whole lines that a pipe takes at once. */
static size_t next_piece(const struct access_log *log)
{
    const char *from = log->writing.p + log->written;
    size_t n = log->writing.n - log->written;
    if (n <= PIPE_BUF)
        return n;
    const char *end = memrchr(from, '\n', PIPE_BUF);
    ASSERT(end);
    return (size_t)(end - from) + 1;
}

/* Counts the lines of the next n bytes after those written as lost. */
static void lose(struct access_log *log, size_t put, size_t n)
{
    long count = count_lines(log->writing.p + log->written + put, n - put);
    pthread_mutex_lock(&log->lock);
    log->lost += count;
    pthread_mutex_unlock(&log->lock);
    atomic_fetch_add(&lines_lost, count);
}

int64_t access_log_lines_lost(void)
{
    return atomic_load(&lines_lost);
}

static void note_failure(struct access_log *log, int error)
{
    if (!log->failing)
        log_error("access_log_failed", LOG_C("file", log->path), LOG_C("reason", strerror(error)));
    log->failing = true;
}

static void note_success(struct access_log *log, long lost)
{
    log->failing = false;
    if (lost > log->lost_told)
        log_warning("access_log_lines_lost", LOG_INT("count", lost - log->lost_told));
    log->lost_told = lost;
}

/* write(), or EAGAIN if it would wait. Standard error is not made non-blocking, because other
 * processes share it. So no other thread of this process may write between the check and the
 * write. */
static ssize_t put_ready(const struct access_log *log, const char *p, size_t n)
{
    struct pollfd out = {.fd = log->fd, .events = POLLOUT};
    ssize_t put = -1;
    if (is_stderr(log->path))
        log_hold();
    int error = EAGAIN;
    if (poll(&out, 1, 0) == 1) {
        put = write(log->fd, p, n);
        error = errno;
    }
    if (is_stderr(log->path))
        log_release();
    errno = error;
    return put;
}

/* False: it takes nothing now, so wait for it. */
static bool write_piece(struct access_log *log, long lost)
{
    struct pollfd out = {.fd = log->fd, .events = POLLOUT};
    if (poll(&out, 1, LOOK_EVERY_MS) != 1)
        return false;
    size_t n = next_piece(log);
    log->torn = log->torn && put_ready(log, "\n", 1) != 1;
    ssize_t put = log->torn ? -1 : put_ready(log, log->writing.p + log->written, n);
    if (put < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    log->torn = log->torn || (put > 0 && put < (ssize_t)n);
    if (put == (ssize_t)n) {
        note_success(log, lost);
    } else {
        lose(log, put > 0 ? (size_t)put : 0, n);
        note_failure(log, put < 0 ? errno : ENOSPC);
    }
    log->written += n;
    return true;
}

/* Under the lock. False: nothing is left to write. */
static bool take(struct access_log *log)
{
    if (log->next_fd >= 0) {
        close(log->fd);
        log->fd = log->next_fd;
        log->next_fd = -1;
        log->failing = log->torn = false;
    }
    if (log->written == log->writing.n) {
        struct buf empty = log->writing;
        buf_clear(&empty);
        log->writing = log->waiting;
        log->waiting = empty;
        log->written = 0;
    }
    log->scheduled = log->writing.n > 0;
    return log->scheduled;
}

static void flush(struct task *task)
{
    struct access_log *log = CONTAINER_OF(task, struct access_log, flush);
    CHECK_MAGIC(log, ACCESS_LOG_MAGIC);
    for (;;) {
        pthread_mutex_lock(&log->lock);
        bool more = take(log), stopping = log->stopping;
        long lost = log->lost;
        pthread_mutex_unlock(&log->lock);
        if (!more || (!write_piece(log, lost) && stopping))
            return;
    }
}

/* Under the lock. */
static void schedule(struct access_log *log)
{
    if (!log->scheduled)
        executor_post(worker_executor(log->worker), &log->flush);
    log->scheduled = true;
}

/* ---- the others */

struct access_log *access_log_open(const char *path, char **ret_why)
{
    int fd = open_at(path, ret_why);
    if (fd < 0)
        return NULL;
    struct access_log *log = xcalloc(1, sizeof *log);
    log->magic = ACCESS_LOG_MAGIC;
    log->path = xstrdup(path);
    log->fd = fd;
    log->next_fd = -1;
    log->flush.run = flush;
    pthread_mutex_init(&log->lock, NULL);
    log->worker = worker_start("access-log");
    return log;
}

void access_log_set_probes(struct access_log *log, bool probes)
{
    CHECK_MAGIC(log, ACCESS_LOG_MAGIC);
    atomic_store(&log->probes, probes);
}

bool access_log_reopen(struct access_log *log, char **ret_why)
{
    CHECK_MAGIC(log, ACCESS_LOG_MAGIC);
    int fd = open_at(log->path, ret_why);
    if (fd < 0)
        return false;
    pthread_mutex_lock(&log->lock);
    if (log->next_fd >= 0)
        close(log->next_fd);
    log->next_fd = fd;
    schedule(log);
    pthread_mutex_unlock(&log->lock);
    return true;
}

void access_log_write(struct access_log *log, const struct access_entry *entry)
{
    CHECK_MAGIC(log, ACCESS_LOG_MAGIC);
    if (entry->is_probe && !atomic_load(&log->probes))
        return;
    struct buf line = {0};
    print_entry(&line, entry);
    pthread_mutex_lock(&log->lock);
    if (log->waiting.n + line.n > LIMIT_ACCESS_LOG_BYTES) {
        log->lost++;
        atomic_fetch_add(&lines_lost, 1);
    } else {
        buf_add_str(&log->waiting, buf_str(&line));
    }
    schedule(log);
    pthread_mutex_unlock(&log->lock);
    buf_free(&line);
}

void access_log_close(struct access_log *log)
{
    if (!log)
        return;
    CHECK_MAGIC(log, ACCESS_LOG_MAGIC);
    pthread_mutex_lock(&log->lock);
    log->stopping = true;
    pthread_mutex_unlock(&log->lock);
    worker_stop(log->worker);
    if (log->next_fd >= 0)
        close(log->next_fd);
    close(log->fd);
    pthread_mutex_destroy(&log->lock);
    buf_free(&log->writing);
    buf_free(&log->waiting);
    free(log->path);
    log->magic = 0;
    free(log);
}
