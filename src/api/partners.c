/* The routes of partners, the accounts that are paid. */
#include "accounts/render.h"
#include "api/account_routes.h"
#include "api/internal.h"
#include "api/route.h"
#include "api/slices.h"
#include "base/log.h"

static enum change_result create(struct mutation *m)
{
    return change_create_partner(m->accounts, m->body, &m->c->problems, &m->change);
}

static enum change_result patch(struct mutation *m)
{
    return change_patch_partner(m->accounts, m->c->partner->id, !m->c->is_operator,
                                http_header_list(m->c->r, "if-match"), m->body, &m->c->problems,
                                &m->change);
}

static void render(struct mutation *m, struct json_writer *w)
{
    render_partner(w, m->change.partner);
}

void partners_post(struct call *c)
{
    mutate(c, true, create, render, 201, "/api/v1/partners/");
}

void partner_patch(struct call *c)
{
    mutate(c, true, patch, render, 200, NULL);
}

void partner_get(struct call *c)
{
    render_partner(call_begin_json(c), c->partner);
    answer_entry(c, c->partner->version);
}

/* --- the secret of messages to it ------------------------------------------------------------- */

static void print_secret(struct json_writer *w, const struct partner *p, int64_t now_ms)
{
    json_object(w);
    json_key_string(w, "OperationsSecret", p->operations_secrets.newest);
    render_older_until(w, &p->operations_secrets, now_ms);
    json_end_object(w);
}

void operator_operations_secret_get(struct call *c)
{
    char secrets[2][SECRET_TEXT_MAX];
    log_info("operations_secret_shown", LOG_C("partner", "the operator's"),
             LOG_STR("key", c->key_id));
    (void)accounts_operator_secrets(c->api->options.accounts, secrets);
    struct json_writer *w = call_begin_object(c);
    json_key_c(w, "OperationsSecret", secrets[0]);
    json_key_c(w, "OlderSecretUntil", NULL);
    call_end_object(c, 200);
    explicit_bzero(secrets, sizeof secrets);
}

static enum change_result rotate(struct mutation *m)
{
    m->action = "partner.secret_rotated";
    return change_rotate_operations_secret(m->accounts, m->c->partner->id, m->body, &m->c->problems,
                                           &m->change);
}

static void render_rotated(struct mutation *m, struct json_writer *w)
{
    log_info("operations_secret_rotated", LOG_STR("partner", m->change.partner->id),
             LOG_STR("key", m->c->key_id));
    print_secret(w, m->change.partner, env_wall_ms(m->c->api->options.env));
}

void partner_operations_secret_rotate(struct call *c)
{
    mutate(c, c->r->body.n > 0, rotate, render_rotated, 200, NULL);
}

static void answer_secret(struct call *c, enum store_status status)
{
    if (!call_store_ok(c, status))
        return;
    struct json_writer *w = call_begin_json(c);
    print_secret(w, c->partner, call_now_ms(c));
    call_end_json(c, 200);
}

/* The audit entry is stored before the secret is shown. */
void partner_operations_secret_get(struct call *c)
{
    log_info("operations_secret_shown", LOG_STR("partner", c->partner->id),
             LOG_STR("key", c->key_id));
    call_note(c,
              &(struct audit_note){.action = "partner.secret_shown",
                                   .account_no = c->partner->account_no,
                                   .object_kind = "partner",
                                   .object_id = c->partner->id},
              answer_secret);
}

/* --- the list ------------------------------------------------------------------------------- */

static bool print_items(struct call *c, struct json_writer *w, uint32_t before_no, size_t limit,
                        uint32_t *ret_last_no)
{
    struct partner *found[SLICE_ITEMS + 1];
    size_t count = directory_list_partners(c->api->options.directory, before_no, found, limit + 1);
    for (size_t i = 0; i < count; i++) {
        if (i < limit) {
            render_partner(w, found[i]);
            *ret_last_no = found[i]->account_no;
        }
        partner_unref(found[i]);
    }
    return count > limit;
}

void partners_list(struct call *c)
{
    answer_list(c, print_items);
}
