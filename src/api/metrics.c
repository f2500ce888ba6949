/* GET /metrics: the Prometheus text format, version 0.0.4. No label names a tenant. */
#include "api/internal.h"
#include "api/metric.h"
#include "api/process_metrics.h"
#include "api/route.h"
#include "base/alloc.h"
#include "bus/bus.h"
#include "bus/rewards_feed.h"
#include "http/access_log.h"
#include "operations/operations.h"
#include "services/books_watch.h"
#include "services/certificate_watch.h"
#include "services/link_mail.h"
#include "store/leases.h"

static void print_store(struct buf *to, const struct store_numbers *n, int64_t now_ms)
{
    int64_t oldest_s = n->oldest_pending_ms ? (now_ms - n->oldest_pending_ms) / 1000 : 0;
    const struct metric metrics[] = {
        {"postbackd_events_accepted_total", "counter", "Events accepted and on disk.",
         n->events_accepted},
        {"postbackd_callbacks_delivered_total", "counter",
         "Callbacks delivered, each counted once.", n->callbacks_delivered},
        {"postbackd_callbacks_dead_total", "counter", "Callbacks given up after their schedule.",
         n->callbacks_dead},
        {"postbackd_callbacks_pending", "gauge",
         "Callbacks that wait for a first or a further attempt, without those of events "
         "not yet applied.",
         n->callbacks_pending},
        {"postbackd_oldest_pending_seconds", "gauge", "Age of the oldest pending callback.",
         oldest_s > 0 ? oldest_s : 0},
        {"postbackd_store_events_queued", "gauge", "Events that wait for their commit.",
         n->events_queued},
        {"postbackd_store_memtable_events", "gauge",
         "Committed events not yet applied to the database.", n->memtable_events},
        {"postbackd_store_journal_bytes", "gauge", "Journal bytes a restart would replay.",
         n->journal_bytes},
        {"postbackd_store_commits_total", "counter", "Journal commits.", n->commits},
        {"postbackd_store_accepting", "gauge", "1 while events are taken.", n->accepting},
        {"postbackd_disk_free_bytes", "gauge", "Free on the store's file system.",
         n->disk_free_bytes},
        {"postbackd_disk_reserve_bytes", "gauge", "Events are refused when less is free.",
         n->disk_reserve_bytes},
    };
    metrics_print(to, metrics, ARRAY_LEN(metrics));
    metric_head(to, "postbackd_requests_refused_total", "counter",
                "Requests of events that were refused, by the bound.");
    for (int r = STORE_TAKES + 1; r < STORE_REFUSALS; r++)
        buf_printf(to, "postbackd_requests_refused_total{bound=\"%s\"} %lld\n",
                   store_refusal_name((enum store_refusal)r), (long long)n->refused[r]);
}

/* Printed only if several nodes share the store. */
static void print_nodes(struct buf *to, const struct store_numbers *n)
{
    const struct metric metrics[] = {
        {"postbackd_nodes", "gauge", "Nodes on the database whose lease runs.", n->nodes},
        {"postbackd_shards_held", "gauge", "Shards that this node delivers.", n->shards_held},
        {"postbackd_shards", "gauge", "Shards in all: " NUMBER_AS_TEXT(SHARDS) ", of each cluster.",
         n->shards},
        {"postbackd_shards_taken_over_total", "counter",
         "Shards that this node took over from nodes that were gone.", n->shards_taken_over},
        {"postbackd_shards_lost_total", "counter",
         "Shards that others took over while this node was away.", n->shards_lost},
        {"postbackd_outcomes_refused_total", "counter",
         "Outcomes of attempts that were not recorded, as another node had the shard by then.",
         n->outcomes_refused},
        {"postbackd_handed_over_total", "counter",
         "Lanes and callbacks that this node told others of.", n->handed_over},
    };
    if (n->nodes == 0)
        return;
    metrics_print(to, metrics, ARRAY_LEN(metrics));
    metric_print_milli(to, &(struct metric){"postbackd_clock_ahead_seconds", "gauge",
                                            "How far this machine's clock is ahead of the "
                                            "database's, at the least; negative: behind.",
                                            n->clock_ahead_ms});
}

