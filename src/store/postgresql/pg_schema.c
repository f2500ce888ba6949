/* The steps, opening a database (which runs missing steps), and making and dropping partitions.
 *
 * A partition is made as a separate table and then attached: unlike CREATE TABLE ... PARTITION OF,
 * this does not lock out readers and writers of the partitioned table. */
#include "store/postgresql/pg_schema.h"

#include "base/alloc.h"
#include "base/arithmetic.h"
#include "domain/clock.h"
#include "domain/event.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/delivery_stats.h"
#include "store/postgresql/lone_connection.h"

#define COUNT_COLUMN(name) "," #name " bigint"
#define COUNT_COLUMNS DELIVERY_STATS_COLUMNS(COUNT_COLUMN)

_Static_assert(CAP_COUNTED == 1, "the index event_paid");

/* Every key begins with the account, so that the tables can be distributed by it. There are no
 * sequences: an event's number comes from its account's row. */
static const char *const version_1[] = {
    "CREATE TABLE meta(name text PRIMARY KEY, value bytea NOT NULL)",
    "CREATE TABLE account(account_no int PRIMARY KEY, last_event_no bigint NOT NULL,"
    " last_accepted_ms bigint NOT NULL, period int NOT NULL) WITH (fillfactor=50)",
    "CREATE TABLE account_period(account_no int, first_event_no bigint, period int NOT NULL,"
    " PRIMARY KEY(account_no,first_event_no))",
    "CREATE TABLE app(app_no bigint PRIMARY KEY, account_no int NOT NULL)",
    "CREATE TABLE total(account_no int PRIMARY KEY, pending bigint NOT NULL,"
    " delivered bigint NOT NULL, dead bigint NOT NULL) WITH (fillfactor=50)",
    "CREATE TABLE event_key(account_no int, key uuid, content bigint NOT NULL,"
    " event_no bigint NOT NULL, PRIMARY KEY(account_no,key))",
    /* Most keys, packed (key_page.h). PLAIN: hashes cannot be compressed, and stay in the row. */
    "CREATE TABLE key_page(account_no int, first uuid, keys bytea NOT NULL,"
    " PRIMARY KEY(account_no,first))",
    "ALTER TABLE key_page ALTER COLUMN keys SET STORAGE PLAIN",
    "CREATE TABLE key_pack(account_no int PRIMARY KEY, last_event_no bigint NOT NULL,"
    " packed bigint NOT NULL) WITH (fillfactor=50)",
    /* Wide columns first, so that alignment leaves no gaps; keys, too: two numbers of 4 bytes, then
     * one of 8. Rows are kept for ever: what may be NULL here is 0 or false then, which takes no
     * space, as it is for nearly every final callback. `counted` NULL: as the state says. */
    "CREATE TABLE event(account_no int, period int, event_no bigint, app_no int NOT NULL,"
    " client_no int NOT NULL, occurred_ms bigint NOT NULL, accepted_ms bigint NOT NULL,"
    " revenue_micros bigint NOT NULL, reward_micros bigint NOT NULL, offer_id bigint,"
    " original_no bigint, due_ms bigint, resend_no bigint, resend_due_ms bigint,"
    " day int NOT NULL, signature_offset int, failed_attempts int, slot int, attempts int,"
    " type smallint NOT NULL, lane smallint NOT NULL, reward_decimals smallint NOT NULL,"
    " state smallint NOT NULL, reason smallint, wait smallint, counted smallint, cap smallint,"
    " is_test bool NOT NULL, manual bool, erased bool,"
    " event_id text COLLATE \"C\" NOT NULL, panelist_id text COLLATE \"C\" NOT NULL,"
    " session_id text, mid text, offer_title text, offer_goal_id text, original_reward_id text,"
    " reason_text text, PRIMARY KEY(account_no,period,event_no)) PARTITION BY RANGE(period)",
    /* No index covers columns that change with each attempt, so that such updates stay in their
     * page (HOT) where it has room. Of a panelist an index has 4 bytes of hash. The day is negative
     * there: with the plain one the planner could choose the next index while a partition has no
     * statistics, and read an account's whole day. */
    "CREATE INDEX event_panelist"
    " ON event(" PG_PANELIST_HASH("panelist_id", "account_no") ",(-day))",
    /* Equal entries share one, so an event costs this index 7 bytes, and not 32. */
    "CREATE INDEX event_day ON event(account_no,day," PG_EVENT_RUN("event_no") ")",
    "CREATE INDEX event_paid"
    " ON event(" PG_PANELIST_HASH("panelist_id", "app_no") ",occurred_ms) WHERE cap=1",
    "CREATE INDEX event_accepted ON event USING brin(accepted_ms)"
    " WITH (pages_per_range=32,autosummarize=on)",
    /* body: packed/packed_text.h. EXTERNAL: PostgreSQL does not try to compress it again. */
    "CREATE TABLE body(account_no int, period int, event_no bigint, body bytea NOT NULL,"
    " PRIMARY KEY(account_no,event_no,period)) PARTITION BY RANGE(period)",
    "ALTER TABLE body ALTER COLUMN body SET STORAGE EXTERNAL",
    "CREATE TABLE attempt(account_no int, event_no bigint, week int, number int, at_ms bigint,"
    " lane bigint NOT NULL, manual bool NOT NULL, duration_ms int NOT NULL, status int NOT NULL,"
    " class smallint NOT NULL,"
    /* texts: packed/attempt_texts.h; EXTERNAL as above */
    " url bytea, detail bytea, texts bytea,"
    " PRIMARY KEY(account_no,event_no,week,number,at_ms)) PARTITION BY RANGE(week)",
    "ALTER TABLE attempt ALTER COLUMN texts SET STORAGE EXTERNAL",
    /* Older attempts of callbacks that are not final. Their week is below any partition's. */
    "CREATE TABLE attempt_kept PARTITION OF attempt FOR VALUES FROM (MINVALUE) TO (-100000)",
    /* lane: app_no * 5 + kind; negative: a reversal held back. pending false: the extra attempt of
     * a resend. once: the event's row is written once (pg_row.h), and an outcome that says the same
     * as that row need not lock or change it. */
    "CREATE TABLE waiting(account_no int, lane bigint, due_ms bigint, event_no bigint,"
    " period int NOT NULL, accepted_ms bigint NOT NULL, pending bool NOT NULL,"
    " presumed bool NOT NULL, PRIMARY KEY(account_no,lane,due_ms,event_no))"
    " WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0)",
    "CREATE INDEX waiting_oldest ON waiting(account_no,accepted_ms) WHERE pending",
    "CREATE TABLE reversal(account_no int, original_no bigint, event_no bigint NOT NULL,"
    " period int NOT NULL, PRIMARY KEY(account_no,original_no))",
    "CREATE TABLE report(account_no int, day int, client_no bigint,"
    " live_events bigint NOT NULL, live_starts bigint NOT NULL, live_outcomes bigint NOT NULL,"
    " live_conversions_survey bigint NOT NULL, live_conversions_offer bigint NOT NULL,"
    " live_survey_micros numeric NOT NULL, live_offer_micros numeric NOT NULL,"
    " test_events bigint NOT NULL, test_starts bigint NOT NULL, test_outcomes bigint NOT NULL,"
    " test_conversions_survey bigint NOT NULL, test_conversions_offer bigint NOT NULL,"
    " test_survey_micros numeric NOT NULL, test_offer_micros numeric NOT NULL,"
    " active_live bigint NOT NULL, active_any bigint NOT NULL,"
    " PRIMARY KEY(account_no,day,client_no)) WITH (fillfactor=50)",
    /* The last day on which a callback of the account's period became final late. */
    "CREATE TABLE final_late(account_no int, period int, final_day int NOT NULL,"
    " PRIMARY KEY(account_no,period)) WITH (fillfactor=50)",
    /* state 0 is the sum of all that is owed. */
    "CREATE TABLE book(account_no int, day int, app_no bigint, lane smallint, is_test bool,"
    " state smallint, count bigint NOT NULL, reward_micros numeric NOT NULL,"
    " revenue_micros numeric NOT NULL, PRIMARY KEY(account_no,day,app_no,lane,is_test,state))"
    " WITH (fillfactor=50)",
    "CREATE INDEX book_pending ON book(account_no,app_no) WHERE state=1",
    /* The slot comes before the account, so that rows written or deleted together lie together.
     * NULL means 0 and takes no space. */
    "CREATE TABLE delivery_stats(step smallint, slot bigint, account_no int,"
    " lane bigint" COUNT_COLUMNS ", PRIMARY KEY(step,slot,account_no,lane)) WITH (fillfactor=50)",
    "CREATE TABLE object(kind smallint, id text COLLATE \"C\", document text NOT NULL,"
    " PRIMARY KEY(kind,id))",
    "CREATE TABLE node(node bigint PRIMARY KEY, name text NOT NULL, holder text NOT NULL,"
    " leaving bool NOT NULL, until timestamptz NOT NULL) WITH (fillfactor=50)",
    "CREATE TABLE shard(shard smallint PRIMARY KEY, node bigint NOT NULL, fence bigint NOT NULL)"
    " WITH (fillfactor=50)",
    "INSERT INTO shard SELECT i,0,0 FROM generate_series(0,255) i",
    /* event_no 0: the row announces the lane; otherwise that callback. callbacks: the lane's new
     * callbacks, by handoff_codec.h; without them the node reads the lane. Rows are short-lived and
     * not worth compressing, so they stay whole in their pages. */
    "CREATE TABLE handover(account_no int NOT NULL, shard smallint NOT NULL, lane bigint NOT NULL,"
    " due_ms bigint NOT NULL, event_no bigint NOT NULL, period int NOT NULL, callbacks bytea)"
    " WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0,"
    " toast_tuple_target=8160)",
    "ALTER TABLE handover ALTER COLUMN callbacks SET STORAGE EXTERNAL",
    "CREATE INDEX handover_shard ON handover(shard)",
    /* Without a key, logical replication needs whole rows to identify deleted ones. */
    "ALTER TABLE handover REPLICA IDENTITY FULL",
    "CREATE TABLE revision(name text PRIMARY KEY, revision bigint NOT NULL)",
    "INSERT INTO revision VALUES('object',0)",
    /* A question from a node to the one that holds the app's shard. */
    "CREATE TABLE question(id bigint PRIMARY KEY, shard smallint NOT NULL, app_no bigint NOT NULL,"
    " scope smallint NOT NULL, asker bigint NOT NULL, taken bool NOT NULL DEFAULT false,"
    " answer text, asked_at timestamptz NOT NULL DEFAULT clock_timestamp())",
    /* kind 0: a panelist of the account `id` was erased. */
    "CREATE TABLE object_log(revision bigint, number int, kind smallint NOT NULL,"
    " id text COLLATE \"C\" NOT NULL, node bigint NOT NULL,"
    " at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY(revision,number))",
    "CREATE INDEX object_log_object ON object_log(kind,id,revision,number)",
    NULL,
};

