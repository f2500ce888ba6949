/* The pieces delivery is made of, each alone: what is held, heaps, destinations, health, requests.
 */
#include "check.h"
#include "lane_callback.h"

#include "base/alloc.h"
#include "delivery/callback_request.h"
#include "delivery/lane.h"
#include "domain/payload.h"
#include "domain/traceparent.h"

#include <stdlib.h>

static const struct lane_now start = {.wall_ms = 1763726400000, .mono_ms = 1000000};

/* --- what is held --- */

#define MODEL 300
static void inflight_is_a_map(void)
{
    struct hash_map held = {0};
    bool in[MODEL] = {false};
    struct rng rng;
    rng_seed(&rng, 5);
    for (int i = 0; i < 50000; i++) {
        uint64_t n = rng_below(&rng, MODEL - 1) + 1;
        if (!in[n])
            inflight_add(&held, n)->recording = (uint16_t)n;
        else
            inflight_remove(&held, inflight_find(&held, n));
        in[n] = !in[n];
        uint64_t probe = rng_below(&rng, MODEL - 1) + 1;
        const struct inflight_entry *e = inflight_find(&held, probe);
        if ((e != NULL) != in[probe] || (e && e->recording != probe)) {
            CHECK_EQ_INT(e != NULL, in[probe]);
            break;
        }
    }
    uint32_t count = 0;
    for (uint64_t n = 1; n < MODEL; n++) {
        count += in[n];
        CHECK_EQ_INT(inflight_find(&held, n) != NULL, in[n]);
        if (in[n])
            inflight_remove(&held, inflight_find(&held, n));
    }
    CHECK(count > 50);
    CHECK_EQ_UINT(held.count, 0);
    CHECK_EQ_UINT(held.capacity, 0); /* empty costs no memory */
}

static void wakers_come_in_order(void)
{
    struct wake_heap heap = {0};
    struct waker wakers[200] = {{0}};
    struct rng rng;
    rng_seed(&rng, 6);
    for (int i = 0; i < 2000; i++) {
        struct waker *w = &wakers[rng_below(&rng, 200)];
        if (rng_below(&rng, 3))
            wake_heap_set(&heap, w, (int64_t)rng_below(&rng, 1000));
        else
            wake_heap_clear(&heap, w);
    }
    size_t count = heap.count;
    CHECK(count > 100);
    CHECK(wake_heap_pop_due(&heap, wake_heap_earliest(&heap) - 1) == NULL);
    int64_t last = -1;
    const struct waker *w;
    while ((w = wake_heap_pop_due(&heap, 1000)) != NULL) {
        CHECK(w->at_mono_ms >= last);
        CHECK_EQ_UINT(w->place, 0);
        last = w->at_mono_ms;
        count--;
    }
    CHECK_EQ_UINT(count, 0);
    CHECK(wake_heap_earliest(&heap) == INT64_MAX);
    wake_heap_free(&heap);
}

static struct callback *callback_no(uint64_t event_no)
{
    return callback_numbered(event_no, start.wall_ms);
}

static void retries_come_in_order(void)
{
    struct retries r = {0};
    static const int64_t times[] = {50, 20, 90, 10, 70, 20, 60};
    struct callback *c[ARRAY_LEN(times)];
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        c[i] = callback_no(i + 1);
        retries_add(&r, c[i], times[i]);
    }
    retries_remove(&r, c[4]);
    CHECK_EQ_INT(retries_earliest(&r), 10);
    static const uint64_t order[] = {4, 2, 6, 1, 7, 3};
    uint64_t tie = 0;
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        uint64_t got = retries_pop(&r)->event_no;
        if (i == 1 || i == 2) /* 2 and 6 are due at the same time */
            tie += got;
        else
            CHECK_EQ_UINT(got, order[i]);
    }
    CHECK_EQ_UINT(tie, 8);
    CHECK(retries_pop(&r) == NULL);
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        callback_free(c[i]);
}

/* --- destinations --- */