static void print_scrub(struct buf *to, const struct store_numbers *n, int64_t now_ms)
{
    const struct metric metrics[] = {
        {"postbackd_scrub_damaged", "gauge",
         "Places where the store's files are damaged; the log and /healthz name them.",
         n->scrub_damaged},
        {"postbackd_scrub_age_seconds", "gauge",
         "Time since the store's files were last checked whole; -1: not yet.",
         n->scrub_ended_ms ? (now_ms - n->scrub_ended_ms) / 1000 : -1},
        {"postbackd_scrub_passes_total", "counter",
         "Checks of all of the store's files that ended.", n->scrub_passes},
        {"postbackd_scrub_read_bytes_total", "counter", "Bytes that these checks have read.",
         n->scrub_read_bytes},
    };
    if (n->scrub_runs)
        metrics_print(to, metrics, ARRAY_LEN(metrics));
}

static void print_database(struct buf *to, const struct store_numbers *n)
{
    const struct metric metrics[] = {
        {"postbackd_statements_refused_total", "counter",
         "Statements that the database refused for reasons that are not known to pass.",
         n->statements_refused},
        {"postbackd_outcomes_set_aside", "gauge",
         "Outcomes of attempts that the database rejects; they are retried.",
         n->outcomes_set_aside},
    };
    if (n->nodes > 0)
        metrics_print(to, metrics, ARRAY_LEN(metrics));
}

static void print_replica(struct buf *to, const struct store_numbers *n)
{
    const struct metric metrics[] = {
        {"postbackd_read_replica_used", "gauge",
         "1 while reports and the log are read at the replica.", n->replica == STORE_REPLICA_USED},
        {"postbackd_read_replica_reads_total", "counter", "Reads that the replica has answered.",
         n->replica_reads},
        {"postbackd_read_replica_passed_on_total", "counter",
         "Reads that went to the primary, as the replica was away or behind.",
         n->replica_reads_passed_on},
    };
    if (n->replica != STORE_REPLICA_NONE)
        metrics_print(to, metrics, ARRAY_LEN(metrics));
    if (n->replica != STORE_REPLICA_NONE)
        metric_print_milli(
            to, &(struct metric){"postbackd_read_replica_lag_seconds", "gauge",
                                 "How far the read replica was behind when it was last seen.",
                                 n->replica_lag_ms});
}

static void print_clusters(struct buf *to, const struct store_numbers *n)
{
    const struct metric metrics[] = {
        {"postbackd_clusters", "gauge", "Clusters that accounts are split over.", n->clusters},
        {"postbackd_clusters_away", "gauge",
         "Those of them that this node cannot write to: their accounts wait.", n->clusters_away},
    };
    if (n->clusters > 0)
        metrics_print(to, metrics, ARRAY_LEN(metrics));
}

static void print_each_cluster(struct buf *to, struct store *store)
{
    struct cluster_state c[CLUSTERS_MOST];
    size_t count = store_get_clusters(store, c);
    if (count > 0)
        metric_head(to, "postbackd_cluster_bytes", "gauge", "Size of a cluster's database.");
    for (size_t i = 0; i < count; i++)
        if (c[i].bytes != CLUSTER_UNKNOWN)
            buf_printf(to, "postbackd_cluster_bytes{cluster=\"%zu\"} %lld\n", i,
                       (long long)c[i].bytes);
    if (count > 0)
        metric_head(
            to, "postbackd_cluster_move_behind_bytes", "gauge",
            "Changes that the other server of a move has not confirmed, while a cluster is moved.");
    for (size_t i = 0; i < count; i++)
        if (c[i].move.step != MOVE_NONE)
            buf_printf(to, "postbackd_cluster_move_behind_bytes{cluster=\"%zu\"} %lld\n", i,
                       (long long)c[i].move.behind_bytes);
}

