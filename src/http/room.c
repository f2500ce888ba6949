/* What connections hold together, and what is done when it is too much: places, and bytes in
 * buffers. Whoever is idle goes first, and strangers before those who are known; a body that finds
 * no room waits unread, in the client's own socket.
 *
 * Invariants. A connection without a request is in its server's list of idle ones and in its
 * client's; `buffer_bytes` of the server is the sum of its connections'. Bodies that are being read
 * have room for all that they announced, so they never wait for each other. */
#include "base/alloc.h"
#include "http/conn.h"

#include <stdatomic.h>
#include <stdlib.h>

#define ROOM_LOOKS 64 /* how many of those that wait are looked at in a tick */
#define ROOM_RETRY_MS 20

static struct {
    atomic_llong connections, buffer_bytes, refused, closed, waited;
} sums;

static void add_to(atomic_llong *sum, int64_t n)
{
    atomic_fetch_add_explicit(sum, n, memory_order_relaxed);
}

struct http_numbers http_get_numbers(void)
{
    return (struct http_numbers){
        .connections = atomic_load(&sums.connections),
        .buffer_bytes = atomic_load(&sums.buffer_bytes),
        .connections_refused = atomic_load(&sums.refused),
        .connections_closed = atomic_load(&sums.closed),
        .bodies_waited = atomic_load(&sums.waited),
    };
}

static struct conn *conn_of(const struct http_request *r)
{
    struct conn *c = CONTAINER_OF((struct http_request *)r, struct conn, request);
    CHECK_MAGIC(c, CONN_MAGIC);
    return c;
}

bool http_is_crowded(const struct http_request *r)
{
    const struct conn *c = conn_of(r);
    return !c->known &&
           (c->in_reserve || c->server->buffer_bytes >= c->server->options.buffers_max_bytes);
}

/* ---- places */

static void leave_idle(struct conn *c)
{
    if (!c->is_idle)
        return;
    c->is_idle = false;
    list_remove(&c->server->idle[c->idle_known], &c->idle_link);
    if (c->client)
        list_remove(&c->client->idle, &c->client_idle_link);
}

/* By when it became idle: a request that does not get on is as good as none. */
void conn_count_idle(struct conn *c)
{
    bool idle = c->phase == CONN_TLS || c->phase == CONN_IDLE || c->phase == CONN_HEAD;
    if (c->phase == CONN_HEAD && c->is_idle)
        return; /* it keeps its place */
    leave_idle(c);
    if (!idle)
        return;
    c->is_idle = true;
    c->idle_known = c->known;
    list_push(&c->server->idle[c->idle_known], &c->idle_link);
    if (c->client)
        list_push(&c->client->idle, &c->client_idle_link);
}

static bool is_proxy(const struct http_server *s, const struct address *a)
{
    return forwarded_trusts(s->options.trusted_proxies, s->options.trusted_proxy_count, a);
}

void conn_set_client(struct conn *c, const struct address *address)
{
    struct peers *peers = c->server->peers;
    struct peer *client = is_proxy(c->server, address) ? NULL : peers_enter(peers, address);
    if (client == c->client) {
        if (client)
            peers_leave(peers, client);
        return;
    }
    ASSERT(c->client_bytes == 0);
    leave_idle(c);
    if (c->client)
        peers_leave(peers, c->client);
    c->client = client;
}

static bool close_first(struct link *link, bool of_client)
{
    if (!link)
        return false;
    struct conn *c = of_client ? CONTAINER_OF(link, struct conn, client_idle_link)
                               : CONTAINER_OF(link, struct conn, idle_link);
    CHECK_MAGIC(c, CONN_MAGIC);
    add_to(&sums.closed, 1);
    conn_drop(c);
    return true;
}

static bool has_place(struct http_server *s, const struct address *client, bool *ret_reserved)
{
    const struct http_server_options *o = &s->options;
    if (!is_proxy(s, client)) {
        struct peer *p = peers_enter(s->peers, client);
        bool good =
            p->connections <= o->connections_per_address || close_first(p->idle.first, true);
        peers_leave(s->peers, p);
        if (!good)
            return false;
    }
    *ret_reserved = s->open >= o->connections_max - o->connections_reserved &&
                    !close_first(s->idle[false].first, false);
    return s->open < o->connections_max || close_first(s->idle[true].first, false);
}

bool server_make_place(struct http_server *server, const struct address *client, bool *ret_reserved)
{
    bool good = has_place(server, client, ret_reserved);
    if (!good)
        add_to(&sums.refused, 1);
    return good;
}

/* ---- bytes */

static void add_buffers(struct conn *c, int64_t bytes)
{
    add_to(&sums.buffer_bytes, bytes - c->buffer_bytes);
    c->server->buffer_bytes += bytes - c->buffer_bytes;
    c->buffer_bytes = bytes;
}

static void add_client_bytes(struct conn *c, int64_t bytes)
{
    if (c->client)
        c->client->body_bytes += bytes - c->client_bytes;
    c->client_bytes = c->client ? bytes : 0;
}

