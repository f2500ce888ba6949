/* The counters and the streams of GET /api/v1/live.
 *
 * The counters only grow. Each stream remembers the counters that it has sent and sends the
 * differences once a second. A stream hands the connection one piece at a time. A client that does
 * not read gets no further pieces, and the connection's own write deadline ends it. A stream also
 * ends when the key or session that opened it could no longer open it. */
#include "api/live.h"

#include "accounts/directory.h"
#include "api/caller.h"
#include "api/internal.h"
#include "api/live_sums.h"
#include "api/live_tests.h"
#include "api/route.h"
#include "base/alloc.h"

#include <pthread.h>
#include <stdlib.h>

#define LIVE_MAGIC 0x117E0001u
#define TICK_MS 1000
#define PING_MS 15000
#define LAST_EVENT_ID_DIGITS 18

struct live {
    uint32_t magic;
    atomic_int streams;
    pthread_mutex_t lock;
    struct live_sums sums;
    struct live_tests tests;
    uint32_t accounts[LIVE_STREAMS_MOST]; /* of each open stream */
};

struct live_stream {
    struct call *c;
    struct live *live;
    struct timer timer;
    struct live_sent sent;
    struct store_numbers counters;
    int64_t sent_test_id; /* tests up to this one have been sent */
    int64_t ping_mono_ms;
    bool waits; /* a piece is still being sent */
};

struct live *live_new(void)
{
    struct live *live = xcalloc(1, sizeof *live);
    live->magic = LIVE_MAGIC;
    pthread_mutex_init(&live->lock, NULL);
    live_tests_init(&live->tests);
    return live;
}

void live_free(struct live *live)
{
    if (!live)
        return;
    CHECK_MAGIC(live, LIVE_MAGIC);
    pthread_mutex_destroy(&live->lock);
    live_tests_free(&live->tests);
    live_sums_free(&live->sums);
    free(live);
}

/* --- the sums --------------------------------------------------------------------------------- */

