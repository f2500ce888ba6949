/* Writing and reading on one connection.
 *
 * Reading is always wanted, so that an exchange on an idle connection costs one write and one read
 * and no epoll call, and a close by the peer is noticed at once. The answer may come before the
 * request is sent. Finishing a job must be the last action: `done` may reuse this connection or
 * close it. */
#include "send/sender_internal.h"

#include "base/alloc.h"
#include "net/tls.h"
#include "send/request_print.h"

#include <openssl/ssl.h>
#include <stdlib.h>

static void connection_ready(struct stream *stream, int events);
static void drain_timer_fire(struct timer *timer);

static void draining_unlink(struct connection *c)
{
    list_remove(&c->sender->draining, &c->link);
    loop_timer_clear(c->sender->loop, &c->timer);
    c->pool->draining--;
}

/* ---- requests to be written
 *
 * Requests of one tick are written one after the other when all are built: then the receiver, or
 * the kernel for it, is woken once for several of them, which saves a fifth of the cost of sending
 * on one machine. */

#define PENDING_WRITES_MOST 32 /* requests that are built before the first is written */

static void write_later(struct connection *c)
{
    struct sender *s = c->sender;
    c->has_pending_write = true;
    list_push(&s->pending_writes, &c->link);
    if (s->pending_write_timer.heap_place == 0)
        loop_timer_set(s->loop, &s->pending_write_timer, loop_mono_ms(s->loop));
}

static void cancel_pending_write(struct connection *c)
{
    if (!c->has_pending_write)
        return;
    list_remove(&c->sender->pending_writes, &c->link);
    c->has_pending_write = false;
}

static void withhold(struct connection *c)
{
    struct job *job = c->job;
    c->job = NULL;
    job->connection = NULL;
    connection_close(c);
    job_withhold(job);
}

void sender_flush(struct sender *s)
{
    CHECK_MAGIC(s, SENDER_MAGIC);
    while (s->pending_writes.count > 0) {
        struct connection *c = CONTAINER_OF(s->pending_writes.first, struct connection, link);
        CHECK_MAGIC(c, CONNECTION_MAGIC);
        cancel_pending_write(c);
        if (!job_may_send(c->job)) {
            withhold(c);
            continue;
        }
        buf_clear(&s->request);
        request_print(&s->request, &c->pool->fixed, c->job->x);
        connection_write(c, s->request.p, s->request.n);
    }
    loop_timer_clear(s->loop, &s->pending_write_timer);
}

void pending_write_timer_fire(struct timer *timer)
{
    sender_flush(CONTAINER_OF(timer, struct sender, pending_write_timer));
}

void connection_close(struct connection *c)
{
    CHECK_MAGIC(c, CONNECTION_MAGIC);
    struct sender *s = c->sender;
    struct host_pool *d = c->pool;
    cancel_pending_write(c);
    if (c->state == CONNECTION_IDLE)
        idle_remove(c);
    else if (c->state == CONNECTION_DRAINING)
        draining_unlink(c);
    if (c->h2)
        multiplex_free(c);
    stream_close(&c->stream);
    buf_free(&c->unsent);
    free(c->tls_why);
    c->magic = 0;
    loop_free_later(s->loop, c);
    s->connections--;
    d->connections--;
    host_pool_drop_if_unused(s, d);
    line_poke(s);
}

/* Separates the connection from its job: it is closed, or kept for reuse. */
static void part(struct connection *c, bool reusable)
{
    struct job *job = c->job;
    c->job = NULL;
    job->connection = NULL;
    if (reusable)
        idle_give(c);
    else
        connection_close(c);
}

static void fail(struct connection *c, enum attempt_class class, const char *what)
{
    struct job *job = c->job;
    struct buf where = {0};
    job_print_where(&where, job);
    job_settle(job, class, "%s %s", buf_c(&where), what);
    buf_free(&where);
    part(c, false);
    job_finish(job);
}

/* ---- opening */

void connection_print_tls_why(struct buf *to, const struct connection *c, enum stream_result result)
{
    const char *reason = stream_tls_reason(&c->stream);
    bool about_us = strstr(reason, "certificate required") || strstr(reason, "alert bad cert") ||
                    strstr(reason, "alert certificate") || strstr(reason, "alert unknown ca");
    if (c->identity_unusable)
        buf_add_c(to, "was not asked: TLS does not take the app's ClientCertificate any more");
    else if (about_us && !c->tls_why && !c->pool->has_identity)
        buf_printf(to, "wants a certificate of its callers: set the app's ClientCertificate (%s)",
                   reason);
    else if (about_us && !c->tls_why)
        buf_printf(to, "does not accept the app's ClientCertificate: %s", reason);
    else if (c->tls_why)
        buf_printf(to, "is not trusted: %s", c->tls_why);
    else if (result != STREAM_TLS_ERROR)
        buf_add_c(to, "closed the connection during the TLS handshake: does it speak TLS?");
    else if (strstr(reason, "wrong version number"))
        buf_add_c(to, "does not speak TLS on this port: should the URL begin with http://?");
    else
        buf_printf(to, "and we could not agree on TLS: %s", reason);
}

