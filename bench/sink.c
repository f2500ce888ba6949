/* A receiver for benchmarks that tells how old a callback is when it arrives: bench/load.c puts
 * the time of sending, in microseconds, at the front of each PanelistId.
 *
 *     sink PORT [FILE]
 *
 * One thread on 127.0.0.1, keep-alive, each POST answered 200 at once. GET answers with the ages
 * since the last GET: {"count":n,"p50_us":..,"p99_us":..,"max_us":..}. FILE gets a line for each
 * callback: when it arrived and how old it was, in microseconds, and its RewardId. */
#include "receiver_server.h"

#include "base/alloc.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t *ages_us;
static size_t age_count, age_capacity;
static FILE *arrivals;

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
    *ARRAY_PUSH(ages_us, age_count, age_capacity) = age_us;
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

static void handle(struct peer *p, const char *head, const char *body)
{
    if (strncmp(head, "POST", 4) == 0) {
        note(body, p->read_us);
        receiver_answer(p, "ok");
        return;
    }
    struct buf ages = {0};
    print_ages(&ages);
    if (arrivals)
        fflush(arrivals);
    receiver_answer(p, buf_c(&ages));
    buf_free(&ages);
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
    const struct receiver receiver = {.address = INADDR_LOOPBACK, .request = handle};
    return receiver_run(&receiver, argv[1]);
}
