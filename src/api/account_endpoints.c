/* GET /api/v1/endpoints: how all endpoints of an account do; an operator's without partnerId: of
 * all accounts.
 *
 * A node knows this of the lanes that it delivers. So it looks at its own first: every lane in
 * short, then the worst ones in full, one after the other. Then it asks for the first app that is
 * another node's; that one answers for all apps it has, and so on, until every app is accounted
 * for. When one does not answer in time, the rest is counted as unknown: nothing is called healthy
 * that was not looked at. */
#include "api/account_endpoints.h"

#include "accounts/directory.h"
#include "api/account_health.h"
#include "api/route.h"
#include "base/alloc.h"

#include <stdlib.h>

#define KINDS (LANE_KINDS - LANE_SUCCESS)

/* An endpoint that is not healthy. */
struct unhealthy {
    struct app *app;
    enum lane_kind kind;
    enum endpoint_health health;
    int64_t failed_1h;
};

struct gathering {
    struct api *api;
    struct executor *executor;
    uint32_t account_no; /* 0: all */
    struct app **own;    /* a reference each */
    size_t own_count, own_capacity;
    struct lane_brief *lanes; /* KINDS of each of them */
    struct delivery_briefs briefs;
    struct unhealthy *unhealthy; /* the worst first */
    size_t unhealthy_count, unhealthy_capacity, at;
    struct lane_waiting waiting;
    struct lane_health_query query;
    struct account_health found;
    enum store_status status;
    void (*done)(struct gathering *g);
};

static void end_gathering(struct gathering *g)
{
    for (size_t i = 0; i < g->own_count; i++)
        app_unref(g->own[i]);
    free(g->own);
    free(g->lanes);
    free(g->unhealthy);
    account_health_free(&g->found);
}

static bool is_ours(struct gathering *g, uint32_t app_no)
{
    return leases_have(store_leases(g->api->options.store), lane_of(app_no, LANE_SUCCESS));
}

/* The numbers of the apps that are asked about; malloc'ed. */
static uint32_t *list_apps(struct directory *d, uint32_t account_no, size_t *ret_count)
{
    uint32_t *numbers = NULL;
    size_t count = 0, capacity = 0;
    directory_read_lock(d);
    for (uint32_t no = 1; no < directory_end_locked(d, ACCOUNT_APP); no++) {
        const struct app *app = directory_app_locked(d, no);
        if (!app || (account_no != 0 && app->terms.account_no != account_no))
            continue;
        numbers = xgrow(numbers, &capacity, count + 1, sizeof *numbers);
        numbers[count++] = no;
    }
    directory_unlock(d);
    *ret_count = count;
    return numbers;
}

/* --- the worst ones in full --------------------------------------------------------------------
 */

static void look_at_next(struct gathering *g);

static void health_done(struct task *task)
{
    struct gathering *g = CONTAINER_OF(task, struct gathering, query.done);
    const struct unhealthy *u = &g->unhealthy[g->at++];
    struct buf text = {0};
    struct json_writer w;
    json_write_to(&w, &text);
    json_object(&w);
    json_key(&w, "PartnerId");
    json_string(&w, u->app->partner_id);
    json_key(&w, "AppId");
    json_string(&w, u->app->id);
    json_key(&w, "AppName");
    json_string(&w, u->app->name);
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
    const struct unhealthy *u = &g->unhealthy[g->at];
    g->status = g->waiting.status;
    if (g->status != STORE_OK) {
        g->done(g);
        return;
    }
    g->query = (struct lane_health_query){
        .done.run = health_done,
        .reply_to = g->executor,
        .lane = lane_of(u->app->app_no, u->kind),
    };
    delivery_get_health(g->api->options.delivery, &g->query);
}

/* Nobody waits for this where another node has asked: so it ends by itself before the store does.
 */
static void look_at_next(struct gathering *g)
{
    if (!atomic_load(&g->api->accepting)) {
        g->status = STORE_BUSY;
        g->done(g);
        return;
    }
    if (g->at == g->unhealthy_count || g->at == ACCOUNT_HEALTH_LISTED) {
        g->found.more = g->at < g->unhealthy_count;
        g->done(g);
        return;
    }
    const struct app *app = g->unhealthy[g->at].app;
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

static int compare_unhealthy(const void *a, const void *b)
{
    const struct unhealthy *x = a, *y = b;
    if (x->health != y->health)
        return x->health < y->health ? -1 : 1;
    return (x->failed_1h < y->failed_1h) - (x->failed_1h > y->failed_1h);
}

static void briefs_done(struct task *task)
{
    struct gathering *g = CONTAINER_OF(task, struct gathering, briefs.done);
    for (size_t i = 0; i < g->briefs.count; i++) {
        const struct lane_brief *brief = &g->lanes[i];
        struct unhealthy one = {
            .app = g->own[i / KINDS],
            .kind = (enum lane_kind)(brief->lane % LANE_KINDS),
            .failed_1h = brief->failed_1h,
        };
        one.health = endpoint_health_of(one.app, one.kind, brief);
        account_health_count(&g->found, one.app, one.health, g->account_no != 0);
        if (one.health >= ENDPOINT_HEALTHY)
            continue;
        g->unhealthy = xgrow(g->unhealthy, &g->unhealthy_capacity, g->unhealthy_count + 1,
                             sizeof *g->unhealthy);
        g->unhealthy[g->unhealthy_count++] = one;
    }
    if (g->unhealthy_count > 0)
        qsort(g->unhealthy, g->unhealthy_count, sizeof *g->unhealthy, compare_unhealthy);
    look_at_next(g);
}

static void add_own(struct gathering *g, uint32_t app_no)
{
    struct app *app = directory_app_by_no(g->api->options.directory, app_no);
    if (!app)
        return;
    g->own = xgrow(g->own, &g->own_capacity, g->own_count + 1, sizeof(struct app *));
    g->own[g->own_count++] = app;
}

static void take_own(struct gathering *g, const uint32_t *apps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_ours(g, apps[i]))
            add_own(g, apps[i]);
}

