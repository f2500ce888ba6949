/* The pieces delivery is made of, each alone: what is held, heaps, destinations, health, requests,
 * and what a lane decides. */
#include "check.h"
#include "lane_callback.h"

#include "base/alloc.h"
#include "delivery/lane.h"
#include "delivery/request.h"

#include <stdlib.h>

static const struct lane_now start = {.wall_ms = 1763726400000, .mono_ms = 1000000};
static const struct lane_means plenty = {.seat = true, .page_seat = true, .room = 10000};

static struct lane_now after(int64_t ms)
{
    return (struct lane_now){start.wall_ms + ms, start.mono_ms + ms};
}

/* --- what is held --- */

#define MODEL 300
static void held_is_a_map(void)
{
    struct held held = {0};
    bool in[MODEL] = {false};
    struct rng rng;
    rng_seed(&rng, 5);
    for (int i = 0; i < 50000; i++) {
        uint64_t n = rng_below(&rng, MODEL - 1) + 1;
        if (!in[n])
            held_add(&held, n)->recording = (uint16_t)n;
        else
            held_remove(&held, n);
        in[n] = !in[n];
        uint64_t probe = rng_below(&rng, MODEL - 1) + 1;
        const struct held_entry *e = held_find(&held, probe);
        if ((e != NULL) != in[probe] || (e && e->recording != probe)) {
            CHECK_EQ_INT(e != NULL, in[probe]);
            break;
        }
    }
    uint32_t count = 0;
    for (uint64_t n = 1; n < MODEL; n++) {
        count += in[n];
        CHECK_EQ_INT(held_find(&held, n) != NULL, in[n]);
        if (in[n])
            held_remove(&held, n);
    }
    CHECK(count > 50);
    CHECK_EQ_UINT(held.count, 0);
    CHECK(held.capacity <= 16); /* empty costs next to nothing */
    held_free(&held);
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
    struct app app = {.secret = STR("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3")};
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
    struct buf headers = {0}, body = {0};
    request_build(&headers, &body, &from, &app, 1763726400999);
    CHECK_STR(headers,
              "webhook-id: r-1\r\nwebhook-timestamp: 1763726400\r\n"
              "webhook-signature: v1,w0WTbsLn7HQtTdHV6B9cjz5B0AY0+x7aaQGZQDgu0Y8=\r\n"
              "Postbackd-Attempt: 3\r\nPostbackd-Event-Time: 2025-11-20T12:00:00.000Z\r\n");
    CHECK(memcmp(body.p, "{\"Sig\":\"68814bd5ca811bc95364ba60868977a8\",", 42) == 0);
    CHECK_EQ_UINT(body.n, from.body.n);
    buf_free(&headers);
    buf_free(&body);
}

static void rotation_keeps_the_older_secret_live(void)
{
    struct app app = {
        .secret = STR("newer-secret"),
        .older_secret = STR("older-secret"),
        .older_secret_until_ms = 2000,
        .sig_uses_older = true,
    };
    CHECK_STR(app_sig_secret(&app, 1999), "older-secret");
    CHECK_STR(app_sig_secret(&app, 2000), "newer-secret");
    app.sig_uses_older = false;
    CHECK_STR(app_sig_secret(&app, 1999), "newer-secret");
    struct request_source from = {
        .event_id = STR("r-1"),
        .panelist_id = STR("p"),
        .body = STR("{\"Sig\":\"00000000000000000000000000000000\"}"),
        .is_test = true,
        .number = 1,
    };
    struct buf headers = {0}, body = {0};
    request_build(&headers, &body, &from, &app, 1999);
    const char *line = strstr(buf_c(&headers), "webhook-signature: v1,");
    CHECK(line && strstr(line + 22, " v1,"));
    CHECK(strstr(buf_c(&headers), "Postbackd-Test: true\r\n") != NULL);
    buf_clear(&headers);
    request_build(&headers, &body, &from, &app, 2000);
    line = strstr(buf_c(&headers), "webhook-signature: v1,");
    CHECK(line && !strstr(line + 22, " v1,"));
    buf_free(&headers);
    buf_free(&body);
}

/* --- deciding --- */

struct bench {
    struct lane_shared shared;
    struct lane *lane;
    struct destination *destination;
    struct rng rng;
};

static void bench_open(struct bench *b)
{
    *b = (struct bench){0};
    rng_seed(&b->rng, 8);
    b->lane = lane_new(lane_of(1, LANE_SUCCESS), &b->shared, &start);
    b->destination = destination_new("http://h:80", 11);
    b->lane->destination = b->destination;
    struct lane_settings s = {
        .enabled = true, .has_url = true, .max_concurrency = 8, .url_hash = 1};
    lane_set(b->lane, &s, &start);
}

