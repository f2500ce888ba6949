/* Checks our own certificates: see certificate_watch.h. */
#include "services/certificate_watch.h"

#include "accounts/accounts.h"
#include "base/alloc.h"
#include "base/log.h"
#include "domain/clock.h"
#include "store/idmap.h"

#include <stdatomic.h>
#include <stdlib.h>

#define CERTIFICATE_WATCH_MAGIC 0xCE47A7C4u
#define EVERY_MS 30000
#define EVERYBODY_MS HOUR_MS

struct certificate_watch {
    uint32_t magic;
    struct env *env;
    struct directory *directory;
    int64_t due_mono_ms;
    int32_t said_day; /* when it was last logged; 0: not yet */
    struct certificate_callbacks callbacks;
    struct idmap soon;         /* apps reported as expiring soon at the last check */
    int64_t everybody_mono_ms; /* when the others are next reported */
    int64_t seen_ms;           /* the listener's expiry at the last check */
    _Atomic int64_t listener_expires_ms, clients_expires_ms, clients_expiring;
};

struct certificate_watch *certificate_watch_new(struct env *env, struct directory *directory)
{
    struct certificate_watch *w = xcalloc(1, sizeof *w);
    w->magic = CERTIFICATE_WATCH_MAGIC;
    w->env = env;
    w->directory = directory;
    return w;
}

void certificate_watch_free(struct certificate_watch *w)
{
    CHECK_MAGIC(w, CERTIFICATE_WATCH_MAGIC);
    idmap_free(&w->soon);
    free(w);
}

void certificate_watch_set_listener(struct certificate_watch *w, int64_t expires_ms)
{
    CHECK_MAGIC(w, CERTIFICATE_WATCH_MAGIC);
    atomic_store(&w->listener_expires_ms, expires_ms);
}

void certificate_watch_set_callbacks(struct certificate_watch *w,
                                     const struct certificate_callbacks *callbacks)
{
    CHECK_MAGIC(w, CERTIFICATE_WATCH_MAGIC);
    w->callbacks = *callbacks;
}

static void say(const char *what, struct str app, int64_t expires_ms, int64_t now_ms)
{
    struct buf text = {0};
    certificate_print_expiry(&text, expires_ms, now_ms);
    log_warning("certificate_expires", LOG_C("certificate", what), LOG_STR("app", app),
                LOG_STR("detail", buf_str(&text)));
    buf_free(&text);
}

struct tour {
    int64_t now_ms, first_ms, soon;
    bool aloud, everybody;
    struct idmap reported_soon;
};

static void tell_app(const struct certificate_watch *w, const struct app *app, bool soon,
                     struct tour *tour)
{
    int64_t expires_ms = app->certificate.pem.p ? app->certificate.not_after_ms : 0;
    bool is_new;
    if (!soon && !tour->everybody && !idmap_find(&w->soon, app->app_no))
        return;
    if (w->callbacks.on_client(w->callbacks.context, app, expires_ms, soon) && soon)
        (void)idmap_put(&tour->reported_soon, app->app_no, &is_new);
}

static void look_at_apps(const struct certificate_watch *w, uint32_t account_no, struct tour *tour)
{
    struct app *app;
    uint32_t before = 0;
    while (directory_list_apps(w->directory, account_no, before, &app, 1)) {
        const struct client_certificate *c = &app->certificate;
        before = app->app_no;
        if (c->pem.p && (tour->first_ms == 0 || c->not_after_ms < tour->first_ms))
            tour->first_ms = c->not_after_ms;
        bool soon = c->pem.p && certificate_expires_soon(c->not_after_ms, tour->now_ms);
        tell_app(w, app, soon, tour);
        if (soon) {
            tour->soon++;
            if (tour->aloud)
                say("client", app->id, c->not_after_ms, tour->now_ms);
        }
        app_unref(app);
    }
}

static void look_at_listener(struct certificate_watch *w, const struct tour *tour)
{
    int64_t expires_ms = w->seen_ms;
    bool soon = certificate_expires_soon(expires_ms, tour->now_ms);
    if (soon && tour->aloud)
        say("listener", STR_NONE, expires_ms, tour->now_ms);
    if (expires_ms)
        w->callbacks.on_listener(w->callbacks.context, expires_ms, soon);
}

void certificate_watch_step(struct certificate_watch *w)
{
    CHECK_MAGIC(w, CERTIFICATE_WATCH_MAGIC);
    int64_t now_mono_ms = env_mono_ms(w->env);
    int64_t listener_ms = atomic_load(&w->listener_expires_ms);
    if (now_mono_ms < w->due_mono_ms && listener_ms == w->seen_ms)
        return;
    w->seen_ms = listener_ms;
    w->due_mono_ms = now_mono_ms + EVERY_MS;
    struct tour tour = {.now_ms = env_wall_ms(w->env)};
    int32_t today = clock_day(tour.now_ms);
    tour.aloud = today != w->said_day;
    w->said_day = today;
    tour.everybody = now_mono_ms >= w->everybody_mono_ms;
    if (tour.everybody)
        w->everybody_mono_ms = now_mono_ms + EVERYBODY_MS;
    struct partner *partner;
    uint32_t before = 0;
    while (directory_list_partners(w->directory, before, &partner, 1)) {
        before = partner->account_no;
        look_at_apps(w, before, &tour);
        partner_unref(partner);
    }
    idmap_free(&w->soon);
    w->soon = tour.reported_soon;
    atomic_store(&w->clients_expires_ms, tour.first_ms);
    atomic_store(&w->clients_expiring, tour.soon);
    look_at_listener(w, &tour);
}

void certificate_watch_get(struct certificate_watch *w, struct certificate_state *ret)
{
    CHECK_MAGIC(w, CERTIFICATE_WATCH_MAGIC);
    *ret = (struct certificate_state){
        .listener_expires_ms = atomic_load(&w->listener_expires_ms),
        .clients_expires_ms = atomic_load(&w->clients_expires_ms),
        .clients_expiring = atomic_load(&w->clients_expiring),
    };
}
