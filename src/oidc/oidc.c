/* The questions: discovery (OpenID Connect Discovery 1.0), the token endpoint, and the keys, which
 * are fetched again when they are old or a token names one that is new.
 *
 * Anybody can make the daemon ask, without a key. So a provider that is down is asked once, and
 * then not before a pause is over: meanwhile everybody is answered at once, by what went wrong. A
 * stranger's code cannot begin a pause: an endpoint that refuses it has answered. */
#include "oidc/oidc.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/worker.h"
#include "oidc/token_signature.h"
#include "json/reader.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WAITING_MOST 16
#define FRESH_MS HOUR_MS      /* how long a provider's document and keys are used */
#define AGAIN_MS MINUTE_MS    /* between two requests for an unknown key */
#define DOWN_TOLD_MS FRESH_MS /* how long a failure is reported, unless a success ends it */

/* All providers from one reading of the file. */
struct generation {
    atomic_uint refs;
    struct providers providers;
    char *ca_file; /* NULL: the system's */
    struct destination_rules rules;
    struct oidc_client *clients;
};

struct oidc_client {
    struct oidc *oidc;
    struct generation *generation;
    const struct provider *provider;
    struct worker *worker;
    atomic_int waiting;
    /* The state of the provider; only its thread uses it. */
    struct buf document, keys; /* as fetched; empty: not yet */
    int64_t document_ms, keys_ms, searched_ms;
    int64_t pause_ms, paused_until_ms; /* 0: it answered last time */
    char why_paused[FETCH_WHY_BYTES];
    atomic_llong failed_ms; /* monotonic; 0: it answered last time. Any thread reads it */
};

struct oidc {
    struct oidc_options options;
    pthread_mutex_t lock; /* of the pointer below */
    struct generation *generation;
    atomic_bool stopping;
};

/* --- one step to the provider -------------------------------------------------------------------
 */

static bool fail(struct oidc_ask *ask, const char *why)
{
    snprintf(ask->why, sizeof ask->why, "%s", why);
    return false;
}

static struct str host_of(struct oidc_ask *ask, struct str url)
{
    struct url parts;
    const char *why;
    return url_parse(ask->arena, url, &parts, &why) ? parts.host : STR_NONE;
}

/* The operator has named the issuer's host. URLs that the issuer names must not lead to machines
 * that are not public, nor away from TLS. */
static bool fetch(struct oidc_ask *ask, struct str url, struct fetch f, struct buf *ret)
{
    struct oidc_client *c = ask->client;
    const struct generation *g = c->generation;
    struct str issuer = c->provider->issuer;
    bool same = str_eq(host_of(ask, url), host_of(ask, issuer));
    struct buf text = {0};
    buf_add_str(&text, url);
    f.url = buf_c(&text);
    f.ca_file = g->ca_file;
    f.proxy = c->oidc->options.proxy;
    f.rules = same ? NULL : &g->rules;
    f.stopping = &c->oidc->stopping;
    buf_clear(ret);
    enum fetch_verdict verdict = fetch_run(&f, ret, ask->why);
    ask->is_down |= verdict == FETCH_UNREACHABLE;
    ask->was_answered |= verdict != FETCH_UNREACHABLE;
    buf_free(&text);
    return verdict == FETCH_GOOD;
}

/* An endpoint of the document, and the document's own issuer: of whoever claims to be another one
 * nothing is taken. */
static bool find_endpoint(struct oidc_ask *ask, const struct json *document, const char *name,
                          struct str *ret)
{
    struct url url;
    const char *why;
    struct str issuer = ask->client->provider->issuer;
    *ret = json_member_text(document, name);
    bool good = ret->p && url_parse(ask->arena, *ret, &url, &why) && !url.userinfo.p &&
                (url.https || str_has_prefix(issuer, "http://"));
    if (!good)
        snprintf(ask->why, sizeof ask->why, "the provider's discovery document lacks a good %s",
                 name);
    return good;
}

static bool parse_document(struct oidc_ask *ask, struct json **ret)
{
    struct str why = STR_NONE;
    if (!json_parse(ask->arena, arena_str(ask->arena, buf_str(&ask->client->document)), ret, &why))
        return fail(ask, "the provider's discovery document is no JSON");
    if (!str_eq(json_member_text(*ret, "issuer"), ask->client->provider->issuer))
        return fail(ask, "the provider's discovery document is of another issuer");
    return true;
}

