/* Many exchanges on one HTTP/2 connection.
 *
 *   HANDSHAKE -> SHARED (carries streams) <-> IDLE (none) -> closed
 *
 * A shared connection is on its destination's list and takes new exchanges while the peer allows
 * streams. If it does not, another connection is opened: a peer that allows one stream, or a lane
 * whose streams all hang, must not hold up the others. Requests that begin in one tick beside other
 * streams are written together, so that a burst is one record and one system call.
 *
 * A stream belongs to one exchange or to none: then the rest of its body is read and dropped. While
 * `working` is set the connection must not be closed: `done` of one exchange may start or cancel
 * others on it. */
#include "send/sender_internal.h"

#include "base/alloc.h"
#include "send/request_print.h"

#include <stdlib.h>

#define OUTPUT_BYTES 32768 /* written at once; the rest waits until the socket has taken it */

struct multiplexed {
    struct h2_stream h2;
    struct connection *connection;
    struct job *job; /* NULL: it is only drained */
    bool reused;     /* the connection has carried earlier exchanges */
    int64_t since_mono_ms;
    struct timer timer; /* without a job: the deadline of draining */
    struct link link;   /* in the connection's list */
};

/* ---- lists */

static void shared_link(struct connection *c)
{
    c->state = CONNECTION_SHARED;
    list_push(&c->sender->shared, &c->link);
    list_push(&c->pool->shared, &c->link_of_pool);
}

static void shared_unlink(struct connection *c)
{
    list_remove(&c->sender->shared, &c->link);
    list_remove(&c->pool->shared, &c->link_of_pool);
}

static bool takes_more(const struct connection *c)
{
    return !c->retired && !c->write_failed && h2_room(c->h2) > 0 && !connection_is_old(c);
}

struct connection *shared_take(struct host_pool *d)
{
    for (struct link *at = d->shared.last; at; at = at->previous) {
        struct connection *c = CONTAINER_OF(at, struct connection, link_of_pool);
        if (takes_more(c))
            return c;
    }
    return NULL;
}

/* ---- writing */

static void drop(struct multiplexed *m);

/* Ends the exchanges whose requests may not be written any more. Requests that wait for their first
 * byte are the latest of the list. */
static void withhold(struct connection *c)
{
    struct link *before;
    bool was_working = c->working;
    c->working = true;
    for (struct link *link = c->streams.last; link; link = before) {
        struct multiplexed *m = CONTAINER_OF(link, struct multiplexed, link);
        struct job *job = m->job;
        before = link->previous;
        if (m->h2.headers_sent)
            break;
        if (!job || job_may_send(job))
            continue;
        drop(m);
        job_withhold(job);
    }
    c->working = was_working;
}

static void flush(struct connection *c)
{
    struct sender *s = c->sender;
    while (c->unsent.n == 0 && !c->write_failed) {
        withhold(c);
        buf_clear(&s->request);
        h2_output(c->h2, &s->request, OUTPUT_BYTES);
        if (s->request.n == 0)
            return;
        connection_write(c, s->request.p, s->request.n);
    }
}

/* The first request on a connection is written at once, later ones of the same tick together. */
static void flush_soon(struct connection *c)
{
    struct sender *s = c->sender;
    if (c->working || list_contains(&s->dirty, &c->dirty))
        return; /* it will be written at the end of the current work, or by the timer */
    if (c->streams.count == 1) {
        flush(c);
        if (c->streams.count > 0 && !h2_has_next(c->h2) && !h2_broken(c->h2))
            return;
    }
    list_push(&s->dirty, &c->dirty);
    if (s->flush_timer.heap_place == 0)
        loop_timer_set(s->loop, &s->flush_timer, loop_mono_ms(s->loop));
}

void multiplex_flush_timer_fire(struct timer *timer)
{
    struct sender *s = CONTAINER_OF(timer, struct sender, flush_timer);
    CHECK_MAGIC(s, SENDER_MAGIC);
    struct link *link;
    while ((link = list_pop(&s->dirty)) != NULL)
        multiplex_go_on(CONTAINER_OF(link, struct connection, dirty));
}

/* ---- streams */

static struct multiplexed *newest(const struct connection *c)
{
    /* The analyzer cannot know that a stream's connection is the one that lists it. */
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
    return CONTAINER_OF(c->streams.last, struct multiplexed, link);
}

/* Removes the stream; its job, if any, has no connection afterwards. */
static void drop(struct multiplexed *m)
{
    struct connection *c = m->connection;
    h2_forget(c->h2, &m->h2);
    list_remove(&c->streams, &m->link);
    loop_timer_clear(c->sender->loop, &m->timer);
    if (m->job) {
        m->job->stream = NULL;
        m->job->connection = NULL;
    } else {
        c->pool->draining--;
    }
    free(m);
    flush_soon(c);
}

/* After a stream was removed. May close the connection. */
static void settle_down(struct connection *c)
{
    if (c->working || c->streams.count > 0)
        return;
    flush(c);
    shared_unlink(c);
    c->state = CONNECTION_BUSY; /* so that it is on no list */
    if (takes_more(c))
        idle_give(c);
    else
        connection_close(c);
}