static void a_destination_dies_and_comes_back(void)
{
    struct rng rng;
    rng_seed(&rng, 7);
    struct destination *d = destination_new("http://h:80", 11);
    int64_t now = 1000;
    for (int i = 0; i < DESTINATION_DEAD_FAILURES - 1; i++)
        CHECK(!destination_failed(d, false, now, &rng));
    CHECK(!destination_reached(d)); /* one connection and the count begins anew */
    for (int i = 0; i < DESTINATION_DEAD_FAILURES - 1; i++)
        CHECK(!destination_failed(d, false, now, &rng));
    CHECK(destination_failed(d, false, now, &rng));
    CHECK(d->dead);
    int64_t first = d->probe_mono_ms;
    CHECK(first >= now + 5000 && first <= now + 5250);
    CHECK(!destination_failed(d, false, now, &rng)); /* one from before: nothing new */
    CHECK_EQ_INT(d->probe_mono_ms, first);
    const struct lane *a = (const struct lane *)(uintptr_t)16,
                      *b = (const struct lane *)(uintptr_t)32;
    CHECK(!destination_grants_probe(d, a, first - 1));
    CHECK(destination_grants_probe(d, a, first));
    d->probe_holder = (struct lane *)(uintptr_t)16;
    CHECK(destination_grants_probe(d, a, first));
    CHECK(!destination_grants_probe(d, b, first));
    d->probe_holder = NULL;
    static const int64_t waits[] = {10000, 20000, 40000, 60000, 60000};
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        now = d->probe_mono_ms;
        CHECK(!destination_failed(d, true, now, &rng));
        int64_t wait = d->probe_mono_ms - now;
        CHECK(wait >= waits[i] && wait <= waits[i] + waits[i] / 20 && wait <= 60000);
    }
    CHECK(destination_reached(d));
    CHECK(!d->dead);
    d->in_flight = DESTINATION_RAMP_FIRST; /* no stampede */
    CHECK(!destination_has_seat(d));
    CHECK(!destination_reached(d));
    CHECK(destination_has_seat(d));
    d->in_flight = 0;
    destination_free(d);
}

static void only_connecting_judges_a_destination(void)
{
    for (int c = 0; c < ATTEMPT_CLASSES; c++)
        CHECK_EQ_INT(destination_is_judged_by((enum attempt_class)c),
                     c >= ATTEMPT_DNS && c <= ATTEMPT_TLS);
}

/* --- health --- */

static void health_forgets(void)
{
    int64_t minute = 60000, hour = 60 * minute, now = 5 * hour;
    struct health *h = health_new(9, now);
    for (int i = 1; i <= 100; i++)
        health_add(h, i > 10, i, now);
    struct health_summary s = health_summarise(h, now);
    CHECK_EQ_INT(s.failed_1h, 10);
    CHECK_EQ_INT(s.succeeded_1h, 90);
    CHECK(s.p50_ms >= 50 && s.p50_ms <= 60);
    CHECK(s.p99_ms >= 99 && s.p99_ms <= 118);
    s = health_summarise(h, now + 54 * minute);
    CHECK_EQ_INT(s.succeeded_1h, 90);
    s = health_summarise(h, now + 61 * minute);
    CHECK_EQ_INT(s.succeeded_1h, 0);
    CHECK_EQ_INT(s.succeeded_24h, 90);
    CHECK_EQ_INT(s.p50_ms, 0);
    s = health_summarise(h, now + 25 * hour);
    CHECK_EQ_INT(s.succeeded_24h, 0);
    CHECK(!health_is_stale(h, now + 23 * hour));
    CHECK(health_is_stale(h, now + 25 * hour));
    health_add(h, true, 40000, now + 25 * hour);
    s = health_summarise(h, now + 25 * hour);
    CHECK_EQ_INT(s.succeeded_24h, 1);
    CHECK(s.p50_ms >= 20000);
    health_free(h);
}

/* --- requests: the contract's vectors --- */

static void requests_are_signed(void)
{
    struct app app = {.secrets.newest = STR("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3")};
    struct request_source from = {
        .event_id = STR("r-1"),
        .panelist_id = STR("user-\xc3\xbc/1"),
        .body =
            STR("{\"Sig\":\"00000000000000000000000000000000\",\"PanelistId\":\"user-\xc3\xbc/1\","
                "\"RewardType\":\"survey_completed\",\"RewardId\":\"r-1\",\"Reward\":72.00,"
                "\"SessionId\":\"s \\\"1\\\"\",\"RevenueAmount\":0.35,\"IsTest\":false}"),
        .number = 3,
        .occurred_ms = 1763640000000,
    };
    struct callback_request r = {0};
    request_build(&r, &from, &app, 1763726400999);
    CHECK_STR(r.headers,
              "webhook-id: r-1\r\nwebhook-timestamp: 1763726400\r\n"
              "webhook-signature: v1,w0WTbsLn7HQtTdHV6B9cjz5B0AY0+x7aaQGZQDgu0Y8=\r\n"
              "Postbackd-Attempt: 3\r\nPostbackd-Event-Time: 2025-11-20T12:00:00.000Z\r\n");
    CHECK(memcmp(r.body.p, "{\"Sig\":\"68814bd5ca811bc95364ba60868977a8\",", 42) == 0);
    CHECK_EQ_UINT(r.body.n, from.body.n);
    CHECK_EQ_UINT(r.target.n, 0); /* the URL's own */
    request_free(&r);
}

