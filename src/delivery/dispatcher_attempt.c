/* One attempt of one callback, from the lane's turn to the outcome. Its request is written only if
 * dispatcher_may_send allows that at that moment; else the attempt ends without an outcome. Once
 * written, the attempt goes on when the lease of its shard ends: the outcome carries the lane's
 * fence, and the store refuses it if another node has had the shard since (store/leases.h). */
#include "delivery/dispatcher.h"

#include "base/check.h"
#include "delivery/callback_request.h"
#include "domain/answer_secrets.h"
#include "domain/signature.h"

#include <stdio.h>
#include <stdlib.h>

#define CONNECT_TIMEOUT_MS 5000
#define TESTS_OF_SEATS 32 /* one seat of so many is for test callbacks */

/* The part of a bound that healthy lanes may use. They leave a sixteenth to sick lanes, which
 * otherwise could never recover. */
static int64_t most_healthy(int64_t bound)
{
    return bound - bound / 16;
}

bool dispatcher_has_seat(const struct dispatcher *d, bool sick)
{
    /* Sick lanes get at most half of the seats, because their attempts tend to hang until the
     * deadline. */
    int64_t most_sick = d->seats.total > 1 ? d->seats.total / 2 : 1;
    int64_t starts = sick ? DISPATCHER_TICK_STARTS : most_healthy(DISPATCHER_TICK_STARTS);
    if (d->failed || d->stopping || d->seats.tick_starts >= starts ||
        d->seats.taken >= d->seats.total || dispatcher_outcomes_full(d))
        return false;
    return sick ? d->seats.by_sick < most_sick
                : d->seats.taken - d->seats.by_sick < most_healthy(d->seats.total);
}

/* Test callbacks have a small share of the seats, apart from the seats that deliveries hold. */
static bool has_test_seat(const struct dispatcher *d, const struct destination *to)
{
    int64_t most = d->seats.total / TESTS_OF_SEATS;
    return d->seats.taken < d->seats.total && d->seats.by_tests < (most > 1 ? most : 1) &&
           destination_has_test_seat(to);
}

static void done(struct exchange *x);

static struct delivery_attempt *attempt_new(struct dispatcher *d, struct app *app,
                                            const struct url *url,
                                            const struct request_source *from)
{
    struct delivery_attempt *t = dispatcher_take_attempt(d);
    t->dispatcher = d;
    t->app = app;
    t->at_wall_ms = d->runtime->wall_ms(d->runtime);
    request_build(&t->request, from, app, t->at_wall_ms);
    int64_t timeout_ms = app->timeout_ms;
    t->ends_mono_ms = dispatcher_now(d).mono_ms + timeout_ms;
    t->x.url = url;
    if (t->request.target.n) {
        t->url = *url;
        t->url.target = buf_str(&t->request.target);
        t->x.url = &t->url;
        t->x.has_values = true;
    }
    t->x.format = from->format;
    t->x.headers = buf_str(&t->request.headers);
    t->x.body = buf_str(&t->request.body);
    t->x.timeout_ms = timeout_ms;
    t->x.wants_body = app->success_answer.rule != SUCCESS_ANY;
    if (app->certificate.pem.p) {
        t->identity = (struct client_identity){.certificate = app->certificate.pem,
                                               .key = app->certificate.key};
        memcpy(t->identity.sha256, app->certificate.sha256, sizeof t->identity.sha256);
        t->x.identity = &t->identity;
    }
    t->x.connect_timeout_ms = timeout_ms < CONNECT_TIMEOUT_MS ? timeout_ms : CONNECT_TIMEOUT_MS;
    t->x.done = done;
    t->x.retry_after_ms = -1;
    list_push(&d->attempts.under_way, &t->link);
    return t;
}

/* Records a callback as skipped, without an exchange. A delivered callback that waited for the
 * extra attempt of a resend stays delivered. */
static void skip(struct dispatcher *d, struct lane *lane, struct callback *c,
                 enum callback_reason reason)
{
    struct lane_now now = dispatcher_now(d);
    struct outcome outcome = dispatcher_outcome_of(lane, c);
    outcome.state = c->was_delivered ? CALLBACK_DELIVERED : CALLBACK_SKIPPED;
    outcome.reason = c->was_delivered ? REASON_NONE : reason;
    dispatcher_record(d, &outcome);
    lane_finish(lane, c, LANE_FINISH_FINAL, 0, &now);
}

