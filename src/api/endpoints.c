/* GET /api/v1/apps/{AppId}/endpoints: how the app's three endpoints do: what waits for each, by the
 * store, then the rest, one after the other (each belongs to the loop that delivers to it). */
#include "api/endpoint_render.h"
#include "api/internal.h"
#include "api/route.h"

struct asking {
    struct call *c;
    enum lane_kind kind;
    struct lane_waiting waiting;
    struct lane_health_query query;
    struct lane_health found[LANE_KINDS];
};

static void answer(struct asking *a)
{
    struct buf body = {0};
    struct json_writer w;
    json_write_to(&w, &body);
    json_object(&w);
    json_key(&w, "AppId");
    json_string(&w, a->c->app->id);
    json_key(&w, "Endpoints");
    json_array(&w);
    for (enum lane_kind k = LANE_SUCCESS; k < LANE_KINDS; k++)
        endpoint_render(&w, &(struct endpoint_view){
                                .app = a->c->app,
                                .kind = k,
                                .waiting = a->waiting.count[k],
                                .oldest_waiting_ms = a->waiting.oldest_accepted_ms[k],
                                .health = &a->found[k],
                                .now_ms = call_now_ms(a->c),
                            });
    json_end_array(&w);
    json_end_object(&w);
    call_answer_json(a->c, 200, &body);
    buf_free(&body);
}

static void ask_next(struct asking *a);

static void health_done(struct task *task)
{
    struct asking *a = CONTAINER_OF(task, struct asking, query.done);
    a->found[a->kind] = a->query.health;
    a->kind++;
    if (a->kind == LANE_KINDS)
        answer(a);
    else
        ask_next(a);
}

static void ask_next(struct asking *a)
{
    a->query = (struct lane_health_query){
        .done.run = health_done,
        .reply_to = call_executor(a->c),
        .lane = lane_of(a->c->app->app_no, a->kind),
    };
    delivery_get_health(a->c->api->options.delivery, &a->query);
}

static void waiting_done(struct task *task)
{
    struct asking *a = CONTAINER_OF(task, struct asking, waiting.done);
    if (a->waiting.status == STORE_OK)
        ask_next(a);
    else
        call_answer_busy(a->c, a->waiting.status);
}

void app_endpoints(struct call *c)
{
    struct asking *a = call_alloc(c, sizeof *a);
    a->c = c;
    a->kind = LANE_SUCCESS;
    a->waiting = (struct lane_waiting){
        .done.run = waiting_done,
        .reply_to = call_executor(c),
        .account_no = c->app->terms.account_no,
        .app_no = c->app->app_no,
    };
    store_lane_waiting(c->api->options.store, &a->waiting);
}
