/* GET /api/v1/system: the numbers of /metrics as JSON, and the endpoints that are worst. It names
 * apps of all partners, so only operators may read it.
 *
 * Each loop is asked in turn for its endpoints. For each of the worst endpoints, one after the
 * other, the store is asked what waits and the loop for recent results. */
#include "api/internal.h"
#include "api/route.h"
#include "api/system_render.h"

struct looking {
    struct call *c;
    struct delivery_overview_query overview;
    struct system_endpoint endpoints[OVERVIEW_WORST];
    size_t at;
    struct lane_waiting waiting;
    struct lane_health_query health;
};

static void release(struct looking *l, size_t count)
{
    for (size_t i = 0; i < count; i++)
        app_unref(l->endpoints[i].app);
}

/* From the store and the directory; the store's numbers are some seconds old. */
static size_t get_clusters(struct call *c, struct cluster_state *ret)
{
    size_t partners[CLUSTERS_MOST];
    size_t count = store_get_clusters(c->api->options.store, ret);
    directory_count_partners(c->api->options.directory, partners, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        ret[i].partners = (int64_t)partners[i];
    return count;
}

static void answer(struct looking *l)
{
    struct api *api = l->c->api;
    struct system_numbers n = {
        .now_ms = call_now_ms(l->c),
        .started_ms = api->started_ms,
        .version = api->options.version,
        .overview = &l->overview.overview,
        .endpoints = l->endpoints,
        .endpoint_count = l->at,
    };
    struct cluster_state *clusters = call_alloc(l->c, CLUSTERS_MOST * sizeof *clusters);
    n.clusters = clusters;
    n.cluster_count = get_clusters(l->c, clusters);
    n.cluster_to_move = cluster_to_move(clusters, n.cluster_count);
    store_get_numbers(api->options.store, &n.store);
    delivery_get_numbers(api->options.delivery, &n.delivery);
    books_watch_get(api->options.books, &n.books);
    operations_get_numbers(api->options.operations, &n.operations);
    link_mail_get_numbers(api->options.link_mail, &n.link_mails);
    certificate_watch_get(api->options.certificates, &n.certificates);
    struct json_writer *w = call_begin_json(l->c);
    system_print(w, &n);
    release(l, l->at);
    call_end_json(l->c, 200);
}

static void look_at_next(struct looking *l);

static void health_done(struct task *task)
{
    struct looking *l = CONTAINER_OF(task, struct looking, health.done);
    l->endpoints[l->at++].health = l->health.health;
    look_at_next(l);
}

static void waiting_done(struct task *task)
{
    struct looking *l = CONTAINER_OF(task, struct looking, waiting.done);
    struct system_endpoint *e = &l->endpoints[l->at];
    if (l->waiting.status != STORE_OK || l->c->r->gone) {
        release(l, l->at + 1);
        call_answer_busy(l->c, l->waiting.status);
        return;
    }
    e->waiting = l->waiting.count[e->kind];
    e->oldest_waiting_ms = l->waiting.oldest_accepted_ms[e->kind];
    l->health = (struct lane_health_query){
        .done.run = health_done,
        .reply_to = call_executor(l->c),
        .lane = lane_of(e->app->app_no, e->kind),
    };
    delivery_get_health(l->c->api->options.delivery, &l->health);
}

/* Apps are never deleted: each lane has one. */
static void look_at_next(struct looking *l)
{
    if (l->at == l->overview.overview.worst_count) {
        answer(l);
        return;
    }
    struct api *api = l->c->api;
    struct system_endpoint *e = &l->endpoints[l->at];
    lane_no lane = l->overview.overview.worst[l->at].lane;
    e->kind = lane_kind_of(lane);
    e->app = directory_app_by_no(api->options.directory, lane_app_no(lane));
    ASSERT(e->app != NULL);
    l->waiting = (struct lane_waiting){
        .done.run = waiting_done,
        .reply_to = call_executor(l->c),
        .account_no = e->app->terms.account_no,
        .app_no = e->app->app_no,
    };
    store_lane_waiting(api->options.store, &l->waiting);
}

static void overview_done(struct task *task)
{
    look_at_next(CONTAINER_OF(task, struct looking, overview.done));
}

void system_get(struct call *c)
{
    struct looking *l = call_alloc(c, sizeof *l);
    l->c = c;
    l->at = 0;
    l->overview =
        (struct delivery_overview_query){.done.run = overview_done, .reply_to = call_executor(c)};
    delivery_get_overview(c->api->options.delivery, &l->overview);
}
