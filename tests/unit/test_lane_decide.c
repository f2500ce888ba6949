/* What a lane decides, and what moves it. */
#include "check.h"
#include "lane_callback.h"

#include "base/alloc.h"
#include "delivery/lane.h"

#include <stdlib.h>

#define HOUR (3600 * INT64_C(1000))

static const struct lane_now start = {.wall_ms = 1763726400000, .mono_ms = 1000000};
static const struct lane_means plenty = {.seat = true, .page_seat = true, .room = 10000};

static struct lane_now after(int64_t ms)
{
    return (struct lane_now){start.wall_ms + ms, start.mono_ms + ms};
}

static struct callback *callback_no(uint64_t event_no)
{
    return callback_numbered(event_no, start.wall_ms);
}

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
    CHECK(sizeof(struct lane) <= 656);
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
    CHECK_EQ_INT(b.lane->scans.next_due_ms, start.wall_ms); /* they are due in the store still */
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
    CHECK_EQ_INT(decide(&b, 0), LANE_WAIT);
    s.has_url = false;
    lane_set(b.lane, &s, &start);
    CHECK_EQ_INT(decide(&b, 0), LANE_PAGE);
    struct lane_now now = start;
    CHECK_EQ_INT(lane_decide(b.lane, &now, &plenty).page_until_ms, INT64_MAX);
    lane_begin_leaving(b.lane);
    CHECK_EQ_INT(decide(&b, 0), LANE_LEAVE);
    bench_close(&b);
}

/* True: the last of them disabled the lane. */
static bool answer_410(struct bench *b, uint64_t url_hash, uint64_t first, int count)
{
    bool disabled = false;
    for (int i = 0; i < count; i++)
        disabled = lane_add_gone(b->lane, url_hash, first + (uint64_t)i);
    return disabled;
}

