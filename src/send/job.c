/* The course of an exchange: start, phases and their deadlines, outcome, end. */
#include "send/sender_internal.h"

#include "base/alloc.h"
#include "domain/schedule.h"
#include "send/request_print.h"

#include <stdlib.h>

/* ---- waiting in line */

static void line_join(struct job *job)
{
    job_set_phase(job, JOB_WAITING);
    list_push(&job->sender->line, &job->link);
}

void line_poke(struct sender *s)
{
    if (s->line.count > 0 && s->line_timer.heap_place == 0)
        loop_timer_set(s->loop, &s->line_timer, loop_mono_ms(s->loop));
}

/* ---- waiting for a connection that another exchange of the destination is opening
 *
 * Whether a connection can be shared is known after its TLS handshake: without waiting, a burst to
 * an HTTP/2 receiver would open a connection for each exchange. After a handshake that chose
 * HTTP/1.1 nobody waits, and nobody waits longer than LIMIT_JOIN_MS, so that one stalled handshake
 * does not hold up the others. */

static bool is_worth_joining(const struct job *job)
{
    const struct host_pool *d = job->pool;
    return d->pioneer && !d->http1_only && job->sender->options.http2 && !d->no_http2 &&
           (job->join_deadline_mono_ms == 0 ||
            job->join_deadline_mono_ms > loop_mono_ms(job->sender->loop));
}

static void join(struct job *job)
{
    struct host_pool *d = job->pool;
    if (job->join_deadline_mono_ms == 0) {
        int64_t wait_ms = job->x->connect_timeout_ms / 2;
        job->join_deadline_mono_ms =
            loop_mono_ms(job->sender->loop) + (wait_ms < LIMIT_JOIN_MS ? wait_ms : LIMIT_JOIN_MS);
    }
    list_push(&d->joiners, &job->link);
    job_set_phase(job, JOB_JOINING);
}

static void joiner_release(struct host_pool *d)
{
    job_go(CONTAINER_OF(list_pop(&d->joiners), struct job, link));
}

void joiners_release(struct host_pool *d)
{
    d->pioneer = NULL;
    for (size_t left = d->joiners.count; left > 0 && d->joiners.count > 0; left--)
        joiner_release(d);
}

/* The pioneer has failed: the next job becomes the pioneer, the others go on waiting. */
static void pioneer_leave(struct host_pool *d)
{
    d->pioneer = NULL;
    if (d->joiners.count > 0)
        joiner_release(d);
}

/* ---- the start */

static void job_timer_fire(struct timer *timer);

void job_go(struct job *job)
{
    struct sender *s = job->sender;
    struct connection *c = shared_take(job->pool);
    if (!c)
        c = idle_take(s, job->pool);
    if (!c && is_worth_joining(job)) {
        join(job);
        return;
    }
    if (!c) {
        job_open_fresh(job);
        return;
    }
    job->x->reused_connection = true;
    s->reused++;
    connection_send(c, job);
}

/* An idle connection is closed for a job that has none; so is one that only drains a body. */
static bool make_room(struct sender *s)
{
    if (s->connections < s->options.connections_max || idle_close_oldest(s))
        return true;
    if (s->draining.count == 0)
        return false;
    connection_close(CONTAINER_OF(s->draining.first, struct connection, link));
    return true;
}

static int64_t connect_timeout_ms(const struct exchange *x)
{
    return x->connect_timeout_ms < x->timeout_ms ? x->connect_timeout_ms : x->timeout_ms;
}

/* The time for connecting begins here: time spent in line, or on a connection that turned out to be
 * stale, says nothing about the destination. */
void job_open_fresh(struct job *job)
{
    struct sender *s = job->sender;
    job->x->reused_connection = false;
    if (make_room(s)) {
        struct host_pool *d = job->pool;
        job->connect_deadline_mono_ms = loop_mono_ms(s->loop) + connect_timeout_ms(job->x);
        if (d->https && !d->pioneer)
            d->pioneer = job;
        opening_start(job);
    } else {
        line_join(job);
    }
}

static bool has_connection_for(const struct job *job)
{
    struct host_pool *d = job->pool;
    return d->idle.count > 0 || shared_take(d) || is_worth_joining(job);
}

