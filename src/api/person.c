/* Finds a request's session by its cookie, checks that the request comes from our own page, and
 * prints people; see person.h. */
#include "api/person.h"

#include "accounts/directory.h"
#include "accounts/names.h"
#include "api/internal.h"
#include "people/cookie.h"
#include "people/device.h"

#include <inttypes.h>
#include <sodium.h>

/* With this prefix browsers accept the cookie only from this host over TLS (RFC 6265bis, section
 * 4.1.3.2). */
#define COOKIE_SECURE "__Host-postbackd_session"
#define COOKIE_PLAIN "postbackd_session"
#define DEVICE_SECURE "__Host-postbackd_device"
#define DEVICE_PLAIN "postbackd_device"
#define FLOW_SECURE "__Host-postbackd_sign_in"
#define FLOW_PLAIN "postbackd_sign_in"
#define DEVICE_AGE_S (400 * 24 * 3600) /* the most that browsers keep a cookie */

static bool is_secure(const struct call *c)
{
    return c->r->secure || str_has_prefix(c->api->options.public_url, "https://");
}

static const char *cookie_name(const struct call *c)
{
    return is_secure(c) ? COOKIE_SECURE : COOKIE_PLAIN;
}

static const char *device_name(const struct call *c)
{
    return is_secure(c) ? DEVICE_SECURE : DEVICE_PLAIN;
}

static const char *flow_name(const struct call *c)
{
    return is_secure(c) ? FLOW_SECURE : FLOW_PLAIN;
}

/* Exactly one of several Cookie headers (HTTP/2 proxies split them) may have it. */
static struct str cookie(const struct call *c, const char *name)
{
    struct str found = STR_NONE;
    for (size_t i = 0; i < c->r->header_count; i++) {
        if (!str_is(c->r->headers[i].name, "cookie"))
            continue;
        struct str value = cookie_find(c->r->headers[i].value, name);
        if (value.p && found.p)
            return STR_NONE;
        if (value.p)
            found = value;
    }
    return found;
}

static struct str cookie_of(const struct call *c, const char *name, size_t bytes)
{
    struct str found = cookie(c, name);
    return found.n == bytes ? found : STR_NONE;
}

static struct str session_token(const struct call *c)
{
    return cookie_of(c, cookie_name(c), TOKEN_BYTES);
}

struct str person_device(const struct call *c)
{
    return cookie_of(c, device_name(c), DEVICE_TOKEN_BYTES);
}

struct str person_flow(const struct call *c)
{
    return cookie(c, flow_name(c));
}

bool person_authenticate(struct call *c)
{
    struct str token = session_token(c);
    struct user *user = NULL;
    if (!token.p)
        return false;
    int64_t now_ms = env_wall_ms(c->api->options.env);
    struct session *session = people_session_by_token(c->api->options.people, token, now_ms, &user);
    if (!session)
        return false;
    bool acting = session->acting_no != 0, first = !c->person.user_id.p;
    c->is_operator = user->account_no == 0 && !acting;
    c->key_account_no = acting ? session->acting_no : user->account_no;
    c->scopes = acting ? SCOPES_ACTING : role_scopes(user->role);
    c->person.acting = acting;
    call_keep_text(c, &c->person.user_id, user->id);
    call_keep_text(c, &c->person.email, user->email);
    call_keep_text(c, &c->person.session_id, session->id);
    call_keep_text(c, &c->person.token, token);
    c->key_id = c->person.user_id;
    if (first)
        session_use(session, now_ms); /* a request is one use, even if judged several times */
    bool note_use = first && session_use_is_news(session, now_ms);
    user_unref(user);
    session_unref(session);
    if (note_use)
        person_note_use(c->api, c->person.session_id);
    return true;
}

/* --- other sites ------------------------------------------------------------------------------ */

static bool origin_is(struct str origin, const char *scheme, struct str host)
{
    return str_has_prefix(origin, scheme) && origin.n > strlen(scheme) &&
           str_eq((struct str){origin.p + strlen(scheme), origin.n - strlen(scheme)}, host);
}

/* The origin of --public-url: its part before the path. */
static struct str public_origin(const struct call *c)
{
    struct str url = c->api->options.public_url;
    size_t slashes = 0, n = 0;
    for (; n < url.n && slashes < 3; n++)
        slashes += url.p[n] == '/';
    return (struct str){url.p, slashes == 3 ? n - 1 : n};
}

bool person_same_origin(const struct call *c)
{
    struct str site = http_header(c->r, "sec-fetch-site");
    struct str origin = http_header(c->r, "origin");
    struct str host = http_header(c->r, "host");
    if (site.p && !str_is(site, "same-origin") && !str_is(site, "none"))
        return false;
    if (!origin.p)
        return true;
    if (c->api->options.public_url.p && str_eq(origin, public_origin(c)))
        return true;
    return origin_is(origin, "https://", host) ||
           (!is_secure(c) && origin_is(origin, "http://", host));
}

bool person_csrf_good(const struct call *c)
{
    struct str given = http_header(c->r, "x-csrf-token");
    char want[TOKEN_BYTES + 1];
    csrf_token_of(c->person.token, want);
    return given.n == TOKEN_BYTES && sodium_memcmp(given.p, want, TOKEN_BYTES) == 0;
}

