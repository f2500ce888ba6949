/* Destinations (scheme://host:port and the client certificate) and the idle connections.
 *
 * An idle connection is on two lists: its destination's stack (the last used is taken first, so
 * that the surplus of a burst ages and is closed) and the sender's list by time (for the idle
 * timeout and for eviction at the bound). */
#include "send/sender_internal.h"

#include "base/alloc.h"
#include "net/tls.h"
#include "send/request_print.h"

#include <stdlib.h>

static const uint8_t nobody[32];

static const uint8_t *identity_of(const struct exchange *x)
{
    return x->url->https && x->identity ? x->identity->sha256 : nobody;
}

struct host_pool *host_pool_get(struct sender *s, const struct exchange *x)
{
    const struct url *url = x->url;
    const uint8_t *identity = identity_of(x);
    uint64_t hash = hash_key128(&s->secret, url->host.p, url->host.n).lo ^ url->port;
    for (struct hash_node *n = hash_map_first(&s->destinations, hash); n; n = hash_map_next(n)) {
        struct host_pool *d = CONTAINER_OF(n, struct host_pool, node);
        if (d->https == url->https && d->port == url->port && d->host_bytes == url->host.n &&
            memcmp(d->host, url->host.p, url->host.n) == 0 &&
            memcmp(d->identity, identity, sizeof d->identity) == 0)
            return d;
    }
    struct host_pool *d = xcalloc(1, sizeof *d + url->host.n + 1);
    d->https = url->https;
    d->port = url->port;
    d->host_is_address = url->host_is_address;
    d->address = url->address;
    d->host_bytes = url->host.n;
    memcpy(d->host, url->host.p, url->host.n);
    d->has_identity = identity != nobody;
    memcpy(d->identity, identity, sizeof d->identity);
    request_fixed_make(&d->fixed, url, s->user_agent);
    const struct ssl_session_st *session = d->https ? sessions_find(s->sessions, d) : NULL;
    d->http1_only = session && !tls_session_is_http2(session);
    hash_map_add(&s->destinations, &d->node, hash);
    return d;
}

void host_pool_drop_if_unused(struct sender *s, struct host_pool *d)
{
    if (d->exchanges > 0 || d->connections > 0)
        return;
    hash_map_remove(&s->destinations, &d->node);
    request_fixed_free(&d->fixed);
    free(d);
}

void idle_remove(struct connection *c)
{
    list_remove(&c->sender->idle, &c->link);
    list_remove(&c->pool->idle, &c->link_of_pool);
}

struct connection *idle_take(struct sender *s, struct host_pool *d)
{
    if (d->idle.count == 0)
        return NULL;
    struct connection *c = CONTAINER_OF(d->idle.last, struct connection, link_of_pool);
    CHECK_MAGIC(c, CONNECTION_MAGIC);
    ASSERT(c->state == CONNECTION_IDLE && c->sender == s);
    idle_remove(c);
    return c;
}

void idle_give(struct connection *c)
{
    struct sender *s = c->sender;
    struct host_pool *d = c->pool;
    if (d->idle.count >= (size_t)s->options.idle_per_destination) {
        connection_close(c);
        return;
    }
    c->state = CONNECTION_IDLE;
    c->idle_mono_ms = loop_mono_ms(s->loop);
    list_push(&s->idle, &c->link);
    list_push(&d->idle, &c->link_of_pool);
    if (s->idle_timer.heap_place == 0)
        loop_timer_set(s->loop, &s->idle_timer, c->idle_mono_ms + s->options.idle_ms);
    line_poke(s);
}

bool idle_close_oldest(struct sender *s)
{
    if (s->idle.count == 0)
        return false;
    connection_close(CONTAINER_OF(s->idle.first, struct connection, link));
    return true;
}

/* When the oldest idle connection reaches the idle timeout; INT64_MAX: there is none. */
static int64_t idle_ends_mono_ms(const struct sender *s)
{
    if (s->idle.count == 0)
        return INT64_MAX;
    return CONTAINER_OF(s->idle.first, struct connection, link)->idle_mono_ms + s->options.idle_ms;
}

/* The timer is set when the first connection becomes idle and then stays, so that taking and
 * returning connections does not touch it. */
void idle_timer_fire(struct timer *timer)
{
    struct sender *s = CONTAINER_OF(timer, struct sender, idle_timer);
    CHECK_MAGIC(s, SENDER_MAGIC);
    int64_t now = loop_mono_ms(s->loop);
    while (idle_ends_mono_ms(s) <= now)
        (void)idle_close_oldest(s);
    if (s->idle.count > 0)
        loop_timer_set(s->loop, timer, idle_ends_mono_ms(s));
}
