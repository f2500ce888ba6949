/* GET /api/v1/callbacks/{RewardId} and POST .../resend: one callback, with all its attempts. */
#include "api/callback_render.h"
#include "api/internal.h"
#include "api/mutation.h"
#include "api/route.h"

#include <stdlib.h>

struct getting {
    struct call *c;
    struct callback_get get;
    struct delivery_tried tried;
};

static void answer_one(struct getting *g)
{
    struct arena arena = g->get.arena;
    struct json_writer *w = call_begin_json(g->c);
    render_callback(g->c, w, &g->get.row, SHOW_WHOLE);
    call_end_json(g->c, 200);
    arena_free(&arena);
}

static void get_tried_done(struct task *task)
{
    struct getting *g = CONTAINER_OF(task, struct getting, tried.done);
    for (size_t i = 0; i < g->tried.count; i++)
        if (g->tried.event_nos[i] == g->get.row.event.event_no)
            callback_row_set_tried(&g->get.row);
    free(g->tried.event_nos);
    answer_one(g);
}

static void get_done(struct task *task)
{
    struct getting *g = CONTAINER_OF(task, struct getting, get.done);
    struct arena arena = g->get.arena;
    if (!call_store_ok(g->c, g->get.status)) {
        arena_free(&arena);
    } else if (g->c->problems.count) {
        call_answer_invalid_query(g->c); /* only if the callback exists */
        arena_free(&arena);
    } else if (g->get.row.state != CALLBACK_PENDING) {
        answer_one(g);
    } else {
        g->tried.account_no = g->c->account_no;
        g->tried.done.run = get_tried_done;
        g->tried.reply_to = call_executor(g->c);
        delivery_get_tried(g->c->api->options.delivery, &g->tried);
    }
}

void callback_get_one(struct call *c)
{
    struct getting *g = call_alloc(c, sizeof *g);
    g->c = c;
    g->get.account_no = c->account_no;
    g->get.event_id = c->ids[0];
    g->get.done.run = get_done;
    g->get.reply_to = call_executor(c);
    store_get_callback(c->api->options.store, &g->get);
}

/* --- sent again ------------------------------------------------------------------------------- */

struct resending {
    struct call *c;
    struct resend resend;
    struct noted noted;
};

static void answer_body_gone(const struct resending *s)
{
    struct call *c = s->c;
    struct buf why = {0};
    if (s->resend.status == STORE_PURGED)
        buf_printf(&why, "was deleted by retention, %d days after its final state",
                   atomic_load(&c->api->bodies_days));
    else
        buf_add_c(&why, "was deleted when its panelist was erased");
    call_answer_problem(c, 409,
                        "The body of this callback %.*s; it cannot be resent, and nothing was "
                        "sent. If its receiver lacks it, credit the Reward that GET "
                        "/api/v1/callbacks/{RewardId} still shows, by its RewardId.",
                        STR_ARG(buf_str(&why)));
    buf_free(&why);
}

static void resend_done(struct task *task)
{
    struct resending *s = CONTAINER_OF(task, struct resending, resend.done);
    noted_free(&s->noted);
    if (s->resend.status == STORE_PURGED || s->resend.status == STORE_ERASED) {
        answer_body_gone(s);
        return;
    }
    if (!call_store_ok(s->c, s->resend.status))
        return;
    struct json_writer *w = call_begin_object(s->c);
    json_key_string(w, "RewardId", s->resend.event_id);
    call_end_object(s->c, 202);
}

static void resend_go(struct noted *n)
{
    struct resending *s = CONTAINER_OF(n, struct resending, noted);
    s->resend.parts = n->parts;
    s->resend.part_count = n->part_count;
    store_resend(s->c->api->options.store, &s->resend);
}

void callback_resend(struct call *c)
{
    struct resending *s = call_alloc(c, sizeof *s);
    s->c = c;
    s->resend.account_no = c->account_no;
    s->resend.event_id = c->ids[0];
    s->resend.now_ms = call_now_ms(c);
    s->resend.done.run = resend_done;
    s->resend.reply_to = call_executor(c);
    s->noted.go = resend_go;
    struct audit_note note = {
        .action = "callback.resent",
        .account_no = c->account_no,
        .object_kind = "callback",
        .object_id = c->ids[0],
    };
    call_with_note(c, &note, &s->noted, &s->resend.done);
}
