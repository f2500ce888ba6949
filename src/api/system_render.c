/* The members of GET /api/v1/system, a function each. */
#include "api/system_render.h"

#include "api/endpoint_render.h"
#include "base/alloc.h"

static void print_intake(struct json_writer *w, const struct store_numbers *n)
{
    json_key_bool(w, "Accepting", n->accepting);
    json_key(w, "Refusal");
    if (n->accepting) {
        json_null(w);
    } else {
        json_object(w);
        json_key_c(w, "Bound", store_refusal_name(n->refusal));
        json_key_c(w, "Detail", store_refusal_text(n->refusal));
        json_end_object(w);
    }
    json_key_object(w, "Events");
    json_key_int(w, "Accepted", n->events_accepted);
    json_key_int(w, "Queued", n->events_queued);
    json_key_int(w, "Unapplied", n->memtable_events);
    json_end_object(w);
}

static void print_callbacks(struct json_writer *w, const struct system_numbers *n)
{
    int64_t pending = n->store.callbacks_pending, a_minute = n->overview->succeeded_1m;
    json_key_object(w, "Callbacks");
    json_key_int(w, "Delivered", n->store.callbacks_delivered);
    json_key_int(w, "Dead", n->store.callbacks_dead);
    json_key_int(w, "Pending", pending);
    json_key_time_or_null(w, "OldestPendingAt", n->store.oldest_pending_ms);
    json_key_int(w, "InFlight", n->delivery.in_flight);
    json_key_int(w, "InMemory", n->delivery.callbacks_in_ram);
    json_key_int(w, "DeliveredLastMinute", a_minute);
    json_key(w, "DrainSeconds");
    if (pending == 0)
        json_int(w, 0);
    else if (a_minute == 0)
        json_null(w);
    else
        json_int(w, (pending * 60 + a_minute - 1) / a_minute);
    json_end_object(w);
}

/* The unit of a bound; NULL: it is either reached or not. */
struct bound {
    const char *unit;
    int64_t used, most;
};

static struct bound bound_of(enum store_refusal refusal, const struct store_numbers *n)
{
    switch (refusal) {
    case STORE_REFUSES_DISK: /* what is left above the reserve */
        return (struct bound){"bytes", n->disk_reserve_bytes, n->disk_free_bytes};
    case STORE_REFUSES_JOURNAL:
        return (struct bound){"bytes", n->journal_bytes, n->journal_most_bytes};
    case STORE_REFUSES_WAITING:
        return (struct bound){"callbacks", n->callbacks_pending, n->waiting_most};
    case STORE_REFUSES_QUEUE: return (struct bound){"bytes", n->queued_bytes, n->queued_most_bytes};
    case STORE_REFUSES_DIRECTORY:
    case STORE_REFUSES_DATABASE:
    case STORE_REFUSES_FAILED:
    case STORE_TAKES: break;
    }
    return (struct bound){0};
}

static void print_limits(struct json_writer *w, const struct store_numbers *n)
{
    json_key_array(w, "Limits");
    for (int r = STORE_TAKES + 1; r < STORE_REFUSALS; r++) {
        struct bound b = bound_of((enum store_refusal)r, n);
        json_object(w);
        json_key_c(w, "Bound", store_refusal_name((enum store_refusal)r));
        json_key_c(w, "Unit", b.unit);
        json_key(w, "Used");
        if (b.unit)
            json_int(w, b.used);
        else
            json_null(w);
        json_key(w, "Most");
        if (b.most > 0)
            json_int(w, b.most);
        else
            json_null(w);
        json_key_int(w, "Refused", n->refused[r]);
        json_end_object(w);
    }
    json_end_array(w);
}

