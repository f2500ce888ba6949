/* The demo's partners and their receivers' behaviour: of the first partner's four apps one is down
 * for twenty seconds of every minute, and one answers only errors. */
#include "cli/demo.h"

#include "json/reader.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

static const struct demo_app app_models[DEMO_APPS] = {
    {.partner_id = "sunny-games",
     .partner_name = "Sunny Games",
     .app_id = "farm-friends",
     .name = "Farm Friends",
     .client_id = "farm-sdk",
     .integration = "sdk",
     .currency = "120",
     .visits_of_100 = 31,
     .mood = MOOD_GOOD},
    {.partner_id = "sunny-games",
     .partner_name = "Sunny Games",
     .app_id = "word-garden",
     .name = "Word Garden",
     .client_id = "garden-iframe",
     .integration = "iframe",
     .currency = "72.5",
     .visits_of_100 = 19,
     .mood = MOOD_GOOD},
    {.partner_id = "sunny-games",
     .partner_name = "Sunny Games",
     .app_id = "ice-runner",
     .name = "Ice Runner",
     .client_id = "runner-sdk",
     .integration = "sdk",
     .currency = "1000",
     .visits_of_100 = 14,
     .mood = MOOD_COMES_AND_GOES},
    {.partner_id = "sunny-games",
     .partner_name = "Sunny Games",
     .app_id = "quiz-night",
     .name = "Quiz Night",
     .client_id = "quiz-iframe",
     .integration = "iframe",
     .currency = "33.333333",
     .visits_of_100 = 8,
     .mood = MOOD_BROKEN},
    {.partner_id = "north-studio",
     .partner_name = "North Studio",
     .app_id = "star-miner",
     .name = "Star Miner",
     .client_id = "miner-sdk",
     .integration = "sdk",
     .currency = "250",
     .visits_of_100 = 17,
     .mood = MOOD_GOOD},
    {.partner_id = "opinion-labs",
     .partner_name = "Opinion Labs",
     .app_id = "panel-direct",
     .name = "Panel Direct",
     .client_id = "panel-api",
     .integration = "monetization_api",
     .currency = "100",
     .visits_of_100 = 11,
     .mood = MOOD_GOOD},
};

void demo_world_init(struct demo_world *w, struct env *env)
{
    unsigned char random[24];
    for (size_t i = 0; i < DEMO_APPS; i++) {
        const struct demo_app *m = &app_models[i];
        struct demo_app *a = &w->apps[i];
        a->partner_id = m->partner_id;
        a->partner_name = m->partner_name;
        a->app_id = m->app_id;
        a->name = m->name;
        a->client_id = m->client_id;
        a->integration = m->integration;
        a->currency = m->currency;
        a->visits_of_100 = m->visits_of_100;
        a->mood = m->mood;
    }
    env_random(env, random, sizeof random);
    sodium_bin2hex(w->operator_key, sizeof w->operator_key, random, sizeof random);
    w->started_ms = env_wall_ms(env);
}

static bool ask(struct client_session *c, const char *path, const struct buf *body,
                struct buf *answer)
{
    int status = client_request(c, "POST", path, "application/json", buf_str(body), answer);
    if (status == 201)
        return true;
    fprintf(stderr, "postbackd: demo: %s answered %d: %.*s\n", path, status,
            STR_ARG(buf_str(answer)));
    return false;
}

static bool take_text(struct str answer, const char *name, char *to, size_t room)
{
    struct arena arena = {0};
    struct json *object = NULL;
    struct str why;
    bool good = json_parse(&arena, answer, &object, &why);
    const struct json *m = good ? json_member(object, name) : NULL;
    good = m && m->text.n < room;
    if (good)
        snprintf(to, room, "%.*s", STR_ARG(m->text));
    arena_free(&arena);
    return good;
}