/* REASON_NONE: the callback is to be sent. */
static enum callback_reason reason_to_skip(const struct dispatcher *d, const struct lane *lane,
                                           const struct app *app, const struct callback *c,
                                           int64_t mono_ms)
{
    /* a clock that was set forward makes no slot look passed when the lane was enabled */
    int64_t enabled_ms = lane->settings.lane_enabled_ms - clock_lead_ms(&d->shared.lead, mono_ms);
    if (!c->was_delivered && callback_is_missed(&d->schedule, &c->place, enabled_ms))
        return REASON_DISABLED;
    bool wanted = app_wants(&app->terms, c->type, c->is_test, lane_kind_of(lane->no));
    return wanted ? REASON_NONE : REASON_NOT_WANTED;
}

bool dispatcher_start(struct dispatcher *d, struct lane *lane)
{
    struct leases *leases = leases_of(d->delivery->leases, lane->no);
    /* read before the settings, which may be from before a lapse */
    unsigned lapses = leases ? atomic_load(&leases->lapses) : 0;
    enum lane_kind kind = lane_kind_of(lane->no);
    struct app *app = directory_app_by_no(d->delivery->options.directory, lane_app_no(lane->no));
    if (!app || app->version != lane->settings.app_version) {
        dispatcher_set_lane(d, lane, app);
        app_unref(app);
        return false;
    }
    if (!leases_begin(d->delivery->leases, lane->no, lane->fence)) {
        app_unref(app);
        lane_begin_leaving(lane);
        return false;
    }
    struct lane_now now = dispatcher_now(d);
    bool shut = lane_mode(lane) == LANE_SHUT;
    bool sick = lane_is_sick(lane); /* before this attempt is counted */
    struct callback *c = lane_take(lane);
    lane_settle_place(lane, &c->place);
    enum callback_reason reason = reason_to_skip(d, lane, app, c, now.mono_ms);
    if (reason != REASON_NONE) {
        leases_end(d->delivery->leases, lane->no);
        app_unref(app);
        skip(d, lane, c, reason);
        return true;
    }
    lane_count_start(lane, &now);
    if (shut && c->manual)
        lane_count_resend(lane, &now);
    if (shut)
        (void)schedule_pass(&d->schedule, &c->place, now.wall_ms);
    struct request_source from = {
        .event_id = c->event_id,
        .panelist_id = c->panelist_id,
        .body = c->body,
        .target = app->parsed[kind].target,
        .signature_offset = c->signature_offset,
        .format = app->request_format,
        .is_test = c->is_test,
        .number = c->attempts_made + 1,
        .occurred_ms = c->occurred_ms,
    };
    struct delivery_attempt *t = attempt_new(d, app, &app->parsed[kind], &from);
    t->lane = lane;
    t->callback = c;
    t->resend_no = c->resend_no;
    t->lapses = lapses;
    t->x.may_send = leases ? dispatcher_may_send : NULL;
    t->is_shut = shut;
    t->is_sick = sick;
    t->destination = lane->destination;
    t->destination->refs++;
    t->destination->in_flight++;
    if (t->destination->dead) {
        t->is_probe = true;
        destination_begin_probe(t->destination, lane);
    }
    d->seats.taken++;
    d->seats.tick_starts++;
    d->seats.by_sick += t->is_sick;
    d->runtime->start(d->runtime, &t->x);
    return true;
}

/* --- the end of one ---------------------------------------------------------------------- */

/* True if the attempt ended in a failure that says something about the receiver's health. */
static bool is_against_lane(struct delivery_attempt *t)
{
    struct refused_types *refused = &t->lane->refused_types;
    enum event_type type = t->callback->type;
    if (t->x.class == ATTEMPT_OK) {
        refused_types_succeeded(refused, type);
        return false;
    }
    return attempt_counts_against_lane(t->x.class, t->x.status) &&
           !refused_types_failed(refused, type, t->x.class, t->x.status);
}

