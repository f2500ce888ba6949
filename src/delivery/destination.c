/* Detects dead destinations and probes them.
 *
 * Only connect-level failures count (names, addresses, connections, TLS); an HTTP answer concerns
 * the lane only. A destination is dead after eight such failures in a row without a connection in
 * between. Eight is more than the first window of one lane. So a single badly configured path
 * through a proxy is unlikely to stop the other lanes on that host. Eight failures are also few
 * enough to occur in one round of attempts. A dead host is probed after 5 s, then after intervals
 * that double up to 60 s, plus up to 5 % at random so that many hosts are not probed at the same
 * moment. */
#include "delivery/destination.h"

#include "base/alloc.h"
#include "base/check.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct destination *destination_new(const char *name, size_t name_bytes)
{
    struct destination *d = xcalloc(1, sizeof(*d));
    d->magic = DESTINATION_MAGIC;
    d->waker.kind = WAKER_DESTINATION;
    d->name = xmalloc(name_bytes + 1);
    memcpy(d->name, name, name_bytes);
    d->name[name_bytes] = '\0';
    d->ramp = INT_MAX;
    return d;
}

void destination_free(struct destination *d)
{
    CHECK_MAGIC(d, DESTINATION_MAGIC);
    ASSERT(d->refs == 0 && d->in_flight == 0 && d->lanes.count == 0 && d->blocked.count == 0);
    d->magic = 0;
    free(d->name);
    free(d);
}

bool destination_is_judged_by(enum attempt_class c)
{
    return c == ATTEMPT_DNS || c == ATTEMPT_DESTINATION_REFUSED || c == ATTEMPT_REFUSED ||
           c == ATTEMPT_CONNECT_TIMEOUT || c == ATTEMPT_TLS;
}

bool destination_has_seat(const struct destination *d)
{
    return d->in_flight < DESTINATION_SEATS && d->in_flight < d->ramp;
}

bool destination_has_test_seat(const struct destination *d)
{
    return d->in_flight < DESTINATION_SEATS && d->tests_in_flight < DESTINATION_TEST_SEATS;
}

bool destination_grants_probe(const struct destination *d, const struct lane *lane,
                              int64_t now_mono_ms)
{
    ASSERT(d->dead);
    if (d->probe_holder)
        return d->probe_holder == lane;
    return now_mono_ms >= d->probe_mono_ms;
}

void destination_give_probe(struct destination *d, struct lane *lane)
{
    if (d->dead && !d->probe_holder)
        d->probe_holder = lane;
}

bool destination_take_probe_back(struct destination *d, const struct lane *lane)
{
    if (d->probe_holder != lane || d->probe_under_way)
        return false;
    d->probe_holder = NULL;
    return true;
}

void destination_begin_probe(struct destination *d, struct lane *lane)
{
    d->probe_holder = lane;
    d->probe_under_way = true;
}

void destination_end_probe(struct destination *d, const struct lane *lane)
{
    if (d->probe_holder != lane)
        return;
    d->probe_holder = NULL;
    d->probe_under_way = false;
}

void destination_postpone_probe(struct destination *d, int64_t until_mono_ms)
{
    if (d->dead && d->probe_mono_ms < until_mono_ms)
        d->probe_mono_ms = until_mono_ms;
}

bool destination_reached(struct destination *d)
{
    bool was_dead = d->dead;
    d->failed_run = 0;
    if (was_dead) {
        d->dead = false;
        d->ramp = DESTINATION_RAMP_FIRST;
    } else if (d->ramp < DESTINATION_SEATS) {
        d->ramp++;
    }
    return was_dead;
}

static void wait_for_probe(struct destination *d, int64_t wait_ms, int64_t now_mono_ms,
                           struct rng *rng)
{
    if (wait_ms > DESTINATION_PROBE_LAST_MS)
        wait_ms = DESTINATION_PROBE_LAST_MS;
    int64_t spacing = wait_ms + (int64_t)rng_below(rng, (uint64_t)(wait_ms / 20 + 1));
    if (spacing > DESTINATION_PROBE_LAST_MS)
        spacing = DESTINATION_PROBE_LAST_MS;
    d->probe_wait_ms = wait_ms;
    d->probe_mono_ms = now_mono_ms + spacing;
}

bool destination_failed(struct destination *d, bool was_probe, int64_t now_mono_ms, struct rng *rng)
{
    if (d->failed_run < INT_MAX)
        d->failed_run++;
    if (d->dead) {
        /* otherwise it was a resend's attempt, before the probe's time */
        if (was_probe && now_mono_ms >= d->probe_mono_ms)
            wait_for_probe(d, d->probe_wait_ms * 2, now_mono_ms, rng);
        return false;
    }
    if (d->failed_run < DESTINATION_DEAD_FAILURES)
        return false;
    d->dead = true;
    wait_for_probe(d, DESTINATION_PROBE_FIRST_MS, now_mono_ms, rng);
    return true;
}
