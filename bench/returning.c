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
#include "receiver_server.h"

#include "base/alloc.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define APPS_MOST 4096

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

struct answer { /* in the order of their time: all wait alike long */
    struct answer *next;
    struct peer *peer; /* NULL: it has gone */
    struct app *app;
    int64_t at_ms;
};

static struct app apps[APPS_MOST];
static struct answer *first, **last = &first;
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

static void handle(struct peer *p, const char *head, const char *body)
{
    if (strncmp(head, "POST", 4) == 0) {
        struct answer *a = xcalloc(1, sizeof *a);
        *a = (struct answer){.peer = p, .app = note(head, body), .at_ms = now_ms() + delay_ms};
        p->answers_later = a;
        *last = a;
        last = &a->next;
        return;
    }
    struct buf seen = {0};
    print_seen(&seen);
    receiver_answer(p, buf_c(&seen));
    buf_free(&seen);
}

static void forget(struct peer *p)
{
    ((struct answer *)p->answers_later)->peer = NULL;
}

static int answer_due(void);
static const struct receiver receiver = {
    .address = INADDR_ANY, .request = handle, .gone = forget, .due = answer_due};

static int answer_due(void)
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
            a->peer->answers_later = NULL;
            receiver_answer(a->peer, "ok");
            receiver_serve(&receiver, a->peer);
        }
        free(a);
    }
    return first ? (int)(first->at_ms - at_ms) : -1;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: returning PORT DELAY_MS\n");
        return 2;
    }
    delay_ms = strtol(argv[2], NULL, 10);
    return receiver_run(&receiver, argv[1]);
}