static void drain_timer_fire(struct timer *timer)
{
    struct multiplexed *m = CONTAINER_OF(timer, struct multiplexed, timer);
    struct connection *c = m->connection;
    CHECK_MAGIC(c, CONNECTION_MAGIC);
    c->retired = true;
    drop(m);
    settle_down(c);
}

void multiplex_begin(struct connection *c)
{
    c->h2 = h2_new(c->pool->allowed_streams);
    shared_link(c);
}

void multiplex_send(struct connection *c, struct job *job)
{
    struct exchange *x = job->x;
    struct multiplexed *m = xcalloc(1, sizeof *m);
    m->connection = c;
    m->job = job;
    m->reused = c->used;
    m->since_mono_ms = loop_mono_ms(c->sender->loop);
    m->timer.fire = drain_timer_fire;
    m->h2.headers = &x->response_headers;
    m->h2.body = &x->response_body;
    m->h2.request_body = x->body;
    buf_clear(&x->response_headers);
    buf_clear(&x->response_body);
    list_push(&c->streams, &m->link);
    if (c->state != CONNECTION_SHARED)
        shared_link(c);
    c->used = true;
    job->connection = c;
    job->stream = m;
    job->address = c->address;
    struct h2_header headers[REQUEST_H2_HEADERS];
    size_t count = request_list_h2(headers, &c->sender->request, &job->pool->fixed, x);
    ASSERT(h2_submit(c->h2, &m->h2, headers, count)); /* h2_room was checked */
    job_set_phase(job, JOB_ANSWER);
    flush_soon(c);
}

void multiplex_leave(struct job *job)
{
    struct multiplexed *m = job->stream;
    struct connection *c = m->connection;
    /* nothing has come since: the connection may be dead, so no other exchange should use it */
    if (job->x->class == ATTEMPT_TIMEOUT && c->heard_mono_ms <= m->since_mono_ms)
        c->retired = true;
    drop(m);
    settle_down(c);
}

void multiplex_free(struct connection *c)
{
    c->working = true;
    if (list_contains(&c->sender->dirty, &c->dirty))
        list_remove(&c->sender->dirty, &c->dirty);
    if (c->state == CONNECTION_SHARED)
        shared_unlink(c);
    while (c->streams.count > 0) {
        struct multiplexed *m = newest(c);
        ASSERT(!m->job);
        drop(m);
    }
    h2_free(c->h2);
    c->h2 = NULL;
}

/* ---- outcomes */

static void fail(struct multiplexed *m, enum attempt_class class, const char *what)
{
    struct job *job = m->job;
    struct buf where = {0};
    job_print_where(&where, job);
    job_settle(job, class, "%s %s", buf_c(&where), what);
    buf_free(&where);
    drop(m);
    job_finish(job);
}

static void fail_protocol(struct multiplexed *m, const char *why)
{
    struct buf what = {0};
    buf_add_c(&what, "did not answer in HTTP/2 that can be understood: ");
    buf_add_c(&what, why);
    fail(m, ATTEMPT_PROTOCOL, buf_c(&what));
    buf_free(&what);
}

static void complete(struct multiplexed *m)
{
    struct job *job = m->job;
    job->x->status = m->h2.status;
    job->x->response_is_whole = m->h2.end == H2_ENDED && !m->h2.body_is_cut;
    drop(m);
    job_settle_by_status(job, "");
    job_finish(job);
}

void multiplex_drain(struct job *job)
{
    struct multiplexed *m = job->stream;
    job->x->status = m->h2.status;
    if (!m->h2.sent) { /* the exchange owns the unsent rest of the request */
        complete(m);
        return;
    }
    h2_keep_nothing(&m->h2);
    m->job = NULL;
    m->connection->pool->draining++;
    job->stream = NULL;
    job->connection = NULL;
    loop_timer_set(m->connection->sender->loop, &m->timer, job->deadline_mono_ms);
    job_settle_by_status(job, "");
    job_finish(job);
}

/* Repeats the same attempt: the peer did not process it, or a used connection was lost. */
static void again(struct multiplexed *m)
{
    struct job *job = m->job;
    job->retried = true;
    drop(m);
    job_go(job);
}

/* The stream ended before its headers were complete. */
static void fail_early(struct multiplexed *m)
{
    struct buf what = {0};
    const struct h2_stream *h2 = &m->h2;
    bool wants_http1 = h2->end == H2_RESET && h2->code == H2_CODE_HTTP_1_1_REQUIRED;
    if ((h2->end == H2_REFUSED || wants_http1) && !m->job->retried) {
        m->job->pool->no_http2 |= wants_http1;
        m->connection->retired |= wants_http1;
        again(m);
        return;
    }
    if (h2->end == H2_REFUSED) {
        fail(m, ATTEMPT_RESET, "refused the request twice (HTTP/2: REFUSED_STREAM)");
    } else if (h2->end == H2_RESET) {
        buf_printf(&what, "ended the request without an answer (HTTP/2: %s)",
                   h2_code_name(h2->code));
        fail(m, ATTEMPT_RESET, buf_c(&what));
    } else {
        h2_stream_print_why(&what, h2);
        fail_protocol(m, buf_c(&what));
    }
    buf_free(&what);
}

