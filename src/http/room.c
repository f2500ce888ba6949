/* Limits of what connections hold together: places, and bytes in buffers. A body without room waits
 * unread, in the client's socket.
 *
 * Which connection is closed. A connection waits for its client when it is idle (no request), or
 * when it stalls (the client must send or read the next byte of a body or answer). If places or
 * bytes are short, the connection is closed whose client has done nothing for the longest time. A
 * key or session protects: its idle connections are closed after all strangers', its stalled ones
 * only after stall_known_ms without a byte. So newcomers, and uploads and downloads that make
 * progress, stay: they are the youngest.
 *
 * Shares. An account's protection covers as many waiting connections, and as many bytes, as one
 * address may have. Connections beyond that share are treated as a stranger's. So one account
 * cannot hold all places or all room, however often it refills them and from however many
 * addresses. Within the share, a stream of HTTP/2 does not stall while bodies that wait for room
 * use up its session's window, because its client cannot send. Such a body waits for at most
 * header_deadline_ms, and when the window is given back, the stream's time begins again.
 *
 * Invariants. A connection that waits for its client is in exactly one list of its server, list_of,
 * by `waits_since_ms`. A connection in use is never closed here: while a handler has a request, and
 * while a session has frames, it is in no list, and conn_shed_buffers and conn_take_room spare the
 * connection that they are called for. The server's `buffer_bytes` is the sum of its connections'.
 * Bodies being read have room for all that they announced, so they never wait for each other. */
#include "http/room.h"

#include "http/forwarded.h"
#include "http/http2.h"
#include "http/request.h"
#include "http/turns.h"

#include <stdatomic.h>
#include <stdlib.h>

#define ROOM_LOOKS 64 /* waiting bodies checked per tick */
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
    return !c->account &&
           (c->in_reserve || c->server->buffer_bytes >= c->server->options.buffers_max_bytes);
}

/* ---- places */

/* Buffer bytes that one account or address may have. */
static int64_t bytes_share(const struct http_server *s)
{
    int64_t most = s->options.buffers_max_bytes;
    return (most - most / 4) / 2;
}

/* Its own bytes do not count, so one body at a time is protected, of any size. */
static bool share_has_place(const struct conn *c)
{
    return c->account->in_share < c->server->options.connections_per_address &&
           c->account->buffer_bytes - c->buffer_bytes < bytes_share(c->server);
}

/* A connection that has begun to wait within the share stays in it until it is handled. */
static void claim_share(struct conn *c)
{
    bool waits = c->open && c->phase != CONN_STREAMS && c->phase != CONN_HANDLING;
    bool has = c->account && waits && (c->in_share || share_has_place(c));
    if (has != c->in_share) {
        ASSERT(c->account); /* leaves its share before its account */
        c->account->in_share += has ? 1 : -1;
    }
    c->in_share = has;
}

/* The list in which it waits for its client; NULL: it does not wait. A connection that waits for
 * room or a turn outside a share counts as an idle stranger. */
static struct list *list_of(const struct conn *c)
{
    struct http_server *s = c->server;
    switch (c->phase) {
    case CONN_TLS:
    case CONN_IDLE:
    case CONN_HEAD: return conn_out_waits(c) ? &s->stalled[c->in_share] : &s->idle[c->in_share];
    case CONN_BODY:
        if (c->turn == TURN_WAITS)
            return c->in_share ? NULL : &s->idle[false];
        return c->in_share && http2_is_held_up(c) ? NULL : &s->stalled[c->in_share];
    case CONN_FLUSHING:
    case CONN_LINGER: return &s->stalled[c->in_share];
    case CONN_ROOM: return c->in_share ? NULL : &s->idle[false];
    case CONN_STREAMS:
    case CONN_HANDLING: return NULL;
    }
    UNREACHABLE();
}

static void leave_waits(struct conn *c)
{
    if (!c->waits_in)
        return;
    if (c->client && c->waits_in != &c->server->stalled[true])
        list_remove(&c->client->closable, &c->client_wait_link);
    list_remove(c->waits_in, &c->wait_link);
    c->waits_in = NULL;
}