static void fail_handshake(struct connection *c, enum stream_result result)
{
    struct buf what = {0};
    connection_print_tls_why(&what, c, result);
    fail(c, ATTEMPT_TLS, buf_c(&what));
    buf_free(&what);
}

static void shake_hands(struct connection *c)
{
    enum stream_result result = stream_handshake(&c->stream);
    if (result == STREAM_OK) {
        struct host_pool *d = c->pool;
        struct job *job = c->job;
        c->certificate_expires_ms = tls_peer_expires_ms(c->stream.tls);
        d->http1_only = !tls_chose_http2(c->stream.tls);
        if (!d->http1_only)
            multiplex_begin(c);
        connection_send(c, job);
        if (d->pioneer == job)
            joiners_release(d);
    } else if (result != STREAM_AGAIN) {
        fail_handshake(c, result);
    }
}

void connection_open(struct job *job, int fd, const struct address *address)
{
    struct sender *s = job->sender;
    struct host_pool *d = job->pool;
    struct ssl_st *tls = NULL;
    struct connection *c = xcalloc(1, sizeof *c);
    c->magic = CONNECTION_MAGIC;
    c->sender = s;
    c->pool = d;
    c->address = *address;
    c->generation = job->generation;
    c->opened_mono_ms = loop_mono_ms(s->loop);
    c->timer.fire = drain_timer_fire;
    c->stream.ready = connection_ready;
    d->connections++;
    s->connections++;
    s->opened++;
    if (d->https) {
        tls = tls_client_stream(s->tls, d->host, d->host_is_address ? &d->address : NULL,
                                sessions_find(s->sessions, d), c);
        if (d->no_http2)
            tls_offer_http1_only(tls);
        if (d->has_identity)
            c->identity_unusable =
                !tls_use_identity(tls, job->x->identity->certificate, job->x->identity->key);
        certificate_watch(tls);
    }
    stream_open(&c->stream, s->loop, fd, tls);
    stream_want(&c->stream, IO_READ);
    if (!tls) {
        connection_send(c, job);
        return;
    }
    c->state = CONNECTION_HANDSHAKE;
    c->job = job;
    job->address = *address;
    job->connection = c;
    job_set_phase(job, JOB_HANDSHAKE);
    if (c->identity_unusable)
        fail_handshake(c, STREAM_TLS_ERROR);
    else
        shake_hands(c);
}

/* ---- writing */

/* Keeps the bytes that the socket does not take. A failure is left to reading, which may still find
 * an answer (a refusal sent before the request was read) or the reason. */
void connection_write(struct connection *c, const char *p, size_t n)
{
    size_t written = 0;
    while (n > 0) {
        enum stream_result result = stream_write(&c->stream, p, n, &written);
        if (result == STREAM_AGAIN)
            break;
        if (result != STREAM_OK) {
            c->write_failed = true;
            n = 0;
            break;
        }
        p += written;
        n -= written;
        c->unsent_at += c->unsent.n > 0 ? written : 0;
    }
    if (n > 0 && c->unsent.n == 0) {
        buf_add(&c->unsent, p, n);
        stream_want(&c->stream, IO_READ | IO_WRITE);
    } else if (n == 0 && c->unsent.n > 0) {
        buf_free(&c->unsent);
        c->unsent_at = 0;
        stream_want(&c->stream, IO_READ);
    }
}

void connection_send(struct connection *c, struct job *job)
{
    CHECK_MAGIC(c, CONNECTION_MAGIC);
    struct sender *s = c->sender;
    struct exchange *x = job->x;
    x->certificate_expires_ms = c->certificate_expires_ms;
    if (c->h2) {
        c->job = NULL;
        multiplex_send(c, job);
        return;
    }
    c->used = c->state == CONNECTION_IDLE;
    c->state = CONNECTION_BUSY;
    c->job = job;
    job->connection = c;
    job->address = c->address;
    job_set_phase(job, JOB_ANSWER);
    answer_begin(&c->answer, &x->response_headers, &x->response_body);
    write_later(c);
    if (s->pending_writes.count >= PENDING_WRITES_MOST)
        sender_flush(s);
}

/* ---- reading */

bool connection_is_old(const struct connection *c)
{
    return c->generation != c->sender->generation ||
           loop_mono_ms(c->sender->loop) - c->opened_mono_ms >= LIMIT_CONNECTION_AGE_MS;
}

static bool is_reusable(struct connection *c, bool all_used)
{
    char more[64];
    size_t n;
    if (!all_used || !c->answer.keep_alive || c->has_pending_write || c->write_failed ||
        c->unsent.n > 0 || connection_is_old(c))
        return false;
    /* TLS may hold session tickets, or data that was not asked for */
    return !c->stream.tls || !SSL_has_pending(c->stream.tls) ||
           stream_read(&c->stream, more, sizeof more, &n) == STREAM_AGAIN;
}

