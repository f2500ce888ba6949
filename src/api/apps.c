/* Apps: their settings, and the Callback Secret. */
#include "accounts/render.h"
#include "api/account_routes.h"
#include "api/idempotency_header.h"
#include "api/internal.h"
#include "api/route.h"
#include "api/slices.h"
#include "base/log.h"

static enum change_result create(struct mutation *m)
{
    return change_create_app(m->accounts, m->c->partner->id, !m->c->is_operator, m->body,
                             &m->c->problems, &m->change);
}

static enum change_result patch(struct mutation *m)
{
    return change_patch_app(m->accounts, m->c->app->id, http_header_list(m->c->r, "if-match"),
                            m->body, &m->c->problems, &m->change);
}

/* The path's second id. */
static enum lane_kind endpoint_of(const struct call *c)
{
    for (enum lane_kind kind = LANE_SUCCESS; kind < LANE_KINDS; kind++)
        if (str_is(c->ids[1], lane_kind_name(kind)))
            return kind;
    return LANE_NONE;
}

static enum change_result enable(struct mutation *m)
{
    m->action = "app.endpoint_enabled";
    return change_enable_lane(m->accounts, m->c->app->id, endpoint_of(m->c), &m->change);
}

static enum change_result rotate(struct mutation *m)
{
    m->action = "app.secret_rotated";
    return change_rotate_secret(m->accounts, m->c->app->id, !m->c->is_operator, m->body,
                                &m->c->problems, &m->change);
}

static void render_created(struct mutation *m, struct json_writer *w)
{
    render_app(w, m->change.app, !idempotency_made(m->c).p);
}

static void render_plain(struct mutation *m, struct json_writer *w)
{
    render_app(w, m->change.app, false);
}

static void print_secret(struct json_writer *w, const struct app *app, int64_t now_ms)
{
    const struct secrets *s = &app->secrets;
    json_object(w);
    json_key_string(w, "CallbackSecret", s->newest);
    render_older_until(w, s, now_ms);
    json_key_bool(w, "SigUsesOlder", !str_eq(secrets_sig(s, now_ms), s->newest));
    json_end_object(w);
}

static void render_rotated(struct mutation *m, struct json_writer *w)
{
    log_info("secret_rotated", LOG_STR("app", m->change.app->id), LOG_STR("key", m->c->key_id));
    print_secret(w, m->change.app, env_wall_ms(m->c->api->options.env));
}

void apps_post(struct call *c)
{
    mutate(c, true, create, render_created, 201, "/api/v1/apps/");
}

void app_patch(struct call *c)
{
    mutate(c, true, patch, render_plain, 200, NULL);
}

void app_endpoint_enable(struct call *c)
{
    if (endpoint_of(c) == LANE_NONE)
        call_answer_problem(c, 404, "An endpoint is success, failure, offer or test.");
    else
        mutate(c, false, enable, render_plain, 200, NULL);
}

void app_secret_rotate(struct call *c)
{
    mutate(c, c->r->body.n > 0, rotate, render_rotated, 200, NULL);
}

void app_get(struct call *c)
{
    render_app(call_begin_json(c), c->app, false);
    answer_entry(c, c->app->version);
}

/* A secret is shown only after the audit log has who asked for it. */
static void answer_secret(struct call *c, enum store_status status)
{
    if (!call_store_ok(c, status))
        return;
    struct json_writer *w = call_begin_json(c);
    print_secret(w, c->app, call_now_ms(c));
    call_end_json(c, 200);
}

void app_secret_get(struct call *c)
{
    struct buf peer = {0};
    address_print(&peer, &c->r->peer);
    log_info("secret_shown", LOG_STR("app", c->app->id), LOG_STR("key", c->key_id),
             LOG_STR("from", buf_str(&peer)));
    buf_free(&peer);
    call_note(c,
              &(struct audit_note){.action = "app.secret_shown",
                                   .account_no = c->app->terms.account_no,
                                   .object_kind = "app",
                                   .object_id = c->app->id},
              answer_secret);
}

/* --- the list ------------------------------------------------------------------------------- */

static bool print_items(struct call *c, struct json_writer *w, uint32_t before_no, size_t limit,
                        uint32_t *ret_last_no)
{
    struct app *found[SLICE_ITEMS + 1];
    size_t count =
        directory_list_apps(c->api->options.directory, c->account_no, before_no, found, limit + 1);
    for (size_t i = 0; i < count; i++) {
        if (i < limit) {
            render_app(w, found[i], false);
            *ret_last_no = found[i]->app_no;
        }
        app_unref(found[i]);
    }
    return count > limit;
}

void apps_list(struct call *c)
{
    answer_list(c, print_items);
}
