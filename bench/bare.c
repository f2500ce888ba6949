/* The yardstick of bench/latency.py: what an event's way cannot be shorter than. Paced like the
 * load, each round makes one durable commit (4 KiB with O_DIRECT and fdatasync, into a file
 * written before) and then one POST of a callback's size over a kept connection.
 *
 *     bare FILE PORT ROUNDS RATE
 *
 * Prints {"p50_us":..,"p99_us":..,"commit_p99_us":..,"post_p99_us":..} of the rounds' sums. */
#include "base/alloc.h"
#include "base/buf.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define PAGES 4096
#define BODY_BYTES 240

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int make_file(const char *path, char *page)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
    if (fd < 0)
        fail(path);
    for (int i = 0; i < PAGES; i++) {
        if (pwrite(fd, page, PAGE_BYTES, (off_t)i * PAGE_BYTES) != PAGE_BYTES)
            fail("write");
    }
    if (fsync(fd) != 0)
        fail("fsync");
    return fd;
}

static void commit(int fd, char *page, long round)
{
    memcpy(page, &round, sizeof round);
    if (pwrite(fd, page, PAGE_BYTES, (off_t)(round % PAGES) * PAGE_BYTES) != PAGE_BYTES ||
        fdatasync(fd) != 0)
        fail("commit");
}

static int dial(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* The answer is short: one read has it. */
static void post(int fd, struct buf *request)
{
    char in[4096];
    if (write(fd, request->p, request->n) != (ssize_t)request->n || read(fd, in, sizeof in) <= 0)
        fail("post");
}

static int by_size(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static long long at(int64_t *values, long count, long per_mille)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return (long long)values[(count - 1) * per_mille / 1000];
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: bare FILE PORT ROUNDS RATE\n");
        return 2;
    }
    long rounds = strtol(argv[3], NULL, 10);
    double rate = strtod(argv[4], NULL);
    if (rounds <= 0 || rate <= 0)
        return 2;
    char *page = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
    if (!page)
        return 1;
    memset(page, 'x', PAGE_BYTES);
    int file = make_file(argv[1], page), peer = dial((int)strtol(argv[2], NULL, 10));
    struct buf request = {0};
    buf_printf(&request, "POST /bare HTTP/1.1\r\nHost: bench\r\nContent-Length: %d\r\n\r\n%*s",
               BODY_BYTES, BODY_BYTES, "{}");
    int64_t *commits = xcalloc((size_t)rounds, sizeof *commits);
    int64_t *posts = xcalloc((size_t)rounds, sizeof *posts);
    int64_t *sums = xcalloc((size_t)rounds, sizeof *sums);
    int64_t began = now_us();
    for (long i = 0; i < rounds; i++) {
        int64_t wait = began + (int64_t)((double)i / rate * 1e6) - now_us();
        if (wait > 0)
            usleep((useconds_t)wait);
        int64_t start = now_us();
        commit(file, page, i);
        int64_t committed = now_us();
        post(peer, &request);
        commits[i] = committed - start;
        posts[i] = now_us() - committed;
        sums[i] = commits[i] + posts[i];
    }
    printf("{\"p50_us\":%lld,\"p99_us\":%lld,\"commit_p99_us\":%lld,\"post_p99_us\":%lld}\n",
           at(sums, rounds, 500), at(sums, rounds, 990), at(commits, rounds, 990),
           at(posts, rounds, 990));
    unlink(argv[1]);
    return 0;
}