void person_print_cookie(struct buf *to, const struct call *c, struct str token)
{
    buf_printf(to,
               "Set-Cookie: %s=%.*s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%" PRId64 "%s\r\n",
               cookie_name(c), STR_ARG(token), token.p ? SESSION_AGE_MS / 1000 : 0,
               is_secure(c) ? "; Secure" : "");
}

void person_print_device(struct buf *to, const struct call *c)
{
    struct people *people = c->api->options.people;
    char token[DEVICE_TOKEN_BYTES + 1];
    struct str has = person_device(c);
    if (!c->person.user_id.p || (has.p && device_is_of(people, has, c->person.user_id)))
        return;
    device_make(people, c->person.user_id, token);
    buf_printf(to, "Set-Cookie: %s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s\r\n",
               device_name(c), token, DEVICE_AGE_S, is_secure(c) ? "; Secure" : "");
}

void person_print_flow(struct buf *to, const struct call *c, struct str flow, int64_t seconds)
{
    buf_printf(to, "Set-Cookie: %s=%.*s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%" PRId64 "%s\r\n",
               flow_name(c), STR_ARG(flow), seconds, is_secure(c) ? "; Secure" : "");
}

void person_print_base_url(struct buf *to, const struct call *c)
{
    struct str url = str_trim_end(c->api->options.public_url, '/');
    if (url.n)
        buf_add_str(to, url);
    else
        buf_printf(to, "%s://%.*s", is_secure(c) ? "https" : "http",
                   STR_ARG(http_header(c->r, "host")));
}

/* --- shapes ----------------------------------------------------------------------------------- */

static struct str partner_id_of(struct api *api, struct arena *arena, uint32_t account_no)
{
    struct partner *p = directory_partner_by_no(api->options.directory, account_no);
    struct str id = p ? arena_str(arena, p->id) : STR_NONE;
    partner_unref(p);
    return id;
}

void person_render_user(struct json_writer *w, struct api *api, const struct user *u)
{
    struct arena arena = {0};
    json_object(w);
    json_key_string(w, "UserId", u->id);
    json_key_string(w, "Email", u->email);
    json_key_string(w, "Name", u->name);
    json_key_c(w, "Role", role_name(u->role));
    json_key_string(w, "PartnerId", partner_id_of(api, &arena, u->account_no));
    json_key_bool(w, "Enabled", u->enabled);
    json_key_bool(w, "SecondFactor", u->totp_secret.p != NULL);
    json_key_int(w, "Passkeys", u->passkey_count);
    json_key_string(w, "Issuer", u->issuer);
    json_key_bool(w, "Invited", !u->password.p && !u->subject.p);
    json_key_time(w, "CreatedAt", u->created_ms);
    json_key_time_or_null(w, "LastSignInAt", u->last_sign_in_ms);
    json_end_object(w);
    arena_free(&arena);
}

void person_render_partner(struct json_writer *w, struct api *api, uint32_t account_no)
{
    struct partner *p = directory_partner_by_no(api->options.directory, account_no);
    json_key(w, "Partner");
    if (!p) {
        json_null(w);
        return;
    }
    json_object(w);
    json_key_string(w, "PartnerId", p->id);
    json_key_string(w, "Name", p->name);
    json_end_object(w);
    partner_unref(p);
}

static void print_scopes(struct json_writer *w, uint32_t scopes)
{
    json_key_array(w, "Scopes");
    for (size_t i = 0; i < scope_count; i++)
        if (scopes & scope_names[i].bit)
            json_c(w, scope_names[i].name);
    json_end_array(w);
}

static void print_times(struct json_writer *w, const struct session *s)
{
    int64_t over = s->created_ms + SESSION_AGE_MS,
            idle = atomic_load(&s->used_ms) + SESSION_IDLE_MS;
    json_key_time(w, "SignedInAt", s->created_ms);
    json_key_time(w, "ExpiresAt", over);
    json_key_time(w, "IdleExpiresAt", idle < over ? idle : over);
}

void person_render(struct json_writer *w, struct api *api, const struct user *user,
                   const struct session *s, struct str token)
{
    json_object(w);
    json_key_bool(w, "SignedIn", user != NULL);
    json_key_bool(w, "SetUpNeeded", !people_any(api->options.people));
    if (user) {
        char csrf[TOKEN_BYTES + 1];
        csrf_token_of(token, csrf);
        uint32_t account_no = s->acting_no ? s->acting_no : user->account_no;
        json_key_string(w, "SessionId", s->id);
        json_key(w, "User");
        person_render_user(w, api, user);
        json_key_c(w, "CsrfToken", csrf);
        json_key_c(w, "Side", account_no ? "partner" : "operator");
        person_render_partner(w, api, account_no);
        json_key_bool(w, "ActingAs", s->acting_no != 0);
        print_scopes(w, s->acting_no ? SCOPES_ACTING : role_scopes(user->role));
        print_times(w, s);
    }
    json_key_time(w, "ServerTime", env_wall_ms(api->options.env));
    json_key_c(w, "Version", api->options.version);
    json_end_object(w);
}