static void five_410s_last_until_the_directory_knows(void)
{
    struct bench b;
    bench_open(&b);
    struct lane_settings s = b.lane->settings;
    s.url_hash = 7;
    lane_set(b.lane, &s, &start);
    CHECK(!answer_410(&b, 6, 1, 9)); /* of a URL that is the lane's no more */
    CHECK(!answer_410(&b, 7, 1, 4));
    CHECK(!answer_410(&b, 7, 1, 4)); /* the same ones, resent */
    CHECK_EQ_INT(lane_mode(b.lane), LANE_OPEN);
    CHECK(answer_410(&b, 7, 5, 1));
    CHECK(!answer_410(&b, 7, 6, 9)); /* asked for once */
    offer(&b, 1);
    CHECK_EQ_INT(b.lane->in_ram, 0); /* it waits in the store */
    s.app_version++;                 /* some other change of the app came first */
    lane_set(b.lane, &s, &start);
    CHECK_EQ_INT(lane_mode(b.lane), LANE_HELD);
    CHECK_EQ_INT(decide(&b, HOUR), LANE_WAIT);
    s.disabled = true;
    lane_set(b.lane, &s, &start);
    lane_settle_gone(b.lane);
    CHECK_EQ_INT(lane_mode(b.lane), LANE_HELD);
    s.disabled = false; /* enabled again */
    lane_set(b.lane, &s, &start);
    CHECK_EQ_INT(lane_mode(b.lane), LANE_OPEN);
    CHECK_EQ_INT(decide(&b, 0), LANE_PAGE);
    CHECK(!answer_410(&b, 7, 20, 4)); /* it counts from the start */
    s.url_hash = 8;                   /* they said nothing of this one */
    lane_set(b.lane, &s, &start);
    CHECK(!answer_410(&b, 8, 30, 4));
    CHECK(answer_410(&b, 8, 34, 1));
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

static bool offer_resend(struct bench *b, uint64_t event_no, int64_t ms)
{
    struct lane_now now = after(ms);
    struct callback *c = callback_no(event_no);
    int32_t before = b->lane->in_ram;
    c->manual = true;
    lane_offer(b->lane, c, 100, &now);
    return b->lane->in_ram > before;
}

static void end_resend(struct bench *b, uint64_t event_no, int64_t begin_ms, int64_t end_ms)
{
    struct lane_now begin = after(begin_ms), end = after(end_ms);
    CHECK_EQ_INT(decide(b, begin_ms), LANE_START);
    struct callback *c = lane_take(b->lane);
    CHECK_EQ_UINT(c->event_no, event_no);
    lane_count_resend(b->lane, &begin);
    CHECK_EQ_INT(decide(b, end_ms), LANE_WAIT);
    lane_finish(b->lane, c, LANE_FINISH_CANCELLED, 10, &end);
}

/* The first one waits for the try under way, and for its distance from the resend before; those
 * that come meanwhile wait in the store. */
static void resends_of_a_shut_lane_are_next_one_at_a_time(void)
{
    struct bench b;
    bench_open(&b);
    while (!window_failed(&b.lane->window, start.mono_ms, &b.rng))
        ;
    CHECK(offer_resend(&b, 1, 0));
    CHECK_EQ_INT(decide(&b, 0), LANE_START);
    struct callback *first = lane_take(b.lane);
    lane_count_resend(b.lane, &start);
    CHECK(offer_resend(&b, 2, 100)); /* while it is tried */
    CHECK(!offer_resend(&b, 3, 150));
    CHECK_EQ_INT(wake_after(&b, 200), 1000);
    CHECK_EQ_INT(decide(&b, 1200), LANE_WAIT); /* the first hangs */
    CHECK_EQ_INT(b.lane->in_ram, 2);
    struct lane_now now = after(1300);
    lane_finish(b.lane, first, LANE_FINISH_CANCELLED, 10, &now);
    end_resend(&b, 2, 1300, 1350);
    CHECK(offer_resend(&b, 4, 1400));
    CHECK_EQ_INT(wake_after(&b, 1400), 2300);
    end_resend(&b, 4, 2300, 2310);
    b.lane->pace.paused_until_mono_ms = start.mono_ms + 60000;
    CHECK(offer_resend(&b, 5, 4000));
    CHECK_EQ_INT(decide(&b, 4000), LANE_DROP); /* it was asked to wait: due behind that */
    bench_close(&b);
}

/* A resend may go before the time of a dead host's next try; nothing else may in its stead. */
static void a_dropped_resend_leaves_no_early_try(void)
{
    struct bench b;
    bench_open(&b);
    offer(&b, 1);
    struct callback *first = lane_take(b.lane);
    while (!destination_failed(b.destination, false, start.mono_ms, &b.rng))
        ;
    int64_t probe = b.destination->probe_mono_ms - start.mono_ms;
    CHECK(offer_resend(&b, 2, 0));
    CHECK_EQ_INT(decide(&b, 0), LANE_WAIT); /* for the first */
    struct lane_settings s = b.lane->settings;
    s.enabled = false;
    lane_set(b.lane, &s, &start);
    CHECK_EQ_INT(decide(&b, 10), LANE_DROP);
    lane_drop_queued(b.lane);
    s.enabled = true;
    lane_set(b.lane, &s, &start);
    struct lane_now now = after(20);
    lane_finish(b.lane, first, LANE_FINISH_CANCELLED, 10, &now);
    CHECK_EQ_INT(decide(&b, 20), LANE_WAIT);
    CHECK_EQ_INT(decide(&b, probe - 1), LANE_WAIT);
    CHECK_EQ_INT(decide(&b, probe), LANE_PAGE);
    bench_close(&b);
}

static void another_url_did_not_ask_to_wait(void)
{
    struct bench b;
    bench_open(&b);
    struct lane_settings s = b.lane->settings;
    offer(&b, 1);
    b.lane->pace.paused_until_mono_ms = start.mono_ms + HOUR;
    CHECK_EQ_INT(wake_after(&b, 0), HOUR);
    s.app_version++;
    lane_set(b.lane, &s, &start);
    CHECK_EQ_INT(wake_after(&b, 0), HOUR);
    s.url_hash = 2;
    lane_set(b.lane, &s, &start);
    lane_pause(b.lane, 1, start.mono_ms + HOUR); /* a late answer of the one before */
    CHECK_EQ_INT(decide(&b, 0), LANE_START);
    lane_pause(b.lane, 2, start.mono_ms + HOUR);
    lane_pause(b.lane, 2, start.mono_ms + 1000);
    CHECK_EQ_INT(wake_after(&b, 0), HOUR);
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
    CHECK_EQ_UINT(b.lane->inflight.count, 0);
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
    CHECK_EQ_INT(b.lane->scans.next_due_ms, start.wall_ms + 500);
    lane_page_asked(b.lane, PAGE_FILL);
    lane_page_ended(b.lane, &page, 0, &start);
    CHECK_EQ_INT(b.lane->scans.next_due_ms, start.wall_ms + 9000);
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
    RUN(a_lane_is_small);
    RUN(an_idle_lane_is_forgotten);
    RUN(an_open_lane_starts_up_to_its_window);
    RUN(a_lane_waits_for_seats);
    RUN(modes_follow_the_settings);
    RUN(five_410s_last_until_the_directory_knows);
    RUN(another_url_did_not_ask_to_wait);
    RUN(a_suspended_lane_tries_one_at_a_time);
    RUN(resends_of_a_shut_lane_are_next_one_at_a_time);
    RUN(a_dropped_resend_leaves_no_early_try);
    RUN(pages_leave_out_what_is_in_hand);
    RUN(what_leaves_during_a_scan_is_scanned_again);
    RUN(an_empty_scan_does_not_spin);
    RUN(a_resend_does_not_turn_the_schedule_back);
    RUN(a_refused_sweep_does_not_spin);
    RUN(queues_take_turns);
    return check_done("lane_decide");
}
