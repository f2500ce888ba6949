/* The steps of a move; see store_move.h and move_server.h.
 *
 * | --store | --to   | what it means                                    | what is done            |
 * |---------|--------|--------------------------------------------------|-------------------------|
 * | open    | open   | nothing was begun, --to is empty                 | prepare, follow, switch |
 * | open    | fenced | --to follows, or is being prepared               | the rest of that        |
 * | fenced  | fenced | killed in the switch: nobody has written to --to | open --store, go on     |
 * | fenced  | open   | switched                                         | --store follows --to    |
 *
 * Exactly one side is open, except in the switch: daemons can write to the one that is open. The
 * switch is decided when the target's fence is taken away. Until then the source may be opened
 * again; from then on it must not be. Another command could open a side meanwhile: so each command
 * locks both databases before it decides which step is next (move_server_lock). */
#include "store/store_move.h"

#include "base/alloc.h"
#include "base/env.h"
#include "store/copy/move_server.h"
#include "store/nodes/shards.h"
#include "store/postgresql/pg_connect.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 200
#define SAY_MS 2000
#define CLOCKS_MOST_MS 1000 /* a lease that is renewed once a second must not end for a clock */
#define MARK_MOST_MS 1000
#define LAG_MOST_MS 200     /* a mark arrives so soon: the switch is short */
#define SWITCH_MOST_MS 1500 /* for the last rows, while requests wait */
#define SWITCHES_MOST 3
#define NODES_PATIENCE_MS 10000

struct move {
    const struct move_options *o;
    struct move_server from, to;
    struct pg_partitions partitions; /* that --to is known to have */
    int64_t said_ms;
    char *why;
};

PRINTF_LIKE(2, 3) static void say(const struct move *m, const char *fmt, ...)
{
    struct buf line = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&line, fmt, ap);
    va_end(ap);
    m->o->say(m->o->context, buf_c(&line));
    buf_free(&line);
}

PRINTF_LIKE(2, 3) static bool refuse(struct move *m, const char *fmt, ...)
{
    struct buf why = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&why, fmt, ap);
    va_end(ap);
    free(m->why);
    m->why = xstrdup(buf_c(&why));
    buf_free(&why);
    return false;
}

/* Whether it went well at that server; if not, its sentence is this move's. */
static bool went(struct move *m, struct move_server *s, bool good)
{
    bool is_ended = strcmp(s->pg.sqlstate, "57P01") == 0; /* admin_shutdown */
    return good || refuse(m, "%s: %s%s", s->option, buf_c(&s->pg.why),
                          is_ended ? " Another postbackd move has switched, or somebody has ended"
                                     " the session: run the command again"
                                   : "");
}

/* --- what does not fit ------------------------------------------------------------------------ */

static bool check_uri(struct move *m, const char *option, const char *uri)
{
    char *error = NULL;
    PQconninfoOption *all = PQconninfoParse(uri, &error);
    bool several = false;
    for (const PQconninfoOption *o = all; o && o->keyword; o++)
        several |= strcmp(o->keyword, "host") == 0 && o->val && strchr(o->val, ',');
    bool good = all && !several;
    if (!all)
        (void)refuse(m, "%s: %s", option, error ? error : "not a URI");
    else if (several)
        (void)refuse(m, "%s: name one server, the primary", option);
    PQfreemem(error);
    PQconninfoFree(all);
    return good;
}

static bool check_pair(struct move *m)
{
    struct move_server *from = &m->from, *to = &m->to;
    int64_t apart_ms = llabs(from->clock_ms - to->clock_ms);
    if (strcmp(from->identity, to->identity) == 0)
        return refuse(m, "--to is the same database as --store");
    if (!from->has_rows)
        return refuse(m, "--store: there is no store in this database");
    if (to->has_rows && !hash_secret_eq(&from->store.secret, &to->store.secret))
        return refuse(m, "--to: the database is not empty: it belongs to another installation. "
                         "Make an empty one");
    if (to->has_rows && from->store.cluster != to->store.cluster)
        return refuse(m,
                      "--to: the database is cluster %u of the installation, --store is cluster %u",
                      to->store.cluster, from->store.cluster);
    if (strcmp(from->database, to->database) != 0)
        return refuse(m,
                      "--to: the database is called %s, that of --store is called %s: daemons name"
                      " both servers in one URI, with one database",
                      to->database, from->database);
    if (strcmp(from->schema, to->schema) != 0)
        return refuse(m, "--to: its tables would be in the schema %s, those of --store are in %s",
                      to->schema, from->schema);
    if (apart_ms > CLOCKS_MOST_MS)
        return refuse(m,
                      "the clocks of the servers are %" PRId64 " ms apart, at most %d are allowed:"
                      " set them right, as leases of nodes depend on them",
                      apart_ms, CLOCKS_MOST_MS);
    return true;
}

/* --- to a target that follows ----------------------------------------------------------------- */

/* Ends the other direction, whose slot has everything since the switch. */
static bool turn_around(struct move *m, struct move_server *open, struct move_server *fenced)
{
    return went(m, open, move_unsubscribe(open)) && went(m, fenced, move_drop_slot(fenced, open)) &&
           went(m, fenced, move_subscribe(fenced, open, false));
}

