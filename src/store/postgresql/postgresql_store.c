/* The store's operations: each becomes a request to the thread that runs it. */
#include "base/alloc.h"
#include "store/postgresql/changes_thread.h"
#include "store/postgresql/handover.h"
#include "store/postgresql/outcomes_thread.h"
#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_keeper.h"
#include "store/postgresql/reader_threads.h"
#include "store/postgresql/replica.h"
#include "store/postgresql/transaction_retry.h"

#include <stdio.h>
#include <stdlib.h>

/* --- requests --------------------------------------------------------------------------------- */

static enum store_refusal pg_judge(struct store *store, const struct intake_batch *submitted)
{
    struct postgresql_store *s = postgresql_store_of(store);
    struct pg_numbers *n = &s->numbers;
    long long own = submitted ? (long long)submitted->count : 0;
    long long queued = atomic_load(&store->queued_events);
    if (atomic_load(&store->failed))
        return STORE_REFUSES_FAILED;
    if (atomic_load(&n->away) || pg_room_is_none(&n->room))
        return STORE_REFUSES_DATABASE;
    if (atomic_load(&n->pending) + queued - own > atomic_load(&store->waiting_most))
        return STORE_REFUSES_WAITING;
    return store_queue_is_full(store, submitted) ? STORE_REFUSES_QUEUE : STORE_TAKES;
}

static struct queue *queue_of(struct postgresql_store *s, enum request_kind kind)
{
    if (kind == REQUEST_INTRADAY) /* it adds up all events of the last hours */
        return &s->to_scans;
    switch (request_work(kind)) {
    case WORK_CHANGE: return &s->to_changes;
    case WORK_OUTCOMES: return &s->to_outcomes;
    case WORK_PAGE: return &s->to_pages;
    case WORK_SCAN:
    case WORK_BOOKS: return &s->to_scans;
    case WORK_READ:
    case WORK_FEED: return &s->to_reads;
    case WORK_MESSAGE: break;
    }
    UNREACHABLE();
}

static void pg_request(struct store *store, enum request_kind kind, void *what)
{
    struct postgresql_store *s = postgresql_store_of(store);
    queue_post(queue_of(s, kind), request_new(kind, what));
}

/* --- other nodes ------------------------------------------------------------------------------ */

static struct leases *pg_leases(struct store *store)
{
    return &postgresql_store_of(store)->nodes.leases;
}

static void pg_watch(struct store *store, struct store_watcher *watcher)
{
    pg_nodes_watch(&postgresql_store_of(store)->nodes, watcher);
}

static void pg_ask(struct store *store, struct store_question *question)
{
    questions_ask(postgresql_store_of(store), question);
}

static void pg_answer(struct store *store, uint32_t app_no, int64_t question, struct str answer)
{
    (void)app_no;
    questions_answer(postgresql_store_of(store), question, answer);
}

static void pg_numbers_slot(struct store *store, struct store_numbers *ret)
{
    struct postgresql_store *s = postgresql_store_of(store);
    struct pg_numbers *n = &s->numbers;
    int64_t pending = atomic_load(&n->pending);
    *ret = (struct store_numbers){
        .events_accepted = atomic_load(&n->accepted),
        .callbacks_delivered = atomic_load(&n->delivered),
        .callbacks_dead = atomic_load(&n->dead),
        .callbacks_pending = pending > 0 ? pending : 0, /* the totals may be read a moment late */
        .oldest_pending_ms = pending > 0 ? atomic_load(&n->oldest_pending_ms) : 0,
        .last_accepted_ms = atomic_load(&n->last_accepted_ms),
        .retention_clock_ms = atomic_load(&n->retention_clock_ms),
        .commits = atomic_load(&n->commits),
        .nodes = atomic_load(&s->nodes.alive),
        .shards = SHARDS,
        .shards_held = atomic_load(&s->nodes.held),
        .shards_taken_over = atomic_load(&s->nodes.takeovers),
        .shards_lost = atomic_load(&s->nodes.lost),
        .outcomes_refused = atomic_load(&s->nodes.refused),
        .handed_over = atomic_load(&s->nodes.handed_over),
        .clock_ahead_ms = atomic_load(&s->nodes.clock_ahead_ms),
        .node_name = s->nodes.name,
        .statements_refused = atomic_load(&n->refusals.count),
        .outcomes_set_aside = atomic_load(&n->set_aside),
    };
    ret->statement_refused_ms = refusals_last(&n->refusals, ret->sqlstate);
    for (size_t i = 0; i < STORE_TIMINGS; i++)
        timing_get(&n->timings[i], &ret->timings[i]);
    pg_replica_get_numbers(s->replica, ret);
}

