/* The directory of the simulated world, in place of the accounts folder's: apps made from the
 * scenario's choices, swapped in whole as the real one does, durable some time after they were
 * asked for. */
#include "sim.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

struct app *directory_app_by_no(struct directory *directory, uint32_t app_no)
{
    (void)directory;
    if (app_no < 1 || app_no > sim_now->app_count)
        return NULL;
    struct app *app = sim_now->apps[app_no - 1];
    atomic_fetch_add(&app->refs, 1);
    return app;
}

void app_unref(struct app *app)
{
    if (atomic_fetch_sub(&app->refs, 1) > 1)
        return;
    for (int k = LANE_SUCCESS; k < LANE_KINDS; k++) {
        free((char *)(uintptr_t)app->url[k].p);
        free((char *)(uintptr_t)app->parsed[k].host.p);
    }
    free(app);
}

int url_host(const struct url *url)
{
    int host = 0;
    for (size_t i = 1; i < url->host.n; i++)
        host = host * 10 + (url->host.p[i] - '0');
    return host;
}

static void set_url(struct app *app, enum lane_kind kind, int host)
{
    if (host < 0)
        return;
    char text[96];
    snprintf(text, sizeof(text), "http://h%d/app%u/%d", host, app->app_no, (int)kind);
    app->url[kind] = str_of(xstrdup(text));
    char name[32];
    snprintf(name, sizeof(name), "h%d", host);
    size_t before = strlen("http://") + strlen(name);
    app->parsed[kind] = (struct url){
        .host = str_of(xstrdup(name)),
        .port = 80,
        .target = {app->url[kind].p + before, app->url[kind].n - before},
    };
}

static struct app *make(const struct sim *sim, uint32_t app_no, uint64_t version)
{
    const struct app_choice *c = &sim->choices[app_no - 1];
    struct app *app = xcalloc(1, sizeof(*app));
    app->magic = APP_MAGIC;
    atomic_init(&app->refs, 1);
    app->app_no = app_no;
    app->version = version;
    app->enabled = c->enabled;
    app->enabled_since_ms = c->enabled_since_ms;
    app->id = STR("app");
    app->secrets.newest = STR("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3");
    app->timeout_ms = c->timeout_ms;
    app->max_concurrency = c->max_concurrency;
    app->rate_per_second = c->rate_per_second;
    app->terms = (struct app_terms){
        .account_no = sim_account_of(app_no),
        .app_no = app_no,
        .currency_micros = 1000000,
        .reward_decimals = 2,
    };
    for (enum lane_kind k = LANE_SUCCESS; k < LANE_KINDS; k++) {
        set_url(app, k, c->host[k]);
        app->terms.has_url[k] = c->host[k] >= 0;
        app->terms.lane_disabled[k] = c->disabled[k];
        app->lane_enabled_ms[k] = c->lane_enabled_ms[k];
    }
    return app;
}

static int host_of(const struct app *app, enum lane_kind kind)
{
    return app->url[kind].p ? url_host(&app->parsed[kind]) : -1;
}

/* Loops ask for a URL when they run: one that is back by then has not changed for them. */
static void move_lane(const struct sim *sim, struct lane_witness *l, int from_host, int to_host)
{
    if (l->moved_round != sim->rounds) {
        l->moved_round = sim->rounds;
        l->moved_from_host = from_host;
        l->moved_before_ms = l->moved_ms;
    }
    l->moved_ms = to_host == l->moved_from_host ? l->moved_before_ms : sim->mono_ms;
}

void apps_publish(struct sim *sim, uint32_t app_no)
{
    struct app *old = sim->apps[app_no - 1];
    sim->choices[app_no - 1].changed_ms = sim->mono_ms;
    struct app *app = make(sim, app_no, old ? old->version + 1 : 1);
    for (enum lane_kind k = LANE_SUCCESS; old && k < LANE_KINDS; k++)
        if (!str_eq(old->url[k], app->url[k]))
            move_lane(sim, &sim->lanes[lane_of(app_no, k)], host_of(old, k), host_of(app, k));
    sim->apps[app_no - 1] = app;
    if (old)
        app_unref(old);
    if (sim->delivery)
        delivery_app_changed(sim->delivery, app_no);
}

struct disabling {
    struct moment moment;
    struct link link;
    struct sim *sim;
    uint32_t app_no;
    enum lane_kind kind;
    int host; /* of the URL that answered */
};

/* As the daemon does: marked only if the URL is still the one that answered. */
static void disabled(struct moment *m)
{
    struct disabling *d = CONTAINER_OF(m, struct disabling, moment);
    struct sim *sim = d->sim;
    struct app_choice *c = &sim->choices[d->app_no - 1];
    list_remove(&sim->changes, &d->link);
    sim->lanes[lane_of(d->app_no, d->kind)].gone = false; /* the directory says it from now on */
    c->changed_ms = sim->mono_ms;
    if (c->host[d->kind] == d->host) {
        sim_trace(sim, "app %u lane %d is disabled by a 410", d->app_no, (int)d->kind);
        c->disabled[d->kind] = true;
        apps_publish(sim, d->app_no);
    }
    delivery_gone_settled(sim->delivery, d->app_no, d->kind);
    free(d);
}

void apps_enable_lane(struct sim *sim, uint32_t app_no, enum lane_kind kind)
{
    struct app_choice *c = &sim->choices[app_no - 1];
    if (c->disabled[kind])
        c->lane_enabled_ms[kind] = sim_wall(sim);
    c->disabled[kind] = false;
}

void apps_disable_lane(void *context, uint32_t app_no, enum lane_kind kind, struct str url)
{
    struct sim *sim = context;
    if (sim->dropping)
        return;
    checks_disabling(sim, lane_of(app_no, kind));
    const struct app *app = sim->apps[app_no - 1];
    struct disabling *d = xcalloc(1, sizeof(*d));
    *d = (struct disabling){.sim = sim, .app_no = app_no, .kind = kind, .host = -1};
    if (str_eq(app->url[kind], url))
        d->host = url_host(&app->parsed[kind]);
    d->moment.happen = disabled;
    list_push(&sim->changes, &d->link);
    timeline_add(&sim->timeline, &d->moment, sim->mono_ms + sim_below(sim, 500),
                 rng_next(&sim->rng));
}

void apps_open(struct sim *sim)
{
    sim->apps = xcalloc(sim->app_count, sizeof(struct app *));
    for (uint32_t app_no = 1; app_no <= sim->app_count; app_no++)
        apps_publish(sim, app_no);
}

void apps_close(struct sim *sim)
{
    struct link *link;
    while ((link = list_pop(&sim->changes)) != NULL) {
        struct disabling *d = CONTAINER_OF(link, struct disabling, link);
        timeline_remove(&sim->timeline, &d->moment);
        free(d);
    }
    for (uint32_t i = 0; i < sim->app_count; i++)
        app_unref(sim->apps[i]);
    free(sim->apps);
}