static void bench_close(struct bench *b)
{
    lane_drop_queued(b->lane);
    b->lane->destination = NULL;
    lane_free(b->lane);
    destination_free(b->destination);
    CHECK_EQ_INT(b->shared.in_ram, 0);
}

static enum lane_action decide(const struct bench *b, int64_t ms)
{
    struct lane_now now = after(ms);
    return lane_decide(b->lane, &now, &plenty).action;
}

static int64_t wake_after(const struct bench *b, int64_t ms)
{
    struct lane_now now = after(ms);
    struct lane_decision d = lane_decide(b->lane, &now, &plenty);
    return d.action == LANE_WAIT && d.wake_mono_ms != INT64_MAX ? d.wake_mono_ms - start.mono_ms
                                                                : -1;
}

static void offer(struct bench *b, uint64_t event_no)
{
    lane_offer(b->lane, callback_no(event_no), 100, &start);
}

static void a_lane_is_small(void)
{
    printf("lane: %zu bytes, health: %zu bytes, destination: %zu bytes\n", sizeof(struct lane),
           sizeof(struct health), sizeof(struct destination));
    CHECK(sizeof(struct lane) <= 640);
}

static void an_idle_lane_is_forgotten(void)
{
    struct bench b;
    bench_open(&b);
    CHECK_EQ_INT(wake_after(&b, 0), LANE_IDLE_MS);
    CHECK_EQ_INT(decide(&b, LANE_IDLE_MS), LANE_FORGET);
    lane_note_waiting(b.lane, start.wall_ms + 3600000);
    CHECK_EQ_INT(wake_after(&b, LANE_IDLE_MS), 3600000);
    CHECK_EQ_INT(decide(&b, 3600000), LANE_PAGE);
    bench_close(&b);
}

static void an_open_lane_starts_up_to_its_window(void)
{
    struct bench b;
    bench_open(&b);
    for (uint64_t i = 1; i <= 10; i++)
        offer(&b, i);
    struct callback *taken[4];
    for (int i = 0; i < WINDOW_START; i++) {
        CHECK_EQ_INT(decide(&b, 0), LANE_START);
        taken[i] = lane_take(b.lane);
    }
    CHECK_EQ_INT(decide(&b, 0), LANE_WAIT);
    for (int i = 0; i < WINDOW_START; i++)
        lane_finish(b.lane, taken[i], LANE_FINISH_CANCELLED, 10, &start);
    CHECK_EQ_INT(b.lane->next_due_ms, start.wall_ms); /* they are due in the store still */
    bench_close(&b);
}

static void a_lane_waits_for_seats(void)
{
    struct bench b;
    bench_open(&b);
    offer(&b, 1);
    struct lane_means none = {.seat = false, .page_seat = true, .room = 100};
    CHECK_EQ_INT(lane_decide(b.lane, &start, &none).needs, LANE_NEEDS_SEAT);
    b.destination->in_flight = DESTINATION_SEATS;
    CHECK_EQ_INT(lane_decide(b.lane, &start, &none).needs, LANE_NEEDS_DESTINATION);
    b.destination->in_flight = 0;
    lane_note_waiting(b.lane, 0);
    none = (struct lane_means){.seat = true, .page_seat = false, .room = 100};
    CHECK_EQ_INT(lane_decide(b.lane, &start, &none).action,
                 LANE_START); /* what it has it may use */
    bench_close(&b);
}

static void modes_follow_the_settings(void)
{
    struct bench b;
    bench_open(&b);
    CHECK_EQ_INT(lane_mode(b.lane), LANE_OPEN);
    offer(&b, 1);
    struct lane_settings s = b.lane->settings;
    s.has_url = false;
    lane_set(b.lane, &s, &start);
    CHECK_EQ_INT(decide(&b, 0), LANE_SKIP);
    s.enabled = false; /* a disabled app's callbacks wait, whatever else */
    lane_set(b.lane, &s, &start);
    CHECK_EQ_INT(decide(&b, 0), LANE_DROP);
    lane_drop_queued(b.lane);
    CHECK_EQ_INT(decide(&b, 0), LANE_WAIT);
    s.enabled = s.has_url = s.disabled = true;
    lane_set(b.lane, &s, &start);
    CHECK_EQ_INT(decide(&b, 0), LANE_PAGE);
    struct lane_now now = start;
    CHECK_EQ_INT(lane_decide(b.lane, &now, &plenty).page_until_ms, INT64_MAX);
    b.lane->leaving = true;
    CHECK_EQ_INT(decide(&b, 0), LANE_LEAVE);
    bench_close(&b);
}