static size_t pg_clusters(struct store *store, struct cluster_state *ret)
{
    struct postgresql_store *s = postgresql_store_of(store);
    pthread_mutex_lock(&s->watch.mutex);
    *ret = s->watch.seen;
    pthread_mutex_unlock(&s->watch.mutex);
    if (pg_judge(store, NULL) == STORE_REFUSES_DATABASE)
        *ret = cluster_state_away(0, store_refusal_text(STORE_REFUSES_DATABASE));
    return 1;
}

/* --- before the start: on the keeper's connection, which is not in use yet ------------------- */

static const struct hash_secret *pg_hash_secret(struct store *store)
{
    return &postgresql_store_of(store)->identity.secret;
}

struct visiting {
    object_visitor visit;
    void *context;
};

static void visit_object(void *context, const PGresult *r)
{
    const struct visiting *v = context;
    v->visit(v->context, (enum object_kind)pg_int(r, 0, 0), pg_str(r, 0, 1), pg_str(r, 0, 2));
}

/* An error ends the start: there is no request yet to answer with it. */
static void must_be_fine(struct postgresql_store *s, enum pg_fate fate)
{
    if (fate != PG_OK)
        store_fail(&s->store, buf_c(&s->keeper.why));
}

static void pg_visit_objects(struct store *store, object_visitor visit, void *context)
{
    struct postgresql_store *s = postgresql_store_of(store);
    struct visiting v = {visit, context};
    ASSERT(!s->started);
    /* the revision is read first, so that a change made meanwhile is reported again */
    pg_begin(&s->keeper, true);
    int at = pg_exec(&s->keeper, "SELECT revision FROM revision WHERE name='object'");
    enum pg_fate fate = pg_end_read(&s->keeper);
    must_be_fine(s, fate);
    int64_t known = fate == PG_OK ? pg_int(pg_result(&s->keeper, at), 0, 0) : 0;
    pg_begin(&s->keeper, true);
    args_int(pg_args(&s->keeper), PG_INT2, OBJECT_AUDIT);
    pg_query(&s->keeper, "SELECT kind,id,document FROM object WHERE kind<>$1 ORDER BY kind,id");
    pg_visit(&s->keeper, visit_object, &v);
    must_be_fine(s, pg_end_read(&s->keeper));
    atomic_store(&s->revision_known, known);
    atomic_store(&s->revision_applied, known);
}

static size_t pg_backlog(struct store *store, struct lane_backlog **ret_lanes)
{
    struct postgresql_store *s = postgresql_store_of(store);
    ASSERT(!s->started);
    bool own[SHARDS];
    size_t count;
    for (size_t i = 0; i < SHARDS; i++) {
        own[i] = atomic_load(&s->nodes.leases.fence[i]) != 0;
        atomic_store(&s->nodes.fresh[i], false);
    }
    must_be_fine(s, handover_backlog(&s->keeper, own, INT64_MAX, ret_lanes, &count));
    return count;
}

static void pg_set_bounds(struct store *store, const struct store_bounds *bounds)
{
    struct postgresql_store *s = postgresql_store_of(store);
    retention_share(&s->retention, &bounds->retention);
    atomic_store(&s->house_asked, true);
}

