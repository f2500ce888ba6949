/* See replica.h. Positions are WAL positions of the servers (pg_lsn), compared as numbers. A commit
 * that was acknowledged lies before the primary's written position, and a replica that has replayed
 * up to that position shows it, if both are copies of one server and on the same timeline: a
 * replica that has not followed a failover may be further by number and lack what the new primary
 * has, and behind a move to another server (store_move.h) positions cannot be compared. Clocks of
 * different machines are never compared. */
#include "store/postgresql/replica.h"

#include "base/alloc.h"
#include "base/log.h"
#include "store/postgresql/pg_connect.h"

#include <stdlib.h>

#define WATCH_MS 500
#define WATCH_HASTE_MS 50 /* while it is behind */
#define WAIT_STEP_MS 2
/* Short reads share a thread with reads that other nodes' changes wait for, so they must not block
 * it for long. */
#define READ_TRIP_MS 5000
#define WATCH_TRIP_MS 3000

struct pg_replica {
    char *uri;
    int64_t lag_most_ms;
    struct pg reads[PG_READERS], scans[PG_READERS]; /* by the number of the reader that uses it */
    struct pg watch, primary;                       /* used by the watching thread */
    struct queue to_watch, nap;
    pthread_t thread;
    bool started;
    atomic_int state; /* enum store_replica */
    atomic_llong lag_ms, served, passed_on;
};

static void init_connection(struct postgresql_store *s, struct pg *pg, const char *uri,
                            int64_t trip_ms)
{
    pg_init(pg, uri);
    pg->server = "standby";
    pg->trip_ms = pg->long_trip_ms = trip_ms; /* the primary is asked behind that */
    pg->give_up_mono_ms = &s->give_up_mono_ms;
}

struct pg_replica *pg_replica_new(struct postgresql_store *s, const char *uri, int64_t lag_most_ms)
{
    if (!uri)
        return NULL;
    struct pg_replica *r = xcalloc(1, sizeof *r);
    r->uri = xstrdup(uri);
    r->lag_most_ms = lag_most_ms;
    for (size_t i = 0; i < PG_READERS; i++) {
        init_connection(s, &r->reads[i], r->uri, READ_TRIP_MS);
        init_connection(s, &r->scans[i], r->uri, PG_TRIP_TIMEOUT_MS);
    }
    init_connection(s, &r->watch, r->uri, WATCH_TRIP_MS);
    pg_store_init_connection(s, &r->primary);
    r->primary.trip_ms = WATCH_TRIP_MS;
    queue_init(&r->to_watch);
    queue_init(&r->nap);
    atomic_init(&r->state, STORE_REPLICA_BEHIND); /* until the first check */
    return r;
}

void pg_replica_free(struct pg_replica *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < PG_READERS; i++) {
        pg_close(&r->reads[i]);
        pg_close(&r->scans[i]);
    }
    pg_close(&r->watch);
    pg_close(&r->primary);
    queue_destroy(&r->to_watch);
    queue_destroy(&r->nap);
    free(r->uri);
    free(r);
}

static void set_state(struct pg_replica *r, enum store_replica state, const char *why)
{
    if (atomic_exchange(&r->state, (int)state) == (int)state)
        return;
    if (state == STORE_REPLICA_USED)
        log_info("read_replica_used");
    else
        log_warning(state == STORE_REPLICA_AWAY ? "read_replica_away" : "read_replica_behind",
                    LOG_C("why", why), LOG_C("effect", "reads go to the primary"));
}

/* --- positions -------------------------------------------------------------------------------- */

struct position {
    int64_t system, timeline, at;
};

/* False: the primary did not answer. */
static bool ask_written(struct pg *primary, struct position *ret)
{
    if (!pg_connect(primary))
        return false;
    int at = pg_exec(primary, "SELECT ('x'||left(pg_walfile_name(at),8))::bit(32)::int,at,"
                              "(SELECT system_identifier FROM pg_control_system())"
                              " FROM pg_current_wal_flush_lsn() AS at");
    if (pg_sync(primary) != PG_OK)
        return false;
    const PGresult *row = pg_result(primary, at);
    *ret = (struct position){pg_int(row, 0, 2), pg_int(row, 0, 0), pg_int(row, 0, 1)};
    return true;
}

/* The timeline is that of the last restartpoint: after a failover that the replica has followed,
 * the next restartpoint may take some minutes. False: replica->why says why. */
static bool ask_replayed(struct postgresql_store *s, struct pg *replica, struct position *ret)
{
    if (!pg_connect(replica))
        return false;
    int at = pg_exec(replica, "SELECT pg_last_wal_replay_lsn(),pg_is_in_recovery(),"
                              "(SELECT timeline_id FROM pg_control_checkpoint()),"
                              "(SELECT system_identifier FROM pg_control_system())");
    int store_at = pg_identity_ask(replica);
    if (pg_sync(replica) != PG_OK)
        return false;
    const PGresult *row = pg_result(replica, at);
    struct pg_identity found;
    if (!pg_int(row, 0, 1))
        return pg_refuse(replica, "it is no replica any more");
    if (!pg_identity_read(pg_result(replica, store_at), &found) ||
        !pg_identity_eq(&found, &s->identity))
        return pg_refuse(replica, "it is a replica of another store");
    *ret = (struct position){pg_int(row, 0, 3), pg_int(row, 0, 2), pg_int(row, 0, 0)};
    return true;
}