static void a_410_lasts_until_the_directory_knows(void)
{
    struct bench b;
    bench_open(&b);
    struct lane_settings s = b.lane->settings;
    s.url_hash = 7;
    lane_set(b.lane, &s, &start);
    CHECK(!lane_set_gone(b.lane, 6)); /* of a URL that is the lane's no more */
    CHECK_EQ_INT(lane_mode(b.lane), LANE_OPEN);
    CHECK(lane_set_gone(b.lane, 7));
    CHECK(!lane_set_gone(b.lane, 7)); /* asked for once */
    s.app_version++;                  /* some other change of the app came first */
    lane_set(b.lane, &s, &start);
    CHECK_EQ_INT(lane_mode(b.lane), LANE_DRAINING);
    s.disabled = true;
    lane_set(b.lane, &s, &start);
    lane_settle_gone(b.lane);
    CHECK_EQ_INT(lane_mode(b.lane), LANE_DRAINING);
    s.disabled = false; /* enabled again */
    lane_set(b.lane, &s, &start);
    CHECK_EQ_INT(lane_mode(b.lane), LANE_OPEN);
    CHECK(lane_set_gone(b.lane, 7));
    s.url_hash = 8; /* the 410 said nothing of this one */
    lane_set(b.lane, &s, &start);
    CHECK_EQ_INT(lane_mode(b.lane), LANE_OPEN);
    bench_close(&b);
}

static void a_suspended_lane_tries_one_at_a_time(void)
{
    struct bench b;
    bench_open(&b);
    for (uint64_t i = 1; i <= 10; i++)
        offer(&b, i);
    while (!window_failed(&b.lane->window, start.mono_ms, &b.rng))
        ;
    CHECK_EQ_INT(decide(&b, 0), LANE_DROP);
    lane_drop_queued(b.lane);
    CHECK_EQ_INT(b.lane->in_ram, 0);
    offer(&b, 11); /* a fresh one stays in the store too */
    CHECK_EQ_INT(b.lane->in_ram, 0);
    int64_t probe = wake_after(&b, 0);
    CHECK(probe >= 5000 && probe <= 5250);
    CHECK_EQ_INT(decide(&b, probe), LANE_PAGE);
    lane_page_asked(b.lane, PAGE_PROBE);
    struct callback *c = callback_no(3), *d = callback_no(4);
    CHECK(lane_page_take(b.lane, c));
    CHECK(!lane_page_take(b.lane, d)); /* one is enough */
    callback_free(d);
    struct due_page page = {
        .count = 2, .due_until_ms = start.wall_ms + probe, .next_due_ms = INT64_MAX};
    struct lane_now now = after(probe);
    lane_page_ended(b.lane, &page, 1, &now);
    CHECK_EQ_INT(decide(&b, probe), LANE_START);
    CHECK(lane_take(b.lane) == c);
    CHECK_EQ_INT(decide(&b, probe), LANE_WAIT);
    lane_finish(b.lane, c, LANE_FINISH_CANCELLED, 10, &now);
    bench_close(&b);
}

/* A callback that is being recorded, or that a page asked for earlier may still show, is not
 * taken from that page. */
static void pages_leave_out_what_is_in_hand(void)
{
    struct bench b;
    bench_open(&b);
    offer(&b, 1);
    struct callback *c = lane_take(b.lane);
    lane_page_asked(b.lane, PAGE_FILL);
    lane_finish(b.lane, c, LANE_FINISH_FINAL, 10, &start); /* frees it, its outcome is under way */
    struct callback *stale = callback_no(1);
    CHECK(!lane_page_take(b.lane, stale));
    lane_recorded(b.lane, 1, CALLBACK_DELIVERED, 0, &start);
    CHECK(!lane_page_take(b.lane, stale)); /* this page was read before */
    struct due_page page = {.count = 1, .next_due_ms = INT64_MAX};
    lane_page_ended(b.lane, &page, 0, &start);
    CHECK_EQ_UINT(b.lane->held.count, 0);
    callback_free(stale);
    bench_close(&b);
}

static void what_leaves_during_a_scan_is_scanned_again(void)
{
    struct bench b;
    bench_open(&b);
    lane_note_waiting(b.lane, start.wall_ms);
    lane_page_asked(b.lane, PAGE_FILL);
    lane_note_waiting(b.lane, start.wall_ms + 500); /* dropped behind the scan's back */
    struct due_page page = {.next_due_ms = start.wall_ms + 9000};
    lane_page_ended(b.lane, &page, 0, &start);
    CHECK_EQ_INT(b.lane->next_due_ms, start.wall_ms + 500);
    lane_page_asked(b.lane, PAGE_FILL);
    lane_page_ended(b.lane, &page, 0, &start);
    CHECK_EQ_INT(b.lane->next_due_ms, start.wall_ms + 9000);
    bench_close(&b);
}

