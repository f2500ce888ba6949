/* GET /api/v1/endpoints: the health of all endpoints of an account. For an operator who gives no
 * partnerId: of all accounts.
 *
 * A node knows the health of the lanes that it delivers. So it first collects its own: every lane
 * in short, a few apps at a time, then the worst endpoints in full, one after the other. It then
 * asks the node that has the first app not collected yet. That node answers for all apps that it
 * has. This is repeated until every app is counted.
 *
 * If a node does not answer in time, or answers about apps that are counted already (because
 * shards are moving), the apps of that cluster that are not counted yet are counted as unknown. So
 * nothing is reported as healthy without having been looked at, and nothing is counted twice. */
#include "api/account_endpoints.h"

#include "accounts/directory.h"
#include "api/account_health.h"
#include "api/route.h"
#include "api/slices.h"
#include "base/alloc.h"
#include "store/store_open.h"

#include <stdlib.h>

#define KINDS (LANE_KINDS - LANE_SUCCESS)

/* An endpoint that is not healthy. */
struct unhealthy {
    struct app *app; /* a reference */
    enum lane_kind kind;
    enum endpoint_health health;
    int64_t failed_1h;
};

struct gathering {
    struct api *api;
    struct executor *executor;
    uint32_t account_no;           /* 0: all */
    uint32_t before_no;            /* apps with this number or a higher one are counted; 0: none */
    struct app *some[SLICE_ITEMS]; /* our apps being counted, with references */
    size_t some_count;
    bool is_last; /* there are no others */
    struct lane_brief lanes[SLICE_ITEMS * KINDS];
    struct delivery_briefs briefs;
    uint32_t *own; /* numbers of our apps */
    size_t own_count, own_capacity;
    struct unhealthy worst[ACCOUNT_HEALTH_LISTED];
    size_t worst_count, at;
    bool is_away[CLUSTERS_MOST]; /* its store did not say what waits */
    struct lane_waiting waiting;
    struct lane_health_query query;
    struct account_health found;
    enum store_status status;
    void (*is_elsewhere)(struct gathering *g, uint32_t app_no); /* may be NULL */
    void (*done)(struct gathering *g);
};

static void end_gathering(struct gathering *g)
{
    for (size_t i = 0; i < g->worst_count; i++)
        app_unref(g->worst[i].app);
    free(g->own);
    account_health_free(&g->found);
}

static bool is_ours(struct gathering *g, uint32_t app_no)
{
    return leases_have(store_leases(g->api->options.store), lane_of(app_no, LANE_SUCCESS));
}

static uint32_t cluster_of(struct gathering *g, uint32_t account_no)
{
    struct partner *p = directory_partner_by_no(g->api->options.directory, account_no);
    uint32_t cluster = p ? p->cluster : 0;
    partner_unref(p);
    return cluster;
}

/* True: the daemon is stopping, and the gathering has ended. It must end by itself before the store
 * does, because no client's request waits for an answer to another node. */
static bool ends_early(struct gathering *g)
{
    if (atomic_load(&g->api->accepting))
        return false;
    g->status = STORE_BUSY;
    g->done(g);
    return true;
}

/* --- the worst ones in full --------------------------------------------------------------------
 */

static void look_at_next(struct gathering *g);

static void health_done(struct task *task)
{
    struct gathering *g = CONTAINER_OF(task, struct gathering, query.done);
    const struct unhealthy *u = &g->worst[g->at++];
    struct buf text = {0};
    struct json_writer w;
    json_write_to(&w, &text);
    json_object(&w);
    json_key_string(&w, "PartnerId", u->app->partner_id);
    json_key_string(&w, "AppId", u->app->id);
    json_key_string(&w, "AppName", u->app->name);
    json_key(&w, "Endpoint");
    endpoint_render(&w, &(struct endpoint_view){
                            .app = u->app,
                            .kind = u->kind,
                            .waiting = g->waiting.count[u->kind],
                            .oldest_waiting_ms = g->waiting.oldest_accepted_ms[u->kind],
                            .health = &g->query.health,
                            .now_ms = env_wall_ms(g->api->options.env),
                        });
    json_end_object(&w);
    account_health_list(&g->found, u->health, g->waiting.count[u->kind], buf_str(&text));
    buf_free(&text);
    look_at_next(g);
}