static void print_delivery(struct buf *to, const struct delivery_numbers *n)
{
    const struct metric metrics[] = {
        {"postbackd_attempts_in_flight", "gauge", "Attempts in progress.", n->in_flight},
        {"postbackd_callbacks_in_memory", "gauge",
         "Callbacks held in memory; the rest waits in the store.", n->callbacks_in_ram},
        {"postbackd_callbacks_read_back_total", "counter",
         "Callbacks that were read from the store to be sent, as they had found no room in memory.",
         n->callbacks_read_back},
        {"postbackd_lanes", "gauge", "Lanes with something in hand or waiting.", n->lanes},
        {"postbackd_lanes_suspended", "gauge", "Lanes whose receiver is down.", n->lanes_suspended},
    };
    metrics_print(to, metrics, ARRAY_LEN(metrics));
    metric_head(to, "postbackd_attempts_total", "counter", "Attempts by how they ended.");
    for (int k = 0; k < ATTEMPT_CLASSES; k++)
        buf_printf(to, "postbackd_attempts_total{result=\"%s\"} %lld\n",
                   attempt_class_name((enum attempt_class)k), (long long)n->attempts[k]);
    metric_head(to, "postbackd_attempts_not_made_total", "counter",
                "Attempts that a fault of this machine prevented, by cause; the callbacks wait.");
    for (int k = LOCAL_FAULT_NONE + 1; k < LOCAL_FAULTS; k++)
        buf_printf(to, "postbackd_attempts_not_made_total{cause=\"%s\"} %lld\n",
                   local_fault_name((enum local_fault)k), (long long)n->local_faults[k]);
}

/* The parts of the daemon's memory. The rest of the resident memory is the program, the threads'
 * stacks and partly used pages of the allocator. */
static void print_memory(struct buf *to, const struct store_numbers *n)
{
    struct alloc_numbers heap;
    alloc_get_numbers(&heap);
    const struct {
        const char *part;
        long long bytes;
    } parts[] = {
        {"allocated", heap.used_bytes},       {"free", heap.kept_bytes},
        {"page_caches", n->page_cache_bytes}, {"memtables", n->memtable_bytes},
        {"key_filters", n->filter_bytes},     {"key_filters_mapped", n->mapped_filter_bytes},
    };
    metric_head(to, "postbackd_memory_bytes", "gauge",
                "Memory by part: allocated in all, kept free by the allocator, of the allocated "
                "the largest parts, and what is mapped from files.");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        buf_printf(to, "postbackd_memory_bytes{part=\"%s\"} %lld\n", parts[i].part, parts[i].bytes);
}

static void print_books(struct buf *to, const struct books_state *a, int64_t now_ms)
{
    int64_t age_s = a->round_ended_ms ? (now_ms - a->round_ended_ms) / 1000 : -1;
    const struct metric metrics[] = {
        {"postbackd_books_wrong", "gauge",
         "Days of an account whose books do not balance; the log names them.", a->wrong_days},
        {"postbackd_books_checked_total", "counter", "Days whose books were checked.",
         a->days_checked},
        {"postbackd_books_callbacks_checked_total", "counter",
         "Callbacks that were added up to check the books.", a->callbacks_checked},
        {"postbackd_books_round_age_seconds", "gauge",
         "Time since all days were last checked; -1: not yet since the start.", age_s},
    };
    metrics_print(to, metrics, ARRAY_LEN(metrics));
}

/* Of each kind the earliest expiry; a kind without certificates has no sample. */
static void print_certificates(struct buf *to, const struct certificate_state *s,
                               int64_t receivers_expires_ms, int64_t now_ms)
{
    const struct {
        const char *kind;
        int64_t expires_ms;
    } kinds[] = {{"listener", s->listener_expires_ms},
                 {"clients", s->clients_expires_ms},
                 {"receivers", receivers_expires_ms}};
    metric_head(to, "postbackd_certificate_expiry_seconds", "gauge",
                "Time until the first certificate of its kind expires; below 0 it has.");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].expires_ms != 0)
            buf_printf(to, "postbackd_certificate_expiry_seconds{certificate=\"%s\"} %lld\n",
                       kinds[i].kind, (long long)((kinds[i].expires_ms - now_ms) / 1000));
}

