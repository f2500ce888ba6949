/* Reads large bodies in turns: a fixed number at a time; the others wait unread, in the order of
 * arrival. A turn lasts until its request is answered, which also bounds the work of handlers.
 * While other work of the loop is behind, a tick reads only a little of each body.
 *
 * A slow sender delays nobody. A read that returns less than it asked for gives the turn back, and
 * the next bytes ask for another one; while others wait, so does a client that has sent nothing for
 * TURN_IDLE_MS. A late loop takes nobody's turn, because it reads sockets before it runs timers.
 * Over TLS each read returns one record, so bodies take turns record by record, and more than
 * LIMIT_LARGE_BODIES of them may be half read.
 *
 * Streams of HTTP/2 take no turns: a tick reads only a little of their connection while other work
 * is behind.
 *
 * Invariants. A connection is in `turns_waiting` iff TURN_WAITS, and in `turns_reading` iff
 * TURN_READING, the one that has read nothing for the longest time first. `turns_taken` counts
 * those that are TURN_READING or TURN_HANDLED. */
#include "http/turns.h"

#define TURN_IDLE_MS 20

static struct conn *of_link(struct link *link)
{
    struct conn *c = CONTAINER_OF(link, struct conn, turn_link);
    CHECK_MAGIC(c, CONN_MAGIC);
    return c;
}

static void begin_reading(struct conn *c)
{
    c->turn = TURN_READING;
    c->turn_read_ms = loop_mono_ms(c->request.loop);
    list_push(&c->server->turns_reading, &c->turn_link);
}

static bool take(struct conn *c)
{
    struct http_server *s = c->server;
    if (c->turn == TURN_READING) {
        list_remove(&s->turns_reading, &c->turn_link);
    } else if (s->turns_taken < LIMIT_LARGE_BODIES && !s->turns_waiting.first) {
        s->turns_taken++;
    } else {
        c->turn = TURN_WAITS;
        list_push(&s->turns_waiting, &c->turn_link);
        if (!s->turn_timer.heap_place)
            loop_timer_set(s->loop, &s->turn_timer, loop_mono_ms(s->loop) + TURN_IDLE_MS);
        return false;
    }
    begin_reading(c);
    return true;
}

size_t conn_take_turn(struct conn *c, size_t n)
{
    const struct http_server_options *o = &c->server->options;
    bool is_large = c->phase == CONN_BODY && c->room_bytes > LIMIT_LARGE_BODY_BYTES;
    if (!is_large && !c->http2)
        return n;
    if (is_large && !take(c))
        return 0;
    size_t most = o->body_tick_bytes ? o->body_tick_bytes(o->body_context) : n;
    return n < most ? n : most;
}

void conn_keep_turn(struct conn *c)
{
    if (c->turn != TURN_READING)
        return;
    list_remove(&c->server->turns_reading, &c->turn_link);
    c->turn = TURN_HANDLED;
}

void conn_end_turn(struct conn *c)
{
    struct http_server *s = c->server;
    if (c->turn == TURN_NONE || !s)
        return;
    if (c->turn == TURN_WAITS)
        list_remove(&s->turns_waiting, &c->turn_link);
    else
        s->turns_taken--;
    if (c->turn == TURN_READING)
        list_remove(&s->turns_reading, &c->turn_link);
    c->turn = TURN_NONE;
    if (s->turns_waiting.first)
        loop_timer_set(s->loop, &s->turn_timer, loop_mono_ms(s->loop));
}

void conn_pass_turn(struct conn *c)
{
    if (c->turn == TURN_READING)
        conn_end_turn(c);
}

static void on_turn(struct timer *timer)
{
    struct http_server *s = CONTAINER_OF(timer, struct http_server, turn_timer);
    int64_t now = loop_mono_ms(s->loop);
    struct link *link;
    while ((link = s->turns_reading.first) && now - of_link(link)->turn_read_ms >= TURN_IDLE_MS)
        conn_pass_turn(of_link(link));
    while (s->turns_taken < LIMIT_LARGE_BODIES && (link = list_pop(&s->turns_waiting))) {
        s->turns_taken++;
        begin_reading(of_link(link));
        conn_settle(of_link(link));
    }
    if (s->turns_waiting.first)
        loop_timer_set(s->loop, timer, now + TURN_IDLE_MS);
}

void server_turns_open(struct http_server *server)
{
    server->turn_timer.fire = on_turn;
}