static const struct pg_step steps[PG_SCHEMA_VERSION] = {{"the tables", PG_EXPAND, 1, version_1}};

const struct pg_migration pg_schema_migration = {steps, PG_SCHEMA_VERSION};

int32_t pg_period_of_day(int32_t day)
{
    return (int32_t)floor_div(day, PG_PERIOD_DAYS);
}

int32_t pg_week_of_day(int32_t day)
{
    return (int32_t)floor_div(day, PG_WEEK_DAYS);
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool is_wanted(struct pg *pg, const struct pg_schema_wants *wants,
                      const struct pg_identity *store)
{
    if (wants->home && !hash_secret_eq(&wants->home->identity->secret, &store->secret))
        return pg_refuse(pg,
                         "the database of cluster %u belongs to another installation, or was"
                         " one of its own before",
                         wants->cluster);
    if (store->cluster != wants->cluster)
        return pg_refuse(pg,
                         "this database is cluster %u of its installation and was named as %u:"
                         " --store is cluster 0, then each --store-cluster in its place",
                         store->cluster, wants->cluster);
    return true;
}

/* The first cluster's database is empty: a start makes it a new store only if no other cluster has
 * one, because then --store leads elsewhere. */
static bool is_first_start(struct pg *pg, const struct pg_schema_wants *wants)
{
    struct pg_identity store;
    for (size_t i = 0; i < wants->other_count; i++) {
        enum pg_identity_found other = lone_find_store(wants->others[i]);
        if (other == IDENTITY_UNKNOWN)
            return pg_refuse(pg,
                             "the database of --store has no store, and that of cluster %zu cannot"
                             " be asked whether it has one: at the first start all must answer",
                             i + 1);
        /* another node that starts may have made both meanwhile, the first one first */
        if (other == IDENTITY_FOUND && pg_identity_look(pg, &store) == IDENTITY_NONE)
            return pg_refuse(pg,
                             "the database of --store has no store, but that of cluster %zu has"
                             " one: --store leads elsewhere, or its database was made anew. Name"
                             " the first database of the installation, or restore it",
                             i + 1);
    }
    return true;
}

/* Asked before any table is made or changed. */
static bool is_allowed(struct pg *pg, const struct pg_schema_wants *wants)
{
    struct pg_identity store;
    enum pg_identity_found found = pg_identity_look(pg, &store);
    if (found == IDENTITY_UNKNOWN || (found == IDENTITY_FOUND && !is_wanted(pg, wants, &store)))
        return false;
    if (wants->home)
        return cluster_record_allows(pg, wants->home, wants->cluster,
                                     found == IDENTITY_FOUND ? &store : NULL);
    return found == IDENTITY_FOUND || is_first_start(pg, wants);
}

/* The cluster's number is stored in the same statement as the hash secret. */
static bool read_meta(struct pg *pg, const struct pg_schema_wants *wants, struct pg_identity *ret)
{
    char number = (char)wants->cluster;
    pg_begin(pg, false);
    args_str(pg_args(pg), PG_BYTEA,
             (struct str){(const char *)wants->fresh->bytes, sizeof wants->fresh->bytes});
    args_str(&pg->args, PG_BYTEA, (struct str){&number, 1});
    args_int(&pg->args, PG_BOOL, wants->cluster != 0);
    pg_query(pg, "WITH made AS (INSERT INTO meta VALUES('hash_secret',$1) ON CONFLICT DO NOTHING"
                 " RETURNING 1) INSERT INTO meta SELECT 'cluster',$2 FROM made WHERE $3");
    pg_exec(pg, "INSERT INTO meta VALUES('store_id',uuid_send(gen_random_uuid()))"
                " ON CONFLICT DO NOTHING");
    int at = pg_identity_ask(pg);
    int copies = pg_exec(pg, "SELECT " PG_COPY_IS_UNFINISHED);
    pg_commit(pg);
    if (pg_sync(pg) != PG_OK)
        return false;
    if (pg_int(pg_result(pg, copies), 0, 0))
        return pg_refuse(pg, "a copy into this database is not finished: run the same `postbackd"
                             " copy` again, which goes on with it");
    if (!pg_identity_read(pg_result(pg, at), ret))
        return pg_refuse(pg, "the key of the hashes in table meta is damaged");
    return is_wanted(pg, wants, ret); /* another node may have made it meanwhile */
}

bool pg_schema_open(struct pg *pg, const struct pg_schema_wants *wants, struct pg_identity *ret,
                    char **ret_why)
{
    struct pg_identity there;
    bool found, good = pg_find_store(pg, &there, &found);
    pg->identity = found ? &there : NULL;
    good = good && pg_connect(pg) && pg_check_server(pg) && is_allowed(pg, wants) &&
           pg_migrate(pg, &pg_schema_migration, PG_EXPAND) && read_meta(pg, wants, ret) &&
           (!wants->home || cluster_record_keep(pg, wants->home, ret));
    pg->identity = NULL;
    if (!good)
        *ret_why = xstrdup(buf_c(&pg->why));
    return good;
}

/* --- partitions ------------------------------------------------------------------------------- */

void pg_partitions_free(struct pg_partitions *p)
{
    free(p->known[PARTITION_PERIOD].numbers);
    free(p->known[PARTITION_WEEK].numbers);
    *p = (struct pg_partitions){0};
}

/* The tables that have partitions of a kind. Partitions of bodies and attempts may have been
 * dropped. */
static const struct {
    enum pg_partition kind;
    const char *table;
} partitioned[] = {
    {PARTITION_PERIOD, "event"},
    {PARTITION_PERIOD, "body"},
    {PARTITION_WEEK, "attempt"},
};

static void make_one(struct pg *pg, size_t which, int32_t number)
{
    const char *table = partitioned[which].table;
    pg_exec_f(pg, "CREATE TABLE %s_%d (LIKE %s INCLUDING ALL)", table, number + PG_PARTITION_NAME,
              table);
    pg_exec_f(pg, "ALTER TABLE %s ATTACH PARTITION %s_%d FOR VALUES FROM (%d) TO (%d)", table,
              table, number + PG_PARTITION_NAME, number, number + 1);
}

/* One node at a time: a second one finds them made. */
static enum pg_fate make_missing(struct pg *pg, enum pg_partition kind, int32_t number)
{
    int at[ARRAY_LEN(partitioned)];
    bool missing[ARRAY_LEN(partitioned)];
    pg_begin(pg, false);
    pg_exec(pg, "SELECT value FROM meta WHERE name='hash_secret' FOR UPDATE");
    for (size_t i = 0; i < ARRAY_LEN(partitioned); i++)
        at[i] = pg_exec_f(pg, "SELECT to_regclass('%s_%d') IS NULL", partitioned[i].table,
                          number + PG_PARTITION_NAME);
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    for (size_t i = 0; i < ARRAY_LEN(partitioned); i++)
        missing[i] = partitioned[i].kind == kind && pg_int(pg_result(pg, at[i]), 0, 0);
    for (size_t i = 0; i < ARRAY_LEN(partitioned); i++)
        if (missing[i])
            make_one(pg, i, number);
    pg_commit(pg);
    return pg_sync(pg);
}

enum pg_fate pg_partition_make(struct pg *pg, struct pg_partitions *p, enum pg_partition kind,
                               int32_t number)
{
    for (size_t i = 0; i < p->known[kind].count; i++)
        if (p->known[kind].numbers[i] == number)
            return PG_OK;
    enum pg_fate fate = make_missing(pg, kind, number);
    if (fate != PG_OK)
        return fate;
    p->known[kind].numbers = xgrow(p->known[kind].numbers, &p->known[kind].capacity,
                                   p->known[kind].count + 1, sizeof *p->known[kind].numbers);
    p->known[kind].numbers[p->known[kind].count++] = number;
    return PG_OK;
}

#define DROP_MOST 8 /* in one transaction; further ones wait for the next time */

/* False: not the name of a partition. */
static bool read_number(struct str name, const char *table, int32_t *ret)
{
    size_t at = strlen(table) + 1;
    uint64_t n;
    if (name.n <= at || name.n > at + 7 ||
        !str_parse_uint((struct str){name.p + at, name.n - at}, INT32_MAX, &n))
        return false;
    *ret = (int32_t)n - PG_PARTITION_NAME;
    return true;
}

static int ask_partitions(struct pg *pg, const char *table)
{
    return pg_exec_f(pg,
                     "SELECT c.relname::text,c.oid::regclass::text FROM pg_inherits i"
                     " JOIN pg_class c ON c.oid=i.inhrelid WHERE i.inhparent='%s'::regclass"
                     " AND c.relkind='r' ORDER BY c.relname",
                     table);
}

bool pg_partitions_match(struct pg *pg, struct pg *other, struct pg_partitions *known)
{
    enum pg_fate fate = PG_OK;
    for (size_t i = 0; fate == PG_OK && i < ARRAY_LEN(partitioned); i++) {
        int at = ask_partitions(other, partitioned[i].table);
        int32_t number;
        if (pg_sync(other) != PG_OK)
            return pg_refuse(pg, "%s", buf_c(&other->why));
        const PGresult *r = pg_result(other, at);
        for (int row = 0; fate == PG_OK && row < PQntuples(r); row++)
            if (read_number(pg_str(r, row, 0), partitioned[i].table, &number))
                fate = pg_partition_make(pg, known, partitioned[i].kind, number);
    }
    return fate == PG_OK;
}

/* True if the number is in the first column. */
static bool has_number(const PGresult *numbers, int32_t number)
{
    for (int i = 0; i < PQntuples(numbers); i++)
        if (pg_int(numbers, i, 0) == number)
            return true;
    return false;
}

/* Lists partitions below `first`, separated by commas, but those in `kept` (NULL: none); empty:
 * none. Returns the number of the last one. The names are parsed here, because SQL may evaluate a
 * cast before the join, on any table's name. */
static int32_t list_below(const PGresult *r, const char *table, int32_t first, const PGresult *kept,
                          struct buf *ret)
{
    int32_t last = INT32_MIN;
    ret->n = 0;
    for (int i = 0, count = 0; i < PQntuples(r) && count < DROP_MOST; i++) {
        int32_t number;
        if (!read_number(pg_str(r, i, 0), table, &number) || number >= first ||
            (kept && has_number(kept, number)))
            continue;
        buf_printf(ret, "%s%.*s", count++ ? "," : "", STR_ARG(pg_str(r, i, 1)));
        last = number;
    }
    return last;
}

/* The periods whose bodies are needed: a callback of them waits, or became final late on that day
 * or later. One statement, so that an outcome between the two, which no longer waits and is noted
 * in the same commit, is seen by one of them. */
static int ask_needed(struct pg *pg, int32_t final_from_day)
{
    return pg_exec_f(pg,
                     "SELECT period FROM waiting UNION"
                     " SELECT period FROM final_late WHERE final_day>=%d",
                     final_from_day);
}

static void begin_drop(struct pg *pg)
{
    pg_begin(pg, false);
    /* other users of the table queue behind this lock, which waits for readers: not for long */
    pg_exec(pg, "SELECT set_config('lock_timeout','500',true)");
}

static enum pg_fate end_drop(struct pg *pg, enum pg_fate fate, struct buf *names)
{
    if (fate == PG_OK) {
        pg_commit(pg);
        fate = pg_sync(pg);
    }
    buf_free(names);
    return fate;
}

/* What is needed is read twice: first without the lock, so that nobody waits while all is needed. A
 * resend that is not committed yet may have read a body: locking waits for it, and reading
 * afterwards sees it. */
enum pg_fate pg_bodies_drop(struct pg *pg, int32_t first, int32_t final_from_day)
{
    struct buf names = {0};
    enum pg_fate fate = PG_OK;
    begin_drop(pg);
    for (int look = 0; fate == PG_OK && (look == 0 || (look == 1 && names.n > 0)); look++) {
        if (look == 1) /* the parent, because everybody locks it before its partitions */
            pg_exec(pg, "LOCK TABLE ONLY body IN ACCESS EXCLUSIVE MODE");
        int needed = ask_needed(pg, final_from_day), at = ask_partitions(pg, "body");
        fate = pg_sync(pg);
        if (fate == PG_OK)
            (void)list_below(pg_result(pg, at), "body", first, pg_result(pg, needed), &names);
    }
    if (fate == PG_OK && names.n > 0) {
        pg_exec_f(pg, "DROP TABLE %s", buf_c(&names));
        pg_exec_f(pg, "DELETE FROM final_late WHERE to_regclass('body_'||(period+%d)) IS NULL",
                  PG_PARTITION_NAME);
    }
    return end_drop(pg, fate, &names);
}

/* Attempts of callbacks that are not final are kept: those up to this week move to attempt_kept.
 * Attempts that moved there earlier move on to the week `now` once their callback is final, and go
 * with that week: when their limit has passed once more. */
static void keep_attempts(struct pg *pg, int32_t last, int32_t now)
{
    pg_exec_f(pg,
              "UPDATE attempt k SET week=%d WHERE week<%d AND NOT EXISTS(SELECT FROM waiting w"
              " WHERE w.pending AND w.account_no=k.account_no AND w.event_no=k.event_no)",
              now, -PG_PARTITION_NAME);
    pg_exec_f(pg,
              "INSERT INTO attempt_kept SELECT a.account_no,a.event_no,%d,number,at_ms,a.lane,"
              "manual,duration_ms,status,class,url,detail,texts"
              " FROM waiting w JOIN attempt a ON a.account_no=w.account_no"
              " AND a.event_no=w.event_no AND a.week BETWEEN %d AND %d"
              " WHERE w.pending AND w.accepted_ms<%" PRId64 " ON CONFLICT DO NOTHING",
              -PG_PARTITION_NAME - 1, -PG_PARTITION_NAME, last, (last + 1) * PG_WEEK_DAYS * DAY_MS);
}

enum pg_fate pg_attempts_drop(struct pg *pg, int32_t first, int32_t now)
{
    struct buf names = {0};
    begin_drop(pg);
    int at = ask_partitions(pg, "attempt");
    enum pg_fate fate = pg_sync(pg);
    int32_t last =
        fate == PG_OK ? list_below(pg_result(pg, at), "attempt", first, NULL, &names) : 0;
    if (names.n > 0) {
        keep_attempts(pg, last, now);
        pg_exec_f(pg, "DROP TABLE %s", buf_c(&names));
    }
    return end_drop(pg, fate, &names);
}