void conn_count_waits(struct conn *c, bool progress)
{
    claim_share(c);
    struct list *list = c->open ? list_of(c) : NULL;
    if (list == c->waits_in && !progress)
        return;
    leave_waits(c);
    c->waits_in = list;
    if (!list)
        return;
    c->waits_since_ms = loop_mono_ms(c->request.loop);
    list_push(list, &c->wait_link);
    if (c->client && list != &c->server->stalled[true])
        list_push(&c->client->closable, &c->client_wait_link);
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
    ASSERT(c->share_bytes == 0);
    leave_waits(c);
    if (c->client)
        peers_leave(peers, c->client);
    c->client = client;
}

static void leave_account(struct conn *c)
{
    ASSERT(!c->in_share && c->share_bytes == 0);
    if (!c->account)
        return;
    c->account->buffer_bytes -= c->buffer_bytes;
    peers_leave(c->server->peers, c->account);
    c->account = NULL;
}

void conn_set_account(struct conn *c, uint32_t account_no)
{
    ASSERT(c->phase == CONN_HANDLING || c->phase == CONN_STREAMS || c->carrier);
    if (c->account && c->account->account_no == account_no)
        return;
    leave_account(c);
    c->account = peers_enter_account(c->server->peers, account_no);
    c->account->buffer_bytes += c->buffer_bytes;
}

static struct conn *of_link(struct link *link)
{
    struct conn *c = CONTAINER_OF(link, struct conn, wait_link);
    CHECK_MAGIC(c, CONN_MAGIC);
    return c;
}

/* The longer waiting one of `best` and the list's first, if that has waited that long. */
static struct conn *longer(struct conn *best, const struct list *list, int64_t at_least_ms,
                           const struct conn *spared)
{
    struct link *link = list->first;
    if (link && of_link(link) == spared)
        link = link->next;
    struct conn *c = link ? of_link(link) : NULL;
    if (!c || loop_mono_ms(c->request.loop) - c->waits_since_ms < at_least_ms)
        return best;
    return best && best->waits_since_ms <= c->waits_since_ms ? best : c;
}

/* NULL: none may be closed. In the same millisecond a newcomer is younger than a stalled
 * connection. */
static struct conn *longest_waiting(const struct http_server *s, const struct conn *spared)
{
    struct conn *c = longer(NULL, &s->stalled[false], 0, spared);
    c = longer(c, &s->idle[false], 0, spared);
    return longer(c, &s->stalled[true], s->options.stall_known_ms, spared);
}

static struct conn *longest_stalled(const struct http_server *s, const struct conn *spared)
{
    struct conn *c = longer(NULL, &s->stalled[false], s->options.stall_ms, spared);
    return longer(c, &s->stalled[true], s->options.stall_known_ms, spared);
}

static struct conn *longest_idle_known(const struct http_server *s)
{
    return longer(NULL, &s->idle[true], 0, NULL);
}

/* NULL: there is none. */
static bool close_one(struct conn *c)
{
    if (!c)
        return false;
    add_to(&sums.closed, 1);
    conn_drop(c);
    return true;
}

static struct conn *longest_of_client(const struct peer *p)
{
    struct link *link = p->closable.first;
    return link ? CONTAINER_OF(link, struct conn, client_wait_link) : NULL;
}

static bool has_place(struct http_server *s, const struct address *client, bool *ret_reserved)
{
    const struct http_server_options *o = &s->options;
    if (!is_proxy(s, client)) {
        struct peer *p = peers_enter(s->peers, client);
        bool good = p->connections <= o->connections_per_address || close_one(longest_of_client(p));
        peers_leave(s->peers, p);
        if (!good)
            return false;
    }
    *ret_reserved = s->open >= o->connections_max - o->connections_reserved &&
                    !close_one(longest_waiting(s, NULL));
    return s->open < o->connections_max || close_one(longest_idle_known(s));
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
    if (c->account)
        c->account->buffer_bytes += bytes - c->buffer_bytes;
    c->buffer_bytes = bytes;
}