void line_timer_fire(struct timer *timer)
{
    struct sender *s = CONTAINER_OF(timer, struct sender, line_timer);
    CHECK_MAGIC(s, SENDER_MAGIC);
    while (s->line.count > 0) {
        struct job *job = CONTAINER_OF(s->line.first, struct job, link);
        if (!has_connection_for(job) && !make_room(s))
            break;
        list_remove(&s->line, &job->link);
        job_go(job);
    }
}

void job_start(struct sender *s, struct exchange *x)
{
    int64_t now = loop_mono_ms(s->loop);
    /* calloc would bypass the allocator's per-thread cache */
    struct job *job = xmalloc(sizeof *job);
    *job = (struct job){.magic = JOB_MAGIC};
    job->sender = s;
    job->x = x;
    job->started_mono_ms = now;
    job->deadline_mono_ms = now + x->timeout_ms;
    job->timer.fire = job_timer_fire;
    job->pool = host_pool_get(s, x);
    job->pool->exchanges++;
    s->exchanges++;
    x->internal = job;
    request_print_log(&x->request_headers, &job->pool->fixed, x);
    if (s->line.count > 0) {
        /* first come, first served, even if the destination has an idle connection */
        line_join(job);
    } else {
        job_go(job);
    }
}

/* ---- deadlines */

static int64_t body_deadline(const struct job *job)
{
    int64_t at = loop_mono_ms(job->sender->loop) + LIMIT_ATTEMPT_BODY_WAIT_MS;
    return at < job->deadline_mono_ms ? at : job->deadline_mono_ms;
}

void job_set_phase(struct job *job, enum job_phase phase)
{
    job->phase = phase;
    bool connecting = phase >= JOB_RESOLVING && phase <= JOB_HANDSHAKE;
    int64_t at = job->deadline_mono_ms;
    if (connecting && job->connect_deadline_mono_ms < at)
        at = job->connect_deadline_mono_ms;
    if (phase == JOB_JOINING)
        at = job->join_deadline_mono_ms;
    if (phase == JOB_BODY && !job->x->wants_body && job->x->status / 100 == 2)
        at = body_deadline(job);
    if (phase == JOB_SETTLED)
        at = loop_mono_ms(job->sender->loop);
    if (job->timer.heap_place == 0 || job->timer.at_mono_ms != at)
        loop_timer_set(job->sender->loop, &job->timer, at);
}

void job_print_where(struct buf *to, const struct job *job)
{
    const struct host_pool *d = job->pool;
    buf_add_c(to, d->host);
    if (!d->host_is_address && job->address.family != 0) {
        buf_add_c(to, " (");
        address_print(to, &job->address);
        buf_add_c(to, ")");
    }
    buf_printf(to, " port %u", d->port);
}

static enum exchange_stage exchange_stage(const struct job *job)
{
    if (job->stream)
        return multiplex_stage(job);
    if (answer_begun(&job->connection->answer))
        return EXCHANGE_ANSWER_BEGUN;
    return job->connection->unsent.n > 0 ? EXCHANGE_PARTLY_SENT : EXCHANGE_SENT;
}

/* at: "host port n" */
static void settle_without_answer(struct job *job, const char *at, double s)
{
    switch (exchange_stage(job)) {
    case EXCHANGE_NO_STREAM:
        job_settle(job, ATTEMPT_TIMEOUT,
                   "%s allowed no request on its HTTP/2 connection within %g s "
                   "(SETTINGS_MAX_CONCURRENT_STREAMS)",
                   at, s);
        break;
    case EXCHANGE_NO_WINDOW:
        job_settle(job, ATTEMPT_TIMEOUT,
                   "%s did not take the whole request within %g s: its HTTP/2 window stayed shut",
                   at, s);
        break;
    case EXCHANGE_PARTLY_SENT:
        job_settle(job, ATTEMPT_TIMEOUT, "%s did not take the whole request within %g s", at, s);
        break;
    case EXCHANGE_SENT:
        job_settle(job, ATTEMPT_TIMEOUT,
                   "%s took the request but sent no answer within %g s: answer 2xx first, work "
                   "afterwards",
                   at, s);
        break;
    case EXCHANGE_ANSWER_BEGUN:
        job_settle(job, ATTEMPT_TIMEOUT,
                   "%s began to answer, but its headers were not complete within %g s", at, s);
        break;
    }
}