/* It stands in the place of Sig until the request is built, and changes no byte of the body. */
static void requests_carry_the_traceparent(void)
{
    struct app app = {.secrets.newest = STR("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3")};
    struct arena arena = {0};
    struct str trace =
        traceparent_pack(STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), &arena);
    struct event e = {
        .type = EVENT_SURVEY_COMPLETED, .event_id = STR("r-1"), .panelist_id = STR("p")};
    struct callback_request r[2] = {0};
    for (int i = 0; i < 2; i++) {
        struct payload_options o = {.client_id = STR("c"), .trace = i ? trace : STR_NONE};
        struct buf body = {0};
        e.signature_offset = payload_print(&body, &e, &o);
        e.body = buf_str(&body);
        struct request_source from = request_of_test(&e, REQUEST_JSON, STR("/"));
        request_build(&r[i], &from, &app, 1763726400999);
        buf_free(&body);
    }
    CHECK_STR(r[0].body, buf_c(&r[1].body));
    CHECK(strstr(buf_c(&r[0].headers), "traceparent") == NULL);
    CHECK(strstr(buf_c(&r[1].headers), "\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-"
                                       "b7ad6b7169203331-01\r\n") != NULL);
    request_free(&r[0]);
    request_free(&r[1]);
    arena_free(&arena);
}

/* What webhook-signature covers: the body, or of a GET path and query. */
static void other_formats_are_signed(void)
{
    struct app app = {.secrets.newest = STR("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3")};
    struct request_source from = {
        .event_id = STR("r-1"),
        .panelist_id = STR("p"),
        .body = STR("{\"Sig\":\"00000000000000000000000000000000\",\"PanelistId\":\"p\"}"),
        .target = STR("/cb?u={PanelistId}"),
        .format = REQUEST_GET,
        .number = 1,
    };
    char wanted[WEBHOOK_SIGNATURE_BYTES];
    struct callback_request r = {0};
    request_build(&r, &from, &app, 1763726400999);
    CHECK_STR(r.target, "/cb?u=p");
    CHECK_EQ_UINT(r.body.n, 0);
    signature_webhook(app.secrets.newest, STR("r-1"), 1763726400, STR("/cb?u=p"), wanted);
    CHECK(strstr(buf_c(&r.headers), wanted) != NULL);
    request_free(&r);
    r = (struct callback_request){0};
    from.format = REQUEST_FORM;
    request_build(&r, &from, &app, 1763726400999);
    CHECK_STR(r.target, "/cb?u=p");
    CHECK_STR(r.body, "Sig=134c968120244f146618bd917acf6ed7&PanelistId=p");
    signature_webhook(app.secrets.newest, STR("r-1"), 1763726400, buf_str(&r.body), wanted);
    CHECK(strstr(buf_c(&r.headers), wanted) != NULL);
    request_free(&r);
}

static void rotation_keeps_the_older_secret_live(void)
{
    struct app app = {
        .secrets = {.newest = STR("newer-secret"),
                    .older = {{STR("older-secret"), 2000}},
                    .sig_older = 1},
    };
    CHECK_STR(secrets_sig(&app.secrets, 1999), "older-secret");
    CHECK_STR(secrets_sig(&app.secrets, 2000), "newer-secret");
    app.secrets.sig_older = 0;
    CHECK_STR(secrets_sig(&app.secrets, 1999), "newer-secret");
    struct request_source from = {
        .event_id = STR("r-1"),
        .panelist_id = STR("p"),
        .body = STR("{\"Sig\":\"00000000000000000000000000000000\"}"),
        .is_test = true,
        .number = 1,
    };
    struct callback_request r = {0};
    request_build(&r, &from, &app, 1999);
    const char *line = strstr(buf_c(&r.headers), "webhook-signature: v1,");
    CHECK(line && strstr(line + 22, " v1,"));
    CHECK(strstr(buf_c(&r.headers), "Postbackd-Test: true\r\n") != NULL);
    request_free(&r);
    r = (struct callback_request){0};
    request_build(&r, &from, &app, 2000);
    line = strstr(buf_c(&r.headers), "webhook-signature: v1,");
    CHECK(line && !strstr(line + 22, " v1,"));
    request_free(&r);
}

/* --- deciding --- */

int main(void)
{
    RUN(inflight_is_a_map);
    RUN(wakers_come_in_order);
    RUN(retries_come_in_order);
    RUN(a_destination_dies_and_comes_back);
    RUN(only_connecting_judges_a_destination);
    RUN(health_forgets);
    RUN(requests_are_signed);
    RUN(requests_carry_the_traceparent);
    RUN(other_formats_are_signed);
    RUN(rotation_keeps_the_older_secret_live);
    return check_done("lane");
}