/* The peer whose share a body's room belongs to. NULL: a trusted proxy's own. */
static struct peer *sharer(const struct conn *c)
{
    return c->account ? c->account : c->client;
}

static int64_t small_part(int64_t bytes)
{
    return bytes <= LIMIT_SMALL_BODY_BYTES ? bytes : 0;
}

static void add_share_bytes(struct conn *c, int64_t bytes)
{
    struct peer *p = sharer(c);
    if (!p)
        return;
    p->body_bytes += bytes - c->share_bytes;
    p->small_bytes += small_part(bytes) - small_part(c->share_bytes);
    c->share_bytes = bytes;
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

/* Closing one without buffers would not help. */
static struct conn *idle_known_with_bytes(const struct http_server *s, const struct conn *spared)
{
    struct link *link = s->idle[true].first;
    for (int looks = 0; link && looks < ROOM_LOOKS; looks++, link = link->next)
        if (of_link(link) != spared && of_link(link)->buffer_bytes > 0)
            return of_link(link);
    return NULL;
}

void conn_shed_buffers(const struct conn *c)
{
    const struct http_server *s = c->server;
    while (s->buffer_bytes > s->options.buffers_max_bytes &&
           (close_one(longest_waiting(s, c)) || close_one(idle_known_with_bytes(s, c)))) {
    }
}

static bool fits(const struct http_server *s, int64_t bytes)
{
    int64_t most = s->options.buffers_max_bytes;
    if (bytes > LIMIT_SMALL_BODY_BYTES)
        most -= most / 4;
    return s->bodies == 0 || s->buffer_bytes + bytes <= most;
}

/* Small bodies of an account are read beside its large ones, in half of the remaining quarter.
 * Those of strangers have no share: stalled ones are closed for them. */
static bool has_share(const struct conn *c, int64_t bytes)
{
    const struct http_server *s = c->server;
    const struct peer *p = sharer(c);
    if (s->bodies == 0 || !p || p->body_bytes == 0)
        return true;
    if (bytes <= LIMIT_SMALL_BODY_BYTES &&
        (!c->account || p->small_bytes + bytes <= s->options.buffers_max_bytes / 8))
        return true;
    return p->body_bytes + bytes <= bytes_share(s);
}

/* Closes stalled connections if only room is missing. */
static bool find_room(const struct conn *c, int64_t bytes)
{
    struct http_server *s = c->server;
    if (!has_share(c, bytes))
        return false;
    while (!fits(s, bytes) && close_one(longest_stalled(s, c))) {
    }
    return fits(s, bytes);
}

static void give_room(struct conn *c, int64_t bytes)
{
    c->server->bodies++;
    c->room_bytes = bytes;
    add_share_bytes(c, bytes);
    conn_count_buffers(c);
}

bool conn_take_room(struct conn *c, int64_t bytes)
{
    if (find_room(c, bytes)) {
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
    conn_end_turn(c);
    if (c->room_bytes == 0)
        return;
    c->room_bytes = 0;
    add_share_bytes(c, 0);
    if (c->server)
        c->server->bodies--;
}

/* Bodies that do not fit move to the end: small ones, and other clients', are not delayed. */
static void on_room(struct timer *timer)
{
    struct http_server *s = CONTAINER_OF(timer, struct http_server, room_timer);
    size_t count = s->waiting.count < ROOM_LOOKS ? s->waiting.count : ROOM_LOOKS;
    for (size_t i = 0; i < count && s->waiting.first; i++) {
        struct conn *c = CONTAINER_OF(s->waiting.first, struct conn, room_link);
        CHECK_MAGIC(c, CONN_MAGIC);
        list_remove(&s->waiting, &c->room_link);
        c->waits_for_room = !find_room(c, c->wanted_bytes);
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
    claim_share(c);
    leave_waits(c);
    if (c->waits_for_room)
        conn_leave_room(c);
    conn_end_turn(c);
    add_share_bytes(c, 0);
    leave_account(c);
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