static void judge_lane(struct dispatcher *d, struct delivery_attempt *t, const struct lane_now *now)
{
    struct lane *lane = t->lane;
    struct window *w = &lane->window;
    bool was_suspended = w->suspended;
    bool against = is_against_lane(t);
    if (!against)
        lane_heard(lane, now);
    if (against) {
        lane_downtime_begin(&lane->downtime, now->mono_ms);
        /* An attempt that was under way when the lane was suspended says nothing new. */
        if (!was_suspended || t->is_shut)
            (void)window_failed(w, now->mono_ms, d->runtime->rng);
    } else if (t->x.class == ATTEMPT_OK || was_suspended) {
        /* Any other answer shows that the receiver is up. */
        window_succeeded(w, lane->settings.max_concurrency);
    }
    if (w->suspended != was_suspended)
        d->suspended += w->suspended ? 1 : -1;
    if (t->x.class == ATTEMPT_OK)
        dispatcher_note_success(d, lane);
}

/* The hash of the URL that was requested: the lane may have another URL by now. */
static uint64_t url_hash_of(const struct delivery_attempt *t)
{
    struct str url = t->app->url[t->callback->lane];
    return hash_fast(url.p, url.n);
}

/* Pauses the lane if the answer asks for it by Retry-After. Returns the wall clock time before
 * which the callback is not due; 0: the answer does not ask. */
static int64_t obey_retry_after(struct delivery_attempt *t, const struct lane_now *now)
{
    if (t->x.class == ATTEMPT_OK || t->x.retry_after_ms < 0)
        return 0;
    int64_t asked_ms = schedule_retry_after_ms(t->x.retry_after_ms);
    lane_pause(t->lane, url_hash_of(t), now->mono_ms + asked_ms);
    return now->wall_ms + asked_ms;
}

/* Uses the current setting, which may have changed since the attempt began. */
static bool is_final_status(struct dispatcher *d, const struct delivery_attempt *t)
{
    if (t->x.class != ATTEMPT_STATUS)
        return false;
    struct app *app = directory_app_by_no(d->delivery->options.directory, t->callback->app_no);
    bool is_final = app && final_statuses_have(&app->final_statuses, t->x.status);
    app_unref(app);
    return is_final;
}

/* The callback's new state and reason. Moves its place in the schedule if it waits for another
 * attempt. */
static struct callback_end conclude(struct dispatcher *d, struct delivery_attempt *t,
                                    int64_t not_before_ms, const struct lane_now *now)
{
    struct callback *c = t->callback;
    if (t->x.class == ATTEMPT_OK || c->was_delivered)
        return (struct callback_end){CALLBACK_DELIVERED, REASON_NONE};
    struct failed_attempt failed = {
        .class = t->x.class,
        .is_final_status = is_final_status(d, t),
        .ended_ms = now->wall_ms,
        .not_before_ms = not_before_ms,
    };
    return callback_end_of_attempt(&d->schedule, &c->place, &failed, d->runtime->rng);
}

static void judge_gone(struct dispatcher *d, struct delivery_attempt *t)
{
    if (t->x.class != ATTEMPT_GONE) {
        gone_run_end(&t->lane->gone_run);
        return;
    }
    if (!lane_add_gone(t->lane, url_hash_of(t), t->callback->event_no))
        return;
    if (d->delivery->options.disable_lane)
        d->delivery->options.disable_lane(d->delivery->options.context, t->callback->app_no,
                                          t->callback->lane, t->app->url[t->callback->lane]);
}

/* The part of an answer's headers that the log keeps: whole lines up to a bound, so that a receiver
 * with very many headers does not make each attempt large on disk. */
static struct str headers_kept(const struct buf *headers)
{
    struct str kept = buf_str(headers);
    if (kept.n <= LIMIT_ATTEMPT_HEADERS_KEPT_BYTES)
        return kept;
    kept.n = LIMIT_ATTEMPT_HEADERS_KEPT_BYTES;
    while (kept.n > 0 && kept.p[kept.n - 1] != '\n')
        kept.n--;
    return kept;
}

/* Borrows the texts; `url` is an empty buffer of the caller's. */
static struct attempt attempt_of(const struct delivery_attempt *t, enum lane_kind kind,
                                 struct buf *url)
{
    return (struct attempt){
        .at_ms = t->at_wall_ms,
        .duration_ms = t->x.duration_ms,
        .status = t->x.status,
        .class = t->x.class,
        .url = url_masked(t->app->url[kind], url),
        .detail = str_of(t->x.detail),
        .request_headers = buf_str(&t->x.request_headers),
        .response_headers = headers_kept(&t->x.response_headers),
        .response_body = buf_str(&t->x.response_body),
    };
}

