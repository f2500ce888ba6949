/* See move_server.h. Statements that end with a name of the database or of a role are made by the
 * server (format's %I), which knows how to quote it. */
#include "store/copy/move_server.h"

#include "base/env.h"
#include "store/nodes/shards.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#define MARK_LOOK_MS 5
#define SLOT_PATIENCE_MS 10000
#define LOCK_PATIENCE_MS 10000
#define LOCK_LOOK_MS 200
/* A waiting lock: a vacuum is asked to leave after the deadlock timeout, which is 1 s otherwise. */
#define FENCE_LOCK_MS "300"
#define FENCE_DEADLOCK_MS "20"
#define FENCE_TRIES 4

/* One statement in a transaction of its own. */
PRINTF_LIKE(2, 3) static bool run(struct move_server *s, const char *fmt, ...)
{
    struct buf sql = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&sql, fmt, ap);
    va_end(ap);
    (void)pg_exec(&s->pg, buf_c(&sql));
    buf_free(&sql);
    return pg_sync(&s->pg) == PG_OK;
}

static void copy_text(char *to, size_t size, struct str text)
{
    snprintf(to, size, "%.*s", STR_ARG(text));
}

/* --- looking ---------------------------------------------------------------------------------- */

static bool check_settings(struct move_server *s)
{
    if (!pg_check_server(&s->pg) || !run(s, "SELECT current_setting('wal_level'),"
                                            "current_setting('is_superuser'),current_user::text"))
        return false;
    const PGresult *r = pg_result(&s->pg, 0);
    if (!str_is(pg_str(r, 0, 0), "logical"))
        return pg_refuse(&s->pg,
                         "wal_level is %.*s and must be logical: set it, and restart the server",
                         STR_ARG(pg_str(r, 0, 0)));
    if (!str_is(pg_str(r, 0, 1), "on"))
        return pg_refuse(&s->pg,
                         "the role %.*s must be a superuser: subscriptions and ending the daemons'"
                         " sessions need one",
                         STR_ARG(pg_str(r, 0, 2)));
    return true;
}

static bool look_at_objects(struct move_server *s)
{
    struct pg_move_facts facts;
    if (!pg_move_look(&s->pg, &facts) ||
        !run(s,
             "SELECT current_schema()::text,(extract(epoch FROM clock_timestamp())*1000)::bigint,"
             "EXISTS(SELECT FROM pg_class WHERE relnamespace=current_schema()::regnamespace"
             " AND relkind IN('r','p')),"
             "(SELECT pg_get_userbyid(relowner)::text FROM pg_class WHERE oid=to_regclass('meta')),"
             "current_database()::text"))
        return false;
    const PGresult *r = pg_result(&s->pg, 0);
    copy_text(s->identity, sizeof s->identity, str_of(facts.identity));
    copy_text(s->schema, sizeof s->schema, pg_str(r, 0, 0));
    copy_text(s->owner, sizeof s->owner, pg_str(r, 0, 3));
    copy_text(s->database, sizeof s->database, pg_str(r, 0, 4));
    s->clock_ms = pg_int(r, 0, 1) - env_mono_ms(env_real());
    s->has_tables = pg_int(r, 0, 2) != 0;
    s->fenced = facts.fenced;
    s->published = facts.published;
    s->subscribed = facts.subscribed;
    return true;
}

/* A store that a daemon has opened has an identity. */
static bool look_at_rows(struct move_server *s)
{
    enum pg_identity_found found = *s->owner ? pg_identity_look(&s->pg, &s->store) : IDENTITY_NONE;
    s->has_rows = found == IDENTITY_FOUND;
    return found != IDENTITY_UNKNOWN;
}

bool move_server_look(struct move_server *s)
{
    return run(s, "SET default_transaction_read_only=off") && check_settings(s) &&
           look_at_objects(s) && look_at_rows(s);
}

/* The session of a command that was killed ends once its server has noticed. */
bool move_server_lock(struct move_server *s)
{
    int64_t until = env_mono_ms(env_real()) + LOCK_PATIENCE_MS;
    struct pg_move_facts facts;
    for (;;) {
        if (!run(s, "SELECT pg_try_advisory_lock(%d)", PG_MOVE_LOCK))
            return false;
        if (pg_int(pg_result(&s->pg, 0), 0, 0))
            return true;
        if (env_mono_ms(env_real()) >= until)
            break;
        (void)poll(NULL, 0, LOCK_LOOK_MS);
    }
    return pg_move_look(&s->pg, &facts) &&
           pg_refuse(&s->pg,
                     "another move of this database is running, in the server's process %" PRId64
                     ": wait for it or stop it. If its machine is gone, SELECT"
                     " pg_terminate_backend(%" PRId64 ") ends its session",
                     facts.lock_pid, facts.lock_pid);
}

