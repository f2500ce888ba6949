/* Signs in with an identity provider: the browser is sent to the provider and returns with a code.
 * The browser shows both answers as pages, so each is a redirect: to the provider, or to the
 * dashboard, with a word for the reason if the sign-in failed (docs/people-api.md). */
#include "api/provider_sign_in.h"

#include "accounts/directory.h"
#include "api/caller.h"
#include "api/internal.h"
#include "api/route.h"
#include "api/sign_in.h"
#include "base/log.h"
#include "domain/url_macros.h"

#include <sodium.h>
#include <stdio.h>

#define RETURN_PATH "/api/v1/sign-in/callback"

struct provider_sign_in {
    struct call *c;
    struct people_job *job;
    struct oidc_ask ask;
    struct sign_in_flow flow;
    struct str cookie;
    uint32_t account_no;
};

bool sign_in_by_password(struct api *api, uint32_t account_no)
{
    return oidc_passwords(api->options.oidc, api->options.directory, account_no);
}

/* --- which there are -------------------------------------------------------------------------- */

void sign_in_ways(struct call *c)
{
    struct oidc *oidc = c->api->options.oidc;
    struct oidc_client *client;
    struct buf path = {0};
    struct json_writer *w = call_begin_object(c);
    json_key_array(w, "Providers");
    for (size_t i = 0; (client = oidc_client_at(oidc, i)); i++) {
        buf_clear(&path);
        buf_printf(&path, "/api/v1/sign-in/%zu", i + 1);
        json_object(w);
        json_key_string(w, "Name", oidc_provider(client)->name);
        json_key_string(w, "Path", buf_str(&path));
        json_end_object(w);
        oidc_client_unref(client);
    }
    json_end_array(w);
    json_key_bool(w, "Passwords", oidc_any_passwords(oidc));
    buf_free(&path);
    call_end_object(c, 200);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void add_parameter(struct buf *url, const char *name, struct str value)
{
    buf_printf(url, "&%s=", name);
    url_encode(url, value);
}

struct str provider_return_url(struct call *c)
{
    struct buf url = {0};
    person_print_base_url(&url, c);
    buf_add_c(&url, RETURN_PATH);
    return arena_take(&c->r->arena, &url);
}

void provider_say_refused(struct people_job *job, const struct oidc_ask *ask)
{
    log_warning("sign_in_refused", LOG_STR("from", job->address),
                LOG_STR("provider", oidc_provider(ask->client)->name), LOG_C("reason", ask->why));
}

static struct provider_sign_in *new_sign_in(struct call *c)
{
    struct provider_sign_in *s = call_alloc(c, sizeof *s);
    s->c = c;
    s->job = people_job_new(c, false);
    s->ask.arena = &c->r->arena;
    s->ask.reply_to = call_executor(c);
    s->ask.redirect_uri = provider_return_url(c);
    return s;
}

static void ask(struct provider_sign_in *s, void (*done)(struct task *task))
{
    s->ask.done = (struct task){.run = done, .owner = call_owner(s->c)};
    if (oidc_ask(&s->ask))
        return;
    oidc_client_unref(s->ask.client);
    people_job_return(s->c, "busy");
}

/* --- to the provider -------------------------------------------------------------------------- */

void provider_print_url(struct buf *to, const struct oidc_ask *ask, const struct sign_in_flow *flow)
{
    const struct provider *p = oidc_provider(ask->client);
    struct str endpoint = ask->endpoint;
    char challenge[TOKEN_BYTES + 1];
    sign_in_flow_challenge(flow, challenge);
    buf_printf(to, "%.*s%cresponse_type=code", STR_ARG(endpoint),
               memchr(endpoint.p, '?', endpoint.n) ? '&' : '?');
    add_parameter(to, "client_id", p->client_id);
    add_parameter(to, "redirect_uri", ask->redirect_uri);
    add_parameter(to, "scope", p->scopes);
    add_parameter(to, "state", str_of(flow->state));
    add_parameter(to, "nonce", str_of(flow->nonce));
    add_parameter(to, "code_challenge", str_of(challenge));
    add_parameter(to, "code_challenge_method", STR("S256"));
}

static void begin_done(struct task *task)
{
    struct provider_sign_in *s = CONTAINER_OF(task, struct provider_sign_in, ask.done);
    struct buf *headers = &s->c->headers;
    if (!s->ask.good) {
        provider_say_refused(s->job, &s->ask);
        oidc_client_unref(s->ask.client);
        people_job_return(s->c, "provider");
        return;
    }
    person_print_flow(headers, s->c, s->cookie, SIGN_IN_FLOW_MS / 1000);
    buf_add_c(headers, "Location: ");
    provider_print_url(headers, &s->ask, &s->flow);
    buf_add_c(headers, "\r\n");
    oidc_client_unref(s->ask.client);
    call_answer_empty(s->c, 303);
}

/* By the number in the list of providers. */
static struct oidc_client *client_of_path(struct call *c)
{
    uint64_t n;
    if (c->ids[0].n > 3 || !str_parse_uint(c->ids[0], SIZE_MAX, &n) || n == 0)
        return NULL;
    return oidc_client_at(c->api->options.oidc, (size_t)n - 1);
}

void sign_in_begin(struct call *c)
{
    struct people *people = c->api->options.people;
    struct provider_sign_in *s = new_sign_in(c);
    if (!tries_left_of_providers(s->job)) {
        people_job_return(c, "busy");
        return;
    }
    s->ask.client = person_same_origin(c) ? client_of_path(c) : NULL;
    if (!s->ask.client) {
        people_job_return(c, "again");
        return;
    }
    s->cookie = sign_in_flow_make(people, &c->r->arena, str_of(oidc_provider(s->ask.client)->key),
                                  STR_NONE);
    if (!sign_in_flow_read(people, s->cookie, &s->flow))
        UNREACHABLE(); /* it was made just now */
    ask(s, begin_done);
}

/* --- and back --------------------------------------------------------------------------------- */

static bool refuse(struct people_job *job, const char *problem, uint32_t account_no)
{
    job->problem = problem;
    tries_failed_of_providers(job);
    job_note_session(job, "session.refused", account_no, STR_NONE,
                     job->user ? job->user->id : STR_NONE);
    return true; /* keeps the audit note and the ended sessions */
}

static void fill_in(struct provider_sign_in *s, struct user *next)
{
    struct people_job *job = s->job;
    const struct provider *p = oidc_provider(s->ask.client);
    int64_t now_ms = env_wall_ms(s->c->api->options.env);
    const struct id_claims *claims = &s->ask.claims;
    if (job->user) {
        memcpy(next, job->user, sizeof *next);
    } else {
        *next = (struct user){
            .user_no = people_next_no(job->people),
            .account_no = s->account_no,
            .enabled = true,
            .created_ms = now_ms,
            .links_from_ms = now_ms + 1,
            .id = people_new_id(job->people, &job->change.arena, "u_"),
            .email = claims->email,
            .name = claims->email,
        };
    }
    if (next->role && next->role != claims->role)
        user_end_links(next, now_ms);
    next->role = claims->role;
    next->issuer = p->issuer;
    next->subject = claims->subject;
    next->last_sign_in_ms = now_ms;
    if (claims->name.p)
        next->name = claims->name;
}

static bool sign_in(struct provider_sign_in *s)
{
    struct people_job *job = s->job;
    struct call *c = s->c;
    struct user next;
    fill_in(s, &next);
    const struct user *was = job->user;
    bool changed = !was || was->role != next.role || !str_eq(was->name, next.name) ||
                   !str_eq(was->subject, next.subject);
    next.version += changed;
    job->change.user = user_pack(&next);
    call_keep_text(c, &c->person.user_id, next.id);
    call_keep_text(c, &c->person.email, next.email);
    if (was && was->role != next.role)
        people_end_sessions(job->people, &job->change, next.id, STR_NONE);
    people_begin_session(job->people, &job->change, &next, job->address, job->agent, job->token);
    if (changed)
        job_note_user(job, was ? "user.changed" : "user.created", was, job->change.user);
    job_note_session(job, "session.begun", next.account_no, job->change.session->id, next.id);
    return true;
}

/* Finds the person's user, or makes one at the first sign-in. If a user has the same address, that
 * user must link the identity (api/identity.c): an address alone gives no access. */
static const char *find_user(struct provider_sign_in *s)
{
    struct people_job *job = s->job;
    const struct id_claims *claims = &s->ask.claims;
    struct str issuer = oidc_provider(s->ask.client)->issuer;
    user_unref(job->user);
    job->user = people_user_by_subject(job->people, s->account_no, issuer, claims->subject);
    if (job->user || claims->role == ROLE_NONE)
        return NULL;
    if (!claims->email.p)
        return "email";
    job->user = people_user_by_email(job->people, s->account_no, claims->email);
    return job->user ? "address" : NULL;
}

static bool judge(struct people_job *job)
{
    struct provider_sign_in *s = job->c->work;
    job->problem = "";
    const char *problem = find_user(s);
    bool known = job->user && !problem;
    bool is_open = caller_account_enabled(s->c->api, s->account_no);
    if (problem)
        return refuse(job, problem, s->account_no);
    if (known && is_open && !job->user->enabled)
        return refuse(job, "disabled", s->account_no);
    if (s->ask.claims.role == ROLE_NONE && known)
        people_end_sessions(job->people, &job->change, job->user->id, STR_NONE);
    if (s->ask.claims.role == ROLE_NONE)
        return refuse(job, "no-role", s->account_no);
    if (!is_open) /* its owners are not let in either */
        return refuse(job, "account-disabled", s->account_no);
    return sign_in(s);
}

bool provider_find_account(struct api *api, const struct oidc_client *client,
                           uint32_t *ret_account_no)
{
    struct str id = oidc_provider(client)->partner_id;
    struct partner *p = id.p ? directory_partner(api->options.directory, id) : NULL;
    if (p || !id.p)
        *ret_account_no = p ? p->account_no : 0;
    partner_unref(p);
    return p || !id.p;
}

static void end_done(struct task *task)
{
    struct provider_sign_in *s = CONTAINER_OF(task, struct provider_sign_in, ask.done);
    struct people_job *job = s->job;
    bool good = s->ask.good;
    if (good && !provider_find_account(s->c->api, s->ask.client, &s->account_no)) {
        snprintf(s->ask.why, sizeof s->ask.why, "there is no partner of its PartnerId");
        good = false;
    }
    if (!good) {
        provider_say_refused(job, &s->ask);
        if (!s->ask.is_down)
            tries_failed_of_providers(job);
        oidc_client_unref(s->ask.client);
        people_job_return(s->c, "provider");
        return;
    }
    s->c->work = s;
    job->judge = judge;
    job->status = 303;
    job->client = s->ask.client; /* the job releases it */
    job->provider = oidc_provider(s->ask.client)->name;
    people_job_run(job);
}

bool provider_flow_read(struct call *c, struct str state, struct sign_in_flow *ret)
{
    return sign_in_flow_read(c->api->options.people, person_flow(c), ret) &&
           state.n == TOKEN_BYTES && sodium_memcmp(state.p, ret->state, TOKEN_BYTES) == 0;
}

void provider_set_flow(struct oidc_ask *ask, const struct sign_in_flow *flow)
{
    ask->verifier = str_of(flow->verifier);
    ask->nonce = str_of(flow->nonce);
}

void sign_in_end(struct call *c)
{
    struct provider_sign_in *s = new_sign_in(c);
    struct str code = call_parameter(c, "code");
    const char *problem = NULL;
    if (!tries_left_of_providers(s->job))
        problem = "busy";
    else if (!provider_flow_read(c, call_parameter(c, "state"), &s->flow))
        problem = "again";
    else if (call_parameter(c, "error").p || !code.p || code.n > PROVIDER_CODE_BYTES_MOST)
        problem = "refused";
    if (s->flow.begun_by.n) { /* it is not a sign-in */
        identity_return(c, code, problem);
        return;
    }
    if (!problem)
        s->ask.client = oidc_client_of(c->api->options.oidc, s->flow.way);
    if (!s->ask.client) {
        people_job_return(c, problem ? problem : "again");
        return;
    }
    s->ask.code = code;
    s->ask.issuer = call_parameter(c, "iss");
    provider_set_flow(&s->ask, &s->flow);
    ask(s, end_done);
}