static void print_overview(struct buf *to, const struct delivery_overview *o)
{
    metric_head(to, "postbackd_endpoints", "gauge", "Endpoints with something to do, by state.");
    for (int s = 0; s < LANE_STATES; s++)
        buf_printf(to, "postbackd_endpoints{state=\"%s\"} %lld\n",
                   lane_state_name((enum lane_state)s), (long long)o->lanes[s]);
    const struct metric metrics[] = {
        {"postbackd_endpoints_tried", "gauge", "Endpoints tried within the last hour.",
         o->tried_1h},
        {"postbackd_endpoints_failing", "gauge",
         "Endpoints with at least 20 tries in the last hour of which less than half succeeded.",
         o->failing_1h},
        {"postbackd_delivered_last_minute", "gauge",
         "Successful attempts of the last minute; pending divided by it is the time to drain.",
         o->succeeded_1m},
        {"postbackd_window", "gauge", "Attempts that all endpoints' windows allow at once.",
         o->window},
    };
    const struct metric milli[] = {
        {"postbackd_worst_endpoint_latency_seconds", "gauge",
         "The highest 99th percentile of one endpoint in the last hour.", o->worst_p99_ms},
        {"postbackd_worst_endpoint_success_ratio", "gauge",
         "The lowest success rate of an endpoint with at least 20 tries in the last hour.",
         o->worst_success_permille},
    };
    metrics_print(to, metrics, ARRAY_LEN(metrics));
    for (size_t i = 0; i < ARRAY_LEN(milli); i++)
        metric_print_milli(to, &milli[i]);
}

static void print_durations(struct buf *to, const struct delivery_numbers *n)
{
    /* The last bucket also has time-outs of 30 s, which are noticed a little late. */
    metric_print_histogram(to, &(struct histogram){
                                   .name = "postbackd_attempt_duration_seconds",
                                   .help = "How long attempts took.",
                                   .digits = 3,
                                   .bounds = latency_buckets.bounds_ms,
                                   .bound_count = LATENCY_BUCKETS,
                                   .counts = n->durations,
                                   .total = n->duration_ms_total,
                               });
}

static void print_timing(struct buf *to, const char *name, const char *help,
                         const struct timing_numbers *n)
{
    metric_print_histogram(to, &(struct histogram){
                                   .name = name,
                                   .help = help,
                                   .digits = 6,
                                   .bounds = timing_bounds_us,
                                   .bound_count = TIMING_BUCKETS - 1,
                                   .counts = n->counts,
                                   .has_rest = true,
                                   .total = n->total_us,
                               });
}

/* What makes a callback wait before it is sent, step by step. */
static void print_timings(struct buf *to, const struct store_numbers *store)
{
    static const struct {
        const char *name, *help;
    } named[STORE_TIMINGS] = {
        [STORE_TIME_ACCEPT] = {"postbackd_store_accept_seconds",
                               "From submitting a batch of events until it is on disk."},
        [STORE_TIME_RECORD] = {"postbackd_store_record_seconds",
                               "From the end of attempts until their outcomes are on disk."},
        [STORE_TIME_COMMIT] = {"postbackd_store_commit_seconds",
                               "Writing and syncing one group of the journal."},
        [STORE_TIME_APPLY] = {"postbackd_store_apply_seconds",
                              "Writing committed events into the database."},
        [STORE_TIME_CHECKPOINT] = {"postbackd_store_checkpoint_seconds",
                                   "Checkpoints of the database."},
    };
    for (size_t i = 0; i < STORE_TIMINGS; i++)
        print_timing(to, named[i].name, named[i].help, &store->timings[i]);
    struct loop_timings loops;
    loop_get_timings(&loops);
    print_timing(to, "postbackd_loop_turn_seconds",
                 "What a loop does between two waits: all else of that loop waits meanwhile.",
                 &loops.turn);
    print_timing(to, "postbackd_loop_wake_seconds",
                 "From waking a loop until it runs: above a millisecond the processors are busy.",
                 &loops.wake);
}