static void complete(struct connection *c, bool reusable)
{
    struct job *job = c->job;
    job_settle_by_status(job, "");
    part(c, reusable);
    job_finish(job);
}

void connection_drain(struct job *job)
{
    struct connection *c = job->connection;
    answer_keep_nothing(&c->answer);
    cancel_pending_write(c);
    c->job = NULL;
    job->connection = NULL;
    c->state = CONNECTION_DRAINING;
    list_push(&c->sender->draining, &c->link);
    c->pool->draining++;
    loop_timer_set(c->sender->loop, &c->timer, job->deadline_mono_ms);
    job_settle_by_status(job, "");
    line_poke(c->sender); /* this connection may be closed for a job that waits for one */
    job_finish(job);
}

static void drain_timer_fire(struct timer *timer)
{
    connection_close(CONTAINER_OF(timer, struct connection, timer));
}

static void fail_protocol(struct connection *c)
{
    struct buf what = {0};
    buf_add_c(&what, "did not answer in HTTP/1.1 that can be understood: ");
    answer_print_why(&what, &c->answer);
    fail(c, ATTEMPT_PROTOCOL, buf_c(&what));
    buf_free(&what);
}

/* The peer has closed the connection, or the connection broke. */
static void on_gone(struct connection *c, enum stream_result result)
{
    struct job *job = c->job;
    if (c->state != CONNECTION_BUSY) {
        connection_close(c);
        return;
    }
    if (c->answer.headers_complete) {
        job->x->response_is_whole =
            result == STREAM_CLOSED && answer_ends_by_close(&c->answer) && !c->answer.body_is_cut;
        complete(c, false); /* however the body ends */
        return;
    }
    if (answer_begun(&c->answer)) {
        fail(c, ATTEMPT_RESET, "closed the connection in the middle of its answer's headers");
        return;
    }
    if (c->used && !job->retried && result != STREAM_TLS_ERROR) {
        /* the peer closed the idle connection while it was taken for this job: nobody's fault */
        job->retried = true;
        part(c, false);
        job_open_fresh(job);
        return;
    }
    if (result == STREAM_TLS_ERROR)
        /* TLS 1.3 servers refuse a client after the client's handshake has finished */
        fail_handshake(c, result);
    else
        fail(c, ATTEMPT_RESET,
             result == STREAM_RESET ? "reset the connection without an answer"
                                    : "closed the connection without an answer");
}

/* True: read on. */
static bool on_bytes(struct connection *c, const char *p, size_t n)
{
    size_t used = 0;
    if (c->state == CONNECTION_IDLE) { /* no request is open: a 408, or worse */
        connection_close(c);
        return false;
    }
    struct job *job = c->job;
    enum answer_result result = answer_feed(&c->answer, p, n, &used);
    if (!c->answer.headers_complete) {
        if (result == ANSWER_BAD)
            fail_protocol(c);
        return result != ANSWER_BAD;
    }
    bool reusable = result == ANSWER_DONE && is_reusable(c, used == n);
    bool over = result != ANSWER_MORE || c->answer.body_bytes > LIMIT_ATTEMPT_BODY_DRAINED_BYTES;
    if (!job) {
        if (!over)
            return true;
        if (reusable) {
            draining_unlink(c);
            c->state = CONNECTION_BUSY;
            idle_give(c);
        } else {
            connection_close(c);
        }
        return false;
    }
    job->x->status = c->answer.status;
    job->x->response_is_whole = result == ANSWER_DONE && !c->answer.body_is_cut;
    if (over) {
        complete(c, reusable);
        return false;
    }
    if (c->answer.body_is_cut) {
        connection_drain(job);
        return false;
    }
    if (job->phase != JOB_BODY)
        job_set_phase(job, JOB_BODY);
    return true;
}

static void connection_ready(struct stream *stream, int events)
{
    struct connection *c = CONTAINER_OF(stream, struct connection, stream);
    CHECK_MAGIC(c, CONNECTION_MAGIC);
    if (c->state == CONNECTION_HANDSHAKE) {
        shake_hands(c);
        return;
    }
    if ((events & IO_WRITE) && c->unsent.n > 0) {
        connection_write(c, c->unsent.p + c->unsent_at, c->unsent.n - c->unsent_at);
        if (c->h2 && c->unsent.n == 0) {
            multiplex_go_on(c);
            return; /* the connection may be gone; unread bytes are reported again */
        }
    }
    if (!(events & IO_READ))
        return;
    if (c->h2) {
        multiplex_read(c);
        return;
    }
    /* reads once: remaining bytes are reported again */
    size_t n = 0;
    enum stream_result result = stream_read(stream, c->sender->input, INPUT_BYTES, &n);
    if (result == STREAM_OK)
        (void)on_bytes(c, c->sender->input, n);
    else if (result != STREAM_AGAIN)
        on_gone(c, result);
}
