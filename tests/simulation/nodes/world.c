/* What happens to nodes, by lot; then everything is mended, and calm shows what became of it. */
#include "nodes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN_MS 1000000

struct world w;

void world_trace(const char *format, ...)
{
    char *line = w.trace[w.traced++ % TRACE_LINES];
    int n = snprintf(line, TRACE_BYTES, "%9.3f  ", (double)(w.now_ms - BEGIN_MS) / 1000);
    va_list ap;
    va_start(ap, format);
    vsnprintf(line + n, TRACE_BYTES - (size_t)n, format, ap);
    va_end(ap);
}

void world_print_trace(void)
{
    for (uint64_t i = w.traced > TRACE_LINES ? w.traced - TRACE_LINES : 0; i < w.traced; i++)
        printf("    %s\n", w.trace[i % TRACE_LINES]);
}

void world_found(enum checker by, const char *format, ...)
{
    if (w.failed)
        return;
    w.failed = true;
    w.failed_by = by;
    va_list ap;
    va_start(ap, format);
    vsnprintf(w.finding, sizeof w.finding, format, ap);
    va_end(ap);
}

/* --- who is there ----------------------------------------------------------------------------- */

static uint64_t unused_id(void)
{
    for (;;) {
        uint64_t id = 1 + (uint64_t)below(NODES_EVER);
        bool used = false;
        for (size_t i = 0; i < w.node_count; i++)
            used |= w.nodes[i]->id == id;
        if (!used)
            return id;
    }
}

static size_t alive(void)
{
    size_t count = 0;
    for (size_t i = 0; i < w.node_count; i++)
        count += w.nodes[i]->alive;
    return count;
}

/* NULL: that one is not there, or does not run. */
static struct node *some_node(void)
{
    struct node *n = w.nodes[below((int64_t)w.node_count)];
    return n->alive && !n->leaving && n->stopped_until_ms <= w.now_ms ? n : NULL;
}

static void join_as(uint64_t id, uint32_t host)
{
    bool room = w.calm || w.node_count + NODES_AT_ONCE < NODES_EVER;
    if (room && alive() < NODES_AT_ONCE)
        node_join(id, host);
}

static void join(void)
{
    join_as(unused_id(), (uint32_t)below(NODES_AT_ONCE));
}

/* --- what happens ----------------------------------------------------------------------------- */

static void kill_one(struct node *n)
{
    w.kills++;
    world_trace("%d is killed", (int)n->id);
    node_kill(n);
    if (!one_in(4)) /* and started again at once, on the same host */
        join_as(unused_id(), n->host);
}

static void stop_one(struct node *n)
{
    w.stops++;
    n->stopped_until_ms = w.now_ms + below(20 * SECOND);
    world_trace("%d is stopped for %d ms", (int)n->id, (int)(n->stopped_until_ms - w.now_ms));
}

static void cut_one(struct node *n)
{
    w.cuts++;
    n->cut = (enum cut)below(CUTS);
    n->cut_until_ms = w.now_ms + below(15 * SECOND);
    world_trace("%d is cut off (%d) for %d ms", (int)n->id, (int)n->cut,
                (int)(n->cut_until_ms - w.now_ms));
}

static void fate(struct moment *m)
{
    struct node *n = some_node();
    int64_t lot = below(32);
    if (!n || alive() == 0)
        lot = 31;
    if (lot < 8)
        stop_one(n);
    else if (lot < 14)
        cut_one(n);
    else if (lot < 18)
        kill_one(n);
    else if (lot < 20)
        node_leave(n);
    else if (lot < 21) {
        w.db.away_until_ms = w.now_ms + below(12 * SECOND);
        world_trace("the database is away for %d ms", (int)(w.db.away_until_ms - w.now_ms));
    } else if (alive() < w.at_once)
        join();
    happens_at(m, w.now_ms + 100 + below(20 * SECOND / (int64_t)w.at_once));
}

static void event(struct moment *m)
{
    struct node *n = some_node();
    if (n && one_in(10))
        lanes_resend(n);
    else if (n)
        lanes_intake(n);
    happens_at(m, w.now_ms + 1 + below(2 * w.event_every_ms));
}

static void calm(struct moment *m)
{
    if (!w.calm) {
        w.calm = true;
        w.calm_ms = w.now_ms;
        timeline_remove(&w.timeline, &w.fate);
        w.db.away_until_ms = 0;
        for (size_t i = 0; i < w.node_count; i++) {
            struct node *n = w.nodes[i];
            if (n->alive && n->stopped_until_ms > w.calm_ms)
                w.calm_ms = n->stopped_until_ms; /* its timers come no sooner */
            if (n->cut_until_ms + CUT_DELAYS_MS > w.calm_ms)
                w.calm_ms = n->cut_until_ms + CUT_DELAYS_MS;
            n->cut_until_ms = 0;
        }
        while (alive() < 2)
            join();
        world_trace("calm");
    }
    checks_calm();
    happens_at(m, w.now_ms + SECOND);
}

/* --- a run ------------------------------------------------------------------------------------ */

static void begin(uint64_t seed)
{
    w = (struct world){.seed = seed, .now_ms = BEGIN_MS};
    rng_seed(&w.rng, seed);
    w.at_once = 2 + (size_t)below(one_in(3) ? NODES_AT_ONCE - 1 : 5);
    w.skew_ppm = one_in(3) ? 100 : 50000;
    w.db.rate_ppm = PPM + below(2 * w.skew_ppm) - w.skew_ppm;
    w.db.offset_ms = below(DAY);
    w.lane_count = 4 + (uint32_t)below(LANES_MOST - 3);
    for (uint32_t i = 0; i < w.lane_count; i++)
        w.lane_apps[i] = 1 + (uint32_t)below(10000);
    w.event_every_ms = 100 + below(500);
    w.fate.happen = fate;
    w.event.happen = event;
    w.check.happen = calm;
    for (size_t i = 0; i < w.at_once; i++)
        join();
    int64_t calm_ms = w.now_ms + (20 + below(60)) * SECOND;
    w.ends_ms = calm_ms + 140 * SECOND;
    happens_at(&w.fate, w.now_ms + below(10 * SECOND));
    happens_at(&w.event, w.now_ms + 1);
    happens_at(&w.check, calm_ms);
}

void world_run(uint64_t seed)
{
    begin(seed);
    while (!w.failed && w.now_ms < w.ends_ms) {
        struct moment *m = timeline_first(&w.timeline);
        w.now_ms = m->at_ms > w.now_ms ? m->at_ms : w.now_ms;
        timeline_remove(&w.timeline, m);
        bool was_check = m == &w.check;
        m->happen(m);
        w.steps++;
        if (was_check && w.calm && w.now_ms > w.calm_ms + 20 * SECOND && w.event.place)
            timeline_remove(&w.timeline, &w.event);
        if (was_check && checks_all_done())
            break;
    }
}

void world_close(void)
{
    for (size_t i = 0; i < w.node_count; i++)
        if (w.nodes[i]->alive)
            node_kill(w.nodes[i]);
    requests_free();
    for (size_t i = 0; i < w.node_count; i++)
        free(w.nodes[i]);
    free(w.db.handover);
    free(w.timeline.items);
}
