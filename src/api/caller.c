/* Authenticates the key or session and checks scopes; see caller.h. The scope that a route needs:
 * api/routes.c. */
#include "api/caller.h"

#include "accounts/directory.h"
#include "accounts/names.h"
#include "api/internal.h"
#include "api/person.h"
#include "api/route.h"
#include "services/note_key_use.h"

/* Reads the key from either header. Returns NULL, or why it is not clear which key is meant. */
static const char *key_text(struct http_request *r, struct str *ret)
{
    struct str authorization = http_header(r, "authorization");
    struct str plain = http_header(r, "x-api-key");
    struct str bearer = STR_NONE;
    if (http_header_count(r, "authorization") > 1 || http_header_count(r, "x-api-key") > 1)
        return "Authorization or X-Api-Key is there twice: send one key, once.";
    if (authorization.n > 7 && str_eq_nocase((struct str){authorization.p, 7}, "bearer "))
        bearer = str_trim((struct str){authorization.p + 7, authorization.n - 7});
    else if (authorization.p)
        return "Authorization is there and is not Bearer <key>: send the key in it, or leave it "
               "out and send X-Api-Key.";
    if (plain.p && bearer.p && !str_eq(plain, bearer))
        return "Authorization and X-Api-Key hold two different keys: send one of them.";
    *ret = bearer.p ? bearer : plain;
    return ret->n ? NULL : "The key is empty.";
}

bool caller_account_enabled(struct api *api, uint32_t account_no)
{
    struct partner *p = directory_partner_by_no(api->options.directory, account_no);
    bool enabled = account_no == 0 || (p && p->enabled);
    partner_unref(p);
    return enabled;
}

static bool has_key(struct http_request *r)
{
    return http_header(r, "authorization").p || http_header(r, "x-api-key").p;
}

static bool refuse(struct call *c, int status, const char *detail)
{
    c->refusal.status = status;
    c->refusal.detail = detail;
    return false;
}

static bool authenticate(struct call *c)
{
    struct str text;
    if (!has_key(c->r))
        return person_authenticate(c) ||
               refuse(c, 401,
                      "This needs a key: send Authorization: Bearer <key> or X-Api-Key: <key>; or "
                      "a session. There is no key, and the session is missing, wrong or over, or "
                      "there are two different ones.");
    const char *why = key_text(c->r, &text);
    if (why)
        return refuse(c, 401, why);
    int64_t now_ms = env_wall_ms(c->api->options.env);
    struct api_key *key = directory_key_by_text(c->api->options.directory, text);
    if (!key || api_key_is_over(key, now_ms)) {
        api_key_unref(key);
        return refuse(c, 401,
                      "The key is wrong, revoked or over. With a key, a session does not count.");
    }
    if (api_key_use(key, now_ms))
        key_note_use(c->api->options.control, key->id);
    c->is_operator = key->account_no == 0;
    c->key_account_no = key->account_no;
    c->scopes = key->scopes;
    call_keep_text(c, &c->key_id, key->id);
    api_key_unref(key);
    return true;
}

/* A browser sends the cookie with requests from any site, so a change must come from our own
 * page. */
static bool from_own_page(struct call *c)
{
    bool reads = c->r->method == HTTP_GET || c->r->method == HTTP_HEAD;
    if (!c->person.user_id.p)
        return true;
    if (!person_same_origin(c))
        return refuse(c, 403, PERSON_OTHER_ORIGIN);
    return reads || person_csrf_good(c) ||
           refuse(
               c, 403,
               "With a session, this request needs its X-Csrf-Token; GET /api/v1/session returns "
               "it.");
}

/* An admin may do everything; others need the route's scope. Routes of the installation, not of one
 * partner, need an operator's key. */
static bool authorized(struct call *c)
{
    if ((c->route->flags & ROUTE_OPERATOR) && !c->is_operator)
        return refuse(c, 403, "This needs a key or a role of the operator.");
    if (c->route->flags & ROUTE_PERSON)
        return c->person.user_id.p || refuse(c, 403, "This needs a signed-in person, not a key.");
    if (call_may(c, (enum scope)c->route->scope))
        return true;
    c->refusal.scope = scope_name(c->route->scope);
    return refuse(c, 403, "");
}

bool caller_judge(struct call *c)
{
    const struct api_options *o = &c->api->options;
    c->refusal.status = 0;
    c->refusal.scope = NULL;
    if (c->route->flags & ROUTE_PUBLIC)
        return true;
    if (!authenticate(c))
        return false;
    c->authenticated = c->r->known = true;
    c->r->caller = c->key_id;
    c->r->account_no = c->key_account_no;
    if (!leases_fresh(store_leases(o->store), env_mono_ms(o->env)))
        return refuse(c, 503,
                      "This node has not reached the database for some time, so it cannot say who "
                      "may still do what. See /readyz.");
    if (!from_own_page(c))
        return false;
    /* An operator who acts as a disabled partner may still look, end that, and sign out. */
    if (!c->is_operator && !c->person.acting && !caller_account_enabled(c->api, c->key_account_no))
        return refuse(c, 403, CALLER_ACCOUNT_DISABLED);
    return authorized(c);
}

void caller_answer_refusal(struct call *c)
{
    ASSERT(c->refusal.status);
    if (c->refusal.scope)
        call_answer_problem(c, c->refusal.status,
                            "The key or role does not have the scope %s, which this needs.",
                            c->refusal.scope);
    else
        call_answer_problem(c, c->refusal.status, "%s", c->refusal.detail);
}