static void waiting_done(struct task *task)
{
    struct gathering *g = CONTAINER_OF(task, struct gathering, waiting.done);
    const struct unhealthy *u = &g->worst[g->at];
    if (g->waiting.status != STORE_OK) {
        g->is_away[cluster_of(g, u->app->terms.account_no)] = true;
        look_at_next(g);
        return;
    }
    g->query = (struct lane_health_query){
        .done.run = health_done,
        .reply_to = g->executor,
        .lane = lane_of(u->app->app_no, u->kind),
    };
    delivery_get_health(g->api->options.delivery, &g->query);
}

/* The store of an unavailable cluster cannot say what waits: its endpoints are only counted. */
static void look_at_next(struct gathering *g)
{
    if (ends_early(g))
        return;
    while (g->at < g->worst_count &&
           g->is_away[cluster_of(g, g->worst[g->at].app->terms.account_no)]) {
        g->found.more = true;
        g->at++;
    }
    if (g->at == g->worst_count) {
        g->done(g);
        return;
    }
    const struct app *app = g->worst[g->at].app;
    g->waiting = (struct lane_waiting){
        .done.run = waiting_done,
        .reply_to = g->executor,
        .account_no = app->terms.account_no,
        .app_no = app->app_no,
    };
    store_lane_waiting(g->api->options.store, &g->waiting);
}

/* --- all in short ------------------------------------------------------------------------------
 */

static bool is_worse(const struct unhealthy *x, const struct unhealthy *than)
{
    return x->health != than->health ? x->health < than->health : x->failed_1h > than->failed_1h;
}

/* Inserts it into the list of the worst endpoints, the worst first. */
static void add_unhealthy(struct gathering *g, struct unhealthy one)
{
    size_t at = g->worst_count;
    one.app = directory_app_by_no(g->api->options.directory, one.app->app_no);
    ASSERT(one.app); /* apps are never deleted */
    if (at == ACCOUNT_HEALTH_LISTED) {
        g->found.more = true;
        struct unhealthy *last = &g->worst[--at];
        if (!is_worse(&one, last)) {
            app_unref(one.app);
            return;
        }
        app_unref(last->app);
    }
    for (g->worst_count = at + 1; at > 0 && is_worse(&one, &g->worst[at - 1]); at--)
        g->worst[at] = g->worst[at - 1];
    g->worst[at] = one;
}

static void look_at_some(struct gathering *g);

static void briefs_done(struct task *task)
{
    struct gathering *g = CONTAINER_OF(task, struct gathering, briefs.done);
    for (size_t i = 0; i < g->briefs.count; i++) {
        const struct lane_brief *brief = &g->lanes[i];
        struct unhealthy one = {
            .app = g->some[i / KINDS],
            .kind = lane_kind_of(brief->lane),
            .failed_1h = brief->failed_1h,
        };
        if (!endpoint_exists(one.app, one.kind))
            continue;
        one.health = endpoint_health_of(one.app, one.kind, brief);
        account_health_count(&g->found, one.app, one.health, g->account_no != 0);
        if (one.health < ENDPOINT_HEALTHY)
            add_unhealthy(g, one);
    }
    for (size_t i = 0; i < g->some_count; i++)
        app_unref(g->some[i]);
    if (g->is_last)
        look_at_next(g);
    else
        look_at_some(g);
}

static void take_ours(struct gathering *g, struct app *app)
{
    for (size_t kind = 0; kind < KINDS; kind++)
        g->lanes[g->some_count * KINDS + kind] = (struct lane_brief){
            .lane = lane_of(app->app_no, (enum lane_kind)(LANE_SUCCESS + kind))};
    g->some[g->some_count++] = app;
    g->own = xgrow(g->own, &g->own_capacity, g->own_count + 1, sizeof *g->own);
    g->own[g->own_count++] = app->app_no;
}

