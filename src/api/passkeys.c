/* The routes of passkeys: a signed-in person lists, adds and removes them, and anybody signs in
 * with one. Each takes two requests: the first returns a challenge, the second brings the
 * authenticator's answer. The challenge is derived from the cookie of a flow
 * (people/sign_in_flow.h), so the server keeps nothing between the two.
 *
 * A challenge can be used once. At a sign-in passkey_use decides that (people/passkey.h). Adding a
 * passkey changes the session that the flow belongs to, so the same flow is refused afterwards. */
#include "accounts/directory.h"
#include "api/internal.h"
#include "api/route.h"
#include "api/sign_in.h"
#include "base/log.h"
#include "domain/url.h"
#include "oidc/oidc.h"
#include "people/passkey.h"
#include "people/sign_in_flow.h"

#include <sodium.h>

#define BASE64 sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define WAY_ADD "add-passkey"
#define WAY_SIGN_IN "passkey"
#define STALE "This took too long, or was begun in another browser or session. Start again."
#define WRONG "This passkey does not sign in anybody here."
#define PASSKEYS_MOST NUMBER_AS_TEXT(PASSKEYS_PER_USER) " passkeys, which is the most"
#define ALL_THERE "There are " PASSKEYS_MOST ". Remove one first."
#define NO_HOST "Passkeys need a host name, not an address. Open this page by its name."

static const struct field_rule add_rules[] = {{"Name", true, false}, {"Credential", true, false}};
static const struct field_rule sign_in_rules[] = {{"Credential", true, false}};

/* The server's origin and host as the browser sees them; passkeys are bound to the host. False: the
 * host is an IP address, to which no passkey can be bound. */
static bool find_site(struct call *c, struct passkey_ask *ret)
{
    struct arena *arena = &c->r->arena;
    struct buf text = {0};
    struct url url;
    const char *why;
    person_print_base_url(&text, c);
    bool good = url_parse(arena, buf_str(&text), &url, &why) && !url.host_is_address;
    buf_clear(&text);
    if (good) {
        bool usual = url.port == (url.https ? 443 : 80);
        buf_printf(&text, "%s://%.*s", url.https ? "https" : "http", STR_ARG(url.host));
        if (!usual)
            buf_printf(&text, ":%u", url.port);
        ret->origin = arena_str(arena, buf_str(&text));
        ret->rp_id = url.host;
    }
    buf_free(&text);
    return good;
}

static void read_credential(struct people_job *job)
{
    const struct json *given = job->body ? json_member(job->body, "Credential") : NULL;
    fields_required(&job->fields, "Credential");
    if (given && given->type != JSON_OBJECT)
        problem_add(&job->c->problems, STR("Credential"), "invalid", "must be an object");
}

/* The flow of this browser, if it is for `way`, and the challenge that its authenticator got. */
static bool find_ask(struct people_job *job, const char *way, struct sign_in_flow *flow,
                     struct passkey_ask *ask)
{
    if (!sign_in_flow_read(job->people, person_flow(job->c), flow) || !str_is(flow->way, way))
        return false;
    ask->challenge = str_of(flow->nonce);
    return find_site(job->c, ask);
}

/* --- options for the browser ------------------------------------------------------------------ */

static void print_options(struct json_writer *w, struct call *c, struct buf *headers,
                          struct str cookie, struct str rp_id)
{
    struct sign_in_flow flow;
    if (!sign_in_flow_read(c->api->options.people, cookie, &flow))
        UNREACHABLE(); /* it was made just now */
    person_print_flow(headers, c, cookie, SIGN_IN_FLOW_MS / 1000);
    json_key_c(w, "challenge", flow.nonce);
    json_key_int(w, "timeout", SIGN_IN_FLOW_MS);
    json_key_string_if(w, "rpId", rp_id);
}

static void print_base64(struct json_writer *w, const char *name, struct str bytes)
{
    char text[128];
    ASSERT(sodium_base64_encoded_len(bytes.n, BASE64) <= sizeof text);
    sodium_bin2base64(text, sizeof text, (const unsigned char *)bytes.p, bytes.n, BASE64);
    json_key_c(w, name, text);
}

/* A person may have users in several accounts: the authenticator shows which one. */
static void print_user(struct json_writer *w, struct api *api, const struct user *u)
{
    struct partner *p = directory_partner_by_no(api->options.directory, u->account_no);
    struct buf name = {0};
    buf_add_str(&name, u->email);
    if (p)
        buf_printf(&name, " (%.*s)", STR_ARG(p->name));
    json_key_object(w, "user");
    print_base64(w, "id", u->id);
    json_key_string(w, "name", buf_str(&name));
    json_key_string(w, "displayName", u->name);
    json_end_object(w);
    partner_unref(p);
    buf_free(&name);
}