static void print_room(struct json_writer *w, const struct store_numbers *n)
{
    struct alloc_numbers heap;
    alloc_get_numbers(&heap);
    json_key_object(w, "Disk");
    json_key_int(w, "FreeBytes", n->disk_free_bytes);
    json_key_int(w, "ReserveBytes", n->disk_reserve_bytes);
    json_key_int(w, "JournalBytes", n->journal_bytes);
    json_end_object(w);
    json_key_object(w, "Memory");
    json_key_int(w, "AllocatedBytes", heap.used_bytes);
    json_key_int(w, "FreeBytes", heap.kept_bytes);
    json_key_int(w, "PageCacheBytes", n->page_cache_bytes);
    json_key_int(w, "MemtableBytes", n->memtable_bytes);
    json_key_int(w, "KeyFilterBytes", n->filter_bytes);
    json_end_object(w);
}

static void print_endpoints(struct json_writer *w, const struct system_numbers *n)
{
    json_key_object(w, "EndpointStates");
    for (int s = 0; s < LANE_STATES; s++)
        json_key_int(w, lane_state_name((enum lane_state)s), n->overview->lanes[s]);
    json_end_object(w);
    json_key_array(w, "WorstEndpoints");
    for (size_t i = 0; i < n->endpoint_count; i++) {
        const struct system_endpoint *e = &n->endpoints[i];
        json_object(w);
        json_key_string(w, "PartnerId", e->app->partner_id);
        json_key_string(w, "AppId", e->app->id);
        json_key(w, "Endpoint");
        endpoint_render(w, &(struct endpoint_view){
                               .app = e->app,
                               .kind = e->kind,
                               .waiting = e->waiting,
                               .oldest_waiting_ms = e->oldest_waiting_ms,
                               .health = &e->health,
                               .now_ms = n->now_ms,
                           });
        json_end_object(w);
    }
    json_end_array(w);
}

static void print_books(struct json_writer *w, const struct books_state *b)
{
    json_key_object(w, "Books");
    json_key_int(w, "WrongDays", b->wrong_days);
    json_key_int(w, "DaysChecked", b->days_checked);
    json_key_int(w, "CallbacksChecked", b->callbacks_checked);
    json_key_time_or_null(w, "RoundEndedAt", b->round_ended_ms);
    json_key_c(w, "Example", b->wrong_example[0] ? b->wrong_example : NULL);
    json_end_object(w);
}

static void print_certificates(struct json_writer *w, const struct system_numbers *n)
{
    const struct {
        const char *kind;
        int64_t expires_ms;
    } kinds[] = {{"listener", n->certificates.listener_expires_ms},
                 {"clients", n->certificates.clients_expires_ms},
                 {"receivers", n->overview->certificate_expires_ms}};
    json_key_array(w, "Certificates");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (kinds[i].expires_ms == 0)
            continue;
        json_object(w);
        json_key_c(w, "Certificate", kinds[i].kind);
        json_key_time_or_null(w, "ExpiresAt", kinds[i].expires_ms);
        json_key_bool(w, "Soon", certificate_expires_soon(kinds[i].expires_ms, n->now_ms));
        json_end_object(w);
    }
    json_end_array(w);
}

static void print_sent(struct json_writer *w, const char *name, int64_t sent, int64_t failed,
                       int64_t given_up, int64_t owed)
{
    json_key_object(w, name);
    json_key_int(w, "Sent", sent);
    json_key_int(w, "Failed", failed);
    json_key_int(w, "GivenUp", given_up);
    json_key_int(w, "Owed", owed);
    json_end_object(w);
}

static void print_messages(struct json_writer *w, const struct operations_numbers *messages,
                           const struct link_mail_numbers *links)
{
    print_sent(w, "Messages", messages->sent, messages->failed, messages->given_up, messages->owed);
    print_sent(w, "LinkMails", links->sent, links->failed, links->given_up, links->owed);
}

static void print_nodes(struct json_writer *w, const struct store_numbers *n)
{
    json_key(w, "Nodes");
    if (n->nodes == 0) {
        json_null(w);
        return;
    }
    json_object(w);
    json_key_c(w, "Name", n->node_name);
    json_key_int(w, "Alive", n->nodes);
    json_key_int(w, "ShardsHeld", n->shards_held);
    json_key_int(w, "Shards", n->shards);
    json_end_object(w);
}