static void begin_gathering(struct gathering *g)
{
    size_t lanes = g->own_count * KINDS;
    g->lanes = xcalloc(lanes + 1, sizeof *g->lanes);
    for (size_t i = 0; i < lanes; i++)
        g->lanes[i].lane =
            lane_of(g->own[i / KINDS]->app_no, (enum lane_kind)(LANE_SUCCESS + i % KINDS));
    g->briefs = (struct delivery_briefs){
        .done.run = briefs_done,
        .reply_to = g->executor,
        .items = g->lanes,
        .count = lanes,
    };
    delivery_get_briefs(g->api->options.delivery, &g->briefs);
}

/* --- for a call --------------------------------------------------------------------------------
 */

struct viewing {
    struct call *c;
    struct gathering gathering;
    bool *is_left; /* by number: apps of other nodes that no part was about yet */
    uint32_t end;  /* behind the highest number */
    uint32_t next; /* none below it is left */
    struct store_question question;
};

static void answer(struct viewing *v)
{
    struct call *c = v->c;
    struct gathering g = v->gathering; /* the answer ends the call, and what is in its arena */
    free(v->is_left);
    if (g.status == STORE_OK) {
        struct buf body = {0};
        struct json_writer w;
        json_write_to(&w, &body);
        account_health_print(&w, &g.found);
        call_answer_json(c, 200, &body);
        buf_free(&body);
    } else {
        call_answer_busy(c, g.status);
    }
    end_gathering(&g);
}

static void remove_left(void *context, uint32_t app_no)
{
    struct viewing *v = context;
    if (app_no < v->end)
        v->is_left[app_no] = false;
}

static void count_unknown(struct viewing *v, uint32_t app_no)
{
    struct gathering *g = &v->gathering;
    struct app *app = directory_app_by_no(g->api->options.directory, app_no);
    if (!app)
        return;
    for (enum lane_kind kind = LANE_SUCCESS; kind < LANE_KINDS; kind++) {
        enum endpoint_health health = endpoint_health_of(app, kind, &(struct lane_brief){0});
        account_health_count(&g->found, app, health == ENDPOINT_OPEN ? ENDPOINT_UNKNOWN : health,
                             g->account_no != 0);
    }
    app_unref(app);
}

static void ask_next_node(struct viewing *v);

static void node_answered(struct task *task)
{
    struct viewing *v = CONTAINER_OF(task, struct viewing, question.done);
    uint32_t asked_about = v->question.app_no;
    struct str part = v->question.answered ? v->question.answer : STR_NONE;
    account_health_add_part(&v->gathering.found, part, remove_left, v);
    bool gave_up = !part.p || v->c->r->gone;
    arena_free(&v->question.arena);
    /* The node that answered may have lost the app meanwhile: it is not asked for again. */
    for (uint32_t no = asked_about; no < (gave_up ? v->end : asked_about + 1); no++)
        if (v->is_left[no]) {
            count_unknown(v, no);
            v->is_left[no] = false;
        }
    ask_next_node(v);
}

static void ask_next_node(struct viewing *v)
{
    while (v->next < v->end && !v->is_left[v->next])
        v->next++;
    if (v->next == v->end) {
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

void account_endpoints(struct call *c)
{
    struct viewing *v = call_alloc(c, sizeof *v);
    *v = (struct viewing){
        .c = c,
        .gathering = {.api = c->api,
                      .executor = call_executor(c),
                      .account_no = c->account_no,
                      .done = own_done},
    };
    size_t count;
    uint32_t *apps = list_apps(c->api->options.directory, c->account_no, &count);
    v->end = count > 0 ? apps[count - 1] + 1 : 0;
    v->is_left = xcalloc(v->end + 1, sizeof *v->is_left);
    for (size_t i = 0; i < count; i++)
        v->is_left[apps[i]] = true;
    take_own(&v->gathering, apps, count);
    for (size_t i = 0; i < v->gathering.own_count; i++)
        v->is_left[v->gathering.own[i]->app_no] = false;
    begin_gathering(&v->gathering);
    free(apps);
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
    size_t count;
    uint32_t *apps = list_apps(api->options.directory, a->gathering.account_no, &count);
    take_own(&a->gathering, apps, count);
    begin_gathering(&a->gathering);
    free(apps);
}
