/* The outgoing HTTP client: setting up, and its public functions. See send.h, and sender_internal.h
 * for the parts. */
#include "send/sender_internal.h"

#include "base/alloc.h"
#include "net/tls.h"

#include <stdlib.h>

static void on_session(void *owner, struct ssl_session_st *session)
{
    struct connection *c = owner;
    CHECK_MAGIC(c, CONNECTION_MAGIC);
    if (c->generation != c->sender->generation) {
        /* the trust has changed: the peer may not be trusted any more */
        tls_session_free(session);
        return;
    }
    sessions_put(c->sender->sessions, c->pool, session, tls_resumed(c->stream.tls));
}

static void *copy_array(const void *from, size_t count, size_t size)
{
    void *to = xmalloc(count * size + 1);
    if (count > 0)
        memcpy(to, from, count * size);
    return to;
}

static bool set_proxy(struct sender *s, const char **ret_why)
{
    if (!s->options.proxy)
        return true;
    if (!url_parse(&s->arena, str_of(s->options.proxy), &s->proxy, ret_why))
        return false;
    s->has_proxy = true;
    *ret_why = "the proxy's URL must begin with http://";
    return !s->proxy.https;
}

static bool set_up(struct sender *s, char **ret_why)
{
    const char *why = NULL;
    if (!set_proxy(s, &why)) {
        *ret_why = xstrdup(why);
        return false;
    }
    s->dns = dns_new(s->loop, s->options.dns_server, &why);
    if (!s->dns) {
        *ret_why = xstrdup(why);
        return false;
    }
    s->tls = sender_make_tls(s->options.authorities, s->options.http2, ret_why);
    if (!s->tls)
        return false;
    s->sessions = sessions_new(s);
    return true;
}

static void release(struct sender *s)
{
    if (s->sessions)
        sessions_free(s->sessions);
    tls_context_free(s->tls);
    if (s->dns)
        dns_free(s->dns);
    loop_timer_clear(s->loop, &s->idle_timer);
    loop_timer_clear(s->loop, &s->line_timer);
    loop_timer_clear(s->loop, &s->flush_timer);
    loop_timer_clear(s->loop, &s->pending_write_timer);
    hash_map_free(&s->destinations);
    buf_free(&s->request);
    arena_free(&s->arena);
    free(s->sources);
    destination_rules_free(&s->options.rules);
    free(s->user_agent);
    s->magic = 0;
    free(s);
}

struct sender *sender_new(struct loop *loop, const struct sender_options *options, char **ret_why)
{
    ASSERT(options->connections_max > 0 && options->idle_per_destination >= 0);
    struct sender *s = xcalloc(1, sizeof *s);
    s->magic = SENDER_MAGIC;
    s->loop = loop;
    s->options = *options;
    s->sources = copy_array(options->sources, options->source_count, sizeof *options->sources);
    s->options.sources = s->sources;
    s->options.rules = destination_rules_copy(&options->rules);
    s->user_agent = xstrdup(options->user_agent);
    s->idle_timer.fire = idle_timer_fire;
    s->line_timer.fire = line_timer_fire;
    s->pending_write_timer.fire = pending_write_timer_fire;
    s->flush_timer.fire = multiplex_flush_timer_fire;
    env_random(loop_env(loop), s->secret.bytes, sizeof s->secret.bytes);
    if (!set_up(s, ret_why)) {
        release(s);
        return NULL;
    }
    return s;
}

struct ssl_ctx_st *sender_make_tls(struct tls_authorities *authorities, bool http2, char **ret_why)
{
    struct ssl_ctx_st *tls = tls_client_new(authorities, http2, ret_why);
    if (tls)
        tls_client_set_session_hook(tls, on_session);
    return tls;
}

void sender_change(struct sender *s, const struct destination_rules *rules, struct ssl_ctx_st *tls)
{
    CHECK_MAGIC(s, SENDER_MAGIC);
    destination_rules_free(&s->options.rules);
    s->options.rules = destination_rules_copy(rules);
    s->generation++;
    if (tls) {
        tls_context_free(s->tls);
        tls_context_keep(tls);
        s->tls = tls;
        sessions_free(s->sessions);
        s->sessions = sessions_new(s);
    }
    while (idle_close_oldest(s))
        continue;
}

void sender_free(struct sender *s)
{
    CHECK_MAGIC(s, SENDER_MAGIC);
    ASSERT(s->exchanges == 0);
    while (idle_close_oldest(s))
        continue;
    while (s->draining.count > 0)
        connection_close(CONTAINER_OF(s->draining.first, struct connection, link));
    while (s->shared.count > 0)
        connection_close(CONTAINER_OF(s->shared.first, struct connection, link));
    ASSERT(s->connections == 0);
    release(s);
}

void sender_start(struct sender *s, struct exchange *x)
{
    CHECK_MAGIC(s, SENDER_MAGIC);
    x->class = ATTEMPT_OK;
    x->status = 0;
    x->detail[0] = '\0';
    x->retry_after_ms = -1;
    x->duration_ms = 0;
    x->response_is_whole = false;
    x->reused_connection = x->is_withheld = false;
    x->local_fault = LOCAL_FAULT_NONE;
    x->certificate_expires_ms = 0;
    buf_clear(&x->request_headers);
    buf_clear(&x->response_headers);
    buf_clear(&x->response_body);
    job_start(s, x);
}

void sender_cancel(struct sender *s, struct exchange *x)
{
    CHECK_MAGIC(s, SENDER_MAGIC);
    struct job *job = x->internal;
    CHECK_MAGIC(job, JOB_MAGIC);
    ASSERT(job->sender == s && job->x == x);
    job_abandon(job);
}

void exchange_free_results(struct exchange *x)
{
    buf_free(&x->request_headers);
    buf_free(&x->response_headers);
    buf_free(&x->response_body);
}

void sender_get_numbers(const struct sender *s, struct sender_numbers *ret)
{
    CHECK_MAGIC(s, SENDER_MAGIC);
    *ret = (struct sender_numbers){.connections = s->connections,
                                   .idle_connections = (int64_t)s->idle.count,
                                   .opened = s->opened,
                                   .reused = s->reused,
                                   .dns_queries = dns_queries(s->dns)};
}