static void print_clusters(struct json_writer *w, const struct store_numbers *n)
{
    json_key(w, "Clusters");
    if (n->clusters == 0) {
        json_null(w);
        return;
    }
    json_object(w);
    json_key_int(w, "Total", n->clusters);
    json_key_int(w, "Away", n->clusters_away);
    json_end_object(w);
}

static void print_figure(struct json_writer *w, const char *name, int64_t figure)
{
    json_key(w, name);
    if (figure == CLUSTER_UNKNOWN)
        json_null(w);
    else
        json_int(w, figure);
}

static void print_move(struct json_writer *w, const struct move_state *m)
{
    bool is_seen = m->step == MOVE_COPYING || m->step == MOVE_FOLLOWING || m->step == MOVE_SWITCHED;
    json_key(w, "Move");
    if (m->step == MOVE_NONE) {
        json_null(w);
        return;
    }
    json_object(w);
    json_key_c(w, "Step", move_step_name(m->step));
    json_key_c(w, "Server", *m->server ? m->server : NULL);
    print_figure(w, "TablesCopied", is_seen ? m->tables_done : CLUSTER_UNKNOWN);
    print_figure(w, "Tables", is_seen ? m->tables : CLUSTER_UNKNOWN);
    print_figure(w, "Bytes", is_seen ? m->bytes_done : CLUSTER_UNKNOWN);
    json_key_int(w, "BehindBytes", m->behind_bytes);
    json_key_int(w, "Errors", m->errors);
    json_key_bool(w, "Running", m->is_commanded);
    json_end_object(w);
}

static void print_cluster_list(struct json_writer *w, const struct system_numbers *n)
{
    json_key_array(w, "ClusterList");
    for (size_t i = 0; i < n->cluster_count; i++) {
        const struct cluster_state *c = &n->clusters[i];
        json_object(w);
        json_key_int(w, "Number", c->number);
        json_key_c(w, "Server", *c->server ? c->server : NULL);
        json_key_c(w, "Database", *c->database ? c->database : NULL);
        print_figure(w, "Bytes", c->bytes);
        print_figure(w, "Partners", c->partners);
        print_figure(w, "Events", c->events);
        print_figure(w, "RecentEvents", c->recent_events);
        print_figure(w, "Pending", c->waiting);
        json_key_c(w, "State", cluster_state_name(c));
        json_key_bool(w, "ShouldMove", n->cluster_to_move == (int)i);
        print_move(w, &c->move);
        json_end_object(w);
    }
    json_end_array(w);
}

static void print_replica(struct json_writer *w, const struct store_numbers *n)
{
    json_key(w, "ReadReplica");
    if (n->replica == STORE_REPLICA_NONE) {
        json_null(w);
        return;
    }
    json_object(w);
    json_key_c(w, "State", store_replica_name(n->replica));
    json_key_int(w, "LagMs", n->replica_lag_ms);
    json_key_int(w, "Reads", n->replica_reads);
    json_key_int(w, "ReadsPassedOn", n->replica_reads_passed_on);
    json_end_object(w);
}

void system_print(struct json_writer *w, const struct system_numbers *n)
{
    json_object(w);
    json_key_time(w, "At", n->now_ms);
    json_key_time(w, "StartedAt", n->started_ms);
    json_key_c(w, "Version", n->version);
    print_intake(w, &n->store);
    print_callbacks(w, n);
    print_limits(w, &n->store);
    print_room(w, &n->store);
    print_endpoints(w, n);
    print_books(w, &n->books);
    print_certificates(w, n);
    print_messages(w, &n->operations, &n->link_mails);
    print_nodes(w, &n->store);
    print_replica(w, &n->store);
    print_clusters(w, &n->store);
    print_cluster_list(w, n);
    json_end_object(w);
}
