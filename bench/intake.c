/*
 * How fast taking in is without network and disk: JSON arrays of 100 events of about 418 bytes,
 * read, judged and hashed as for the store, on one thread.
 *
 *     build/bench/bench_intake [BATCHES]
 *
 * Prints nanoseconds of CPU time, and events a second of it, for parsing alone and for all of it:
 * the median of five rounds each. CPU time, so that other programs on the machine matter less.
 */
#include "intake/intake.h"
#include "accounts/changes.h"
#include "base/buf.h"
#include "base/env.h"
#include "json/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define EVENTS 100
#define CLIENTS 50
#define ROUNDS 5

struct world {
    struct directory *directory;
    struct accounts *accounts;
    struct intake *intake;
    struct buf body;
    int64_t now_ms;
};

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

enum creation { PARTNER, APP, CLIENT };

static void create(struct world *w, enum creation what, const char *text)
{
    struct arena arena = {0};
    struct problems faults = {.arena = &arena};
    struct json *body = NULL;
    struct str why;
    struct change change;
    enum change_result result = CHANGE_INVALID;
    ASSERT(json_parse(&arena, str_of(text), &body, &why));
    if (what == PARTNER)
        result = change_create_partner(w->accounts, body, &faults, &change);
    else if (what == APP)
        result = change_create_app(w->accounts, STR("p"), false, body, &faults, &change);
    else
        result = change_create_client(w->accounts, STR("a"), body, &faults, &change);
    ASSERT(result == CHANGE_READY);
    change_apply(w->accounts, &change);
    change_free(w->accounts, &change);
    arena_free(&arena);
}

static void make_body(struct world *w)
{
    struct rng rng;
    rng_seed(&rng, 1);
    buf_add_char(&w->body, '[');
    for (int i = 0; i < EVENTS; i++)
        buf_printf(&w->body,
                   "%s{\"EventId\":\"router-7:%016" PRIx64 "%016" PRIx64
                   "\",\"Type\":\"survey_completed\",\"ClientId\":\"client_%" PRIu64
                   "\",\"PanelistId\":\"panelist-%016" PRIx64
                   "\",\"Timestamp\":\"2025-11-21T11:%02" PRIu64 ":30.125Z\","
                   "\"RevenueAmount\":%" PRIu64 ".%02" PRIu64 ",\"SessionId\":\"session %016" PRIx64
                   "%016" PRIx64 "%016" PRIx64
                   " of a panelist who came by the front page\",\"IsTest\":false,"
                   "\"Mid\":\"campaign=autumn-2025&source=newsletter&medium=%016" PRIx64 "\"}",
                   i ? "," : "", rng_next(&rng), rng_next(&rng), rng_below(&rng, CLIENTS),
                   rng_next(&rng), rng_below(&rng, 60), rng_below(&rng, 9), rng_below(&rng, 100),
                   rng_next(&rng), rng_next(&rng), rng_next(&rng), rng_next(&rng));
    buf_add_char(&w->body, ']');
}

static void open_world(struct world *w)
{
    static const struct hash_secret secret = {{1}};
    *w = (struct world){.now_ms = 1763726400000};
    w->directory = directory_new();
    struct accounts_options options = {.directory = w->directory, .env = env_real()};
    w->accounts = accounts_new(&options);
    create(w, PARTNER, "{\"PartnerId\":\"p\"}");
    create(w, APP, "{\"AppId\":\"a\",\"CurrencyValue\":100}");
    for (int i = 0; i < CLIENTS; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"ClientId\":\"client_%d\"}", i);
        create(w, CLIENT, text);
    }
    w->intake = intake_new(w->directory, &secret);
    make_body(w);
}

static void close_world(struct world *w)
{
    intake_free(w->intake);
    accounts_free(w->accounts);
    directory_free(w->directory);
    buf_free(&w->body);
}

static void parse(struct world *w)
{
    struct arena arena = {0};
    struct json *v = NULL;
    struct str why;
    ASSERT(json_parse(&arena, buf_str(&w->body), &v, &why) && v->count == EVENTS);
    arena_free(&arena);
}

static void take_in(struct world *w)
{
    struct arena arena = {0};
    struct intake_items items;
    struct str why;
    struct intake_request request = {
        .body = buf_str(&w->body), .format = INTAKE_JSON, .now_ms = w->now_ms};
    ASSERT(intake_read(w->intake, &request, &arena, &items, &why) == INTAKE_READ);
    ASSERT(items.count == EVENTS);
    arena_free(&arena);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct world *w, const char *name, void (*work)(struct world *), long batches)
{
    double ns[ROUNDS];
    work(w);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = cpu_ns();
        for (long i = 0; i < batches; i++)
            work(w);
        ns[round] = (double)(cpu_ns() - start) / (double)batches / EVENTS;
    }
    qsort(ns, ROUNDS, sizeof ns[0], compare);
    printf("%-22s %7.0f ns/event %11.0f events/s\n", name, ns[ROUNDS / 2], 1e9 / ns[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
    struct world w;
    long batches = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
    if (batches < 1) {
        fprintf(stderr, "usage: %s [BATCHES]\n", argv[0]);
        return 2;
    }
    open_world(&w);
    printf("batches of %d events, %zu bytes each\n", EVENTS, w.body.n / EVENTS);
    measure(&w, "parse", parse, batches);
    measure(&w, "parse, judge, hash", take_in, batches);
    close_world(&w);
    return 0;
}
