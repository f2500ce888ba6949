/* Links the signed-in person to an identity at an identity provider, and unlinks it. Linking needs
 * the password, the second factor and a sign-in at the provider; unlinking needs the password and
 * the second factor.
 *
 * The browser leaves for the provider and returns to /api/v1/sign-in/callback, as in a sign-in.
 * This request comes from another site and so lacks the session's cookie; therefore nothing is
 * changed there. It opens the account's page with the code behind '#', and the page sends the code
 * in a request of the session. The flow contains the CSRF token of the session that began it. So
 * no other session can finish the link, and the same session cannot finish it twice, because
 * linking changes the token. */
#include "api/internal.h"
#include "api/provider_sign_in.h"
#include "api/route.h"
#include "api/sign_in.h"
#include "domain/url_macros.h"

#include <sodium.h>
#include <stdio.h>

#define STATE_BYTES_MOST 64
#define STALE "This took too long, or was begun in another browser or session. Start again."
#define LINKED "You are linked to an identity provider already. Unlink it first."

static const struct field_rule start_rules[] = {
    {"Provider", true, false}, {"Password", true, false}, {"Code", true, false}};
static const struct field_rule link_rules[] = {
    {"AuthorizationCode", true, false}, {"State", true, false}, {"Issuer", true, false}};

struct linking {
    struct people_job *job;
    struct oidc_ask ask;
    struct sign_in_flow flow;
    struct str cookie;
};

/* --- one's own -------------------------------------------------------------------------------- */

/* True if this user may sign in with that provider. */
static bool is_of(struct api *api, const struct oidc_client *client, const struct user *u)
{
    uint32_t account_no;
    return provider_find_account(api, client, &account_no) && account_no == u->account_no;
}

static void print_identity(struct call *c, struct json_writer *w, const struct user *u)
{
    struct oidc_client *client;
    struct str name = STR_NONE;
    for (size_t i = 0; (client = oidc_client_at(c->api->options.oidc, i)); i++) {
        if (!name.p && is_of(c->api, client, u) && str_eq(oidc_provider(client)->issuer, u->issuer))
            name = arena_str(&c->r->arena, oidc_provider(client)->name);
        oidc_client_unref(client);
    }
    json_object(w);
    json_key_string(w, "Name", name);
    json_key_string(w, "Issuer", u->issuer);
    json_key_string(w, "Subject", u->subject);
    json_end_object(w);
}

static void print_providers(struct call *c, struct json_writer *w, const struct user *u)
{
    struct oidc_client *client;
    json_key_array(w, "Providers");
    for (size_t i = 0; (client = oidc_client_at(c->api->options.oidc, i)); i++) {
        if (is_of(c->api, client, u)) {
            json_object(w);
            json_key_int(w, "Provider", (int64_t)i + 1);
            json_key_string(w, "Name", oidc_provider(client)->name);
            json_end_object(w);
        }
        oidc_client_unref(client);
    }
    json_end_array(w);
}