static bool make_partner(struct demo_world *w, size_t i, struct client_session *c,
                         struct buf *answer)
{
    struct demo_app *a = &w->apps[i];
    struct buf body = {0}, path = {0};
    if (i && strcmp(a->partner_id, w->apps[i - 1].partner_id) == 0)
        return true;
    buf_printf(&body, "{\"PartnerId\":\"%s\",\"Name\":\"%s\"}", a->partner_id, a->partner_name);
    bool good = ask(c, "/api/v1/partners", &body, answer);
    buf_clear(&body);
    buf_add_c(&body, "{\"Name\":\"demo\",\"Scopes\":[\"reports:read\",\"callbacks:read\","
                     "\"callbacks:write\",\"apps:read\",\"apps:write\"]}");
    buf_printf(&path, "/api/v1/partners/%s/keys", a->partner_id);
    if (good && i == 0)
        good = ask(c, buf_c(&path), &body, answer) &&
               take_text(buf_str(answer), "Key", w->partner_key, sizeof w->partner_key);
    buf_free(&body);
    buf_free(&path);
    return good;
}

static bool make_app(struct demo_world *w, struct demo_app *a, struct client_session *c,
                     struct buf *answer)
{
    struct buf body = {0}, path = {0};
    buf_printf(&path, "/api/v1/partners/%s/apps", a->partner_id);
    buf_printf(
        &body,
        "{\"AppId\":\"%s\",\"Name\":\"%s\",\"CurrencyValue\":%s,\"DisqualificationReward\":1,",
        a->app_id, a->name, a->currency);
    buf_printf(&body,
               "\"SuccessCallbackUrl\":\"%s/%s/success\",\"FailureCallbackUrl\":\"%s/%s/"
               "failure\",\"OfferCallbackUrl\":\"%s/%s/offer\"}",
               w->receiver_url, a->app_id, w->receiver_url, a->app_id, w->receiver_url, a->app_id);
    bool good = ask(c, buf_c(&path), &body, answer) &&
                take_text(buf_str(answer), "CallbackSecret", a->secret, sizeof a->secret);
    buf_clear(&path);
    buf_clear(&body);
    buf_printf(&path, "/api/v1/apps/%s/clients", a->app_id);
    buf_printf(&body, "{\"ClientId\":\"%s\",\"Name\":\"%s\",\"Integration\":\"%s\"}", a->client_id,
               a->client_id, a->integration);
    good = good && ask(c, buf_c(&path), &body, answer);
    buf_free(&path);
    buf_free(&body);
    return good;
}

bool demo_make_accounts(struct demo_world *w, struct client_session *c)
{
    struct buf answer = {0};
    bool good = true;
    for (size_t i = 0; good && i < DEMO_APPS; i++)
        good = make_partner(w, i, c, &answer) && make_app(w, &w->apps[i], c, &answer);
    buf_free(&answer);
    return good;
}

/* --- their receivers -------------------------------------------------------------------------- */

/* Paths are /<AppId>/<endpoint>. */
static struct demo_app *app_of(struct demo_world *w, struct str path)
{
    struct str rest = path;
    str_cut(&rest, '/');
    struct str id = str_cut(&rest, '/');
    for (size_t i = 0; i < DEMO_APPS; i++)
        if (str_is(id, w->apps[i].app_id))
            return &w->apps[i];
    return NULL;
}

struct str demo_secret_of(void *context, struct str path)
{
    struct demo_app *a = app_of(context, path);
    return a && *a->secret ? str_of(a->secret) : STR_NONE;
}

int demo_status_of(void *context, struct str path, int64_t *ret_delay_ms)
{
    struct demo_world *w = context;
    struct demo_app *a = app_of(w, path);
    int64_t second = (env_wall_ms(env_real()) - w->started_ms) / 1000 % 60;
    *ret_delay_ms = 0;
    if (!a)
        return 404;
    struct str rest = path;
    str_cut(&rest, '/');
    str_cut(&rest, '/');
    if (a->mood == MOOD_BROKEN)
        return str_is(rest, DEMO_FIXED_PATH) ? 200 : 500;
    return a->mood == MOOD_COMES_AND_GOES && second >= 20 && second < 40 ? 503 : 200;
}

void demo_received(void *context, const struct received *r)
{
    struct demo_app *a = app_of(context, r->path);
    if (!a)
        return;
    if (r->status >= 300)
        a->refused++;
    else
        a->received++;
    if (r->duplicate)
        a->duplicates++;
    if (r->sig_good && r->webhook_good)
        a->verified++;
    else
        a->wrong++;
}
