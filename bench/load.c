/* A load generator for benchmarks: posts batches of survey and offer events with random EventIds
 * over keep-alive connections, one thread each, and prints what was accepted.
 *
 *     load PORT KEY CLIENTS EVENTS BATCH CONNECTIONS RATE [QUERY [DAYS [FIRST]]]
 *
 * CLIENTS: clients bench_FIRST .. bench_(FIRST+CLIENTS-1) exist; FIRST is 0 unless given. RATE:
 * events a second in all, 0: as fast as they are taken. On 429 and 503 it waits and sends the same
 * batch again. Each PanelistId begins with the time of sending in microseconds, so that a sink can
 * tell how long a callback took. DAYS: events are spread over so many past days, and every other
 * one is a start of a survey. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/env.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct plan {
    int port, clients, batch, connections, days, first;
    long events;
    double rate;
    const char *key, *query;
};

static struct plan plan;
static atomic_long taken, accepted, refused;
static atomic_ulong past_events; /* each (day, client) gets its share, so that no row is missing */
static int64_t began_us;

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int dial(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)plan.port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        perror("connect");
        exit(1);
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void add_past_event(struct buf *b, struct rng *rng)
{
    uint64_t a = rng_next(rng), c = rng_next(rng);
    unsigned long n = atomic_fetch_add(&past_events, 1), days = (unsigned long)plan.days;
    time_t at = (time_t)(began_us / 1000000) - (time_t)(n % days) * 86400;
    struct tm day;
    gmtime_r(&at, &day);
    buf_printf(b,
               "{\"EventId\":\"%016llx%010llx\",\"ClientId\":\"bench_%lu\","
               "\"PanelistId\":\"panelist-%llu\",\"Timestamp\":\"%04d-%02d-%02dT00:00:00Z\",",
               (unsigned long long)a, (unsigned long long)(c & 0xffffffffffu),
               n / days % (unsigned long)plan.clients, (unsigned long long)(a % 100000),
               day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
    if (a & (1u << 20))
        buf_add_c(b, "\"Type\":\"survey_started\"}");
    else
        buf_printf(b, "\"Type\":\"survey_completed\",\"RevenueAmount\":0.%02llu}",
                   (unsigned long long)(10 + a % 90));
}

static void add_event(struct buf *b, struct rng *rng)
{
    if (plan.days > 0) {
        add_past_event(b, rng);
        return;
    }
    uint64_t a = rng_next(rng), c = rng_next(rng);
    buf_printf(
        b,
        "{\"EventId\":\"%016llx%010llx\",\"Type\":\"survey_completed\",\"ClientId\":\"bench_%llu\","
        "\"PanelistId\":\"%lld-%llu\",\"RevenueAmount\":0.%02llu,\"SessionId\":\"session-%llx\"}",
        (unsigned long long)a, (unsigned long long)(c & 0xffffffffffu),
        (unsigned long long)(c % (uint64_t)plan.clients) + (unsigned long long)plan.first,
        (long long)now_us(), (unsigned long long)(a % 100000), (unsigned long long)(10 + a % 90),
        (unsigned long long)(a >> 20));
}

static void send_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t done = write(fd, p, n);
        if (done <= 0) {
            perror("write");
            exit(1);
        }
        p += done;
        n -= (size_t)done;
    }
}

/* Reads one answer with Content-Length; returns its status. */
static int read_answer(int fd, struct buf *in)
{
    buf_clear(in);
    for (;;) {
        ssize_t got = read(fd, buf_reserve(in, 65536), 65536);
        if (got <= 0) {
            fprintf(stderr, "the daemon closed the connection\n");
            exit(1);
        }
        in->n += (size_t)got;
        const char *text = buf_c(in);
        const char *end = strstr(text, "\r\n\r\n");
        const char *length = end ? strcasestr(text, "content-length:") : NULL;
        if (length && in->n >= (size_t)(end + 4 - text) + strtoul(length + 15, NULL, 10))
            return (int)strtol(text + 9, NULL, 10);
    }
}

/* Sleeps until the n-th event may be sent. */
static void pace(long n)
{
    if (plan.rate <= 0)
        return;
    int64_t at = began_us + (int64_t)((double)n / plan.rate * 1e6);
    int64_t wait = at - now_us();
    if (wait > 0)
        usleep((useconds_t)wait);
}

static void post_batch(int fd, struct rng *rng, struct buf *body, struct buf *out, struct buf *in,
                       long count)
{
    buf_clear(body);
    buf_add_char(body, '[');
    for (long i = 0; i < count; i++) {
        if (i)
            buf_add_char(body, ',');
        add_event(body, rng);
    }
    buf_add_char(body, ']');
    buf_clear(out);
    buf_printf(out,
               "POST /api/v1/events%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer "
               "%s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
               plan.query, plan.key, body->n);
    buf_add(out, body->p, body->n);
    for (;;) {
        send_all(fd, out->p, out->n);
        int status = read_answer(fd, in);
        if (status == 202)
            break;
        if (status != 429 && status != 503) {
            fprintf(stderr, "answered %d: %s\n", status, buf_c(in));
            exit(1);
        }
        atomic_fetch_add(&refused, 1);
        usleep(20000);
    }
    atomic_fetch_add(&accepted, count);
}

static void *run(void *context)
{
    struct rng rng;
    uint64_t seed;
    (void)context;
    env_random(env_real(), &seed, sizeof seed);
    rng_seed(&rng, seed);
    struct buf body = {0}, out = {0}, in = {0};
    int fd = dial();
    for (;;) {
        long at = atomic_fetch_add(&taken, plan.batch);
        if (at >= plan.events)
            break;
        pace(at);
        long count = plan.events - at < plan.batch ? plan.events - at : plan.batch;
        post_batch(fd, &rng, &body, &out, &in, count);
    }
    close(fd);
    buf_free(&body);
    buf_free(&out);
    buf_free(&in);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 8) {
        fprintf(stderr, "usage: load PORT KEY CLIENTS EVENTS BATCH CONNECTIONS RATE [QUERY "
                        "[DAYS]]\n");
        return 2;
    }
    plan = (struct plan){
        .port = (int)strtol(argv[1], NULL, 10),
        .key = argv[2],
        .clients = (int)strtol(argv[3], NULL, 10),
        .events = strtol(argv[4], NULL, 10),
        .batch = (int)strtol(argv[5], NULL, 10),
        .connections = (int)strtol(argv[6], NULL, 10),
        .rate = strtod(argv[7], NULL),
        .query = argc > 8 ? argv[8] : "",
        .days = argc > 9 ? (int)strtol(argv[9], NULL, 10) : 0,
        .first = argc > 10 ? (int)strtol(argv[10], NULL, 10) : 0,
    };
    began_us = now_us();
    pthread_t *threads = xcalloc((size_t)plan.connections, sizeof *threads);
    for (int i = 0; i < plan.connections; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < plan.connections; i++)
        pthread_join(threads[i], NULL);
    double seconds = (double)(now_us() - began_us) / 1e6;
    printf(
        "{\"accepted\": %ld, \"seconds\": %.3f, \"per_second\": %.0f, \"refused_batches\": %ld}\n",
        atomic_load(&accepted), seconds, (double)atomic_load(&accepted) / seconds,
        atomic_load(&refused));
    free(threads);
    return 0;
}