static void let_seats_go(struct dispatcher *d, struct delivery_attempt *t)
{
    d->seats.by_tests -= t->test != NULL;
    t->destination->tests_in_flight -= t->test != NULL;
    d->seats.taken--;
    d->seats.by_sick -= t->is_sick;
    t->destination->in_flight--;
}

/* What the lane does with the ended callback. A 2xx answers a resend that came during the attempt.
 * Otherwise the store, which orders the resend after this outcome, makes the callback due again. A
 * callback that may have been erased during the attempt must leave memory. */
static enum lane_finish finish_as(const struct delivery_attempt *t, const struct outcome *outcome)
{
    if (t->callback->resend_no > outcome->resend_no || t->callback->may_be_erased)
        return LANE_FINISH_LOOK;
    return outcome->state == CALLBACK_PENDING ? LANE_FINISH_WAITING : LANE_FINISH_FINAL;
}

static void finish(struct dispatcher *d, struct delivery_attempt *t)
{
    struct lane *lane = t->lane;
    struct callback *c = t->callback;
    struct lane_now now = dispatcher_now(d);
    struct buf url = {0};
    let_seats_go(d, t);
    backoff_end(&lane->backoff, t->ends_mono_ms - t->x.timeout_ms);
    dispatcher_count(d, t, &now);
    judge_lane(d, t, &now);
    dispatcher_judge_destination(d, t);
    judge_gone(d, t);
    struct outcome outcome = dispatcher_outcome_of(lane, c);
    if (t->x.class != ATTEMPT_OK)
        outcome.resend_no = t->resend_no;
    outcome.has_attempt = true;
    outcome.attempt = attempt_of(t, c->lane, &url);
    outcome.attempt.number = ++c->attempts_made;
    outcome.attempt.manual = c->manual;
    c->manual = false;
    int64_t not_before_ms = obey_retry_after(t, &now);
    struct callback_end end = conclude(d, t, not_before_ms, &now);
    outcome.state = end.state;
    outcome.reason = end.reason;
    outcome.place = c->place;
    dispatcher_record(d, &outcome);
    lane_finish(lane, c, finish_as(t, &outcome), dispatcher_room(d, lane), &now);
    dispatcher_let_destination_go(d, t->destination);
    dispatcher_touch(d, lane);
    buf_free(&url);
}

static void finish_test(struct dispatcher *d, struct delivery_attempt *t)
{
    struct delivery_test *test = t->test;
    test->fault = t->x.local_fault;
    let_seats_go(d, t);
    if (!test->fault)
        dispatcher_count_attempt(d, t);
    if (!t->destination->dead)
        dispatcher_wake_blocked(d, t->destination);
    dispatcher_let_destination_go(d, t->destination);
    struct buf url = {0};
    test->attempt = attempt_of(t, test->event.lane, &url);
    test->attempt.number = 1;
    struct attempt *a = &test->attempt;
    if (test->url.p) {
        buf_clear(&url);
        a->url = url_masked(test->url, &url);
    }
    attempt_keep(a, &test->arena);
    buf_free(&url);
    executor_post(test->reply_to, &test->done);
}

/* Before any log, stream or message sees the answer. */
static void hide_secrets(struct exchange *x, const char hex[SIG_HEX_BYTES])
{
    struct str userinfo = x->url->userinfo;
    answer_hide_secrets(x->detail, strlen(x->detail), hex, userinfo);
    answer_hide_secrets(x->response_headers.p, x->response_headers.n, hex, userinfo);
    answer_hide_secrets(x->response_body.p, x->response_body.n, hex, userinfo);
}

/* Called after hide_secrets, because the sentence may quote the answer. */
static void judge_answer(struct delivery_attempt *t)
{
    struct exchange *x = &t->x;
    struct buf why = {0};
    buf_printf(&why, "Answered %d, but ", x->status);
    if (!success_answer_judge(&t->app->success_answer, buf_str(&x->response_body),
                              !x->response_is_whole, &why)) {
        x->class = ATTEMPT_UNEXPECTED_ANSWER;
        exchange_set_detail(x, buf_str(&why));
    }
    buf_free(&why);
}

