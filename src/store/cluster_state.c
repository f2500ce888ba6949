/* See cluster_state.h. */
#include "store/cluster_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct cluster_state cluster_state_unknown(uint32_t number)
{
    return (struct cluster_state){.number = number,
                                  .bytes = CLUSTER_UNKNOWN,
                                  .partners = CLUSTER_UNKNOWN,
                                  .events = CLUSTER_UNKNOWN,
                                  .waiting = CLUSTER_UNKNOWN,
                                  .recent_events = CLUSTER_UNKNOWN};
}

struct cluster_state cluster_state_away(uint32_t number, const char *why)
{
    struct cluster_state c = cluster_state_unknown(number);
    snprintf(c.away, sizeof c.away, "%s", why);
    return c;
}

const char *move_step_name(enum move_step step)
{
    switch (step) {
    case MOVE_BEGINNING: return "beginning";
    case MOVE_COPYING: return "copying";
    case MOVE_FOLLOWING: return "following";
    case MOVE_SWITCHED: return "switched";
    case MOVE_NONE:
    case MOVE_UNSEEN: break;
    }
    return "unseen";
}

void move_progress_print(struct buf *to, const struct move_state *m)
{
    if (m->step == MOVE_COPYING)
        buf_printf(
            to, "copying %" PRId64 " of %" PRId64 " tables, %" PRId64 " of about %" PRId64 " MB, ",
            m->tables_done, m->tables, m->bytes_done >> 20, m->bytes >> 20);
    else
        buf_add_c(to, "following, ");
    buf_printf(to, "%" PRId64 " KB of changes behind%s", m->behind_bytes >> 10,
               m->errors ? "; errors: see the log of the server that follows" : "");
}

static void print_move(struct buf *to, const struct move_state *m)
{
    switch (m->step) {
    case MOVE_NONE: return;
    case MOVE_BEGINNING:
        buf_printf(to, "moving%s%s: making the tables", *m->server ? " to " : "", m->server);
        break;
    case MOVE_COPYING:
    case MOVE_FOLLOWING:
        buf_printf(to, "moving to %s: ", m->server);
        move_progress_print(to, m);
        break;
    case MOVE_SWITCHED:
        buf_printf(to, "moved, kept up to date at %s", m->server);
        if (m->behind_bytes >> 20)
            buf_printf(to, ", %" PRId64 " MB of changes behind", m->behind_bytes >> 20);
        buf_add_c(to, ": finish with postbackd move --finish");
        return;
    case MOVE_UNSEEN:
        buf_printf(to,
                   "in a move: the other server does not answer or is not in the URI, %" PRId64
                   " KB of changes behind",
                   m->behind_bytes >> 10);
        return;
    }
    if (!m->is_commanded)
        buf_add_c(to, "; stopped: run the same postbackd move again");
}

void cluster_state_print(struct buf *to, const struct cluster_state *c)
{
    if (*c->away)
        buf_printf(to, "away: %s", c->away);
    else if (c->move.step == MOVE_NONE)
        buf_add_c(to, "in use");
    else
        print_move(to, &c->move);
}

const char *cluster_state_name(const struct cluster_state *c)
{
    if (*c->away)
        return "away";
    if (c->move.step == MOVE_NONE)
        return "in_use";
    return c->move.step == MOVE_SWITCHED ? "moved" : "moving";
}

/* --- what would even out ---------------------------------------------------------------------- */

#define WHOLE 1000000 /* parts of a whole are in millionths */

struct load {
    int64_t bytes, events; /* of all clusters */
};

static int64_t millionths(int64_t part, int64_t whole)
{
    return whole > 0 ? (int64_t)((__int128)part * WHOLE / whole) : 0;
}

static struct load load_of_all(const struct cluster_state *clusters, size_t count)
{
    struct load all = {0};
    for (size_t i = 0; i < count; i++) {
        all.bytes += clusters[i].bytes;
        all.events += clusters[i].recent_events;
    }
    return all;
}

/* A server is busy with events and full of rows: both count alike. */
static int64_t part_of(const struct cluster_state *c, const struct load *all)
{
    int64_t bytes = millionths(c->bytes, all->bytes);
    return all->events > 0 ? (bytes + millionths(c->recent_events, all->events)) / 2 : bytes;
}

static bool is_known(const struct cluster_state *c)
{
    return !*c->away && *c->system && c->move.step == MOVE_NONE && c->bytes != CLUSTER_UNKNOWN &&
           c->recent_events != CLUSTER_UNKNOWN;
}

struct server_load {
    const char *system;
    int64_t part;
    size_t clusters;
    bool is_first; /* of its clusters, the asked one */
};

static struct server_load server_of(const struct cluster_state *clusters, size_t count,
                                    size_t which, const struct load *all)
{
    struct server_load s = {.system = clusters[which].system, .is_first = true};
    for (size_t i = 0; i < count; i++) {
        if (strcmp(clusters[i].system, s.system) != 0)
            continue;
        s.part += part_of(&clusters[i], all);
        s.clusters++;
        s.is_first &= i >= which;
    }
    return s;
}

/* The cluster that divides the server best; of two that do, the one that is copied sooner. */
static int best_of(const struct cluster_state *clusters, size_t count, const struct server_load *of,
                   const struct load *all)
{
    int64_t best = INT64_MAX, best_bytes = 0;
    int found = -1;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(clusters[i].system, of->system) != 0)
            continue;
        int64_t moved = part_of(&clusters[i], all), stays = of->part - moved;
        int64_t larger = moved > stays ? moved : stays;
        if (larger > best || (larger == best && clusters[i].bytes >= best_bytes))
            continue;
        best = larger;
        best_bytes = clusters[i].bytes;
        found = (int)i;
    }
    return found;
}

/* Greedy. A server has much more than the others if it has more than 1.5 times their mean. */
int cluster_to_move(const struct cluster_state *clusters, size_t count)
{
    struct load all = load_of_all(clusters, count);
    struct server_load most = {0};
    int64_t servers = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_known(&clusters[i]))
            return -1;
        struct server_load s = server_of(clusters, count, i, &all);
        servers += s.is_first;
        if (s.part > most.part)
            most = s;
    }
    if (servers < 2 || most.clusters < 2 || 2 * most.part * servers <= 3 * (int64_t)WHOLE)
        return -1;
    return best_of(clusters, count, &most, &all);
}

int cluster_event_percent(const struct cluster_state *clusters, size_t count, size_t which)
{
    int64_t all = load_of_all(clusters, count).events;
    return (int)((millionths(clusters[which].recent_events, all) + WHOLE / 200) * 100 / WHOLE);
}