static bool check_empty(struct move *m)
{
    bool has, others;
    if (!went(m, &m->from, move_has_slot(&m->from, &m->to, &has, &others)))
        return false;
    if (others)
        return refuse(m, "--store: another move of this database is not finished: "
                         "`postbackd move --finish` ends it");
    if (m->to.has_rows && m->to.fenced && has)
        return turn_around(m, &m->from, &m->to); /* killed behind the switch to --store */
    if (m->to.has_rows)
        return refuse(m, "--to: the database is not empty and does not follow --store: make an "
                         "empty one");
    if (m->to.has_tables && !m->to.fenced && !*m->to.owner)
        return refuse(m, "--to: the database is not empty: it has tables of something else. Make "
                         "an empty one");
    return true;
}

static bool prepare(struct move *m)
{
    struct move_server *from = &m->from, *to = &m->to;
    say(m, "making the tables");
    if (!went(m, to, move_server_prepare(to, true)) ||
        !went(m, to, move_server_make_tables(to, from->owner)) ||
        !went(m, to, move_server_match(to, from, &m->partitions)) ||
        !went(m, to, move_publish(to, NULL)) || !went(m, to, move_fence(to, NULL)))
        return false;
    say(m, "beginning to copy");
    return went(m, from, move_server_prepare(from, false)) &&
           went(m, from, move_publish(from, to)) && went(m, from, move_make_slot(from, to)) &&
           went(m, to, move_subscribe(to, from, true));
}

/* --- following -------------------------------------------------------------------------------- */

static bool say_progress(struct move *m, struct move_state *at)
{
    int64_t now_ms = env_mono_ms(env_real());
    struct buf line = {0};
    if (m->said_ms && now_ms - m->said_ms < SAY_MS)
        return true;
    m->said_ms = now_ms;
    if (!went(m, &m->from, pg_move_lag(&m->from.pg, m->to.identity, at)))
        return false;
    move_progress_print(&line, at);
    say(m, "%s", buf_c(&line));
    buf_free(&line);
    return true;
}

/* Whether a mark arrives so soon that the switch will be short. */
static bool is_close(struct move *m, bool *ret)
{
    int64_t mark, begin_ms = env_mono_ms(env_real());
    bool arrived;
    if (!went(m, &m->from, move_mark(&m->from, &mark)) ||
        !went(m, &m->to, move_wait_mark(&m->to, mark, MARK_MOST_MS, &arrived)))
        return false;
    *ret = arrived && env_mono_ms(env_real()) - begin_ms <= LAG_MOST_MS;
    return true;
}

/* The source's keeper makes partitions, which are not replicated: rows of a missing one wait. */
static bool follow(struct move *m, bool *ret_stopped)
{
    for (bool close = false; !close;) {
        struct move_state at = {0};
        *ret_stopped = !m->o->goes_on(m->o->context);
        if (*ret_stopped)
            return true;
        if (!went(m, &m->to, move_server_match(&m->to, &m->from, &m->partitions)) ||
            !went(m, &m->to, pg_move_progress(&m->to.pg, &at)) || !say_progress(m, &at))
            return false;
        if (at.step != MOVE_COPYING && !is_close(m, &close))
            return false;
        if (!close)
            (void)poll(NULL, 0, LOOK_MS);
    }
    return true;
}

/* --- the switch ------------------------------------------------------------------------------- */

/* What follows the fence of the source. False: the source may be opened again, unless *ret_decided:
 * nobody knows whether the target is open. */
static bool open_target(struct move *m, int64_t mark, int64_t most_ms, bool *ret_in_time,
                        bool *ret_decided)
{
    struct move_server *to = &m->to;
    int64_t until = env_mono_ms(env_real()) + most_ms;
    *ret_in_time = *ret_decided = false;
    if (!went(m, to, move_wait_mark(to, mark, most_ms, ret_in_time)))
        return false;
    int64_t left_ms = until - env_mono_ms(env_real());
    /* from the slot on the source will follow */
    if (*ret_in_time && !went(m, to, move_replace_slot(to, &m->from, left_ms, ret_in_time)))
        return false;
    if (!*ret_in_time)
        return true;
    bool good = went(m, to, move_unfence(to));
    *ret_decided = !good && move_is_lost(to);
    return good;
}

/* *ret_in_time false: it took too long, and the source is open again. */
static bool try_switch(struct move *m, bool *ret_in_time)
{
    int64_t mark, begin_ms = env_mono_ms(env_real());
    bool decided;
    say(m, "switching");
    if (!move_fence(&m->from, &mark))
        return move_is_lost(&m->from)
                   ? refuse(m, "--store: %s: it may refuse writes now: run the same command again",
                            buf_c(&m->from.pg.why))
                   : went(m, &m->from, false);
    int64_t left_ms = begin_ms + SWITCH_MOST_MS - env_mono_ms(env_real());
    bool good = open_target(m, mark, left_ms, ret_in_time, &decided);
    int64_t took_ms = env_mono_ms(env_real()) - begin_ms;
    if (good && *ret_in_time) {
        say(m, "switched: no database could be written for %" PRId64 " ms", took_ms);
        return true;
    }
    if (decided)
        return refuse(m,
                      "--to: %s: nobody knows which database is in use: run the same command again",
                      buf_c(&m->to.pg.why));
    if (!move_unfence(&m->from))
        return refuse(m, "--store: %s: no database can be written: run the same command again",
                      buf_c(&m->from.pg.why));
    if (good)
        say(m, "the switch took longer than %d ms: --store is in use again", SWITCH_MOST_MS);
    return good;
}

