/* API keys: made, listed and revoked; the text of a key is answered once, at creation. */
#include "accounts/render.h"
#include "api/account_routes.h"
#include "api/internal.h"
#include "api/route.h"
#include "base/log.h"

static enum change_result create(struct mutation *m)
{
    return change_create_key(m->accounts, m->c->partner->id, m->c->scopes, m->body, &m->c->problems,
                             &m->change);
}

static enum change_result revoke(struct mutation *m)
{
    enum change_result result =
        change_revoke_key(m->accounts, m->c->account_no, m->c->key->id, &m->change);
    if (result == CHANGE_READY)
        log_info("key_revoked", LOG_STR("key", m->c->key->id), LOG_STR("by", m->c->key_id));
    return result;
}

static void render_created(struct mutation *m, struct json_writer *w)
{
    log_info("key_made", LOG_STR("key", m->change.key->id), LOG_STR("by", m->c->key_id));
    render_key(w, m->change.key, str_of(m->change.key_text));
}

void keys_post(struct call *c)
{
    struct buf location = {0};
    buf_printf(&location, "/api/v1/partners/%.*s/keys/", STR_ARG(c->partner->id));
    struct str kept = arena_str(&c->r->arena, buf_str(&location));
    buf_free(&location);
    mutate(c, true, create, render_created, 201, kept.p);
}

void key_delete(struct call *c)
{
    mutate(c, false, revoke, NULL, 204, NULL);
}

/* --- the list ------------------------------------------------------------------------------- */

static size_t list_fetch(struct call *c, uint32_t before_no, void **ret, size_t limit)
{
    return directory_list_keys(c->api->options.directory, c->account_no, before_no,
                               (struct api_key **)ret, limit);
}

static void list_render(struct json_writer *w, const void *entry)
{
    render_key(w, entry, STR_NONE);
}

static uint32_t list_number(const void *entry)
{
    return ((const struct api_key *)entry)->key_no;
}

static void list_unref(void *entry)
{
    api_key_unref(entry);
}

void keys_list(struct call *c)
{
    static const struct entry_list list = {list_fetch, list_render, list_number, list_unref};
    answer_list(c, &list);
}