static void an_empty_scan_does_not_spin(void)
{
    struct bench b;
    bench_open(&b);
    int64_t at = 0, last = 0;
    struct due_page page = {.next_due_ms = start.wall_ms}; /* a store that insists */
    lane_note_waiting(b.lane, start.wall_ms);
    for (int i = 0; i < 12; i++) {
        CHECK_EQ_INT(decide(&b, at), LANE_PAGE);
        lane_page_asked(b.lane, PAGE_FILL);
        struct lane_now now = after(at);
        lane_page_ended(b.lane, &page, 0, &now);
        last = at;
        at = wake_after(&b, at);
        CHECK(at >= last + 10);
    }
    CHECK_EQ_INT(at - last, 5120);
    page.more = true; /* or says that there is more, but never what */
    lane_page_asked(b.lane, PAGE_FILL);
    struct lane_now now = after(at);
    lane_page_ended(b.lane, &page, 0, &now);
    CHECK_EQ_INT(wake_after(&b, at), at + 5120);
    bench_close(&b);
}

/* The store hands a resend over as it stands there, which may be before the last failure. */
static void a_resend_does_not_turn_the_schedule_back(void)
{
    struct bench b;
    bench_open(&b);
    offer(&b, 1);
    struct callback *c = lane_take(b.lane);
    c->place = (struct schedule_place){2, 2, start.wall_ms + 5000};
    lane_finish(b.lane, c, LANE_FINISH_WAITING, 10, &start);
    struct callback *resent = callback_no(1);
    resent->manual = true;
    resent->resend_no = 1;
    resent->place = (struct schedule_place){1, 1, start.wall_ms};
    lane_offer(b.lane, resent, 100, &start);
    CHECK(lane_take(b.lane) == c);
    CHECK(c->manual);
    CHECK_EQ_INT(c->place.slot, 2);
    CHECK_EQ_INT(c->place.failed_attempts, 2);
    CHECK_EQ_INT(c->place.due_ms, start.wall_ms);
    lane_recorded(b.lane, 1, CALLBACK_PENDING, start.wall_ms, &start);
    lane_finish(b.lane, c, LANE_FINISH_CANCELLED, 10, &start);
    bench_close(&b);
}

/* A sweep that the store refused is not asked for again at once. */
static void a_refused_sweep_does_not_spin(void)
{
    struct bench b;
    bench_open(&b);
    while (!window_failed(&b.lane->window, start.mono_ms, &b.rng))
        ;
    b.shared.give_up_ms = 4000; /* before its next try */
    lane_note_waiting(b.lane, start.wall_ms);
    lane_note_mode(b.lane, &start);
    CHECK_EQ_INT(wake_after(&b, 0), 4000);
    struct lane_now then = after(4000);
    CHECK_EQ_INT(decide(&b, 4000), LANE_PAGE);
    lane_page_asked(b.lane, PAGE_SWEEP);
    lane_page_failed(b.lane, &then);
    CHECK_EQ_INT(wake_after(&b, 4000), 5000);
    b.lane->window.probe_mono_ms = INT64_MAX;
    CHECK_EQ_INT(decide(&b, 5000), LANE_PAGE);
    bench_close(&b);
}

static void queues_take_turns(void)
{
    struct bench b;
    bench_open(&b);
    for (uint64_t i = 1; i <= 3; i++)
        offer(&b, i);
    for (uint64_t i = 11; i <= 13; i++) {
        struct callback *c = callback_no(i);
        c->place.failed_attempts = 1;
        lane_offer(b.lane, c, 100, &start);
    }
    uint64_t sum_fresh = 0;
    for (int i = 0; i < 4; i++) {
        struct callback *c = lane_take(b.lane);
        sum_fresh += c->event_no < 10;
        lane_finish(b.lane, c, LANE_FINISH_CANCELLED, 10, &start);
    }
    CHECK_EQ_UINT(sum_fresh, 2);
    bench_close(&b);
}

int main(void)
{
    RUN(held_is_a_map);
    RUN(wakers_come_in_order);
    RUN(retries_come_in_order);
    RUN(a_destination_dies_and_comes_back);
    RUN(only_connecting_judges_a_destination);
    RUN(health_forgets);
    RUN(requests_are_signed);
    RUN(rotation_keeps_the_older_secret_live);
    RUN(a_lane_is_small);
    RUN(an_idle_lane_is_forgotten);
    RUN(an_open_lane_starts_up_to_its_window);
    RUN(a_lane_waits_for_seats);
    RUN(modes_follow_the_settings);
    RUN(a_410_lasts_until_the_directory_knows);
    RUN(a_suspended_lane_tries_one_at_a_time);
    RUN(pages_leave_out_what_is_in_hand);
    RUN(what_leaves_during_a_scan_is_scanned_again);
    RUN(an_empty_scan_does_not_spin);
    RUN(a_resend_does_not_turn_the_schedule_back);
    RUN(a_refused_sweep_does_not_spin);
    RUN(queues_take_turns);
    return check_done("lane");
}