static void retry_room(struct http_server *s, int64_t after_ms)
{
    if (s->waiting.first)
        loop_timer_set(s->loop, &s->room_timer, loop_mono_ms(s->loop) + after_ms);
}

void conn_count_buffers(struct conn *c)
{
    if (!c->server)
        return;
    int64_t body = (int64_t)c->body.capacity;
    int64_t bytes = (int64_t)(c->in.capacity + c->ahead.capacity + c->out.capacity) +
                    (body > c->room_bytes ? body : c->room_bytes) +
                    (c->http2 ? HTTP2_SESSION_BYTES : 0);
    if (bytes == c->buffer_bytes)
        return;
    bool less = bytes < c->buffer_bytes;
    add_buffers(c, bytes);
    if (less)
        retry_room(c->server, 0);
}

bool conn_may_keep(const struct conn *c, const struct buf *empty)
{
    bool tight = !c->server || c->server->buffer_bytes > c->server->options.buffers_max_bytes / 4;
    return empty->capacity <= (tight ? 0 : KEPT_BUFFER_BYTES);
}

void server_shed_buffers(struct http_server *s)
{
    if (s->buffer_bytes > s->options.buffers_max_bytes)
        (void)close_first(s->idle[false].first, false);
}

static bool has_room(const struct conn *c, int64_t bytes)
{
    const struct http_server *s = c->server;
    int64_t most = s->options.buffers_max_bytes;
    if (bytes > LIMIT_SMALL_BODY_BYTES)
        most -= most / 4;
    bool clients_share = bytes <= LIMIT_SMALL_BODY_BYTES || !c->client ||
                         c->client->body_bytes == 0 || c->client->body_bytes + bytes <= most / 2;
    return s->bodies == 0 || (s->buffer_bytes + bytes <= most && clients_share);
}

static void give_room(struct conn *c, int64_t bytes)
{
    c->server->bodies++;
    c->room_bytes = bytes;
    add_client_bytes(c, bytes);
    conn_count_buffers(c);
}

bool conn_take_room(struct conn *c, int64_t bytes)
{
    if (has_room(c, bytes)) {
        give_room(c, bytes);
        return true;
    }
    add_to(&sums.waited, 1);
    c->wanted_bytes = bytes;
    c->waits_for_room = true;
    list_push(&c->server->waiting, &c->room_link);
    conn_begin_phase(c, CONN_ROOM);
    retry_room(c->server, ROOM_RETRY_MS);
    return false;
}

void conn_leave_room(struct conn *c)
{
    if (c->waits_for_room)
        list_remove(&c->server->waiting, &c->room_link);
    c->waits_for_room = false;
    if (c->room_bytes == 0)
        return;
    c->room_bytes = 0;
    add_client_bytes(c, 0);
    if (c->server)
        c->server->bodies--;
}

/* Those that do not fit go to the end: what is small, or another client's, is not held up. */
static void on_room(struct timer *timer)
{
    struct http_server *s = CONTAINER_OF(timer, struct http_server, room_timer);
    size_t count = s->waiting.count < ROOM_LOOKS ? s->waiting.count : ROOM_LOOKS;
    for (size_t i = 0; i < count && s->waiting.first; i++) {
        struct conn *c = CONTAINER_OF(s->waiting.first, struct conn, room_link);
        CHECK_MAGIC(c, CONN_MAGIC);
        list_remove(&s->waiting, &c->room_link);
        c->waits_for_room = !has_room(c, c->wanted_bytes);
        if (!c->waits_for_room) {
            give_room(c, c->wanted_bytes);
            conn_room_given(c);
        } else {
            list_push(&s->waiting, &c->room_link);
        }
    }
    retry_room(s, ROOM_RETRY_MS);
}

/* ---- begin and end */

void conn_count(struct conn *c)
{
    conn_set_client(c, &c->peer.address);
    add_to(&sums.connections, 1);
}

void conn_uncount(struct conn *c)
{
    leave_idle(c);
    if (c->waits_for_room)
        conn_leave_room(c);
    add_client_bytes(c, 0);
    if (c->client)
        peers_leave(c->server->peers, c->client);
    c->client = NULL;
    add_to(&sums.connections, -1);
}

void conn_uncount_buffers(struct conn *c)
{
    conn_leave_room(c);
    if (c->server) {
        add_buffers(c, 0);
        retry_room(c->server, 0);
    }
}

int64_t http_buffers_part(size_t servers)
{
    int64_t part = LIMIT_REQUEST_BUFFERS_BYTES / (int64_t)servers;
    return part > 2 * LIMIT_REQUEST_BODY_BYTES ? part : 2 * LIMIT_REQUEST_BODY_BYTES;
}

void server_room_open(struct http_server *server)
{
    server->peers = peers_new();
    server->room_timer.fire = on_room;
}

void server_room_close(struct http_server *server)
{
    loop_timer_clear(server->loop, &server->room_timer);
    add_to(&sums.buffer_bytes, -server->buffer_bytes);
    peers_free(server->peers);
}