static bool count_nodes(struct move *m, int64_t before)
{
    int64_t until = env_mono_ms(env_real()) + NODES_PATIENCE_MS, now, since_ms, clock_ms;
    if (!went(m, &m->to, move_nodes(&m->to, 0, &now, &since_ms)))
        return false;
    do {
        (void)poll(NULL, 0, LOOK_MS);
        if (!went(m, &m->to, move_nodes(&m->to, since_ms, &now, &clock_ms)))
            return false;
    } while (now < before && env_mono_ms(env_real()) < until);
    say(m, "%" PRId64 " of %" PRId64 " nodes use --to%s", now, before,
        now < before ? ": the others do not name its host in their URI, or have ended" : "");
    return true;
}

static bool follow_and_switch(struct move *m, bool *ret_stopped)
{
    bool switched = false;
    int64_t nodes, clock_ms;
    for (int i = 0; !switched && i < SWITCHES_MOST; i++) {
        if (!follow(m, ret_stopped))
            return false;
        if (*ret_stopped)
            return true;
        if (!went(m, &m->from, move_nodes(&m->from, 0, &nodes, &clock_ms)) ||
            !try_switch(m, &switched))
            return false;
    }
    if (!switched)
        return refuse(m,
                      "--to: it does not keep up with the changes of --store, or a transaction of "
                      "its server holds the switch up: run the same command again when there are "
                      "fewer");
    return turn_around(m, &m->to, &m->from) && count_nodes(m, nodes);
}

/* --- which step ------------------------------------------------------------------------------- */

static bool begin_or_resume(struct move *m, bool *ret_stopped)
{
    struct move_server *from = &m->from, *to = &m->to;
    if (from->fenced && !(from->published && to->has_rows))
        return refuse(m, "--store: this database was moved to another server, and the move is "
                         "finished: what it has is old");
    if (from->fenced && !to->fenced) {
        if (!turn_around(m, to, from))
            return false;
        say(m, "already switched: --to is in use, and --store is kept up to date");
        return true;
    }
    if (from->fenced && !to->subscribed)
        return refuse(m, "a move in the other direction was interrupted: run that command again");
    if (!to->subscribed && !(check_empty(m) && (to->subscribed || prepare(m))))
        return false;
    if (from->fenced && !went(m, from, move_unfence(from)))
        return false;
    return follow_and_switch(m, ret_stopped);
}

static bool finish(struct move *m)
{
    struct move_server *from = &m->from, *to = &m->to;
    if (from->fenced == to->fenced)
        return refuse(m, "%s",
                      from->fenced ? "the switch is not complete: run the same command "
                                     "without --finish first"
                                   : "there is no move to finish");
    struct move_server *open = from->fenced ? to : from;
    if (!went(m, from, move_unsubscribe(from)) || !went(m, to, move_unsubscribe(to)) ||
        !went(m, from, move_drop_slot(from, to)) || !went(m, to, move_drop_slot(to, from)) ||
        !went(m, from, move_forget(from)) || !went(m, to, move_forget(to)))
        return false;
    say(m, "finished: %s is in use, and nothing keeps the other database up to date", open->option);
    return true;
}

static bool look(struct move *m)
{
    return went(m, &m->from, move_server_look(&m->from)) &&
           went(m, &m->to, move_server_look(&m->to)) && check_pair(m);
}

static bool connect_and_lock(struct move *m)
{
    return went(m, &m->from, pg_connect(&m->from.pg)) && went(m, &m->to, pg_connect(&m->to.pg)) &&
           look(m) && went(m, &m->from, move_server_lock(&m->from)) &&
           went(m, &m->to, move_server_lock(&m->to)) && look(m); /* the first look may be old */
}

enum move_end store_move(const struct move_options *o, char **ret_why)
{
    struct move m = {.o = o, .from.option = "--store", .to.option = "--to"};
    bool stopped = false;
    pg_init(&m.from.pg, o->from);
    pg_init(&m.to.pg, o->to);
    m.from.pg.server = m.to.pg.server = "any";
    bool good = check_uri(&m, "--store", o->from) && check_uri(&m, "--to", o->to) &&
                connect_and_lock(&m) && (o->finish ? finish(&m) : begin_or_resume(&m, &stopped));
    pg_close(&m.from.pg);
    pg_close(&m.to.pg);
    pg_partitions_free(&m.partitions);
    *ret_why = m.why;
    return !good ? MOVE_FAILED : stopped ? MOVE_STOPPED : MOVE_DONE;
}