static bool discover(struct oidc_ask *ask, struct json **ret)
{
    struct oidc_client *c = ask->client;
    int64_t now_ms = env_mono_ms(c->oidc->options.env);
    struct str issuer = str_trim_end(c->provider->issuer, '/');
    struct buf url = {0};
    if (c->document.n && now_ms < c->document_ms + FRESH_MS)
        return parse_document(ask, ret);
    buf_printf(&url, "%.*s/.well-known/openid-configuration", STR_ARG(issuer));
    bool good =
        fetch(ask, buf_str(&url), (struct fetch){0}, &c->document) && parse_document(ask, ret);
    buf_free(&url);
    c->document_ms = now_ms;
    ask->is_down |= !good;
    if (!good)
        buf_clear(&c->document);
    return good;
}

/* --- the code becomes a token ------------------------------------------------------------------
 */

static void add_field(struct buf *form, const char *name, struct str value)
{
    char *text = curl_easy_escape(NULL, value.p, (int)value.n);
    ASSERT(text);
    buf_printf(form, "%s%s=%s", form->n ? "&" : "", name, text);
    curl_free(text);
}

/* True if the secret must be sent in the form, instead of a header as usual (RFC 6749, 2.3.1). */
static bool wants_secret_in_form(const struct json *document)
{
    const struct json *ways = json_member(document, "token_endpoint_auth_methods_supported");
    bool form = false;
    for (const struct json *w = ways && ways->type == JSON_ARRAY ? ways->first : NULL; w;
         w = w->next) {
        if (str_is(w->text, "client_secret_basic"))
            return false;
        form |= str_is(w->text, "client_secret_post");
    }
    return form;
}

static bool exchange(struct oidc_ask *ask, const struct json *document, struct buf *ret)
{
    const struct provider *p = ask->client->provider;
    struct str endpoint;
    struct buf form = {0};
    if (!find_endpoint(ask, document, "token_endpoint", &endpoint))
        return false;
    add_field(&form, "grant_type", STR("authorization_code"));
    add_field(&form, "code", ask->code);
    add_field(&form, "redirect_uri", ask->redirect_uri);
    add_field(&form, "code_verifier", ask->verifier);
    bool in_form = !p->client_secret.p || wants_secret_in_form(document);
    if (in_form)
        add_field(&form, "client_id", p->client_id);
    if (in_form && p->client_secret.p)
        add_field(&form, "client_secret", p->client_secret);
    char *id = curl_easy_escape(NULL, p->client_id.p, (int)p->client_id.n);
    char *secret = curl_easy_escape(NULL, p->client_secret.p ? p->client_secret.p : "",
                                    (int)p->client_secret.n);
    struct fetch f = {.form = buf_c(&form)};
    if (!in_form) {
        f.user = id;
        f.password = secret;
    }
    bool good = fetch(ask, endpoint, f, ret);
    explicit_bzero(form.p, form.n);
    explicit_bzero(secret, strlen(secret));
    curl_free(id);
    curl_free(secret);
    buf_free(&form);
    return good;
}

/* --- the token says who it is ------------------------------------------------------------------
 */

static bool fetch_keys(struct oidc_ask *ask, const struct json *document)
{
    struct oidc_client *c = ask->client;
    struct str uri;
    struct buf keys = {0};
    struct json *set = NULL;
    struct str why;
    if (!find_endpoint(ask, document, "jwks_uri", &uri))
        return false;
    bool good = fetch(ask, uri, (struct fetch){0}, &keys);
    if (good && !(json_parse(ask->arena, arena_str(ask->arena, buf_str(&keys)), &set, &why) &&
                  json_member(set, "keys")))
        good = fail(ask, "the provider's jwks_uri answers no JWK Set");
    if (good) {
        buf_clear(&c->keys);
        buf_add_str(&c->keys, buf_str(&keys));
        c->keys_ms = env_mono_ms(c->oidc->options.env);
    }
    buf_free(&keys);
    return good;
}

/* For an unknown key the keys are fetched again at most once a minute, so that tokens with unknown
 * keys cannot cause a request each. */
static bool verify(struct oidc_ask *ask, const struct json *document, struct str token,
                   struct str *ret_claims)
{
    struct oidc_client *c = ask->client;
    int64_t now_ms = env_mono_ms(c->oidc->options.env);
    const char *why = NULL;
    bool old = !c->keys.n || now_ms >= c->keys_ms + FRESH_MS;
    if (old && !fetch_keys(ask, document))
        return false;
    enum signature_verdict verdict =
        signature_judge(ask->arena, token, buf_str(&c->keys), ret_claims, &why);
    if (verdict == SIGNATURE_UNKNOWN_KEY && !old &&
        (!c->searched_ms || now_ms >= c->searched_ms + AGAIN_MS)) {
        c->searched_ms = now_ms;
        if (!fetch_keys(ask, document))
            return false;
        verdict = signature_judge(ask->arena, token, buf_str(&c->keys), ret_claims, &why);
    }
    return verdict == SIGNATURE_GOOD || fail(ask, why);
}