/* --- tables ----------------------------------------------------------------------------------- */

#define SET_READ_ONLY                                                                              \
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET default_transaction_read_only=on',"        \
    "current_database()); END $$"

bool move_server_prepare(struct move_server *s, bool locked)
{
    return run(s, "CREATE SCHEMA IF NOT EXISTS " PG_MOVE_NAME) &&
           run(s, "CREATE TABLE IF NOT EXISTS " PG_MOVE_NAME
                  ".mark(id int PRIMARY KEY, mark bigint NOT NULL)") &&
           (!locked || run(s, SET_READ_ONLY));
}

static bool become(struct move_server *s, const char *role)
{
    args_str(pg_args(&s->pg), PG_TEXT, str_of(role));
    (void)pg_query(&s->pg, "SELECT set_config('role',$1,false)");
    return pg_sync(&s->pg) == PG_OK;
}

#define ITS_TABLES                                                                                 \
    " FROM pg_class WHERE relnamespace=current_schema()::regnamespace AND relkind IN('r','p')"     \
    " AND NOT relispartition AND relpersistence='p' AND relname<>'schema_version'"

/* The rows of a new store would be in the way of those that are copied; others are somebody's. */
static bool empty_tables(struct move_server *s)
{
    static const char check[] =
        "DO $$ DECLARE t regclass; found bool; BEGIN FOR t IN SELECT oid" ITS_TABLES
        " AND relname NOT IN('shard','revision') LOOP"
        " EXECUTE format('SELECT EXISTS(SELECT FROM %s)',t) INTO found; IF found THEN"
        " RAISE 'the database is not empty: table % has rows. Make an empty one',t; END IF;"
        " END LOOP; END $$";
    return run(s, "%s", check) && run(s, "SET session_replication_role=replica") &&
           run(s, "DELETE FROM shard") && run(s, "DELETE FROM revision") &&
           run(s, "RESET session_replication_role");
}

bool move_server_make_tables(struct move_server *s, const char *owner)
{
    ASSERT(!s->has_rows);
    copy_text(s->owner, sizeof s->owner, str_of(owner));
    return become(s, owner) && pg_migrate(&s->pg, &pg_schema_migration, PG_CONTRACT) &&
           become(s, "none") && empty_tables(s);
}

bool move_server_match(struct move_server *s, struct move_server *other,
                       struct pg_partitions *known)
{
    return become(s, s->owner) && pg_partitions_match(&s->pg, &other->pg, known) &&
           become(s, "none");
}

/* --- publication and subscription ------------------------------------------------------------- */

/* Rows of partitions are published as the partitioned table's: the partitions of both sides need
 * not be the same. */
bool move_publish(struct move_server *s, struct move_server *like)
{
    struct move_server *of = like ? like : s;
    struct buf tables = {0};
    bool good = run(
        of, like ? "SELECT string_agg(prrelid::regclass::text,',') FROM pg_publication_rel r"
                   " JOIN pg_publication p ON p.oid=r.prpubid WHERE p.pubname='" PG_MOVE_NAME "'"
                 : "SELECT string_agg(oid::regclass::text,',')||'," PG_MOVE_NAME
                   ".mark'" ITS_TABLES);
    if (good && !s->published) {
        buf_add_str(&tables, pg_str(pg_result(&of->pg, 0), 0, 0));
        good = run(s,
                   "CREATE PUBLICATION " PG_MOVE_NAME
                   " FOR TABLE %s WITH (publish_via_partition_root=true)",
                   buf_c(&tables));
        buf_free(&tables);
    }
    s->published |= good;
    return good || of == s ? good : pg_refuse(&s->pg, "%s", buf_c(&of->pg.why));
}

bool move_forget(struct move_server *s)
{
    return run(s, "DROP PUBLICATION IF EXISTS " PG_MOVE_NAME) &&
           run(s, s->fenced ? "DROP TABLE IF EXISTS " PG_MOVE_NAME ".mark"
                            : "DROP SCHEMA IF EXISTS " PG_MOVE_NAME " CASCADE");
}