static bool same_history(struct pg_replica *r, const struct position *written,
                         const struct position *replayed)
{
    if (written->system == replayed->system && written->timeline == replayed->timeline)
        return true;
    if (written->system != replayed->system) {
        set_state(r, STORE_REPLICA_AWAY, "it is a replica of another server than the one in use");
        return false;
    }
    set_state(r, STORE_REPLICA_BEHIND, "it has no restartpoint behind the last failover yet");
    return false;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The kinds of reads about past events, for people. The primary answers everything that decides or
 * is passed on (lanes, waiting callbacks, sizes of recoveries, books), and reads of accounts and
 * people. */
static bool may_serve(enum request_kind kind)
{
    return kind == REQUEST_REPORT || kind == REQUEST_INTRADAY || kind == REQUEST_STATEMENT ||
           kind == REQUEST_CALLBACK || kind == REQUEST_CALLBACKS || kind == REQUEST_DELIVERY_STATS;
}

static bool wait_until_replayed(struct postgresql_store *s, struct pg_replica *r,
                                struct pg *replica, const struct position *written)
{
    int64_t until = env_mono_ms(env_real()) + r->lag_most_ms;
    struct position replayed = {0};
    for (;;) {
        if (!ask_replayed(s, replica, &replayed)) {
            set_state(r, STORE_REPLICA_AWAY, buf_c(&replica->why));
            return false;
        }
        if (!same_history(r, written, &replayed))
            return false;
        if (replayed.at >= written->at)
            return true;
        if (env_mono_ms(env_real()) >= until) {
            set_state(r, STORE_REPLICA_BEHIND, "a read has waited for as long as it may");
            return false;
        }
        (void)queue_has_any(&r->nap, WAIT_STEP_MS);
    }
}

static bool read_at(struct postgresql_store *s, struct pg_replica *r, struct pg *primary,
                    struct pg *replica, pg_work work, void *what)
{
    struct position written;
    if (atomic_load(&r->state) != STORE_REPLICA_USED || !ask_written(primary, &written) ||
        !wait_until_replayed(s, r, replica, &written))
        return false;
    enum pg_fate fate = work(s, replica, what);
    if (fate == PG_LOST)
        set_state(r, STORE_REPLICA_AWAY, buf_c(&replica->why));
    else if (fate != PG_OK) /* usually cancelled by a conflict with replay */
        log_info("read_replica_refused", LOG_STR("why", buf_str(&replica->why)));
    return fate == PG_OK;
}

bool pg_replica_read(struct pg_reader *reader, enum request_kind kind, pg_work work, void *what)
{
    struct postgresql_store *s = reader->store;
    struct pg_replica *r = s->replica;
    if (!r || !may_serve(kind))
        return false;
    struct pg *own = reader->is_scans ? r->scans : r->reads;
    bool good = read_at(s, r, &reader->pg, &own[reader->number], work, what);
    atomic_fetch_add(good ? &r->served : &r->passed_on, 1);
    return good;
}

/* --- watching --------------------------------------------------------------------------------- */

/* A position that the primary had reached at a time. */
struct sample {
    bool waits; /* the replica has not reached it yet */
    struct position written;
    int64_t at_mono_ms;
};

static void look(struct postgresql_store *s, struct pg_replica *r, struct sample *sample)
{
    struct position replayed = {0};
    if (!sample->waits) {
        if (!ask_written(&r->primary, &sample->written))
            return; /* readers see the same error */
        sample->at_mono_ms = env_mono_ms(env_real());
    }
    bool first = !sample->waits;
    if (!ask_replayed(s, &r->watch, &replayed)) {
        sample->waits = false;
        set_state(r, STORE_REPLICA_AWAY, buf_c(&r->watch.why));
        return;
    }
    if (!same_history(r, &sample->written, &replayed)) {
        sample->waits = false;
        return;
    }
    sample->waits = replayed.at < sample->written.at;
    int64_t lag_ms = first && !sample->waits ? 0 : env_mono_ms(env_real()) - sample->at_mono_ms;
    atomic_store(&r->lag_ms, lag_ms);
    if (lag_ms > r->lag_most_ms)
        set_state(r, STORE_REPLICA_BEHIND, "it replays later than it may");
    else if (!sample->waits && lag_ms <= r->lag_most_ms / 2)
        set_state(r, STORE_REPLICA_USED, NULL);
}

static void *watch_main(void *arg)
{
    struct postgresql_store *s = arg;
    CHECK_MAGIC(s, POSTGRESQL_STORE_MAGIC);
    pthread_setname_np(pthread_self(), "store-replica");
    struct sample sample = {0};
    do
        look(s, s->replica, &sample);
    while (!queue_has_any(&s->replica->to_watch, sample.waits ? WATCH_HASTE_MS : WATCH_MS));
    return NULL;
}

void pg_replica_start(struct postgresql_store *s)
{
    if (!s->replica)
        return;
    s->replica->started = true;
    ASSERT(pthread_create(&s->replica->thread, NULL, watch_main, s) == 0);
}

void pg_replica_stop(struct pg_replica *r)
{
    if (!r || !r->started)
        return;
    queue_post(&r->to_watch, request_new(REQUEST_STOP, NULL));
    ASSERT(pthread_join(r->thread, NULL) == 0);
    free(queue_take(&r->to_watch, 0));
}

void pg_replica_get_numbers(struct pg_replica *r, struct store_numbers *ret)
{
    if (!r)
        return;
    ret->replica = (enum store_replica)atomic_load(&r->state);
    ret->replica_lag_ms = atomic_load(&r->lag_ms);
    ret->replica_reads = atomic_load(&r->served);
    ret->replica_reads_passed_on = atomic_load(&r->passed_on);
}