static void print_operations(struct buf *to, const struct operations_numbers *n)
{
    const struct metric metrics[] = {
        {"postbackd_operations_sent_total", "counter",
         "Messages to partners about their endpoints that arrived.", n->sent},
        {"postbackd_operations_failed_total", "counter", "Tries of such messages that failed.",
         n->failed},
        {"postbackd_operations_given_up_total", "counter",
         "Such messages given up after " NUMBER_AS_TEXT(OPERATIONS_GIVE_UP_HOURS) " hours.",
         n->given_up},
        {"postbackd_operations_owed", "gauge", "Such messages that wait.", n->owed},
    };
    metrics_print(to, metrics, ARRAY_LEN(metrics));
}

static void print_link_mails(struct buf *to, const struct api *api)
{
    struct link_mail_numbers n;
    link_mail_get_numbers(api->options.link_mail, &n);
    const struct metric metrics[] = {
        {"postbackd_link_mails_sent_total", "counter",
         "One-time links, and notices of a reset second factor, that went out by e-mail.", n.sent},
        {"postbackd_link_mails_failed_total", "counter", "Tries of such e-mails that failed.",
         n.failed},
        {"postbackd_link_mails_given_up_total", "counter",
         "Such e-mails that were not sent: 24 hours were not enough, or the link was over.",
         n.given_up},
        {"postbackd_link_mails_owed", "gauge", "Such e-mails that wait.", n.owed},
    };
    metrics_print(to, metrics, ARRAY_LEN(metrics));
}

static void print_http(struct buf *to)
{
    struct http_numbers n = http_get_numbers();
    const struct metric metrics[] = {
        {"postbackd_http_connections", "gauge", "Connections of clients.", n.connections},
        {"postbackd_http_connections_refused_total", "counter", "Connections that found no place.",
         n.connections_refused},
        {"postbackd_http_connections_closed_total", "counter",
         "Connections that waited for their clients and were closed to make room.",
         n.connections_closed},
        {"postbackd_http_buffer_bytes", "gauge", "Buffers of requests and answers.",
         n.buffer_bytes},
        {"postbackd_http_bodies_waited_total", "counter",
         "Bodies of requests that waited for room in the buffers.", n.bodies_waited},
        {"postbackd_access_log_lines_lost_total", "counter",
         "Lines of the access log that could not be written.", access_log_lines_lost()},
    };
    metrics_print(to, metrics, ARRAY_LEN(metrics));
}

static void print_bus(struct buf *to, const struct bus *bus)
{
    struct bus_numbers n;
    if (!bus)
        return;
    bus_get_numbers(bus, &n);
    const struct metric metrics[] = {
        {"postbackd_kafka_messages_total", "counter",
         "Messages whose events are on disk or in the dead-letter topic.", n.messages},
        {"postbackd_kafka_dead_letters_total", "counter",
         "Events and messages written to the dead-letter topic.", n.dead_letters},
        {"postbackd_kafka_lag_messages", "gauge",
         "Messages of this node's partitions that are not taken in yet.", n.lag},
        {"postbackd_kafka_partitions", "gauge", "Partitions assigned to this node.", n.partitions},
        {"postbackd_kafka_brokers_connected", "gauge", "Brokers that are connected.", n.brokers_up},
        {"postbackd_kafka_paused", "gauge",
         "1 while the store or the dead-letter topic takes nothing.", n.paused},
    };
    metrics_print(to, metrics, ARRAY_LEN(metrics));
}