/* Counts the newest SLICE_ITEMS of the remaining apps: an account may have thousands, and other
 * calls get their turn in between. */
static void look_at_some(struct gathering *g)
{
    if (ends_early(g))
        return;
    struct app *apps[SLICE_ITEMS];
    size_t count = directory_list_apps(g->api->options.directory, g->account_no, g->before_no, apps,
                                       SLICE_ITEMS);
    g->is_last = count < SLICE_ITEMS;
    g->some_count = 0;
    for (size_t i = 0; i < count; i++) {
        g->before_no = apps[i]->app_no;
        if (is_ours(g, apps[i]->app_no)) {
            take_ours(g, apps[i]);
            continue;
        }
        if (g->is_elsewhere)
            g->is_elsewhere(g, apps[i]->app_no);
        app_unref(apps[i]);
    }
    g->briefs = (struct delivery_briefs){
        .done.run = briefs_done,
        .reply_to = g->executor,
        .items = g->lanes,
        .count = g->some_count * KINDS,
    };
    delivery_get_briefs(g->api->options.delivery, &g->briefs);
}

/* --- for a call --------------------------------------------------------------------------------
 */

struct viewing {
    struct call *c;
    struct gathering gathering;
    bool *is_left; /* by number: other nodes' apps that no part has covered yet */
    uint32_t end;  /* one more than the highest number */
    uint32_t next; /* none below is left */
    bool is_twice; /* the present part covers an app that was counted already */
    struct store_question question;
    struct slices unknown; /* counts the apps without an answer: */
    uint32_t unknown_next, unknown_end, unknown_cluster;
};

static void answer(struct viewing *v)
{
    struct call *c = v->c;
    struct gathering g = v->gathering; /* the answer ends the call and its arena */
    free(v->is_left);
    if (g.status == STORE_OK) {
        struct json_writer *w = call_begin_json(c);
        account_health_print(w, &g.found);
        call_end_json(c, 200);
    } else {
        call_answer_busy(c, g.status);
    }
    end_gathering(&g);
}

static void check_is_left(void *context, uint32_t app_no)
{
    struct viewing *v = context;
    v->is_twice |= app_no < v->end && !v->is_left[app_no];
}

static void remove_left(void *context, uint32_t app_no)
{
    struct viewing *v = context;
    if (app_no < v->end)
        v->is_left[app_no] = false;
}

static void count_unknown(struct gathering *g, const struct app *app)
{
    for (enum lane_kind kind = LANE_SUCCESS; kind < LANE_KINDS; kind++) {
        if (!endpoint_exists(app, kind))
            continue;
        enum endpoint_health health = endpoint_health_of(app, kind, &(struct lane_brief){0});
        account_health_count(&g->found, app, health == ENDPOINT_OPEN ? ENDPOINT_UNKNOWN : health,
                             g->account_no != 0);
    }
}

static void ask_next_node(struct viewing *v);

/* Counts apps without an answer as unknown. If a node did not answer, these are all apps that are
 * left of its cluster, which may be unavailable as a whole; nodes of other clusters are still
 * asked. */
static bool count_some_unknown(struct slices *slices, size_t most)
{
    struct viewing *v = CONTAINER_OF(slices, struct viewing, unknown);
    struct gathering *g = &v->gathering;
    for (; most > 0 && v->unknown_next < v->unknown_end; most--) {
        uint32_t no = v->unknown_next++;
        struct app *app =
            v->is_left[no] ? directory_app_by_no(g->api->options.directory, no) : NULL;
        bool counts = app && cluster_of(g, app->terms.account_no) == v->unknown_cluster;
        if (counts)
            count_unknown(g, app);
        if (counts || !app)
            v->is_left[no] = false;
        app_unref(app);
    }
    return v->unknown_next < v->unknown_end;
}

static void unknown_counted(struct slices *slices, bool more)
{
    (void)more;
    ask_next_node(CONTAINER_OF(slices, struct viewing, unknown));
}