static void settle_late(struct job *job)
{
    struct buf where = {0};
    double connect_s = (double)connect_timeout_ms(job->x) / 1000;
    double s = (double)job->x->timeout_ms / 1000;
    job_print_where(&where, job);
    const char *at = buf_c(&where);
    switch (job->phase) {
    case JOB_WAITING:
        job->x->local_fault = LOCAL_FAULT_CONNECTIONS;
        job_settle(job, ATTEMPT_TIMEOUT,
                   "All %d connections of this sender were in use for %g s; nothing was sent",
                   (int)job->sender->options.connections_max, s);
        break;
    case JOB_RESOLVING:
        job->x->local_fault = opening_local_fault(job->opening);
        job_settle(job, ATTEMPT_DNS, "The name %s could not be resolved within %g s",
                   job->pool->host, connect_s);
        break;
    case JOB_DIALING:
        job->x->local_fault = opening_local_fault(job->opening);
        if (job->sender->has_proxy)
            job_settle(job, ATTEMPT_CONNECT_TIMEOUT,
                       "No connection to this service's own proxy within %g s", connect_s);
        else
            job_settle(job, ATTEMPT_CONNECT_TIMEOUT,
                       "No connection to %s within %g s: does a firewall keep us out?", at,
                       connect_s);
        break;
    case JOB_TUNNEL:
        job_settle(job, ATTEMPT_CONNECT_TIMEOUT,
                   "No connection to %s within %g s, through a proxy: does a firewall keep it out?",
                   at, connect_s);
        break;
    case JOB_HANDSHAKE:
        job_settle(job, ATTEMPT_CONNECT_TIMEOUT,
                   "%s took the connection, but the TLS handshake was not complete within %g s", at,
                   connect_s);
        break;
    case JOB_ANSWER: settle_without_answer(job, at, s); break;
    case JOB_BODY: job_settle_by_status(job, "; its body was too slow to be kept whole"); break;
    case JOB_JOINING:
    case JOB_SETTLED: break;
    }
    buf_free(&where);
}

/* A 2xx whose body is slow: that it is a success is recorded now, the rest of the body is read and
 * dropped. Closing the connection might end the receiver's program while it credits. For the same
 * reason only a few are left at a time: a program that sends its headers first and then credits
 * would else get more requests at once than MaxConcurrency allows. */
static void leave_body(struct job *job)
{
    if (job->pool->draining >= LIMIT_DESTINATION_SLOW_BODIES)
        loop_timer_set(job->sender->loop, &job->timer, job->deadline_mono_ms);
    else if (job->stream)
        multiplex_drain(job);
    else
        connection_drain(job);
}

static void job_timer_fire(struct timer *timer)
{
    struct job *job = CONTAINER_OF(timer, struct job, timer);
    CHECK_MAGIC(job, JOB_MAGIC);
    if (job->phase == JOB_JOINING) {
        list_remove(&job->pool->joiners, &job->link);
        job_open_fresh(job);
        return;
    }
    if (job->phase == JOB_BODY && loop_mono_ms(job->sender->loop) < job->deadline_mono_ms) {
        leave_body(job);
        return;
    }
    settle_late(job);
    job_finish(job);
}

/* ---- the outcome */

void job_settle(struct job *job, enum attempt_class class, const char *fmt, ...)
{
    struct exchange *x = job->x;
    struct buf text = {0};
    va_list ap;
    ASSERT(job->phase != JOB_SETTLED);
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    exchange_set_detail(x, buf_str(&text));
    x->class = class;
    buf_free(&text);
    job_set_phase(job, JOB_SETTLED);
}

bool job_may_send(struct job *job)
{
    return !job->x->may_send || job->x->may_send(job->x);
}

void job_withhold(struct job *job)
{
    ASSERT(!job->connection && !job->stream);
    job->x->is_withheld = true;
    job_set_phase(job, JOB_SETTLED);
}

/* True for "scheme://..." (RFC 3986, section 3.1). The query of a relative Location may have a URL,
 * too. */
static bool has_scheme(struct str location)
{
    size_t n = 0;
    while (n < location.n &&
           (char_is_letter_or_digit(location.p[n]) || char_in(location.p[n], "+-.")))
        n++;
    return n > 0 && str_has_prefix((struct str){location.p + n, location.n - n}, "://");
}

