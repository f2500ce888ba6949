/* GET /api/v1/apps/{AppId}/endpoints: how the app's three endpoints do, one after the other (each
 * belongs to the loop that delivers to it). */
#include "api/internal.h"
#include "api/route.h"

struct asking {
    struct call *c;
    enum lane_kind kind;
    struct lane_health_query query;
    struct lane_health found[LANE_KINDS];
};

static const char *state_of(const struct app *app, enum lane_kind kind, const struct lane_health *h)
{
    if (!app->url[kind].p)
        return "not_configured";
    if (app->terms.lane_disabled[kind] || h->disabled)
        return "disabled";
    if (!app->enabled)
        return "app_disabled";
    if (h->suspended)
        return "suspended";
    return h->paused ? "paused" : "open";
}

static void key_int(struct json_writer *w, const char *key, int64_t v)
{
    json_key(w, key);
    json_int(w, v);
}

static void key_ms(struct json_writer *w, const char *key, int64_t ms)
{
    json_key(w, key);
    if (ms)
        json_time(w, ms);
    else
        json_null(w);
}

static void print_last_error(struct json_writer *w, const struct lane_health *h)
{
    json_key(w, "LastError");
    if (!h->last_error_ms) {
        json_null(w);
        return;
    }
    json_object(w);
    key_ms(w, "At", h->last_error_ms);
    json_key(w, "Class");
    json_c(w, attempt_class_name(h->last_class));
    json_key(w, "Detail");
    json_c(w, h->last_detail);
    json_end_object(w);
}

static void print_endpoint(struct json_writer *w, const struct app *app, enum lane_kind kind,
                           const struct lane_health *h)
{
    json_object(w);
    json_key(w, "Endpoint");
    json_c(w, lane_kind_name(kind));
    json_key(w, "Url");
    struct buf url = {0};
    if (app->url[kind].p)
        url_print_masked(&url, app->url[kind]);
    json_string(w, app->url[kind].p ? buf_str(&url) : STR_NONE);
    buf_free(&url);
    json_key(w, "State");
    json_c(w, state_of(app, kind, h));
    key_int(w, "InFlight", h->in_flight);
    key_int(w, "WaitingInMemory", h->waiting_in_ram);
    key_int(w, "Window", (int64_t)h->window);
    key_ms(w, "NextTryAt", h->next_try_ms);
    key_int(w, "Succeeded1h", h->succeeded_1h);
    key_int(w, "Failed1h", h->failed_1h);
    key_int(w, "Succeeded24h", h->succeeded_24h);
    key_int(w, "Failed24h", h->failed_24h);
    key_int(w, "LatencyP50Ms", h->latency_p50_ms);
    key_int(w, "LatencyP95Ms", h->latency_p95_ms);
    key_int(w, "LatencyP99Ms", h->latency_p99_ms);
    print_last_error(w, h);
    json_end_object(w);
}

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
        print_endpoint(&w, a->c->app, k, &a->found[k]);
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

void app_endpoints(struct call *c)
{
    struct asking *a = call_alloc(c, sizeof *a);
    a->c = c;
    a->kind = LANE_SUCCESS;
    ask_next(a);
}
