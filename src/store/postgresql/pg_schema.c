/* The steps, and opening a database, which runs missing steps. */
#include "store/postgresql/pg_schema.h"

#include "base/alloc.h"
#include "domain/event.h"
#include "store/postgresql/lone_connection.h"
#include "store/postgresql/pg_connect.h"

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
     * a resend. presumed: the event's row presumes delivery (pg_row.h), and an outcome that says
     * the same as that row need not lock or change it. */
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