/* --- start and stop --------------------------------------------------------------------------- */

/* In the order of stopping: threads that write first. */
static void list_threads(struct postgresql_store *s)
{
    struct store_thread *t = s->threads;
    *t++ = (struct store_thread){&s->to_changes, pg_changes_main, s, 0};
    *t++ = (struct store_thread){&s->to_outcomes, pg_outcomes_main, s, 0};
    *t++ = (struct store_thread){&s->to_pages, pg_pages_main, s, 0};
    for (size_t i = 0; i < PG_READERS; i++)
        *t++ = (struct store_thread){&s->to_reads, pg_reader_main, &s->reads[i], 0};
    for (size_t i = 0; i < PG_READERS; i++)
        *t++ = (struct store_thread){&s->to_scans, pg_reader_main, &s->scans[i], 0};
    *t++ = (struct store_thread){&s->to_keeper, pg_keeper_main, s, 0};
    *t++ = (struct store_thread){&s->to_nodes, pg_nodes_main, s, 0};
    ASSERT(t == s->threads + PG_THREADS);
}

static void for_each_queue(struct postgresql_store *s, void (*visit)(struct queue *q))
{
    struct queue *const all[] = {&s->to_changes, &s->to_outcomes, &s->to_pages, &s->to_reads,
                                 &s->to_scans,   &s->to_keeper,   &s->to_nodes, &s->nap};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        visit(all[i]);
}

static void pg_start(struct store *store, struct owed_sink *sink)
{
    struct postgresql_store *s = postgresql_store_of(store);
    ASSERT(!s->started);
    s->sink = sink;
    s->started = true;
    list_threads(s);
    store_threads_start(s->threads, PG_THREADS);
    pg_replica_start(s);
}

static void free_writer(struct pg_writer *writer)
{
    pg_close(&writer->pg);
    pg_partitions_free(&writer->partitions);
    changes_free(&writer->changes);
    table_free(&writer->table);
    attempt_packer_free(&writer->packer);
    table_free(&writer->handover);
    arena_free(&writer->scratch);
    pg_writer_drop_owed(writer);
    free(writer->owed);
}

static void free_store(struct postgresql_store *s)
{
    free_writer(&s->change_writer);
    free_writer(&s->outcome_writer);
    pg_close(&s->pages);
    for (size_t i = 0; i < PG_READERS; i++) {
        pg_close(&s->reads[i].pg);
        pg_close(&s->scans[i].pg);
    }
    pg_close(&s->keeper);
    pg_close(&s->nodes.pg);
    pg_replica_free(s->replica);
    pthread_mutex_destroy(&s->nodes.watching);
    questions_free(&s->questions);
    for_each_queue(s, queue_destroy);
    pthread_mutex_destroy(&s->numbers.mutex);
    pthread_mutex_destroy(&s->watch.mutex);
    pg_hosts_free(&s->hosts);
    free(s->uri);
    s->magic = s->store.magic = 0;
    free(s);
}

static void pg_stopping(struct store *store)
{
    struct postgresql_store *s = postgresql_store_of(store);
    long long never = 0;
    atomic_store(&s->nodes.leaving, true);
    atomic_compare_exchange_strong(&s->give_up_mono_ms, &never,
                                   env_mono_ms(env_real()) + PG_STOP_PATIENCE_MS);
}

static void pg_close_slot(struct store *store)
{
    struct postgresql_store *s = postgresql_store_of(store);
    pg_stopping(store);
    if (s->started)
        store_threads_stop(s->threads, PG_THREADS);
    pg_replica_stop(s->replica);
    pg_nodes_leave(s);
    free_store(s);
}