static void print_algorithms(struct json_writer *w)
{
    static const int algorithms[] = {-7, -8, -257}; /* ES256, EdDSA, RS256 */
    json_key_array(w, "pubKeyCredParams");
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
        json_object(w);
        json_key_c(w, "type", "public-key");
        json_key_int(w, "alg", algorithms[i]);
        json_end_object(w);
    }
    json_end_array(w);
}

static void print_known(struct json_writer *w, struct people_job *job)
{
    struct passkey keys[PASSKEYS_PER_USER];
    size_t count = passkeys_of(&job->change.arena, job->user, keys);
    json_key_array(w, "excludeCredentials");
    for (size_t i = 0; i < count; i++) {
        json_object(w);
        json_key_c(w, "type", "public-key");
        json_key_string(w, "id", keys[i].credential);
        json_end_object(w);
    }
    json_end_array(w);
}

/* --- one's own -------------------------------------------------------------------------------- */

static void print_passkey(struct json_writer *w, const struct passkey *k)
{
    json_object(w);
    json_key_string(w, "PasskeyId", k->id);
    json_key_string(w, "Name", k->name);
    json_key_time(w, "CreatedAt", k->created_ms);
    json_key_time_or_null(w, "LastUsedAt", k->last_used_ms);
    json_end_object(w);
}

void passkeys_list(struct call *c)
{
    struct passkey keys[PASSKEYS_PER_USER];
    struct user *u = people_user(c->api->options.people, c->person.user_id);
    size_t count = u ? passkeys_of(&c->r->arena, u, keys) : 0;
    struct json_writer *w = call_begin_object(c);
    json_key_array(w, "Items");
    for (size_t i = 0; i < count; i++)
        print_passkey(w, &keys[i]);
    json_end_array(w);
    json_key_c(w, "Next", NULL);
    user_unref(u);
    call_end_object(c, 200);
}

static void note_passkey(struct people_job *job, const char *action, bool is_added,
                         const struct passkey *k)
{
    struct audit_note *note = job_note(job, action, job->user->account_no);
    struct json_writer w;
    note->object_kind = "user";
    note->object_id = arena_str(&job->change.arena, job->user->id);
    json_write_to(&w, is_added ? &note->after : &note->before);
    print_passkey(&w, k);
}

/* Changes the user's passkeys, and gives the session another token. */
static void change_passkeys(struct people_job *job, const struct passkey *keys, size_t count)
{
    struct user next;
    memcpy(&next, job->user, sizeof next);
    user_set_passkeys(&next, &job->change.arena, keys, count);
    sign_in_change_self(job, &next);
}

/* True if one more passkey may be added. */
static bool may_add(struct people_job *job)
{
    if (!sign_in_by_password(job->c->api, job->user->account_no))
        return job_refuse(job, 403, SIGN_IN_NO_PASSWORDS);
    if (job->user->passkey_count == PASSKEYS_PER_USER)
        return job_refuse(job, 409, ALL_THERE);
    return true;
}

static bool start_judge(struct people_job *job)
{
    return sign_in_refresh(job) && may_add(job) && sign_in_use_code(job);
}

static void start_render(struct people_job *job, struct json_writer *w)
{
    struct call *c = job->c;
    struct passkey_ask ask = {0};
    char session[TOKEN_BYTES + 1];
    csrf_token_of(c->person.token, session);
    bool good = find_site(c, &ask);
    ASSERT(good);
    json_object(w);
    print_options(w, c, &job->headers,
                  sign_in_flow_make(job->people, &c->r->arena, STR(WAY_ADD), str_of(session)),
                  STR_NONE);
    json_key_object(w, "rp");
    json_key_string(w, "id", ask.rp_id);
    json_key_c(w, "name", "postbackd");
    json_end_object(w);
    print_user(w, c->api, job->user);
    print_algorithms(w);
    print_known(w, job);
    json_key_object(w, "authenticatorSelection");
    json_key_c(w, "residentKey", "required");
    json_key_bool(w, "requireResidentKey", true);
    json_key_c(w, "userVerification", "required");
    json_end_object(w);
    json_key_c(w, "attestation", "none");
    json_end_object(w);
}

