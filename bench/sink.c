/* A receiver for benchmarks that tells how old a callback is when it arrives: bench/load.c puts
 * the time of sending, in microseconds, at the front of each PanelistId.
 *
 *     sink PORT [FILE]
 *
 * One thread on 127.0.0.1, keep-alive, each POST answered 200 at once. GET answers with the ages
 * since the last GET: {"count":n,"p50_us":..,"p99_us":..,"max_us":..}. FILE gets a line for each
 * callback: when it arrived and how old it was, in microseconds, and its RewardId. */
#include "base/alloc.h"
#include "base/buf.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES 65536

struct peer {
    int fd;
    struct buf in;
};

static int64_t *ages_us;
static size_t age_count, age_capacity;
static FILE *arrivals;

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Where the text of that member begins; NULL if there is none. */
static const char *text_of(const char *body, const char *member)
{
    const char *found = strstr(body, member);
    return found ? found + strlen(member) : NULL;
}

static void note(const char *body, int64_t at_us)
{
    const char *panelist = text_of(body, "\"PanelistId\":\"");
    const char *reward = text_of(body, "\"RewardId\":\"");
    if (!panelist)
        return;
    int64_t age_us = at_us - strtoll(panelist, NULL, 10);
    ages_us = xgrow(ages_us, &age_capacity, age_count + 1, sizeof *ages_us);
    ages_us[age_count++] = age_us;
    if (arrivals && reward)
        fprintf(arrivals, "%lld %lld %.*s\n", (long long)at_us, (long long)age_us,
                (int)strcspn(reward, "\""), reward);
}

static int by_age(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static long long age_at(size_t per_mille)
{
    return age_count ? (long long)ages_us[(age_count - 1) * per_mille / 1000] : 0;
}

static void print_ages(struct buf *to)
{
    if (age_count)
        qsort(ages_us, age_count, sizeof *ages_us, by_age);
    buf_printf(to, "{\"count\":%zu,\"p50_us\":%lld,\"p99_us\":%lld,\"max_us\":%lld}", age_count,
               age_at(500), age_at(990), age_at(1000));
    age_count = 0;
}

static void answer(int fd, const char *body)
{
    struct buf out = {0};
    buf_printf(&out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    if (write(fd, out.p, out.n) != (ssize_t)out.n)
        perror("write");
    buf_free(&out);
}

/* Handles whole requests at the front of the buffer. */
static void serve(struct peer *p, int64_t at_us)
{
    for (;;) {
        const char *text = buf_c(&p->in), *end = strstr(text, "\r\n\r\n");
        if (!end)
            return;
        const char *length = strcasestr(text, "content-length:");
        size_t body = length && length < end ? strtoul(length + 15, NULL, 10) : 0;
        size_t whole = (size_t)(end + 4 - text) + body;
        if (p->in.n < whole)
            return;
        if (strncmp(text, "POST", 4) == 0) {
            note(end + 4, at_us);
            answer(p->fd, "ok");
        } else {
            struct buf ages = {0};
            print_ages(&ages);
            if (arrivals)
                fflush(arrivals);
            answer(p->fd, buf_c(&ages));
            buf_free(&ages);
        }
        memmove(p->in.p, p->in.p + whole, p->in.n - whole);
        p->in.n -= whole;
    }
}

static void receive(struct peer *p)
{
    ssize_t got = read(p->fd, buf_reserve(&p->in, READ_BYTES), READ_BYTES);
    if (got <= 0) {
        close(p->fd);
        buf_free(&p->in);
        free(p);
        return;
    }
    int64_t at_us = now_us();
    p->in.n += (size_t)got;
    serve(p, at_us);
}

static void take_peer(int epoll, int listener)
{
    int fd = accept(listener, NULL, NULL), on = 1;
    if (fd < 0)
        return;
    struct peer *p = xcalloc(1, sizeof *p);
    p->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) != 0)
        exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: sink PORT [FILE]\n");
        return 2;
    }
    if (argc > 2 && !(arrivals = fopen(argv[2], "w"))) {
        perror(argv[2]);
        return 1;
    }
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtol(argv[1], NULL, 10))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 4096) != 0) {
        perror("listen");
        return 1;
    }
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL}, events[256];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &e);
    for (;;) {
        int n = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                receive(events[i].data.ptr);
            else
                take_peer(epoll, listener);
        }
    }
}