bool move_has_slot(struct move_server *s, const struct move_server *follower, bool *ret_has,
                   bool *ret_has_others)
{
    if (!run(s,
             "SELECT coalesce(bool_or(slot_name='" PG_MOVE_NAME "_%s'),false),"
             "coalesce(bool_or(slot_name<>'" PG_MOVE_NAME "_%s'),false) FROM pg_replication_slots"
             " WHERE starts_with(slot_name,'" PG_MOVE_NAME "_') AND database=current_database()",
             follower->identity, follower->identity))
        return false;
    *ret_has = pg_int(pg_result(&s->pg, 0), 0, 0) != 0;
    *ret_has_others = pg_int(pg_result(&s->pg, 0), 0, 1) != 0;
    return true;
}

/* A slot that is used can be dropped once its walsender has noticed that its subscriber left. */
bool move_drop_slot(struct move_server *s, const struct move_server *follower)
{
    int64_t until = env_mono_ms(env_real()) + SLOT_PATIENCE_MS;
    bool has, others, dropped = false;
    while (move_has_slot(s, follower, &has, &others)) {
        if (!has)
            return true;
        dropped = run(s,
                      "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
                      " WHERE slot_name='" PG_MOVE_NAME "_%s'",
                      follower->identity);
        if (!dropped && env_mono_ms(env_real()) > until)
            return false;
        if (!dropped)
            (void)poll(NULL, 0, MARK_LOOK_MS * 10);
    }
    return false;
}

static bool create_slot(struct move_server *s, const struct move_server *follower)
{
    return run(s, "SELECT pg_create_logical_replication_slot('" PG_MOVE_NAME "_%s','pgoutput')",
               follower->identity);
}

bool move_make_slot(struct move_server *s, const struct move_server *follower)
{
    bool has, others;
    return move_has_slot(s, follower, &has, &others) && (has || create_slot(s, follower));
}

bool move_replace_slot(struct move_server *s, const struct move_server *follower, int64_t most_ms,
                       bool *ret_made)
{
    *ret_made = false;
    if (most_ms <= 0)
        return true;
    if (!move_drop_slot(s, follower) || !run(s, "SET statement_timeout=%" PRId64, most_ms))
        return false;
    *ret_made = create_slot(s, follower);
    bool is_late = !*ret_made && strcmp(s->pg.sqlstate, "57014") == 0; /* query_canceled */
    return (*ret_made || is_late) && run(s, "RESET statement_timeout");
}

bool move_subscribe(struct move_server *s, const struct move_server *other, bool copy)
{
    if (s->subscribed)
        return true;
    char *uri = PQescapeLiteral(s->pg.connection, other->pg.uri, strlen(other->pg.uri));
    if (!uri)
        return pg_refuse(&s->pg, "%s", PQerrorMessage(s->pg.connection));
    s->subscribed =
        run(s,
            "CREATE SUBSCRIPTION " PG_MOVE_NAME " CONNECTION %s PUBLICATION " PG_MOVE_NAME
            " WITH (create_slot=false,slot_name='" PG_MOVE_NAME "_%s',copy_data=%s)",
            uri, s->identity, copy ? "true" : "false");
    PQfreemem(uri);
    return s->subscribed;
}

bool move_unsubscribe(struct move_server *s)
{
    bool good =
        !s->subscribed || (run(s, "ALTER SUBSCRIPTION " PG_MOVE_NAME " DISABLE") &&
                           run(s, "ALTER SUBSCRIPTION " PG_MOVE_NAME " SET (slot_name=NONE)") &&
                           run(s, "DROP SUBSCRIPTION " PG_MOVE_NAME));
    s->subscribed &= !good;
    return good;
}

/* --- the fence -------------------------------------------------------------------------------- */

/* SQLSTATE 25006 is that of a standby: daemons look for another server at once. */
#define MAKE_REFUSE                                                                                \
    "CREATE OR REPLACE FUNCTION " PG_MOVE_NAME ".refuse() RETURNS trigger LANGUAGE plpgsql AS $$"  \
    " BEGIN RAISE 'this database was moved to another server' USING ERRCODE='25006'; END $$"

#define END_SESSIONS                                                                               \
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"                                \
    " WHERE datname=current_database() AND backend_type='client backend' AND"                      \
    " pid<>pg_backend_pid()"

