/* What people read about clusters and their moves, and which cluster would even out servers. */
#include "store/cluster_state.h"

#include "check.h"

#include <stdio.h>

#define GB INT64_C(1000000000)

static const char *state_of(const struct cluster_state *c)
{
    static char text[600];
    struct buf b = {0};
    cluster_state_print(&b, c);
    snprintf(text, sizeof text, "%s", buf_c(&b));
    buf_free(&b);
    return text;
}

static void states_as_people_read_them(void)
{
    struct cluster_state c = {.number = 1};
    CHECK_CSTR(state_of(&c), "in use");
    CHECK_CSTR(cluster_state_name(&c), "in_use");
    c.move = (struct move_state){.step = MOVE_BEGINNING, .is_commanded = true};
    CHECK_CSTR(state_of(&c), "moving: making the tables");
    c.move = (struct move_state){.step = MOVE_COPYING,
                                 .server = "db1:5432",
                                 .is_commanded = true,
                                 .tables_done = 3,
                                 .tables = 22,
                                 .bytes_done = 8 << 20,
                                 .bytes = 13 << 20,
                                 .behind_bytes = 89 << 10};
    CHECK_CSTR(state_of(&c), "moving to db1:5432: copying 3 of 22 tables, 8 of about 13 MB, "
                             "89 KB of changes behind");
    c.move.step = MOVE_FOLLOWING;
    c.move.is_commanded = false;
    CHECK_CSTR(state_of(&c), "moving to db1:5432: following, 89 KB of changes behind; stopped: run "
                             "the same postbackd move again");
    CHECK_CSTR(cluster_state_name(&c), "moving");
    c.move.step = MOVE_SWITCHED;
    CHECK_CSTR(state_of(&c),
               "moved, kept up to date at db1:5432: finish with postbackd move --finish");
    CHECK_CSTR(cluster_state_name(&c), "moved");
    c.move.step = MOVE_UNSEEN;
    CHECK_CSTR(state_of(&c), "in a move: the other server does not answer or is not in the URI, "
                             "89 KB of changes behind");
    c = cluster_state_away(2, "it is gone");
    CHECK_CSTR(state_of(&c), "away: it is gone");
    CHECK_CSTR(cluster_state_name(&c), "away");
}

static struct cluster_state on(const char *system, int64_t bytes, int64_t events)
{
    struct cluster_state c = {.bytes = bytes, .recent_events = events};
    snprintf(c.system, sizeof c.system, "%s", system);
    return c;
}

static void a_cluster_evens_out_servers(void)
{
    /* db0 has 5/6 of everything, with two servers */
    struct cluster_state c[] = {on("db0", 8 * GB, 800), on("db0", 12 * GB, 1200),
                                on("db1", 4 * GB, 400)};
    CHECK_EQ_INT(cluster_to_move(c, 3), 0); /* 8 leave 12, as 12 leave 8: less is copied */
    CHECK_EQ_INT(cluster_event_percent(c, 3, 1), 50);
    c[0] = on("db0", 13 * GB, 1300);
    CHECK_EQ_INT(cluster_to_move(c, 3), 1);
    c[2] = on("db1", 14 * GB, 1400); /* even enough */
    CHECK_EQ_INT(cluster_to_move(c, 3), -1);
    struct cluster_state of_four[] = {on("db0", 8 * GB, 300), on("db0", 9 * GB, 1200),
                                      on("db1", GB, 100), on("db0", 5 * GB, 400)};
    CHECK_EQ_INT(cluster_to_move(of_four, 4), 1); /* about half of what db0 has */
    of_four[1] = on("db0", 9 * GB, 0);            /* events count as bytes do */
    CHECK_EQ_INT(cluster_to_move(of_four, 4), 0);
}

static void no_move_is_proposed(void)
{
    struct cluster_state c[] = {on("db0", 8 * GB, 0), on("db0", 12 * GB, 0), on("db1", GB, 0)};
    CHECK(cluster_to_move(c, 3) >= 0);
    CHECK_EQ_INT(cluster_to_move(c, 2), -1); /* there is one server */
    c[2].move.step = MOVE_FOLLOWING;
    CHECK_EQ_INT(cluster_to_move(c, 3), -1);
    c[2] = on("db1", GB, CLUSTER_UNKNOWN);
    CHECK_EQ_INT(cluster_to_move(c, 3), -1);
    c[2] = cluster_state_away(2, "it is gone");
    CHECK_EQ_INT(cluster_to_move(c, 3), -1);
    c[0] = on("db0", 20 * GB, 0); /* most on one server, but as one cluster */
    c[1] = on("db2", GB, 0);
    c[2] = on("db1", GB, 0);
    CHECK_EQ_INT(cluster_to_move(c, 3), -1);
}

int main(void)
{
    RUN(states_as_people_read_them);
    RUN(a_cluster_evens_out_servers);
    RUN(no_move_is_proposed);
    return check_done("cluster_state");
}