/* Ends an attempt without an outcome: the callback is still due in the store. */
static void give_back(struct dispatcher *d, struct delivery_attempt *t)
{
    struct lane_now now = dispatcher_now(d);
    let_seats_go(d, t);
    leases_end(d->delivery->leases, t->lane->no);
    dispatcher_end_probe(t);
    if (!t->destination->dead)
        dispatcher_wake_blocked(d, t->destination);
    lane_finish(t->lane, t->callback, LANE_FINISH_CANCELLED, 0, &now);
    dispatcher_let_destination_go(d, t->destination);
    dispatcher_touch(d, t->lane);
}

static void done(struct exchange *x)
{
    struct delivery_attempt *t = CONTAINER_OF(x, struct delivery_attempt, x);
    struct dispatcher *d = t->dispatcher;
    CHECK_MAGIC(d, DISPATCHER_MAGIC);
    list_remove(&d->attempts.under_way, &t->link);
    list_push(&d->attempts.finished, &t->link);
    hide_secrets(x, t->request.sig);
    if (x->local_fault)
        dispatcher_note_local_fault(d, t);
    if (x->is_withheld || (x->local_fault && !t->test)) {
        give_back(d, t);
        return;
    }
    if (x->class == ATTEMPT_OK && t->app->success_answer.rule != SUCCESS_ANY)
        judge_answer(t);
    if (t->test)
        finish_test(d, t);
    else
        finish(d, t);
}

/* --- without an exchange ------------------------------------------------------------------ */

void dispatcher_skip(struct dispatcher *d, struct lane *lane)
{
    skip(d, lane, lane_take(lane), REASON_NO_URL);
}

static void cancel(struct dispatcher *d, struct delivery_attempt *t)
{
    d->runtime->cancel(d->runtime, &t->x);
    if (t->test) {
        t->x.class = ATTEMPT_TIMEOUT;
        snprintf(t->x.detail, sizeof(t->x.detail), "%s", "The service is stopping.");
        finish_test(d, t);
    } else {
        give_back(d, t);
    }
}

void dispatcher_cancel_all(struct dispatcher *d)
{
    struct link *link;
    while ((link = list_pop(&d->attempts.under_way)) != NULL) {
        list_push(&d->attempts.finished, link);
        cancel(d, CONTAINER_OF(link, struct delivery_attempt, link));
    }
}

/* --- test callbacks ------------------------------------------------------------------------ */

static void refuse_test(struct delivery_test *test, const char *why)
{
    struct buf url = {0};
    test->attempt = (struct attempt){
        .number = 1,
        .class = ATTEMPT_PROTOCOL,
        .url = arena_str(&test->arena, url_masked(test->url, &url)),
        .detail = arena_str(&test->arena, str_of(why)),
    };
    buf_free(&url);
    executor_post(test->reply_to, &test->done);
}

void dispatcher_start_test(struct dispatcher *d, struct delivery_test *test)
{
    const struct event *e = &test->event;
    const char *why = "No URL is configured for this kind of callback.";
    struct app *app = directory_app_by_no(d->delivery->options.directory, test->app_no);
    if (!app) {
        refuse_test(test, "The app does not exist.");
        return;
    }
    if (d->stopping) {
        app_unref(app);
        refuse_test(test, "The service is stopping.");
        return;
    }
    struct url own = {0};
    bool has_own = test->url.p && url_parse(&test->arena, test->url, &own, &why);
    const struct url *url = has_own ? &own : &app->parsed[e->lane];
    if (!has_own && (test->url.p || !app->url[e->lane].p)) {
        app_unref(app);
        refuse_test(test, why);
        return;
    }
    struct request_source from = request_of_test(e, test->format, url->target);
    struct destination *to = dispatcher_destination(d, app, url);
    if (!has_test_seat(d, to)) {
        dispatcher_let_destination_go(d, to);
        app_unref(app);
        test->busy = true;
        executor_post(test->reply_to, &test->done);
        return;
    }
    struct delivery_attempt *t = attempt_new(d, app, url, &from);
    if (t->x.url == &own) { /* `own` does not outlive this function */
        t->url = own;
        t->x.url = &t->url;
    }
    t->test = test;
    t->x.wants_body = true; /* to be shown */
    t->destination = to;
    to->in_flight++;
    to->tests_in_flight++;
    d->seats.taken++;
    d->seats.by_tests++;
    d->runtime->start(d->runtime, &t->x);
}