void passkey_start(struct call *c)
{
    struct passkey_ask ask = {0};
    struct people_job *job = people_job_new(c, true);
    if (!job)
        return;
    sign_in_read_proof_alone(job, false);
    if (c->problems.count == 0 && !find_site(c, &ask))
        job_refuse(job, 409, NO_HOST);
    else if (c->problems.count == 0 && tries_left(job, c->person.user_id))
        job->slow = sign_in_own_password;
    job->judge = start_judge;
    job->render = start_render;
    people_job_run(job);
}

static bool add_judge(struct people_job *job)
{
    struct call *c = job->c;
    struct passkey keys[PASSKEYS_PER_USER + 1];
    struct passkey_ask ask = {.is_new = true};
    struct sign_in_flow flow;
    char session[TOKEN_BYTES + 1];
    if (!sign_in_refresh(job) || !may_add(job))
        return false;
    csrf_token_of(c->person.token, session);
    if (!find_ask(job, WAY_ADD, &flow, &ask) || !str_is(flow.begun_by, session))
        return job_refuse(job, 409, STALE);
    size_t count = passkeys_of(&job->change.arena, job->user, keys);
    struct passkey *added = &keys[count];
    *added = (struct passkey){.name = job->name, .created_ms = env_wall_ms(c->api->options.env)};
    const char *why = passkey_judge(&job->change.arena, json_member(job->body, "Credential"), &ask,
                                    STR_NONE, added);
    if (why)
        return job_refuse_field(job, "Credential", "invalid", why);
    for (size_t i = 0; i < count; i++)
        if (str_eq(keys[i].credential, added->credential))
            return job_refuse(job, 409, "This passkey is one of yours already.");
    added->id = people_new_id(job->people, &job->change.arena, "pk_");
    change_passkeys(job, keys, count + 1);
    note_passkey(job, "user.passkey_added", true, added);
    return true;
}

static void add_render(struct people_job *job, struct json_writer *w)
{
    struct passkey keys[PASSKEYS_PER_USER];
    size_t count = passkeys_of(&job->change.arena, job->change.user, keys);
    person_print_flow(&job->headers, job->c, STR_NONE, 0);
    json_object(w);
    json_key(w, "Passkey");
    print_passkey(w, &keys[count - 1]);
    json_key(w, "Session");
    sign_in_render_session(job, w);
    json_end_object(w);
}

void passkeys_post(struct call *c)
{
    struct people_job *job = people_job_new(c, true);
    if (!job)
        return;
    if (fields_check(&job->fields, add_rules, ARRAY_LEN(add_rules))) {
        sign_in_text(job, "Name", 1, NAME_BYTES_MAX, &job->name);
        read_credential(job);
    }
    job->judge = add_judge;
    job->render = add_render;
    people_job_run(job);
}

/* Somebody may have signed in with that passkey: other sessions end. */
static bool remove_judge(struct people_job *job)
{
    struct passkey keys[PASSKEYS_PER_USER];
    if (!sign_in_refresh(job))
        return false;
    size_t count = passkeys_of(&job->change.arena, job->user, keys), at = 0;
    while (at < count && !str_eq(keys[at].id, job->c->ids[0]))
        at++;
    if (at == count)
        return job_refuse(job, 404, CALL_NOT_FOUND);
    note_passkey(job, "user.passkey_removed", false, &keys[at]);
    memmove(&keys[at], &keys[at + 1], (count - at - 1) * sizeof keys[0]);
    people_end_sessions(job->people, &job->change, job->user->id, job->session->id);
    change_passkeys(job, keys, count - 1);
    return true;
}

void passkey_delete(struct call *c)
{
    struct people_job *job = people_job_new(c, false);
    job->judge = remove_judge;
    job->render = sign_in_render_session;
    people_job_run(job);
}

/* --- signing in ------------------------------------------------------------------------------- */

void passkey_sign_in_start(struct call *c)
{
    struct passkey_ask ask = {0};
    if (!sign_in_same_origin(c))
        return;
    if (!oidc_any_passwords(c->api->options.oidc)) {
        call_answer_problem(c, 403, SIGN_IN_NO_PASSWORDS);
        return;
    }
    if (!find_site(c, &ask)) {
        call_answer_problem(c, 409, NO_HOST);
        return;
    }
    struct str cookie =
        sign_in_flow_make(c->api->options.people, &c->r->arena, STR(WAY_SIGN_IN), STR_NONE);
    struct json_writer *w = call_begin_object(c);
    print_options(w, c, &c->headers, cookie, ask.rp_id);
    json_key_c(w, "userVerification", "required");
    call_end_object(c, 200);
}