static bool take_token(struct oidc_ask *ask, const struct json *document, struct str answer)
{
    struct oidc_client *c = ask->client;
    struct json *v = NULL;
    struct str why = STR_NONE, claims = STR_NONE;
    const char *reason = NULL;
    if (!json_parse(ask->arena, answer, &v, &why) || !json_member_text(v, "id_token").p)
        return fail(ask, "the provider's token endpoint gave no id_token");
    if (!verify(ask, document, json_member_text(v, "id_token"), &claims))
        return false;
    return id_token_judge(ask->arena, claims, c->provider, ask->nonce,
                          env_wall_ms(c->oidc->options.env), &ask->claims, &reason) ||
           fail(ask, reason);
}

/* Checks that the code came from this provider: a code must not be sent to another one (RFC
 * 9207). */
static bool came_from(struct oidc_ask *ask, const struct json *document)
{
    const struct json *always =
        json_member(document, "authorization_response_iss_parameter_supported");
    if (ask->issuer.p ? str_eq(ask->issuer, ask->client->provider->issuer)
                      : !always || always->type != JSON_TRUE)
        return true;
    return fail(ask, "the answer came from another issuer (iss)");
}

static bool converse(struct oidc_ask *ask)
{
    struct json *document = NULL;
    struct buf tokens = {0};
    if (!discover(ask, &document))
        return false;
    if (!ask->code.p)
        return find_endpoint(ask, document, "authorization_endpoint", &ask->endpoint);
    if (!came_from(ask, document))
        return false;
    bool good = exchange(ask, document, &tokens) &&
                take_token(ask, document, arena_str(ask->arena, buf_str(&tokens)));
    if (tokens.p)
        explicit_bzero(tokens.p, tokens.n);
    buf_free(&tokens);
    return good;
}

/* --- pauses --------------------------------------------------------------------------------------
 */

static bool is_paused(struct oidc_ask *ask)
{
    const struct oidc_client *c = ask->client;
    int64_t left_ms = c->paused_until_ms - env_mono_ms(c->oidc->options.env);
    if (!c->pause_ms || left_ms <= 0)
        return false;
    ask->is_down = true;
    ask->retry_ms = left_ms;
    snprintf(ask->why, sizeof ask->why, "not asked again for %lld s: %.180s",
             (long long)(left_ms + 999) / 1000, c->why_paused);
    return true;
}

static void judge_pause(struct oidc_ask *ask)
{
    struct oidc_client *c = ask->client;
    int64_t now_ms = env_mono_ms(c->oidc->options.env);
    if (ask->is_down) {
        int64_t next_ms = c->pause_ms ? c->pause_ms * 2 : OIDC_PAUSE_FIRST_MS;
        c->pause_ms = next_ms < OIDC_PAUSE_LONGEST_MS ? next_ms : OIDC_PAUSE_LONGEST_MS;
        c->paused_until_ms = now_ms + c->pause_ms;
        ask->retry_ms = c->pause_ms;
        memcpy(c->why_paused, ask->why, sizeof c->why_paused);
        atomic_store(&c->failed_ms, now_ms > 0 ? now_ms : 1);
    } else if (ask->was_answered) {
        c->pause_ms = 0;
        atomic_store(&c->failed_ms, 0);
    }
}

static bool answer(struct oidc_ask *ask)
{
    if (atomic_load(&ask->client->oidc->stopping))
        return fail(ask, "the server is stopping");
    if (is_paused(ask))
        return false;
    bool good = converse(ask);
    judge_pause(ask);
    return good;
}

static void run(struct task *task)
{
    struct oidc_ask *ask = CONTAINER_OF(task, struct oidc_ask, task);
    ask->good = answer(ask);
    atomic_fetch_sub(&ask->client->waiting, 1);
    executor_post(ask->reply_to, &ask->done);
}

bool oidc_ask(struct oidc_ask *ask)
{
    if (atomic_fetch_add(&ask->client->waiting, 1) >= WAITING_MOST) {
        atomic_fetch_sub(&ask->client->waiting, 1);
        return false;
    }
    ask->task = (struct task){.run = run};
    executor_post(worker_executor(ask->client->worker), &ask->task);
    return true;
}

/* --- which providers there are -----------------------------------------------------------------
 */