static const struct store_ops postgresql_ops = {
    .request = pg_request,
    .set_bounds = pg_set_bounds,
    .leases = pg_leases,
    .watch = pg_watch,
    .ask = pg_ask,
    .answer = pg_answer,
    .judge = pg_judge,
    .numbers = pg_numbers_slot,
    .clusters = pg_clusters,
    .hash_secret = pg_hash_secret,
    .visit_objects = pg_visit_objects,
    .backlog = pg_backlog,
    .start = pg_start,
    .stopping = pg_stopping,
    .close = pg_close_slot,
};

void pg_store_init_connection(struct postgresql_store *s, struct pg *pg)
{
    pg_init(pg, s->uri);
    pg->hosts = &s->hosts;
    pg->identity = &s->identity;
    pg->give_up_mono_ms = &s->give_up_mono_ms;
    pg->refusals = &s->numbers.refusals;
}

static void init_parts(struct postgresql_store *s)
{
    pg_hosts_init(&s->hosts, s->uri);
    pg_store_init_connection(s, &s->change_writer.pg);
    pg_store_init_connection(s, &s->outcome_writer.pg);
    pg_store_init_connection(s, &s->pages);
    pg_store_init_connection(s, &s->keeper);
    s->keeper.identity = NULL; /* until it has found the store */
    pg_store_init_connection(s, &s->nodes.pg);
    s->nodes.pg.trip_ms = NODE_TRIP_MS;
    for (size_t i = 0; i < PG_READERS; i++) {
        s->reads[i].store = s->scans[i].store = s;
        s->reads[i].number = s->scans[i].number = i;
        s->scans[i].is_scans = true;
        pg_store_init_connection(s, &s->reads[i].pg);
        pg_store_init_connection(s, &s->scans[i].pg);
    }
    ASSERT(pthread_mutex_init(&s->nodes.watching, NULL) == 0);
    questions_init(&s->questions);
    for_each_queue(s, queue_init);
    pthread_mutex_init(&s->numbers.mutex, NULL);
    pthread_mutex_init(&s->watch.mutex, NULL);
    s->watch.seen = cluster_state_unknown(0);
}

struct store *postgresql_store_open(const struct postgresql_store_options *options, char **ret_why)
{
    struct postgresql_store *s = xcalloc(1, sizeof *s);
    struct hash_secret fresh;
    s->store = (struct store){.magic = STORE_MAGIC, .ops = &postgresql_ops};
    s->magic = POSTGRESQL_STORE_MAGIC;
    s->env = options->env;
    s->uri = xstrdup(options->uri);
    retention_share(&s->retention, &options->retention);
    snprintf(s->nodes.name, sizeof s->nodes.name, "%s",
             options->node_name ? options->node_name : "");
    store_set_waiting_most(&s->store, options->waiting_most);
    init_parts(s);
    s->replica = pg_replica_new(s, options->replica_uri, options->replica_lag_most_ms);
    env_random(s->env, fresh.bytes, sizeof fresh.bytes);
    struct cluster_home home = {0};
    struct pg_schema_wants wants = {.fresh = &fresh,
                                    .cluster = options->cluster,
                                    .others = options->others,
                                    .other_count = options->other_count};
    if (options->home) {
        struct postgresql_store *first = postgresql_store_of(options->home);
        home =
            (struct cluster_home){first->uri, &first->identity, &first->clusters[options->cluster]};
        wants.home = &home;
        wants.fresh = &first->identity.secret;
    }
    if (!pg_schema_open(&s->keeper, &wants, &s->identity, ret_why)) {
        free_store(s);
        return NULL;
    }
    s->keeper.identity = &s->identity;
    bool joined = pg_nodes_join(s);
    if (joined && (options->home || cluster_records_load(&s->keeper, s->clusters)) &&
        pg_keeper_look(s, &s->keeper) == PG_OK)
        return &s->store;
    *ret_why = xstrdup(buf_c(joined ? &s->keeper.why : &s->nodes.pg.why));
    pg_nodes_leave(s);
    free_store(s);
    return NULL;
}