static bool refuse_sign_in(struct people_job *job, const char *why)
{
    job->reason = why;
    tries_failed(job, job->email);
    log_warning("sign_in_refused", LOG_STR("from", job->address),
                LOG_STR("user", job->user ? job->user->id : STR("unknown")), LOG_C("reason", why));
    if (job->user)
        job_note_session(job, "session.refused", job->user->account_no, STR_NONE, job->user->id);
    return job_refuse(job, 401, WRONG);
}

/* The passkey that the browser names; NULL: *ret_why says why it does not sign the user in. */
static struct passkey *find_signer(struct people_job *job, const struct sign_in_flow *flow,
                                   const struct passkey_ask *ask,
                                   struct passkey keys[PASSKEYS_PER_USER], size_t count,
                                   const char **ret_why)
{
    const struct json *given = json_member(job->body, "Credential");
    struct str credential = passkey_credential_of(given);
    struct passkey *k = NULL, said = {0};
    for (size_t i = 0; i < count; i++)
        if (str_eq(keys[i].credential, credential))
            k = &keys[i];
    *ret_why = "the user has no such passkey";
    if (!k)
        return NULL;
    job->passkey = k->id;
    *ret_why = passkey_judge(&job->change.arena, given, ask, k->key, &said);
    if (!*ret_why)
        *ret_why =
            passkey_use(k, flow->until_ms, said.sign_count, env_wall_ms(job->c->api->options.env));
    return *ret_why ? NULL : k;
}

/* Reads the user again. */
static bool refresh(struct people_job *job)
{
    struct str id = passkey_user_of(&job->change.arena, json_member(job->body, "Credential"));
    user_unref(job->user);
    job->user = id.p ? people_user(job->people, id) : NULL;
    return job->user && job->user->enabled;
}

static bool sign_in_judge(struct people_job *job)
{
    struct call *c = job->c;
    struct passkey keys[PASSKEYS_PER_USER];
    struct passkey_ask ask = {0};
    struct sign_in_flow flow;
    const char *why = NULL;
    int64_t now_ms = env_wall_ms(c->api->options.env);
    job->passkey = STR_NONE;
    if (!find_ask(job, WAY_SIGN_IN, &flow, &ask))
        return job_refuse(job, 401, STALE);
    if (!refresh(job))
        return refuse_sign_in(job, job->user ? "the user is disabled" : "there is no such user");
    size_t count = passkeys_of(&job->change.arena, job->user, keys);
    struct passkey *k = find_signer(job, &flow, &ask, keys, count, &why);
    if (!k)
        return refuse_sign_in(job, why);
    if (!sign_in_is_open(job, job->user->account_no)) {
        job_note_session(job, "session.refused", job->user->account_no, STR_NONE, job->user->id);
        return false;
    }
    k->last_used_ms = now_ms;
    tries_forgive(job, job->email);
    struct user next;
    memcpy(&next, job->user, sizeof next);
    next.last_sign_in_ms = now_ms;
    user_set_passkeys(&next, &job->change.arena, keys, count);
    job->change.user = user_pack(&next);
    call_keep_text(c, &c->person.user_id, next.id);
    call_keep_text(c, &c->person.email, next.email);
    people_begin_session(job->people, &job->change, &next, job->address, job->agent, job->token);
    job_note_session(job, "session.begun", next.account_no, job->change.session->id, next.id);
    return true;
}

static void sign_in_render(struct people_job *job, struct json_writer *w)
{
    person_print_flow(&job->headers, job->c, STR_NONE, 0);
    sign_in_render_session(job, w);
}

void passkey_sign_in(struct call *c)
{
    struct people_job *job = sign_in_same_origin(c) ? people_job_new(c, true) : NULL;
    if (!job)
        return;
    if (fields_check(&job->fields, sign_in_rules, ARRAY_LEN(sign_in_rules)))
        read_credential(job);
    if (c->problems.count == 0) {
        struct passkey_ask ask = {0};
        struct sign_in_flow flow;
        struct str id = passkey_user_of(&c->r->arena, json_member(job->body, "Credential"));
        (void)refresh(job);
        /* Tries with an unknown id count, too: otherwise the limit would show which users exist. */
        job->email = job->user ? arena_str(&c->r->arena, job->user->email) : id.p ? id : STR("");
        if (!find_ask(job, WAY_SIGN_IN, &flow, &ask))
            job_refuse(job, 401, STALE); /* here, so that it takes no turn of people who sign in */
        else if (!tries_left(job, job->email))
            ASSERT(job->refusal);
    }
    job->judge = sign_in_judge;
    job->render = sign_in_render;
    people_job_run(job);
}
