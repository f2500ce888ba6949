/* GET /api/v1/apps/{AppId}/endpoints: the health of the app's endpoints. The store is asked what
 * waits for each; then the loop that delivers to the endpoint is asked for the rest, one endpoint
 * after the other. If another node has the app's lanes, that node is asked. If it does not answer
 * in time, the answer has what this node knows. */
#include "api/account_endpoints.h"
#include "api/endpoint_render.h"
#include "api/internal.h"
#include "api/route.h"
#include "base/alloc.h"

#include <stdlib.h>

struct endpoints_request {
    struct api *api;
    struct executor *executor;
    struct app *app;
    void (*on_end)(struct endpoints_request *a); /* with the body, or a status that is not OK */
    struct buf body;
    enum store_status status;
    enum lane_kind kind;
    struct lane_waiting waiting;
    struct lane_health_query query;
    struct lane_health found[LANE_KINDS];
};

static void print_answer(struct endpoints_request *a)
{
    struct json_writer w;
    json_write_to(&w, &a->body);
    json_object(&w);
    json_key_string(&w, "AppId", a->app->id);
    json_key_array(&w, "Endpoints");
    for (enum lane_kind k = LANE_SUCCESS; k < LANE_KINDS; k++) {
        if (!endpoint_exists(a->app, k))
            continue;
        endpoint_render(&w, &(struct endpoint_view){
                                .app = a->app,
                                .kind = k,
                                .waiting = a->waiting.count[k],
                                .oldest_waiting_ms = a->waiting.oldest_accepted_ms[k],
                                .health = &a->found[k],
                                .now_ms = env_wall_ms(a->api->options.env),
                            });
    }
    json_end_array(&w);
    json_end_object(&w);
    a->on_end(a);
}

static void ask_next(struct endpoints_request *a);

static void health_done(struct task *task)
{
    struct endpoints_request *a = CONTAINER_OF(task, struct endpoints_request, query.done);
    a->found[a->kind] = a->query.health;
    a->kind++;
    if (a->kind == LANE_KINDS)
        print_answer(a);
    else
        ask_next(a);
}

static void ask_next(struct endpoints_request *a)
{
    a->query = (struct lane_health_query){
        .done.run = health_done,
        .reply_to = a->executor,
        .lane = lane_of(a->app->app_no, a->kind),
    };
    delivery_get_health(a->api->options.delivery, &a->query);
}

static void waiting_done(struct task *task)
{
    struct endpoints_request *a = CONTAINER_OF(task, struct endpoints_request, waiting.done);
    a->status = a->waiting.status;
    if (a->status == STORE_OK)
        ask_next(a);
    else
        a->on_end(a);
}

/* Takes the reference of the app. */
static void begin(struct endpoints_request *a, struct api *api, struct executor *executor,
                  struct app *app)
{
    a->api = api;
    a->executor = executor;
    a->app = app;
    a->kind = LANE_SUCCESS;
    a->waiting = (struct lane_waiting){
        .done.run = waiting_done,
        .reply_to = executor,
        .account_no = app->terms.account_no,
        .app_no = app->app_no,
    };
    store_lane_waiting(api->options.store, &a->waiting);
}

static void end(struct endpoints_request *a)
{
    app_unref(a->app);
    buf_free(&a->body);
}

/* --- for a call ------------------------------------------------------------------------------- */

struct lanes_viewing {
    struct call *c;
    struct endpoints_request asking;
    struct store_question question;
};

static void answer_call(struct endpoints_request *a)
{
    struct call *c = CONTAINER_OF(a, struct lanes_viewing, asking)->c;
    struct endpoints_request ended = *a; /* the answer ends the call, and what is in its arena */
    if (ended.status == STORE_OK)
        call_answer_json(c, 200, &ended.body);
    else
        call_answer_busy(c, ended.status);
    end(&ended);
}

static void view_here(struct lanes_viewing *v)
{
    struct call *c = v->c;
    struct app *app = c->app;
    c->app = NULL; /* the reference is the asking's */
    v->asking.on_end = answer_call;
    begin(&v->asking, c->api, call_executor(c), app);
}

static void on_node_answer(struct task *task)
{
    struct lanes_viewing *v = CONTAINER_OF(task, struct lanes_viewing, question.done);
    if (!v->question.answered) {
        arena_free(&v->question.arena);
        if (v->c->r->gone)
            call_answer_busy(v->c, STORE_BUSY);
        else
            view_here(v);
        return;
    }
    struct buf body = {0};
    buf_add(&body, v->question.answer.p, v->question.answer.n);
    arena_free(&v->question.arena);
    call_answer_json(v->c, 200, &body);
    buf_free(&body);
}

void app_endpoints(struct call *c)
{
    struct store *store = c->api->options.store;
    struct lanes_viewing *v = call_alloc(c, sizeof *v);
    v->c = c;
    if (leases_have(store_leases(store), lane_of(c->app->app_no, LANE_SUCCESS))) {
        view_here(v);
        return;
    }
    v->question = (struct store_question){
        .done.run = on_node_answer,
        .reply_to = call_executor(c),
        .app_no = c->app->app_no,
    };
    store_ask(store, &v->question);
}

/* --- for another node ------------------------------------------------------------------------- */

struct endpoints_answer {
    int64_t question;
    struct endpoints_request asking;
};

static void answer_node(struct endpoints_request *a)
{
    struct endpoints_answer *w = CONTAINER_OF(a, struct endpoints_answer, asking);
    if (a->status == STORE_OK && atomic_load(&a->api->accepting))
        store_answer(a->api->options.store, a->app->app_no, w->question, buf_str(&a->body));
    end(a);
    free(w);
}

void api_answer_question(struct api *api, struct executor *executor, int64_t question,
                         uint32_t app_no, enum question_scope scope)
{
    struct app *app = directory_app_by_no(api->options.directory, app_no);
    if (!app)
        return; /* this node has not heard of it yet */
    if (scope != QUESTION_APP) {
        account_endpoints_answer(api, executor, question, app, scope);
        return;
    }
    struct endpoints_answer *w = xcalloc(1, sizeof *w);
    w->question = question;
    w->asking.on_end = answer_node;
    begin(&w->asking, api, executor, app);
}