/* Takes a node's answer. False: it did not answer, or its part covers apps that were counted
 * already: then shards are moving between nodes, so the parts are from different moments. */
static bool take_part(struct viewing *v, struct str part)
{
    v->is_twice = false;
    account_health_part_apps(part, check_is_left, v);
    if (!part.p || v->is_twice)
        return false;
    account_health_part_apps(part, remove_left, v);
    account_health_add_part(&v->gathering.found, part);
    return true;
}

static void node_answered(struct task *task)
{
    struct viewing *v = CONTAINER_OF(task, struct viewing, question.done);
    uint32_t asked_about = v->question.app_no;
    struct str part = v->question.answered ? v->question.answer : STR_NONE;
    bool gave_up = !take_part(v, part);
    arena_free(&v->question.arena);
    struct app *app = directory_app_by_no(v->gathering.api->options.directory, asked_about);
    v->unknown_cluster = app ? cluster_of(&v->gathering, app->terms.account_no) : 0;
    app_unref(app);
    /* The node that answered may have lost the app meanwhile: the app is not asked for again. */
    v->unknown_next = asked_about;
    v->unknown_end = gave_up ? v->end : asked_about + 1;
    v->unknown = (struct slices){.executor = v->gathering.executor,
                                 .left = v->unknown_end - asked_about,
                                 .print = count_some_unknown,
                                 .end = unknown_counted};
    slices_begin(&v->unknown);
}

static void ask_next_node(struct viewing *v)
{
    while (v->next < v->end && !v->is_left[v->next])
        v->next++;
    if (v->next == v->end || v->c->r->gone) {
        answer(v);
        return;
    }
    v->question = (struct store_question){
        .done.run = node_answered,
        .reply_to = v->gathering.executor,
        .app_no = v->next,
        .scope = v->gathering.account_no ? QUESTION_ACCOUNT : QUESTION_ALL,
    };
    store_ask(v->gathering.api->options.store, &v->question);
}

static void own_done(struct gathering *g)
{
    struct viewing *v = CONTAINER_OF(g, struct viewing, gathering);
    if (g->status == STORE_OK)
        ask_next_node(v);
    else
        answer(v);
}

static void add_left(struct gathering *g, uint32_t app_no)
{
    struct viewing *v = CONTAINER_OF(g, struct viewing, gathering);
    if (app_no < v->end) /* otherwise it is newer */
        v->is_left[app_no] = true;
}

void account_endpoints(struct call *c)
{
    struct viewing *v = call_alloc(c, sizeof *v);
    *v = (struct viewing){
        .c = c,
        .gathering = {.api = c->api,
                      .executor = call_executor(c),
                      .account_no = c->account_no,
                      .is_elsewhere = add_left,
                      .done = own_done},
        .end = directory_next_no(c->api->options.directory, ACCOUNT_APP),
    };
    v->is_left = xcalloc(v->end + 1, sizeof *v->is_left);
    look_at_some(&v->gathering);
}

/* --- for another node --------------------------------------------------------------------------
 */

struct answering {
    int64_t question;
    uint32_t app_no;
    struct gathering gathering;
};

static void answer_node(struct gathering *g)
{
    struct answering *a = CONTAINER_OF(g, struct answering, gathering);
    if (g->status == STORE_OK && atomic_load(&g->api->accepting)) {
        struct buf part = {0};
        account_health_print_part(&part, &g->found, g->own, g->own_count);
        store_answer(g->api->options.store, a->app_no, a->question, buf_str(&part));
        buf_free(&part);
    }
    end_gathering(g);
    free(a);
}

void account_endpoints_answer(struct api *api, struct executor *executor, int64_t question,
                              struct app *app, enum question_scope scope)
{
    struct answering *a = xcalloc(1, sizeof *a);
    a->question = question;
    a->app_no = app->app_no;
    a->gathering = (struct gathering){
        .api = api,
        .executor = executor,
        .account_no = scope == QUESTION_ACCOUNT ? app->terms.account_no : 0,
        .done = answer_node,
    };
    app_unref(app);
    look_at_some(&a->gathering);
}