static struct generation *generation_new(struct oidc *o, struct providers *providers,
                                         const char *ca_file, const struct destination_rules *rules)
{
    struct generation *g = xcalloc(1, sizeof *g);
    atomic_init(&g->refs, 1);
    g->providers = *providers;
    *providers = (struct providers){0};
    g->ca_file = ca_file ? xstrdup(ca_file) : NULL;
    g->rules = destination_rules_copy(rules);
    g->clients = xcalloc(g->providers.count + 1, sizeof *g->clients);
    for (size_t i = 0; i < g->providers.count; i++) {
        struct oidc_client *c = &g->clients[i];
        c->oidc = o;
        c->generation = g;
        c->provider = &g->providers.list[i];
        c->worker = worker_start("sign-in");
    }
    return g;
}

static void generation_unref(struct generation *g)
{
    if (!g || atomic_fetch_sub(&g->refs, 1) > 1)
        return;
    for (size_t i = 0; i < g->providers.count; i++) {
        worker_stop(g->clients[i].worker);
        buf_free(&g->clients[i].document);
        buf_free(&g->clients[i].keys);
    }
    free(g->clients);
    free(g->ca_file);
    destination_rules_free(&g->rules);
    providers_free(&g->providers);
    free(g);
}

static struct generation *generation_ref(struct oidc *o)
{
    pthread_mutex_lock(&o->lock);
    struct generation *g = o->generation;
    atomic_fetch_add(&g->refs, 1);
    pthread_mutex_unlock(&o->lock);
    return g;
}

struct oidc *oidc_new(const struct oidc_options *options)
{
    struct oidc *o = xcalloc(1, sizeof *o);
    struct providers none = {.passwords = true};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    o->options = *options;
    pthread_mutex_init(&o->lock, NULL);
    o->generation = generation_new(o, &none, NULL, &(struct destination_rules){0});
    return o;
}

void oidc_set(struct oidc *o, struct providers *providers, const char *ca_file,
              const struct destination_rules *rules)
{
    struct generation *next = generation_new(o, providers, ca_file, rules);
    pthread_mutex_lock(&o->lock);
    struct generation *was = o->generation;
    o->generation = next;
    pthread_mutex_unlock(&o->lock);
    generation_unref(was);
}

void oidc_abort(struct oidc *o)
{
    atomic_store(&o->stopping, true);
}

void oidc_free(struct oidc *o)
{
    if (!o)
        return;
    oidc_abort(o);
    generation_unref(o->generation);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

struct oidc_client *oidc_client_at(struct oidc *o, size_t place)
{
    struct generation *g = generation_ref(o);
    if (place < g->providers.count)
        return &g->clients[place];
    generation_unref(g);
    return NULL;
}

struct oidc_client *oidc_client_of(struct oidc *o, struct str key)
{
    struct generation *g = generation_ref(o);
    for (size_t i = 0; i < g->providers.count; i++)
        if (str_is(key, g->providers.list[i].key))
            return &g->clients[i];
    generation_unref(g);
    return NULL;
}

void oidc_client_unref(struct oidc_client *c)
{
    if (c)
        generation_unref(c->generation);
}

const struct provider *oidc_provider(const struct oidc_client *c)
{
    return c->provider;
}

size_t oidc_count_down(struct oidc *o, struct arena *arena, struct str *ret_name)
{
    struct generation *g = generation_ref(o);
    int64_t now_ms = env_mono_ms(o->options.env);
    size_t count = 0;
    for (size_t i = 0; i < g->providers.count; i++) {
        int64_t failed_ms = atomic_load(&g->clients[i].failed_ms);
        if (!failed_ms || now_ms >= failed_ms + DOWN_TOLD_MS)
            continue;
        if (count++ == 0)
            *ret_name = arena_str(arena, g->providers.list[i].name);
    }
    generation_unref(g);
    return count;
}

bool oidc_any_passwords(struct oidc *o)
{
    struct generation *g = generation_ref(o);
    bool any = g->providers.passwords;
    generation_unref(g);
    return any;
}

bool oidc_passwords(struct oidc *o, struct directory *directory, uint32_t account_no)
{
    struct partner *partner = account_no ? directory_partner_by_no(directory, account_no) : NULL;
    struct str partner_id = partner ? partner->id : STR_NONE;
    struct generation *g = generation_ref(o);
    bool may = g->providers.passwords;
    for (size_t i = 0; i < g->providers.count; i++)
        if (str_eq(g->providers.list[i].partner_id, partner_id))
            may &= g->providers.list[i].passwords;
    generation_unref(g);
    partner_unref(partner);
    return may;
}