void live_outcomes(struct live *live, const struct outcome *items, size_t count)
{
    if (atomic_load_explicit(&live->streams, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&live->lock);
    for (size_t i = 0; i < count; i++) {
        const struct outcome *o = &items[i];
        struct live_app *app = live_sums_app(&live->sums, o->account_no, lane_app_no(o->lane));
        if (!app)
            continue;
        app->delivered += o->state == CALLBACK_DELIVERED;
        app->failed += o->state == CALLBACK_PENDING && o->has_attempt;
        app->dead += o->state == CALLBACK_DEAD;
        app->skipped += o->state == CALLBACK_SKIPPED;
    }
    pthread_mutex_unlock(&live->lock);
}

void live_endpoint(struct live *live, uint32_t account_no, uint32_t app_no)
{
    if (atomic_load_explicit(&live->streams, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&live->lock);
    struct live_app *app = live_sums_app(&live->sums, account_no, app_no);
    if (app)
        app->endpoint++;
    pthread_mutex_unlock(&live->lock);
}

void live_accepted(struct live *live, const struct intake_batch *batch)
{
    if (atomic_load_explicit(&live->streams, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&live->lock);
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->verdicts[i].kind != VERDICT_ACCEPTED)
            continue;
        uint32_t account_no = batch->items[i].terms->account_no;
        live_sums_account(&live->sums, account_no)->accepted++;
    }
    pthread_mutex_unlock(&live->lock);
}

void live_test(struct live *live, uint32_t account_no, int64_t now_ms, struct str json)
{
    live_tests_add(&live->tests, account_no, now_ms, json);
}

/* --- what a stream says ----------------------------------------------------------------------- */

static void begin_event(struct buf *to, const char *name, struct json_writer *w)
{
    buf_printf(to, "event: %s\ndata: ", name);
    json_write_to(w, to);
    json_object(w);
}

static void end_event(struct buf *to, struct json_writer *w)
{
    json_end_object(w);
    buf_add_c(to, "\n\n");
}

static void print_app(const struct live_stream *s, struct json_writer *w,
                      const struct live_app *now, const struct live_app *sent)
{
    struct app *app = directory_app_by_no(s->c->api->options.directory, now->app_no);
    if (!app)
        return;
    json_object(w);
    json_key_string(w, "AppId", app->id);
    json_key_int(w, "Delivered", (int64_t)(now->delivered - sent->delivered));
    json_key_int(w, "Failed", (int64_t)(now->failed - sent->failed));
    json_key_int(w, "Dead", (int64_t)(now->dead - sent->dead));
    json_key_int(w, "Skipped", (int64_t)(now->skipped - sent->skipped));
    json_key_bool(w, "EndpointChanged", now->endpoint != sent->endpoint);
    json_end_object(w);
    app_unref(app);
}

/* Prints the changes of the account's apps since the last call; to NULL: only catches up. */
static void print_apps(struct live_stream *s, struct buf *to)
{
    struct json_writer w;
    const struct live_app *now;
    struct live_app *sent;
    size_t place = 0;
    bool any = false;
    pthread_mutex_lock(&s->live->lock);
    const struct live_account *account = live_sums_account(&s->live->sums, s->c->account_no);
    while ((now = live_sent_next(&s->sent, account, &place, &sent))) {
        if (to && !any) {
            begin_event(to, "callbacks", &w);
            json_key_array(&w, "Items");
        }
        any = true;
        if (to)
            print_app(s, &w, now, sent);
        *sent = *now;
    }
    pthread_mutex_unlock(&s->live->lock);
    if (to && any) {
        json_end_array(&w);
        end_event(to, &w);
    }
}

/* Prints the number of accepted events since the last call; to NULL: only catches up. */
static void print_accepted(struct live_stream *s, struct buf *to)
{
    struct json_writer w;
    pthread_mutex_lock(&s->live->lock);
    uint64_t now = live_sums_account(&s->live->sums, s->c->account_no)->accepted;
    pthread_mutex_unlock(&s->live->lock);
    if (to && now != s->sent.accepted) {
        begin_event(to, "accepted", &w);
        json_key_int(&w, "Count", (int64_t)(now - s->sent.accepted));
        end_event(to, &w);
    }
    s->sent.accepted = now;
}

/* A test contains Sig: only for those who may see the secret. */
static void print_tests(struct live_stream *s, struct buf *to)
{
    if (call_may(s->c, SCOPE_APPS_WRITE))
        s->sent_test_id = live_tests_print(&s->live->tests, s->c->account_no, s->sent_test_id, to);
}

static void print_counters(struct live_stream *s, struct buf *to)
{
    struct store_numbers n;
    struct json_writer w;
    store_get_numbers(s->c->api->options.store, &n);
    const struct store_numbers *sent = &s->counters;
    if (n.events_accepted == sent->events_accepted &&
        n.callbacks_delivered == sent->callbacks_delivered &&
        n.callbacks_dead == sent->callbacks_dead && n.callbacks_pending == sent->callbacks_pending)
        return;
    s->counters = n;
    int64_t now_ms = call_now_ms(s->c);
    begin_event(to, "counters", &w);
    json_key_time(&w, "At", now_ms);
    json_key_int(&w, "EventsAccepted", n.events_accepted);
    json_key_int(&w, "CallbacksDelivered", n.callbacks_delivered);
    json_key_int(&w, "CallbacksDead", n.callbacks_dead);
    json_key_int(&w, "CallbacksPending", n.callbacks_pending);
    int64_t oldest_ms = n.oldest_pending_ms ? now_ms - n.oldest_pending_ms : 0;
    json_key_int(&w, "OldestPendingSeconds", oldest_ms > 0 ? oldest_ms / 1000 : 0);
    end_event(to, &w);
}

static void print_hello(const struct live_stream *s, struct buf *to)
{
    struct json_writer w;
    buf_printf(to, "id: %lld\n", (long long)s->sent_test_id);
    begin_event(to, "hello", &w);
    json_key_time(&w, "ServerTime", call_now_ms(s->c));
    json_key_c(&w, "Version", s->c->api->options.version);
    end_event(to, &w);
}

/* --- its life --------------------------------------------------------------------------------- */

static bool take_place(struct live *live, uint32_t account_no)
{
    size_t of_account = 0;
    pthread_mutex_lock(&live->lock);
    int count = atomic_load_explicit(&live->streams, memory_order_relaxed);
    for (int i = 0; i < count; i++)
        of_account += live->accounts[i] == account_no;
    bool good = count < LIVE_STREAMS_MOST && of_account < LIVE_STREAMS_OF_ACCOUNT;
    if (good) {
        live->accounts[count] = account_no;
        atomic_store(&live->streams, count + 1);
    }
    pthread_mutex_unlock(&live->lock);
    return good;
}

static void give_place_back(struct live *live, uint32_t account_no)
{
    pthread_mutex_lock(&live->lock);
    int last = atomic_load_explicit(&live->streams, memory_order_relaxed) - 1, at = 0;
    while (at < last && live->accounts[at] != account_no)
        at++;
    live->accounts[at] = live->accounts[last];
    atomic_store(&live->streams, last);
    pthread_mutex_unlock(&live->lock);
}

static void finish(struct live_stream *s)
{
    struct call *c = s->c;
    loop_timer_clear(c->loop->loop, &s->timer);
    give_place_back(s->live, c->account_no);
    live_sent_free(&s->sent);
    call_end_pieces(c, STR_NONE); /* frees the stream */
}

static void drained(struct http_request *r)
{
    struct call *c = r->context;
    CHECK_MAGIC(c, CALL_MAGIC);
    struct live_stream *s = c->work;
    s->waits = false;
    if (r->gone)
        finish(s);
}

static void tick(struct timer *timer)
{
    struct live_stream *s = CONTAINER_OF(timer, struct live_stream, timer);
    struct call *c = s->c;
    int64_t now = loop_mono_ms(c->loop->loop);
    struct buf piece = {0};
    if (c->r->gone || !atomic_load(&c->api->accepting) || !caller_judge(c)) {
        if (!s->waits || !c->r->gone) /* otherwise `drained` ends it */
            finish(s);
        return;
    }
    loop_timer_set(c->loop->loop, &s->timer, now + TICK_MS);
    if (s->waits)
        return;
    if (c->is_operator)
        print_counters(s, &piece);
    if (c->account_no) {
        print_apps(s, &piece);
        print_accepted(s, &piece);
        print_tests(s, &piece);
    }
    if (!piece.n && now >= s->ping_mono_ms)
        buf_add_c(&piece, "event: ping\ndata: {}\n\n");
    if (piece.n) {
        s->ping_mono_ms = now + PING_MS;
        s->waits = true;
        http_respond_piece(c->r, buf_str(&piece), drained);
    }
    buf_free(&piece);
}

/* Continues after the Last-Event-ID of an interrupted stream. Without one, or with one by a clock
 * that was ahead: begins behind all tests. */
static int64_t first_test_id(struct call *c)
{
    struct str given = http_header(c->r, "last-event-id");
    int64_t end = live_tests_end(&c->api->options.live->tests, call_now_ms(c));
    uint64_t id;
    if (given.n > LAST_EVENT_ID_DIGITS || !str_parse_uint(given, INT64_MAX, &id))
        return end;
    return (int64_t)id < end ? (int64_t)id : end;
}

/* This header keeps nginx from buffering the answer. */
static void begin_stream(struct call *c)
{
    buf_add_c(&c->headers, "X-Accel-Buffering: no\r\n");
    call_begin_pieces(c, "text/event-stream");
}

void live_get(struct call *c)
{
    struct live *live = c->api->options.live;
    struct buf piece = {0};
    if (c->r->method == HTTP_HEAD) {
        begin_stream(c);
        call_end_pieces(c, STR_NONE);
        return;
    }
    if (!take_place(live, c->account_no)) {
        call_answer_problem(c, 503, "There are too many live streams. Poll instead.");
        return;
    }
    struct live_stream *s = call_alloc(c, sizeof *s);
    int64_t now = loop_mono_ms(c->loop->loop);
    s->c = c;
    s->live = live;
    s->timer.fire = tick;
    s->ping_mono_ms = now + PING_MS;
    c->work = s;
    s->sent_test_id = first_test_id(c);
    print_apps(s, NULL);
    print_accepted(s, NULL);
    begin_stream(c);
    loop_timer_set(c->loop->loop, &s->timer, now + TICK_MS);
    if (c->r->gone)
        return; /* the first tick ends it */
    print_hello(s, &piece);
    if (c->is_operator)
        print_counters(s, &piece);
    s->waits = true;
    http_respond_piece(c->r, buf_str(&piece), drained);
    buf_free(&piece);
}