#define MAKE_TRIGGERS                                                                              \
    "DO $$ DECLARE t regclass; BEGIN"                                                              \
    " FOR t IN SELECT prrelid FROM pg_publication_rel r JOIN pg_publication p ON p.oid=r.prpubid"  \
    " WHERE p.pubname='" PG_MOVE_NAME "' AND prrelid<>'" PG_MOVE_NAME                              \
    ".mark'::regclass ORDER BY 1"                                                                  \
    " LOOP EXECUTE format('CREATE OR REPLACE TRIGGER " PG_MOVE_NAME                                \
    " BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s EXECUTE FUNCTION " PG_MOVE_NAME          \
    ".refuse()', t); END LOOP;"                                                                    \
    " EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only=on',"                    \
    "current_database()); END $$"

static const char write_mark[] =
    "INSERT INTO " PG_MOVE_NAME ".mark AS m VALUES(1,1) ON CONFLICT(id)"
    " DO UPDATE SET mark=m.mark+1 RETURNING mark";

static void begin_short(struct move_server *s)
{
    pg_begin(&s->pg, false);
    pg_exec(&s->pg, "SELECT set_config('lock_timeout','" FENCE_LOCK_MS "',true),"
                    "set_config('deadlock_timeout','" FENCE_DEADLOCK_MS "',true)");
}

/* Daemons that come back meanwhile may hold one lock and wait for another one: this session is the
 * first to notice such a deadlock, and tries again. */
bool move_fence(struct move_server *s, int64_t *ret_mark)
{
    for (int i = 0; i < FENCE_TRIES; i++) {
        begin_short(s);
        pg_exec(&s->pg, MAKE_REFUSE);
        pg_exec(&s->pg, END_SESSIONS);
        int mark = ret_mark ? pg_exec(&s->pg, write_mark) : 0;
        pg_exec(&s->pg, MAKE_TRIGGERS);
        pg_commit(&s->pg);
        enum pg_fate fate = pg_sync(&s->pg);
        if (fate == PG_OK && ret_mark)
            *ret_mark = pg_int(pg_result(&s->pg, mark), 0, 0);
        s->fenced |= fate == PG_OK;
        if (fate != PG_NOT_NOW)
            return fate == PG_OK;
    }
    return false;
}

/* A vacuum that prevents a wraparound does not leave its table. */
bool move_unfence(struct move_server *s)
{
    for (int i = 0; i < FENCE_TRIES; i++) {
        begin_short(s);
        pg_exec(&s->pg, "DROP FUNCTION IF EXISTS " PG_MOVE_NAME ".refuse() CASCADE");
        pg_exec(&s->pg, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET"
                        " default_transaction_read_only',current_database()); END $$");
        pg_commit(&s->pg);
        enum pg_fate fate = pg_sync(&s->pg);
        s->fenced &= fate != PG_OK;
        if (fate != PG_NOT_NOW)
            return fate == PG_OK;
    }
    return false;
}

/* --- how far it is ---------------------------------------------------------------------------- */

bool move_mark(struct move_server *s, int64_t *ret_mark)
{
    if (!run(s, "%s", write_mark))
        return false;
    *ret_mark = pg_int(pg_result(&s->pg, 0), 0, 0);
    return true;
}

bool move_wait_mark(struct move_server *s, int64_t mark, int64_t most_ms, bool *ret_arrived)
{
    int64_t until = env_mono_ms(env_real()) + most_ms;
    for (;;) {
        if (!run(s, "SELECT coalesce(max(mark),0) FROM " PG_MOVE_NAME ".mark"))
            return false;
        *ret_arrived = pg_int(pg_result(&s->pg, 0), 0, 0) >= mark;
        if (*ret_arrived || env_mono_ms(env_real()) >= until)
            return true;
        (void)poll(NULL, 0, MARK_LOOK_MS);
    }
}

bool move_nodes(struct move_server *s, int64_t since_ms, int64_t *ret_count, int64_t *ret_clock_ms)
{
    if (!run(s,
             "SELECT count(*) FILTER(WHERE NOT leaving AND until>CASE WHEN %" PRId64
             "=0 THEN now() ELSE to_timestamp((%" PRId64 "+%d)/1000.0) END),"
             "(extract(epoch FROM now())*1000)::bigint FROM node",
             since_ms, since_ms, NODE_LEASE_MS))
        return false;
    *ret_count = pg_int(pg_result(&s->pg, 0), 0, 0);
    *ret_clock_ms = pg_int(pg_result(&s->pg, 0), 0, 1);
    return true;
}
