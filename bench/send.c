/* How much the sender costs: as many exchanges as it can, to one or to many destinations, for
 * some seconds. Prints "exchanges_per_second micros_of_cpu_per_exchange" after a warm-up.
 *
 *   bench_send SCHEME PORT DESTINATIONS CONCURRENCY SECONDS [CA-FILE]
 *
 * SCHEME is http, https (over HTTP/1.1) or h2 (https over HTTP/2). Destinations are
 * 127.0.x.y:PORT. bench/send.py sets up the other side and the yardstick. */
#include "send/send.h"
#include "base/alloc.h"
#include "net/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define BODY_BYTES 418
#define WARM_UP_MS 2000

static struct {
    struct loop *loop;
    struct sender *sender;
    struct url *urls;
    size_t url_count, next_url;
    int64_t count, failed;
    int64_t counted_from;
    double cpu_from;
    bool over;
    size_t under_way;
} bench;

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void start(struct exchange *x)
{
    x->url = &bench.urls[bench.next_url];
    bench.next_url = (bench.next_url + 1) % bench.url_count;
    bench.under_way++;
    sender_start(bench.sender, x);
}

static void done(struct exchange *x)
{
    bench.under_way--;
    bench.count++;
    if (x->class != ATTEMPT_OK && bench.failed++ == 0)
        fprintf(stderr, "%s: %s\n", attempt_class_name(x->class), x->detail);
    if (!bench.over)
        start(x);
    else if (bench.under_way == 0)
        loop_stop(bench.loop);
}

static void warm(struct timer *timer)
{
    (void)timer;
    bench.counted_from = bench.count;
    bench.cpu_from = cpu_seconds();
}

static void end(struct timer *timer)
{
    (void)timer;
    bench.over = true;
}

static void make_urls(struct arena *arena, const char *scheme, const char *port)
{
    bench.urls = xcalloc(bench.url_count, sizeof *bench.urls);
    for (size_t i = 0; i < bench.url_count; i++) {
        char text[100];
        const char *why = NULL;
        snprintf(text, sizeof text, "%s://127.0.%zu.%zu:%s/callback?app=1", scheme, i / 250,
                 i % 250 + 1, port);
        if (!url_parse(arena, str_of(text), &bench.urls[i], &why)) {
            fprintf(stderr, "%s: %s\n", text, why);
            exit(1);
        }
    }
}

static struct exchange *make_exchanges(size_t count)
{
    static char body[BODY_BYTES];
    memset(body, 'x', sizeof body);
    struct exchange *all = xcalloc(count, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        all[i].headers = STR("webhook-id: 0123456789abcdef\r\nwebhook-timestamp: 1763726400\r\n"
                             "webhook-signature: v1,w0WTbsLn7HQtTdHV6B9cjz5B0AY0+x7aaQGZQDgu0Y8="
                             "\r\n");
        all[i].body = (struct str){body, sizeof body};
        all[i].timeout_ms = 10000;
        all[i].connect_timeout_ms = 5000;
        all[i].done = done;
    }
    return all;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: bench_send SCHEME PORT DESTINATIONS CONCURRENCY SECONDS [CA]\n");
        return 2;
    }
    bench.url_count = (size_t)atol(argv[3]);
    size_t concurrency = (size_t)atol(argv[4]);
    int64_t ms = atol(argv[5]) * 1000;
    struct arena arena = {0};
    bool http2 = strcmp(argv[1], "h2") == 0;
    make_urls(&arena, http2 ? "https" : argv[1], argv[2]);
    struct exchange *all = make_exchanges(concurrency);
    struct cidr loopback;
    if (!cidr_parse(STR("127.0.0.0/8"), &loopback))
        return 1;
    struct tls_authorities *authorities = tls_authorities_new(argc > 6 ? argv[6] : NULL);
    struct sender_options options = {.rules = {.allowed = &loopback, .allowed_count = 1},
                                     .authorities = authorities,
                                     .user_agent = "postbackd/bench",
                                     .http2 = http2,
                                     .connections_max = 8192,
                                     .idle_per_destination = 1024,
                                     .idle_ms = 30000};
    char *why = NULL;
    bench.loop = loop_new(env_real());
    bench.sender = sender_new(bench.loop, &options, &why);
    tls_authorities_free(authorities);
    if (!bench.sender) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    struct timer warm_timer = {.fire = warm}, end_timer = {.fire = end};
    int64_t now = loop_mono_ms(bench.loop);
    loop_timer_set(bench.loop, &warm_timer, now + WARM_UP_MS);
    loop_timer_set(bench.loop, &end_timer, now + WARM_UP_MS + ms);
    for (size_t i = 0; i < concurrency; i++)
        start(&all[i]);
    loop_run(bench.loop);
    double counted = (double)(bench.count - bench.counted_from);
    printf("%.0f %.2f\n", counted * 1000 / (double)ms,
           (cpu_seconds() - bench.cpu_from) * 1e6 / counted);
    for (size_t i = 0; i < concurrency; i++)
        exchange_free_results(&all[i]);
    sender_free(bench.sender);
    loop_free(bench.loop);
    free(all);
    free(bench.urls);
    arena_free(&arena);
    return bench.failed == 0 ? 0 : 1;
}