void identity_get(struct call *c)
{
    struct user *u = people_user(c->api->options.people, c->person.user_id);
    if (!u) {
        call_answer_problem(c, 401, "The session has ended; sign in again.");
        return;
    }
    struct json_writer *w = call_begin_object(c);
    json_key(w, "Identity");
    if (u->subject.p)
        print_identity(c, w, u);
    else
        json_null(w);
    print_providers(c, w, u);
    user_unref(u);
    call_end_object(c, 200);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void note_identity(struct people_job *job, const char *action, bool is_linked,
                          const struct user *u)
{
    struct audit_note *note = job_note(job, action, u->account_no);
    struct json_writer w;
    note->object_kind = "user";
    note->object_id = arena_str(&job->change.arena, u->id);
    json_write_to(&w, is_linked ? &note->after : &note->before);
    json_object(&w);
    json_key_string(&w, "Issuer", u->issuer);
    json_key_string(&w, "Subject", u->subject);
    json_end_object(&w);
}

void identity_unlink(struct people_job *job, struct user *next, struct str but_session_id)
{
    note_identity(job, "user.identity_unlinked", false, job->user);
    next->issuer = next->subject = STR_NONE;
    next->version++;
    job->change.user = user_pack(next);
    people_end_sessions(job->people, &job->change, next->id, but_session_id);
}

static bool refuse_of_provider(struct linking *l)
{
    struct people_job *job = l->job;
    provider_say_refused(job, &l->ask);
    if (!l->ask.is_down)
        return job_refuse(job, 409,
                          "The provider did not say who you are, or its answer is not valid. "
                          "Start again; the server's log says why.");
    job->retry_after_s = (l->ask.retry_ms + 999) / 1000;
    return job_refuse(job, 503, "The provider does not answer. Try again later.");
}

static struct linking *new_linking(struct people_job *job)
{
    struct linking *l = call_alloc(job->c, sizeof *l);
    l->job = job;
    l->ask.arena = &job->c->r->arena;
    l->ask.reply_to = call_executor(job->c);
    l->ask.redirect_uri = provider_return_url(job->c);
    job->c->work = l;
    return l;
}

/* The job releases the client. */
static void ask(struct linking *l, struct oidc_client *client, void (*done)(struct task *task))
{
    l->job->client = l->ask.client = client;
    l->ask.done = (struct task){.run = done, .owner = call_owner(l->job->c)};
    if (oidc_ask(&l->ask))
        return;
    l->job->retry_after_s = 1;
    job_refuse(l->job, 503, "Too many are signing in at this provider. Try again in a second.");
    people_job_run(l->job);
}

/* --- to the provider -------------------------------------------------------------------------- */

static bool start_judge(struct people_job *job)
{
    if (!sign_in_refresh(job))
        return false;
    if (job->user->subject.p)
        return job_refuse(job, 409, LINKED);
    return sign_in_use_code(job);
}

static void start_render(struct people_job *job, struct json_writer *w)
{
    struct linking *l = job->c->work;
    char session[TOKEN_BYTES + 1];
    struct buf url = {0};
    csrf_token_of(job->c->person.token, session);
    struct str cookie = sign_in_flow_make(
        job->people, &job->c->r->arena, str_of(oidc_provider(l->ask.client)->key), str_of(session));
    if (!sign_in_flow_read(job->people, cookie, &l->flow))
        UNREACHABLE(); /* it was just made */
    provider_print_url(&url, &l->ask, &l->flow);
    buf_add_c(&url, "&max_age=0"); /* see signed_in_again */
    person_print_flow(&job->headers, job->c, cookie, SIGN_IN_FLOW_MS / 1000);
    json_object(w);
    json_key_string(w, "Url", buf_str(&url));
    json_end_object(w);
    buf_free(&url);
}

static void start_done(struct task *task)
{
    struct linking *l = CONTAINER_OF(task, struct linking, ask.done);
    struct people_job *job = l->job;
    if (!l->ask.good)
        refuse_of_provider(l);
    else if (tries_left(job, job->c->person.user_id))
        job->slow = sign_in_own_password;
    people_job_run(job);
}

/* The client with that number in the list; NULL: the job is refused. */
static struct oidc_client *find_client(struct people_job *job, int64_t place)
{
    struct api *api = job->c->api;
    struct user *u = people_user(job->people, job->c->person.user_id);
    struct oidc_client *client = oidc_client_at(api->options.oidc, (size_t)place - 1);
    bool is_linked = u && u->subject.p;
    if (client && (!u || is_linked || !is_of(api, client, u))) {
        oidc_client_unref(client);
        client = NULL;
    }
    user_unref(u);
    if (is_linked)
        job_refuse(job, 409, LINKED);
    else if (!client)
        job_refuse(job, 404,
                   "Your account has no such provider. GET /api/v1/session/identity lists those "
                   "that it has.");
    return client;
}

void identity_start(struct call *c)
{
    struct people_job *job = people_job_new(c, true);
    struct oidc_client *client = NULL;
    int64_t place = 0;
    if (!job)
        return;
    if (fields_check(&job->fields, start_rules, ARRAY_LEN(start_rules))) {
        fields_required(&job->fields, "Provider");
        fields_int(&job->fields, "Provider", 1, PROVIDERS_MOST, &place);
        sign_in_read_proof(job);
        client = c->problems.count == 0 ? find_client(job, place) : NULL;
    }
    job->judge = start_judge;
    job->render = start_render;
    if (client)
        ask(new_linking(job), client, start_done);
    else
        people_job_run(job);
}

/* --- and back --------------------------------------------------------------------------------- */

void identity_return(struct call *c, struct str code, const char *problem)
{
    struct str state = call_parameter(c, "state"), issuer = call_parameter(c, "iss");
    struct buf *headers = &c->headers;
    if (problem)
        person_print_flow(headers, c, STR_NONE, 0);
    buf_add_c(headers, "Location: /account");
    if (problem) {
        buf_printf(headers, "?problem=%s", problem);
    } else {
        buf_add_c(headers, "#state=");
        url_encode(headers, state);
        buf_add_c(headers, "&code=");
        url_encode(headers, code);
    }
    if (!problem && issuer.p) {
        buf_add_c(headers, "&iss=");
        url_encode(headers, issuer);
    }
    buf_add_c(headers, "\r\n");
    call_answer_empty(c, 303);
}

static bool link_judge(struct people_job *job)
{
    const struct linking *l = job->c->work;
    const struct id_claims *claims = &l->ask.claims;
    struct str issuer = oidc_provider(l->ask.client)->issuer;
    struct user next;
    if (!sign_in_refresh(job))
        return false;
    if (job->user->subject.p)
        return job_refuse(job, 409, LINKED);
    if (!is_of(job->c->api, l->ask.client, job->user))
        return job_refuse(job, 409, STALE);
    if (claims->role == ROLE_NONE)
        return job_refuse(job, 409,
                          "None of your groups at the provider has a role here: you could not sign "
                          "in by it. Ask who manages them for one that has.");
    struct user *other =
        people_user_by_subject(job->people, job->user->account_no, issuer, claims->subject);
    user_unref(other);
    if (other)
        return job_refuse(job, 409, "Another user of this account has this identity.");
    memcpy(&next, job->user, sizeof next);
    next.issuer = issuer;
    next.subject = claims->subject;
    sign_in_change_self(job, &next);
    note_identity(job, "user.identity_linked", true, job->change.user);
    return true;
}

static void link_render(struct people_job *job, struct json_writer *w)
{
    person_print_flow(&job->headers, job->c, STR_NONE, 0);
    sign_in_render_session(job, w);
}

/* Another person may be signed in at the provider, so the provider was asked for a new sign-in.
 * False: the job is refused. */
static bool signed_in_again(struct linking *l)
{
    int64_t now_ms = env_wall_ms(l->job->c->api->options.env);
    bool is_old;
    const char *why =
        id_token_judge_anew(&l->ask.claims, l->flow.until_ms - SIGN_IN_FLOW_MS, now_ms, &is_old);
    if (!why)
        return true;
    snprintf(l->ask.why, sizeof l->ask.why, "%s", why);
    if (!is_old) /* a new sign-in would not help */
        return refuse_of_provider(l);
    provider_say_refused(l->job, &l->ask);
    return job_refuse(l->job, 409,
                      "The provider did not have you sign in again, so it may have named somebody "
                      "else. Sign out there and start again; the server's log says more.");
}

static void link_done(struct task *task)
{
    struct linking *l = CONTAINER_OF(task, struct linking, ask.done);
    bool good = l->ask.good ? signed_in_again(l) : refuse_of_provider(l);
    if (!good && !l->ask.is_down)
        tries_failed_of_providers(l->job);
    people_job_run(l->job);
}

/* Reads this session's flow and finds its provider; NULL: the job is refused. */
static struct oidc_client *find_flow(struct linking *l, struct str state)
{
    struct people_job *job = l->job;
    char session[TOKEN_BYTES + 1];
    struct oidc_client *client = NULL;
    if (!tries_left_of_providers(job))
        return NULL;
    csrf_token_of(job->c->person.token, session);
    if (provider_flow_read(job->c, state, &l->flow) && str_is(l->flow.begun_by, session))
        client = oidc_client_of(job->c->api->options.oidc, l->flow.way);
    if (!client)
        job_refuse(job, 409, STALE);
    return client;
}

void identity_post(struct call *c)
{
    struct people_job *job = people_job_new(c, true);
    struct oidc_client *client = NULL;
    struct str state = STR_NONE;
    if (!job)
        return;
    struct linking *l = new_linking(job);
    if (fields_check(&job->fields, link_rules, ARRAY_LEN(link_rules))) {
        sign_in_text(job, "AuthorizationCode", 1, PROVIDER_CODE_BYTES_MOST, &l->ask.code);
        sign_in_text(job, "State", 1, STATE_BYTES_MOST, &state);
        fields_text(&job->fields, "Issuer", 1, PROVIDER_CODE_BYTES_MOST, &l->ask.issuer);
        client = c->problems.count == 0 ? find_flow(l, state) : NULL;
    }
    job->judge = link_judge;
    job->render = link_render;
    if (!client) {
        people_job_run(job);
        return;
    }
    provider_set_flow(&l->ask, &l->flow);
    ask(l, client, link_done);
}

/* --- unlinked --------------------------------------------------------------------------------- */

/* Unlinking must not remove the only way to sign in: it asks for the password, so there is one, and
 * that must be allowed for signing in. */
static bool may_unlink(struct people_job *job)
{
    const struct user *u = job->user;
    if (!u->subject.p)
        return job_refuse(job, 409, "You are not linked to an identity provider.");
    if (!u->password.p)
        return job_refuse(job, 409,
                          "You have no password, so the provider is your only way in. Ask somebody "
                          "who manages people for a link to choose one.");
    if (!sign_in_by_password(job->c->api, u->account_no))
        return job_refuse(job, 409,
                          "Passwords are off for this account, so the provider is your only way "
                          "in.");
    return true;
}

static bool remove_judge(struct people_job *job)
{
    struct user next;
    if (!sign_in_refresh(job) || !may_unlink(job))
        return false;
    memcpy(&next, job->user, sizeof next);
    if (!sign_in_second_factor(job, &next))
        return false;
    identity_unlink(job, &next, job->session->id);
    sign_in_rotate_session(job);
    return true;
}

void identity_remove(struct call *c)
{
    struct people_job *job = people_job_new(c, true);
    if (!job)
        return;
    sign_in_read_proof_alone(job, false);
    job->user = people_user(job->people, c->person.user_id);
    if (c->problems.count == 0 && job->user && may_unlink(job) &&
        tries_left(job, c->person.user_id))
        job->slow = sign_in_own_password;
    user_unref(job->user);
    job->user = NULL;
    job->judge = remove_judge;
    job->render = sign_in_render_session;
    people_job_run(job);
}
