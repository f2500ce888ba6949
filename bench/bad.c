/* Receivers as bad as they come, for bench/isolation.py and bench/outage.py: one port per kind, on
 * every address of 127.0.0.0/8, so that each address is a destination of its own.
 *
 *     bad
 *
 * Prints {"kind": port, ...} and serves until it is ended. The port of `dns` is a name server (UDP)
 * on 127.0.0.1: names that begin with nx do not exist, all others get no answer. One thread; what
 * takes its time does so by its own clock, so that no two receivers keep step. */
#include "base/alloc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 5
#define ENDLESS_MS 100
#define SLOW_MS 3000
#define DRIP_MS 1000

enum kind {
    HOLE,         /* accepts, reads nothing, answers nothing */
    FULL,         /* never accepts: the queue of connections is full, SYNs are dropped */
    SHUT,         /* closes at once */
    RESET,        /* reads, then resets */
    MUTE,         /* reads, answers nothing; as https: a handshake that stalls */
    DRIP,         /* a byte of the answer a second */
    SLOW,         /* answers 200 after three seconds */
    ERROR_500,    /* answers 500 at once */
    RETRY_429,    /* answers 429 with Retry-After: 5 */
    ENDLESS_BODY, /* a body that never ends */
    ENDLESS_HEAD, /* headers that never end */
    GARBAGE,      /* no HTTP at all */
    DNS,
    KINDS,
};

static const char *const names[KINDS] = {
    "hole", "full", "shut", "reset", "mute",    "drip", "slow",
    "500",  "429",  "body", "head",  "garbage", "dns",
};

static const char *const answers[KINDS] = {
    [DRIP] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    [SLOW] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    [ERROR_500] = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
    [RETRY_429] = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n",
    [GARBAGE] = "SSH-2.0-OpenSSH_9.2p1\r\n",
    [ENDLESS_BODY] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n",
    [ENDLESS_HEAD] = "HTTP/1.1 200 OK\r\n",
};

struct peer {
    struct peer *next, **link;
    int fd; /* of a listener: it never goes */
    enum kind kind;
    bool listens;
    size_t sent;
    int64_t at_ms;
};

static struct peer *timed; /* those that are looked at at each tick */
static int epoll;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void watch(struct peer *p, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = p};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, p->fd, &e) != 0) {
        perror("epoll_ctl");
        exit(1);
    }
}

static void end(struct peer *p, bool reset)
{
    struct linger hard = {.l_onoff = 1};
    if (reset)
        setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(p->fd);
    if (p->link) {
        *p->link = p->next;
        if (p->next)
            p->next->link = p->link;
    }
    free(p);
}

static void join_timed(struct peer *p, int64_t at_ms)
{
    p->at_ms = at_ms;
    if (p->link)
        return;
    p->next = timed;
    p->link = &timed;
    if (timed)
        timed->link = &p->next;
    timed = p;
}

/* False: the peer is gone. */
static bool put(struct peer *p, const char *bytes, size_t n)
{
    ssize_t done = send(p->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && errno != EAGAIN) {
        end(p, false);
        return false;
    }
    p->sent += done > 0 ? (size_t)done : 0;
    return true;
}

/* What is due of a peer that takes its time. */
static void go_on(struct peer *p, int64_t at_ms)
{
    static char filler[16384];
    if (at_ms < p->at_ms)
        return;
    const char *answer = answers[p->kind];
    size_t n = strlen(answer);
    if (p->kind == ENDLESS_BODY || p->kind == ENDLESS_HEAD) {
        memcpy(filler, "X-Filler: ", 10);
        memset(filler + 10, 'x', sizeof filler - 12);
        memcpy(filler + sizeof filler - 2, "\r\n", 2);
        p->at_ms = at_ms + ENDLESS_MS;
        (void)put(p, filler, sizeof filler);
    } else if (p->kind == SLOW) {
        p->at_ms = INT64_MAX;
        (void)put(p, answer, n);
    } else {
        p->at_ms = at_ms + DRIP_MS;
        (void)put(p, answer + p->sent % n, 1);
    }
}

/* Bytes have come. */
static void answer(struct peer *p)
{
    char bytes[16384];
    ssize_t got = recv(p->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got <= 0) {
        if (got == 0 || errno != EAGAIN)
            end(p, false);
        return;
    }
    const char *text = answers[p->kind];
    int64_t at_ms = now_ms();
    switch (p->kind) {
    case RESET: end(p, true); break;
    case DRIP: join_timed(p, at_ms); break;
    case SLOW: join_timed(p, at_ms + SLOW_MS); break;
    case ENDLESS_BODY:
    case ENDLESS_HEAD:
        if (put(p, text, strlen(text)))
            join_timed(p, at_ms);
        break;
    case ERROR_500:
    case RETRY_429:
    case GARBAGE: (void)put(p, text, strlen(text)); break;
    default: break;
    }
}

static void take(struct peer *listener)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct peer *p = xcalloc(1, sizeof *p);
    p->fd = fd;
    p->kind = listener->kind;
    if (p->kind == SHUT)
        end(p, false);
    else
        watch(p, p->kind == HOLE ? EPOLLRDHUP : EPOLLIN);
}

/* Header and question come back, with the code for "no such name". */
static void answer_name(int fd)
{
    char bytes[512];
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    ssize_t got = recvfrom(fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size);
    if (got < 16 || bytes[13] != 'n' || bytes[14] != 'x')
        return;
    bytes[2] = (char)0x81;
    bytes[3] = (char)0x83;
    memset(bytes + 6, 0, 6);
    size_t end_of_name = 12;
    while (end_of_name < (size_t)got && bytes[end_of_name])
        end_of_name += (unsigned char)bytes[end_of_name] + 1u;
    (void)sendto(fd, bytes, end_of_name + 5, 0, (struct sockaddr *)&from, size);
}

static int serve(enum kind kind)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    int on = 1, type = kind == DNS ? SOCK_DGRAM : SOCK_STREAM;
    int fd = socket(AF_INET, type | SOCK_NONBLOCK, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        (kind != DNS && listen(fd, kind == FULL ? 0 : 4096) != 0) ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0) {
        perror("listen");
        exit(1);
    }
    struct peer *p = xcalloc(1, sizeof *p);
    p->fd = fd;
    p->kind = kind;
    p->listens = true;
    if (kind != FULL)
        watch(p, EPOLLIN);
    return ntohs(at.sin_port);
}

static void run(void)
{
    struct epoll_event events[256];
    int64_t tick_ms = now_ms();
    for (;;) {
        int64_t wait_ms = tick_ms + TICK_MS - now_ms();
        int n = epoll_wait(epoll, events, 256, wait_ms > 0 ? (int)wait_ms : 0);
        for (int i = 0; i < n; i++) {
            struct peer *p = events[i].data.ptr;
            if (p->listens && p->kind == DNS)
                answer_name(p->fd);
            else if (p->listens)
                take(p);
            else if (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
                end(p, false);
            else
                answer(p);
        }
        if (now_ms() < tick_ms + TICK_MS)
            continue;
        tick_ms = now_ms();
        for (struct peer *p = timed, *next; p; p = next) {
            next = p->next;
            go_on(p, tick_ms);
        }
    }
}

int main(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    epoll = epoll_create1(0);
    for (int kind = 0; kind < KINDS; kind++)
        printf("%s\"%s\": %d", kind ? ", " : "{", names[kind], serve((enum kind)kind));
    printf("}\n");
    fflush(stdout);
    run();
}