static void print_rewards_feed(struct buf *to, const struct rewards_feed *feed)
{
    struct rewards_feed_numbers n;
    if (!feed)
        return;
    rewards_feed_get_numbers(feed, &n);
    const struct metric metrics[] = {
        {"postbackd_kafka_rewards_total", "counter", "Rewards that this node has written to Kafka.",
         n.rewards},
        {"postbackd_kafka_rewards_writing", "gauge", "1 at the node that writes rewards to Kafka.",
         n.is_writing},
        {"postbackd_kafka_rewards_behind_seconds", "gauge",
         "At the node that writes: all that was accepted so long ago is in Kafka.",
         n.behind_ms / 1000},
    };
    metrics_print(to, metrics, ARRAY_LEN(metrics));
}

static void print_accounts(struct buf *to, const struct api *api)
{
    metric_head(to, "postbackd_account_limited_total", "counter",
                "Requests beyond what an account may use.");
    for (enum account_use use = 0; use < ACCOUNT_USES; use++)
        buf_printf(to, "postbackd_account_limited_total{limit=\"%s\"} %lld\n",
                   account_use_name(use), (long long)account_limits_refused(api->accounts, use));
}

static void print_responses(struct buf *to)
{
    metric_head(to, "postbackd_http_responses_total", "counter", "Responses by status.");
    for (int status = 200; status <= 599; status++)
        if (http_responses(status) > 0)
            buf_printf(to, "postbackd_http_responses_total{status=\"%d\"} %lld\n", status,
                       (long long)http_responses(status));
}

struct measuring {
    struct call *c;
    struct delivery_overview_query query;
};

static void measured(struct task *task)
{
    struct measuring *m = CONTAINER_OF(task, struct measuring, query.done);
    struct call *c = m->c;
    struct books_state books;
    struct operations_numbers operations;
    struct certificate_state certificates;
    struct store_numbers store;
    struct delivery_numbers delivery;
    store_get_numbers(c->api->options.store, &store);
    delivery_get_numbers(c->api->options.delivery, &delivery);
    struct buf body = {0};
    print_store(&body, &store, call_now_ms(c));
    metric_print(&body, &(struct metric){"postbackd_events_rejected_total", "counter",
                                         "Items of events that were rejected, since the start.",
                                         atomic_load(&c->api->events_rejected)});
    print_nodes(&body, &store);
    print_database(&body, &store);
    print_scrub(&body, &store, call_now_ms(c));
    print_replica(&body, &store);
    print_clusters(&body, &store);
    print_each_cluster(&body, c->api->options.store);
    print_delivery(&body, &delivery);
    print_durations(&body, &delivery);
    print_timings(&body, &store);
    print_overview(&body, &m->query.overview);
    print_memory(&body, &store);
    books_watch_get(c->api->options.books, &books);
    print_books(&body, &books, call_now_ms(c));
    operations_get_numbers(c->api->options.operations, &operations);
    print_operations(&body, &operations);
    print_link_mails(&body, c->api);
    certificate_watch_get(c->api->options.certificates, &certificates);
    print_certificates(&body, &certificates, m->query.overview.certificate_expires_ms,
                       call_now_ms(c));
    print_bus(&body, c->api->options.bus);
    print_rewards_feed(&body, c->api->options.rewards_feed);
    print_http(&body);
    print_accounts(&body, c->api);
    print_responses(&body);
    metric_print(&body, &(struct metric){"postbackd_uptime_seconds", "gauge", "Time since start.",
                                         (call_now_ms(c) - c->api->started_ms) / 1000});
    process_metrics_print(&body, c->api->options.version, call_now_ms(c));
    call_answer_text(c, "text/plain; version=0.0.4; charset=utf-8", &body);
    buf_free(&body);
}

/* Asks each loop in turn for the health of its endpoints. */
void metrics_get(struct call *c)
{
    struct measuring *m = call_alloc(c, sizeof *m);
    m->c = c;
    m->query = (struct delivery_overview_query){.done.run = measured, .reply_to = call_executor(c)};
    delivery_get_overview(c->api->options.delivery, &m->query);
}
