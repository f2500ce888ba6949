/* The destinations of one dispatcher: which lanes wait for which one, and what the result of one
 * attempt means for all lanes on the same host. */
#include "delivery/dispatcher.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/log.h"

#define CERTIFICATE_NAME_BYTES 16 /* of the certificate's hash, in hex */

/* An app with a client certificate has destinations of its own: whether a host accepts that
 * certificate says nothing about the host for other apps. */
struct destination *dispatcher_destination(struct dispatcher *d, const struct app *app,
                                           const struct url *url)
{
    struct buf name = {0};
    url_print_destination(&name, url);
    if (app->certificate.pem.p && url->https) {
        buf_add_c(&name, " as ");
        buf_add_hex(&name, app->certificate.sha256, CERTIFICATE_NAME_BYTES);
    }
    (void)buf_c(&name);
    uint64_t hash = hash_fast(name.p, name.n);
    struct destination *to = NULL;
    for (struct hash_node *n = hash_map_first(&d->destinations, hash); n && !to;
         n = hash_map_next(n)) {
        struct destination *at = CONTAINER_OF(n, struct destination, node);
        if (str_eq(str_of(at->name), buf_str(&name)))
            to = at;
    }
    if (!to) {
        to = destination_new(name.p, name.n);
        hash_map_add(&d->destinations, &to->node, hash);
    }
    to->refs++;
    buf_free(&name);
    return to;
}

void dispatcher_let_destination_go(struct dispatcher *d, struct destination *to)
{
    CHECK_MAGIC(to, DESTINATION_MAGIC);
    ASSERT(to->refs > 0);
    if (--to->refs > 0)
        return;
    wake_heap_clear(&d->heap, &to->waker);
    hash_map_remove(&d->destinations, &to->node);
    destination_free(to);
}

/* Wakes a dead destination that has waiting lanes when its next probe is due. */
static void schedule_probe(struct dispatcher *d, struct destination *to)
{
    if (to->dead && to->blocked.count > 0 && !to->probe_holder)
        wake_heap_set(&d->heap, &to->waker, to->probe_mono_ms);
    else
        wake_heap_clear(&d->heap, &to->waker);
}

void dispatcher_wake_blocked(struct dispatcher *d, struct destination *to)
{
    struct link *link = list_pop(&to->blocked);
    if (!link)
        return;
    struct lane *lane = CONTAINER_OF(link, struct lane, turn.blocked);
    lane->turn.is_blocked = false;
    dispatcher_touch(d, lane);
}

void dispatcher_block(struct dispatcher *d, struct lane *lane, bool blocked)
{
    struct destination *to = lane->destination;
    if (!to)
        return;
    /* A lane that waits already keeps its place in the list. */
    if (blocked && !lane->turn.is_blocked)
        list_push(&to->blocked, &lane->turn.blocked);
    else if (!blocked && lane->turn.is_blocked)
        list_remove(&to->blocked, &lane->turn.blocked);
    lane->turn.is_blocked = blocked;
    schedule_probe(d, to);
}

void dispatcher_join(struct dispatcher *d, struct lane *lane, struct destination *to)
{
    dispatcher_leave_destination(d, lane);
    lane->destination = to; /* takes over the caller's reference */
    list_push(&to->lanes, &lane->turn.at_destination);
}

static void give_probe_back(struct dispatcher *d, struct destination *to, const struct lane *lane)
{
    if (destination_take_probe_back(to, lane))
        schedule_probe(d, to);
}

void dispatcher_leave_destination(struct dispatcher *d, struct lane *lane)
{
    struct destination *to = lane->destination;
    if (!to)
        return;
    dispatcher_block(d, lane, false);
    give_probe_back(d, to, lane);
    list_remove(&to->lanes, &lane->turn.at_destination);
    lane->destination = NULL;
    dispatcher_let_destination_go(d, to);
}

/* After a visit: a lane that was granted the probe of a dead destination and has no callback for it
 * passes the probe to the next lane. */
void dispatcher_settle_probe(struct dispatcher *d, struct lane *lane)
{
    struct destination *to = lane->destination;
    bool asks = lane->scans.is_asked && lane->scans.kind == PAGE_PROBE;
    if (to && to->probe_holder == lane && !asks && !lane->probe.is_ready)
        give_probe_back(d, to, lane);
}

static void reopen(struct dispatcher *d, struct destination *to, int64_t now_mono_ms)
{
    log_info("destination_reached", LOG_C("destination", to->name));
    for (struct link *link = to->lanes.first; link; link = link->next) {
        struct lane *lane = CONTAINER_OF(link, struct lane, turn.at_destination);
        /* The host most likely caused their suspension: each lane may attempt one callback now. */
        window_probe_now(&lane->window, now_mono_ms);
        dispatcher_touch(d, lane);
    }
}

void dispatcher_end_probe(struct delivery_attempt *t)
{
    if (!t->is_probe)
        return;
    destination_end_probe(t->destination, t->lane);
    schedule_probe(t->dispatcher, t->destination);
}

void dispatcher_judge_destination(struct dispatcher *d, struct delivery_attempt *t)
{
    struct destination *to = t->destination;
    int64_t now_mono_ms = dispatcher_now(d).mono_ms;
    dispatcher_end_probe(t);
    if (!destination_is_judged_by(t->x.class)) {
        /* A time-out or a reset may happen before or after the connection is made: neither shows
         * that the host was reached. */
        bool answered = t->x.class != ATTEMPT_TIMEOUT && t->x.class != ATTEMPT_RESET;
        if (answered && destination_reached(to))
            reopen(d, to, now_mono_ms);
        else if (!answered && t->is_probe)
            (void)destination_failed(to, true, now_mono_ms, d->runtime->rng);
    } else if (destination_failed(to, t->is_probe, now_mono_ms, d->runtime->rng)) {
        log_info("destination_dead", LOG_C("destination", to->name),
                 LOG_C("class", attempt_class_name(t->x.class)));
        for (struct link *link = to->lanes.first; link; link = link->next)
            dispatcher_touch(d, CONTAINER_OF(link, struct lane, turn.at_destination));
    }
    if (!to->dead)
        dispatcher_wake_blocked(d, to);
    else if (t->lane && t->lane->destination == to && t->lane->probe.is_resend)
        destination_give_probe(to, t->lane); /* the next probe has waited for this attempt to end */
    schedule_probe(d, to);
}