static void settle_redirect(struct job *job, int status)
{
    struct str location = header_value(buf_str(&job->x->response_headers), "Location");
    struct buf target = {0};
    if (!location.p || location.n == 0) {
        job_settle(job, ATTEMPT_REDIRECT,
                   "Answered %d without a Location: redirects are not followed, configure the URL "
                   "that takes the callback itself",
                   status);
        return;
    }
    if (job->x->has_values) { /* most servers repeat the values in their Location */
        job_settle(job, ATTEMPT_REDIRECT,
                   "Answered %d: redirects are not followed, configure the URL in the Location "
                   "header of the response, without the values of this callback",
                   status);
        return;
    }
    if (str_has_prefix(location, "//"))
        buf_add_c(&target, job->x->url->https ? "https:" : "http:");
    else if (location.p[0] == '/')
        url_print_destination(&target, job->x->url);
    bool is_url = has_scheme(location) || target.n > 0;
    url_print_text_masked(&target, location);
    job_settle(job, ATTEMPT_REDIRECT,
               "Answered %d: redirects are not followed, configure %s instead: %s", status,
               is_url ? "this URL" : "the URL that this leads to from the current one",
               buf_c(&target));
    buf_free(&target);
}

void job_settle_by_status(struct job *job, const char *but)
{
    struct exchange *x = job->x;
    enum attempt_class class = attempt_class_of_status(x->status);
    switch (class) {
    case ATTEMPT_OK:
        x->class = ATTEMPT_OK;
        job_set_phase(job, JOB_SETTLED);
        return;
    case ATTEMPT_REDIRECT: settle_redirect(job, x->status); return;
    case ATTEMPT_GONE:
        job_settle(job, class, "Answered 410 Gone: the receiver wants no callbacks at this URL");
        return;
    default: break;
    }
    if (x->status == 429 || x->status == 503) {
        struct str headers = buf_str(&x->response_headers);
        x->retry_after_ms =
            retry_after_ms(header_value(headers, "Retry-After"), header_value(headers, "Date"),
                           loop_wall_ms(job->sender->loop));
    }
    if (x->retry_after_ms >= 0)
        job_settle(job, class, "Answered %d and asked to wait %lld s%s%s", x->status,
                   ((long long)x->retry_after_ms + 999) / 1000,
                   schedule_retry_after_ms(x->retry_after_ms) < x->retry_after_ms
                       ? ", which counts as 24 h"
                       : "",
                   but);
    else
        job_settle(job, class, "Answered %d, %s%s", x->status,
                   attempt_status_text(x->status, x->format), but);
}

/* ---- the end */

static void job_release(struct job *job)
{
    struct sender *s = job->sender;
    struct host_pool *d = job->pool;
    ASSERT(!job->opening && !job->connection);
    loop_timer_clear(s->loop, &job->timer);
    if (d->pioneer == job)
        pioneer_leave(d);
    d->exchanges--;
    s->exchanges--;
    host_pool_drop_if_unused(s, d);
    job->x->duration_ms = (int32_t)(loop_mono_ms(s->loop) - job->started_mono_ms);
    job->x->internal = NULL;
    job->magic = 0;
    free(job);
}

/* Releases everything that the job holds. */
static void job_let_go(struct job *job)
{
    struct opening *opening = job->opening;
    struct connection *c = job->connection;
    if (job->phase == JOB_JOINING)
        list_remove(&job->pool->joiners, &job->link);
    else if (list_contains(&job->sender->line, &job->link))
        list_remove(&job->sender->line, &job->link);
    if (job->stream) {
        multiplex_leave(job);
        c = NULL;
    }
    job->opening = NULL;
    job->connection = NULL;
    if (opening)
        opening_cancel(opening);
    if (c)
        connection_close(c);
}

/* A receiver may return any URL: its own with our credentials, or another one with credentials. */
static void mask_userinfo(struct buf *headers)
{
    if (headers->n == 0 || !memchr(headers->p, '@', headers->n))
        return;
    struct buf masked = {0};
    url_print_text_masked(&masked, buf_str(headers));
    buf_free(headers);
    *headers = masked;
}

void job_finish(struct job *job)
{
    struct exchange *x = job->x;
    ASSERT(job->phase == JOB_SETTLED);
    mask_userinfo(&x->response_headers);
    job_let_go(job);
    job_release(job);
    x->done(x);
}

void job_abandon(struct job *job)
{
    job_let_go(job);
    job_release(job);
}
