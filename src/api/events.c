/* POST /api/v1/events: judge each item, have the good ones recorded, and answer only when what is
 * called accepted is on disk. */
#include "api/internal.h"
#include "api/query.h"
#include "api/route.h"
#include "base/limits.h"
#include "intake/answer.h"

struct taking {
    struct call *c;
    struct intake_items items;
    struct intake_batch batch;
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

static void submit(struct taking *t, int64_t now_ms)
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
    t->batch.received_ms = now_ms;
    t->batch.done.run = recorded;
    t->batch.reply_to = call_executor(c);
    store_submit(c->api->options.store, &t->batch);
}

void events_post(struct call *c)
{
    struct intake_request request = {
        .body = c->r->body,
        .now_ms = call_now_ms(c),
        .account_no = c->is_operator ? 0 : c->key_account_no,
    };
    if (!judge_headers(c, &request))
        return;
    if (!atomic_load(&c->api->accepting)) {
        call_answer_problem(
            c, 503, "The daemon is starting or stopping; nothing of this request was stored.");
        return;
    }
    struct taking *t = call_alloc(c, sizeof *t);
    struct str why;
    t->c = c;
    enum intake_result result =
        intake_read(c->loop->intake, &request, &t->batch.arena, &t->items, &why);
    if (result == INTAKE_READ) {
        submit(t, request.now_ms);
        return;
    }
    struct arena arena = t->batch.arena;
    if (result == INTAKE_TOO_MANY)
        call_answer_problem(c, 413,
                            "A request takes at most %d events; send the rest in further ones.",
                            LIMIT_EVENTS_PER_REQUEST);
    else
        call_answer_problem(c, 400, "The body cannot be read, and nothing of it was stored: %.*s",
                            STR_ARG(why));
    arena_free(&arena);
}
