/* API keys: creates, lists and revokes them. Only the answer to its creation has a key's text. A
 * partner does not learn which operator made a key. */
#include "accounts/render.h"
#include "api/account_routes.h"
#include "api/idempotency_header.h"
#include "api/internal.h"
#include "api/route.h"
#include "api/slices.h"
#include "base/log.h"
#include "people/people.h"

/* The signed-in person, or the maker of the asking key. In the arena. */
static struct key_maker maker_of(struct call *c)
{
    struct key_maker maker = {
        .scopes = c->scopes, .person = c->person.user_id, .by_operator = c->is_operator};
    struct api_key *key =
        maker.person.p ? NULL : directory_key(c->api->options.directory, c->key_id);
    if (key) {
        maker.expires_ms = key->expires_ms;
        maker.by_operator = maker.by_operator || key->by_operator;
        if (key->person.p)
            maker.person = arena_str(&c->r->arena, key->person);
    }
    api_key_unref(key);
    return maker;
}

/* Partners do not see which operator made it. */
static struct str creator_shown(const struct call *c, const struct api_key *k)
{
    return c->is_operator || !k->by_operator ? k->person : STR_NONE;
}

static enum change_result create(struct mutation *m)
{
    struct key_maker maker = maker_of(m->c);
    return change_create_key(m->accounts, m->c->partner->id, &maker, m->body, &m->c->problems,
                             &m->change);
}

static enum change_result revoke(struct mutation *m)
{
    enum change_result result =
        change_revoke_key(m->accounts, m->c->account_no, m->c->key->id,
                          http_header_list(m->c->r, "if-match"), &m->change);
    if (result == CHANGE_READY)
        log_info("key_revoked", LOG_STR("key", m->c->key->id), LOG_STR("by", m->c->key_id));
    return result;
}

static void render_created(struct mutation *m, struct json_writer *w)
{
    bool again = idempotency_made(m->c).p;
    if (!again)
        log_info("key_made", LOG_STR("key", m->change.key->id), LOG_STR("by", m->c->key_id));
    render_key(w, m->change.key, again ? STR_NONE : str_of(m->change.key_text),
               creator_shown(m->c, m->change.key), false);
}

void keys_post(struct call *c)
{
    struct str kept =
        arena_print(&c->r->arena, "/api/v1/partners/%.*s/keys/", STR_ARG(c->partner->id));
    mutate(c, true, create, render_created, 201, kept.p);
}

void key_delete(struct call *c)
{
    mutate(c, false, revoke, NULL, 204, NULL);
}

/* --- keys that outlive their maker ------------------------------------------------------------ */

static bool is_gone(struct people *people, struct str user_id)
{
    struct user *u = people_user(people, user_id);
    bool gone = !u || !u->enabled;
    user_unref(u);
    return gone;
}

void keys_warn_of_person(struct api *api, struct str user_id)
{
    struct directory *d = api->options.directory;
    int64_t count = 0;
    directory_read_lock(d);
    for (uint32_t no = 1; no < directory_end_locked(d, ACCOUNT_KEY); no++) {
        const struct api_key *k = directory_key_by_no_locked(d, no);
        count += k && str_eq(k->person, user_id);
    }
    directory_unlock(d);
    if (count > 0)
        log_warning("keys_of_person_remain", LOG_STR("user", user_id), LOG_INT("keys", count),
                    LOG_C("fix", "lists of keys say CreatorGone: revoke those that are not known"));
}

/* --- the list ------------------------------------------------------------------------------- */

static bool print_items(struct call *c, struct json_writer *w, uint32_t before_no, size_t limit,
                        uint32_t *ret_last_no)
{
    struct api_key *found[SLICE_ITEMS + 1];
    size_t count =
        directory_list_keys(c->api->options.directory, c->account_no, before_no, found, limit + 1);
    for (size_t i = 0; i < count; i++) {
        if (i < limit) {
            render_key(w, found[i], STR_NONE, creator_shown(c, found[i]),
                       found[i]->person.p && is_gone(c->api->options.people, found[i]->person));
            *ret_last_no = found[i]->key_no;
        }
        api_key_unref(found[i]);
    }
    return count > limit;
}

void keys_list(struct call *c)
{
    answer_list(c, print_items);
}
