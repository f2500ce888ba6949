/* Receivers that come back after an outage, for bench/outage.py: what reaches each of them, how
 * many at once, and in which order.
 *
 *     returning PORT DELAY_MS
 *
 * One thread on every address of 127.0.0.0/8; POST /app/N is answered 200 after DELAY_MS. GET
 * answers with what each app has seen since the start:
 * {"apps":n,"count":n,"most":n,"beyond":n,"displaced_p99":n,"displaced_most":n}: how many came, how
 * many of one app were open at once at most, how many came while more were open than a window that
 * begins at 1 and grows by 1/n per answer allows, and how far from its place in the order of
 * sending (bench/load.c puts the time into the PanelistId) a callback of an app came. */
#include "base/alloc.h"
#include "base/buf.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define APPS_MOST 4096
#define READ_BYTES 65536

struct arrival {
    int64_t sent_us;
    int32_t at; /* its place among the arrivals */
};

struct app {
    struct arrival *arrivals;
    size_t count, capacity;
    int32_t open, most;
    int64_t answered, beyond;
    double window;
};

struct peer {
    int fd;
    struct buf in;
    struct answer *answer; /* under way; one at a time, as HTTP/1.1 goes */
};

struct answer { /* in the order of their time: all wait alike long */
    struct answer *next;
    struct peer *peer; /* NULL: it has gone */
    struct app *app;
    int64_t at_ms;
};

static struct app apps[APPS_MOST];
static struct answer *first, **last = &first;
static int epoll;
static int64_t delay_ms;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- what was seen -----------------------------------------------------------------------------
 */

static struct app *note(const char *text, const char *body)
{
    static const char name[] = "\"PanelistId\":\"";
    const char *path = strstr(text, "/app/"), *found = strstr(body, name);
    size_t no = path ? strtoul(path + 5, NULL, 10) % APPS_MOST : 0;
    struct app *a = &apps[no];
    if (a->window < 1)
        a->window = 1;
    a->open++;
    if (a->open > a->most)
        a->most = a->open;
    /* One more: an answer may be on its way when the next request is sent. */
    if (a->open > (int32_t)a->window + 1)
        a->beyond++;
    a->arrivals = xgrow(a->arrivals, &a->capacity, a->count + 1, sizeof *a->arrivals);
    a->arrivals[a->count] =
        (struct arrival){found ? strtoll(found + sizeof name - 1, NULL, 10) : 0, (int32_t)a->count};
    a->count++;
    return a;
}

static int by_time(const void *x, const void *y)
{
    const struct arrival *a = x, *b = y;
    if (a->sent_us != b->sent_us)
        return a->sent_us < b->sent_us ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static int by_number(const void *x, const void *y)
{
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

static void print_seen(struct buf *to)
{
    size_t count = 0, seen = 0, used = 0;
    int64_t beyond = 0;
    int32_t most = 0;
    for (size_t i = 0; i < APPS_MOST; i++)
        count += apps[i].count;
    int32_t *displaced = xcalloc(count + 1, sizeof *displaced);
    for (size_t i = 0; i < APPS_MOST; i++) {
        const struct app *a = &apps[i];
        struct arrival *order = xcalloc(a->count, sizeof *order);
        if (a->count > 0)
            memcpy(order, a->arrivals, a->count * sizeof *order);
        qsort(order, a->count, sizeof *order, by_time);
        for (size_t at = 0; at < a->count; at++)
            displaced[seen++] = abs(order[at].at - (int32_t)at);
        used += a->count > 0;
        beyond += a->beyond;
        most = a->most > most ? a->most : most;
        free(order);
    }
    qsort(displaced, seen, sizeof *displaced, by_number);
    buf_printf(to,
               "{\"apps\":%zu,\"count\":%zu,\"most\":%d,\"beyond\":%lld,\"displaced_p99\":%d,"
               "\"displaced_most\":%d}",
               used, count, most, (long long)beyond, seen ? displaced[(seen - 1) * 99 / 100] : 0,
               seen ? displaced[seen - 1] : 0);
    free(displaced);
}

/* --- connections -------------------------------------------------------------------------------
 */

static void put(int fd, const char *body)
{
    struct buf out = {0};
    buf_printf(&out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    if (write(fd, out.p, out.n) != (ssize_t)out.n)
        perror("write");
    buf_free(&out);
}

/* Handles the whole request at the front of the buffer, if there is one and none is under way. */
static void serve(struct peer *p)
{
    const char *text = buf_c(&p->in), *head_end = strstr(text, "\r\n\r\n");
    if (!head_end || p->answer)
        return;
    const char *length = strcasestr(text, "content-length:");
    size_t body = length && length < head_end ? strtoul(length + 15, NULL, 10) : 0;
    size_t whole = (size_t)(head_end + 4 - text) + body;
    if (p->in.n < whole)
        return;
    if (strncmp(text, "POST", 4) == 0) {
        struct answer *a = xcalloc(1, sizeof *a);
        *a = (struct answer){
            .peer = p, .app = note(text, head_end + 4), .at_ms = now_ms() + delay_ms};
        p->answer = a;
        *last = a;
        last = &a->next;
    } else {
        struct buf seen = {0};
        print_seen(&seen);
        put(p->fd, buf_c(&seen));
        buf_free(&seen);
    }
    memmove(p->in.p, p->in.p + whole, p->in.n - whole);
    p->in.n -= whole;
}

static void answer_due(void)
{
    int64_t at_ms = now_ms();
    while (first && first->at_ms <= at_ms) {
        struct answer *a = first;
        first = a->next;
        if (!first)
            last = &first;
        a->app->open--;
        a->app->answered++;
        a->app->window += 1 / a->app->window;
        if (a->peer) {
            a->peer->answer = NULL;
            put(a->peer->fd, "ok");
            serve(a->peer);
        }
        free(a);
    }
}

static void receive(struct peer *p)
{
    ssize_t got = read(p->fd, buf_reserve(&p->in, READ_BYTES), READ_BYTES);
    if (got <= 0) {
        close(p->fd);
        buf_free(&p->in);
        if (p->answer)
            p->answer->peer = NULL;
        free(p);
        return;
    }
    p->in.n += (size_t)got;
    serve(p);
}

static void take_peer(int listener)
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
    if (argc < 3) {
        fprintf(stderr, "usage: returning PORT DELAY_MS\n");
        return 2;
    }
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtol(argv[1], NULL, 10))};
    delay_ms = strtol(argv[2], NULL, 10);
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    epoll = epoll_create1(0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 4096) != 0) {
        perror("listen");
        return 1;
    }
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL}, events[256];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &e);
    for (;;) {
        int64_t wait_ms = first ? first->at_ms - now_ms() : 1000;
        int n = epoll_wait(epoll, events, 256, wait_ms > 0 ? (int)wait_ms : 0);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                receive(events[i].data.ptr);
            else
                take_peer(listener);
        }
        answer_due();
    }
}