static void on_progress(struct multiplexed *m)
{
    const struct h2_stream *h2 = &m->h2;
    bool endless = h2->end == H2_OPEN && h2->body_bytes >= LIMIT_ATTEMPT_BODY_DRAINED_BYTES;
    bool over = h2->end != H2_OPEN || endless;
    /* more of the body may follow, or the peer breaks the rules: later exchanges avoid this
     * connection */
    m->connection->retired |= endless || h2->end == H2_BAD;
    if (!m->job) {
        if (over)
            drop(m);
    } else if (!h2->headers_complete) {
        if (over)
            fail_early(m);
    } else if (over) {
        complete(m);
    } else if (h2->body_is_cut) {
        multiplex_drain(m->job);
    } else {
        m->job->x->status = h2->status;
        if (m->job->phase != JOB_BODY)
            job_set_phase(m->job, JOB_BODY);
    }
}

/* ---- reading */

static void fail_broken(struct connection *c)
{
    struct buf why = {0};
    h2_print_why(&why, c->h2);
    (void)buf_c(&why);
    c->retired = true;
    while (c->streams.count > 0) {
        struct multiplexed *m = newest(c);
        if (!m->job)
            drop(m);
        else if (m->h2.headers_complete)
            complete(m);
        else
            fail_protocol(m, why.p);
    }
    buf_free(&why);
    connection_close(c);
}

static void tell(struct connection *c)
{
    struct h2_stream *h2;
    c->working = true;
    while ((h2 = h2_next(c->h2)) != NULL)
        on_progress(CONTAINER_OF(h2, struct multiplexed, h2));
}

/* Reports changes of streams and writes output, until there is neither: writing may cause
 * changes. */
void multiplex_go_on(struct connection *c)
{
    uint32_t allowed = h2_allowed_streams(c->h2);
    c->pool->allowed_streams = allowed > 0 ? allowed : c->pool->allowed_streams;
    do {
        tell(c);
        flush(c);
    } while (h2_has_next(c->h2));
    if (h2_broken(c->h2)) {
        fail_broken(c);
        return;
    }
    c->working = false;
    if (c->state == CONNECTION_SHARED)
        settle_down(c);
    else if (!takes_more(c)) /* idle, and the peer is closing */
        connection_close(c);
    else
        line_poke(c->sender); /* more streams may be allowed now */
}

static void lose(struct multiplexed *m, enum stream_result result)
{
    struct buf what = {0};
    uint32_t code = h2_leaving_code(m->connection->h2);
    if (!m->job)
        drop(m);
    else if (m->h2.headers_complete)
        complete(m); /* however the body ends */
    else if (m->h2.begun)
        fail(m, ATTEMPT_RESET, "closed the connection in the middle of its answer's headers");
    else if (m->reused && !m->job->retried && result != STREAM_TLS_ERROR)
        again(m);
    else if (result == STREAM_TLS_ERROR) {
        connection_print_tls_why(&what, m->connection, result);
        fail(m, ATTEMPT_TLS, buf_c(&what));
    } else if (code != 0) {
        buf_printf(&what, "closed the connection without an answer (HTTP/2: %s)",
                   h2_code_name(code));
        fail(m, ATTEMPT_RESET, buf_c(&what));
    } else {
        fail(m, ATTEMPT_RESET,
             result == STREAM_RESET ? "reset the connection without an answer"
                                    : "closed the connection without an answer");
    }
    buf_free(&what);
}

/* Each answer comes in a record: everything that TLS holds is read before anything is reported, so
 * that the following requests are written together. */
void multiplex_read(struct connection *c)
{
    struct sender *s = c->sender;
    enum stream_result result;
    size_t n = 0, all = 0;
    do {
        result = stream_read(&c->stream, s->input, INPUT_BYTES, &n);
        if (result != STREAM_OK)
            break;
        h2_feed(c->h2, s->input, n);
        all += n;
    } while (all < INPUT_BYTES && stream_holds_bytes(&c->stream) && !h2_broken(c->h2));
    if (all > 0)
        c->heard_mono_ms = loop_mono_ms(s->loop);
    if (result == STREAM_OK || result == STREAM_AGAIN) {
        multiplex_go_on(c);
        return;
    }
    tell(c);
    c->retired = true;
    while (c->streams.count > 0)
        lose(newest(c), result);
    connection_close(c);
}

/* ---- for the sentence about a missed deadline */

enum exchange_stage multiplex_stage(const struct job *job)
{
    const struct h2_stream *h2 = &job->stream->h2;
    if (h2->begun)
        return EXCHANGE_ANSWER_BEGUN;
    if (h2->sent)
        return EXCHANGE_SENT;
    return h2->headers_sent ? EXCHANGE_NO_WINDOW : EXCHANGE_NO_STREAM;
}
