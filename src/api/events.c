/* POST /api/v1/events: validates each item, submits the valid ones to the store, and answers only
 * when the accepted events are on disk. */
#include "api/internal.h"
#include "api/live.h"
#include "api/query.h"
#include "api/route.h"
#include "intake/intake_answer.h"
#include "services/control.h"

struct taking {
    struct call *c;
    struct intake_request request;
    struct intake_items items;
    struct intake_batch batch;
    struct task catch_up;
    int64_t asked_mono_ms; /* when reading other nodes' changes was asked for; 0: not yet */
    enum store_status caught_up;
};

static void answer_taken(struct taking *t)
{
    struct buf body = {0};
    struct intake_counts counts = intake_answer(&body, &t->items, t->batch.verdicts);
    atomic_fetch_add(&t->c->api->events_rejected, (long long)counts.rejected);
    call_answer_json(t->c, 202, &body);
    buf_free(&body);
}

static void recorded(struct task *task)
{
    struct taking *t = CONTAINER_OF(task, struct taking, batch.done);
    struct arena arena = t->batch.arena;
    if (t->batch.status == STORE_OK)
        live_accepted(t->c->api->options.live, &t->batch);
    if (call_store_ok(t->c, t->batch.status))
        answer_taken(t);
    arena_free(&arena);
}

/* False: answered. */
static bool judge_headers(struct call *c, struct intake_request *request)
{
    if (!query_bool(c, "deliver", true)) {
        if (!(c->scopes & SCOPE_ADMIN)) {
            call_answer_problem(c, 403, "deliver=false needs a key with the scope admin.");
            return false;
        }
        request->imported = !c->problems.count;
    }
    if (!call_check_media(c))
        return false;
    request->format = intake_format_of(http_header(c->r, "content-type"));
    bool good = c->problems.count == 0;
    if (!good)
        call_answer_invalid_query(c); /* the call is gone */
    return good;
}

static void submit(struct taking *t)
{
    struct call *c = t->c;
    if (!t->items.count) {
        struct arena arena = t->batch.arena;
        answer_taken(t);
        arena_free(&arena);
        return;
    }
    t->batch.items = t->items.items;
    t->batch.count = t->items.count;
    t->batch.bytes = c->r->body.n + t->batch.arena.total_bytes;
    t->batch.received_ms = t->request.now_ms;
    t->batch.done.run = recorded;
    t->batch.reply_to = call_executor(c);
    store_submit(c->api->options.store, &t->batch);
}

static void answer_unread(struct taking *t, enum intake_result result, struct str why)
{
    struct arena arena = t->batch.arena;
    struct buf text = {0};
    intake_print_unread(&text, result, why);
    call_answer_problem(t->c, result == INTAKE_TOO_MANY ? 413 : 400, "%s", buf_c(&text));
    buf_free(&text);
    arena_free(&arena);
}

static void ask_others(struct taking *t);

static void take(struct taking *t)
{
    struct call *c = t->c;
    struct str why;
    enum intake_result result =
        intake_read(c->loop->intake, &t->request, &t->batch.arena, &t->items, &why);
    if (result != INTAKE_READ)
        answer_unread(t, result, why);
    else if (t->items.doubt && !t->asked_mono_ms && store_leases(c->api->options.store))
        ask_others(t);
    else
        submit(t);
}

/* --- clients that other nodes know ------------------------------------------------------------
 * Who was told there that a client is made or enabled may send its events here at once, and a
 * rejected event is not sent again. So an event is not rejected for its client before this node
 * knows what the others have done; then the request is read anew. */

static void take_anew(struct task *task)
{
    struct taking *t = CONTAINER_OF(task, struct taking, catch_up);
    if (call_store_ok(t->c, t->caught_up))
        take(t);
}

static void run_catch_up(struct task *task)
{
    struct taking *t = CONTAINER_OF(task, struct taking, catch_up);
    t->caught_up = control_catch_up_since(t->c->api->options.control, t->asked_mono_ms);
    t->catch_up.run = take_anew;
    executor_post(call_executor(t->c), &t->catch_up);
}

static void ask_others(struct taking *t)
{
    arena_free(&t->batch.arena);
    t->asked_mono_ms = env_mono_ms(t->c->api->options.env);
    t->catch_up.run = run_catch_up;
    t->catch_up.owner = OWNER_EVENTS;
    control_post(t->c->api->options.control, &t->catch_up);
}

void events_post(struct call *c)
{
    struct intake_request request = {
        .body = c->r->body,
        .now_ms = call_now_ms(c),
        .account_no = c->is_operator ? 0 : c->key_account_no,
        .traceparent = http_header(c->r, "traceparent"),
    };
    if (!judge_headers(c, &request))
        return;
    if (!atomic_load(&c->api->accepting)) {
        call_answer_problem(
            c, 503, "The server is starting or stopping. Nothing of this request was stored.");
        return;
    }
    struct taking *t = call_alloc(c, sizeof *t);
    t->c = c;
    t->request = request;
    take(t);
}
