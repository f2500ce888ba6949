/* What stands in for the loop's clock, the directory and the sender. */
#include "delivery_world_runtime.h"

struct world *world_now_in_use;

struct app *directory_app_by_no(struct directory *directory, uint32_t app_no)
{
    (void)directory;
    struct app *app = app_no < WORLD_APPS_MAX ? world_now_in_use->apps[app_no] : NULL;
    if (app)
        atomic_fetch_add(&app->refs, 1);
    return app;
}

void app_unref(struct app *app)
{
    if (atomic_fetch_sub(&app->refs, 1) > 1)
        return;
    for (int k = 1; k < LANE_KINDS; k++) {
        free((char *)(uintptr_t)app->url[k].p);
        free((char *)(uintptr_t)app->parsed[k].host.p);
    }
    free(app);
}

uint32_t world_app_of(const struct exchange *x)
{
    unsigned app_no = 0;
    char target[64];
    snprintf(target, sizeof(target), "%.*s", STR_ARG(x->url->target));
    if (sscanf(target, "/app%u/", &app_no) != 1)
        return 0;
    return app_no;
}

uint64_t world_event_of(const struct exchange *x)
{
    char headers[1024];
    unsigned long long no = 0;
    snprintf(headers, sizeof(headers), "%.*s", STR_ARG(x->headers));
    const char *at = strstr(headers, "webhook-id: e-");
    if (at)
        (void)sscanf(at, "webhook-id: e-%llu", &no);
    return no;
}

static struct world_loop *world_loop_of(struct dispatcher_runtime *o)
{
    return CONTAINER_OF(o, struct world_loop, runtime);
}

int64_t world_wall(struct dispatcher_runtime *o)
{
    const struct world *w = world_loop_of(o)->world;
    return WORLD_START_WALL_MS + (w->mono_ms - WORLD_START_MONO_MS) + w->wall_skew_ms;
}

int64_t world_mono(struct dispatcher_runtime *o)
{
    return world_loop_of(o)->world->mono_ms;
}

int64_t world_clock(struct dispatcher_runtime *o)
{
    return world_mono(o) + world_loop_of(o)->world->clock_ahead_ms;
}

struct world_row *world_row(struct world *w, uint32_t app_no, uint64_t event_no)
{
    for (size_t i = 0; i < w->row_count; i++)
        if (w->rows[i].event_no == event_no && lane_app_no(w->rows[i].lane) == app_no)
            return &w->rows[i];
    return NULL;
}

void world_start(struct dispatcher_runtime *o, struct exchange *x)
{
    struct world_loop *l = world_loop_of(o);
    struct world *w = l->world;
    uint32_t app_no = world_app_of(x);
    for (struct world_exchange *e = w->exchanges; e; e = e->next)
        if (world_app_of(e->x) == app_no && world_event_of(e->x) == world_event_of(x))
            w->double_try = true;
    if (w->lapses_left > 0 && w->lapses_left-- > 0)
        atomic_fetch_add(&w->leases.lapses, 1);
    x->is_withheld = x->may_send && !x->may_send(x);
    struct world_answer a = {ATTEMPT_OK, 0, 0, -1};
    if (!x->is_withheld)
        a = w->answer(w, x, app_no);
    struct world_exchange *e = xcalloc(1, sizeof(*e));
    e->x = x;
    e->loop = l;
    if (a.after_ms < 0) {
        a.after_ms = x->timeout_ms;
        a.class = ATTEMPT_TIMEOUT;
        a.status = 0;
    }
    x->class = a.class;
    x->local_fault = w->fault;
    x->status = a.status;
    x->retry_after_ms = a.retry_after_ms;
    x->duration_ms = (int32_t)a.after_ms;
    snprintf(x->detail, sizeof(x->detail), "%s", a.class == ATTEMPT_OK ? "" : "No luck.");
    e->ends_mono_ms = w->mono_ms + a.after_ms;
    struct world_exchange **at = &w->exchanges;
    while (*at && (*at)->ends_mono_ms <= e->ends_mono_ms)
        at = &(*at)->next;
    e->next = *at;
    *at = e;
    w->starts += !x->is_withheld;
    w->tries[app_no] += !x->is_withheld;
    if (++w->app_in_flight[app_no] > w->app_in_flight_max[app_no])
        w->app_in_flight_max[app_no] = w->app_in_flight[app_no];
    if (++w->in_flight > w->in_flight_max)
        w->in_flight_max = w->in_flight;
}

void world_unlink(struct world *w, struct world_exchange **at)
{
    struct world_exchange *e = *at;
    *at = e->next;
    w->in_flight--;
    w->app_in_flight[world_app_of(e->x)]--;
    free(e);
}

void world_cancel(struct dispatcher_runtime *o, struct exchange *x)
{
    struct world *w = world_loop_of(o)->world;
    for (struct world_exchange **at = &w->exchanges; *at; at = &(*at)->next) {
        if ((*at)->x == x) {
            world_unlink(w, at);
            return;
        }
    }
    UNREACHABLE();
}

void world_wake_at(struct dispatcher_runtime *o, int64_t mono_ms)
{
    world_loop_of(o)->wake_mono_ms = mono_ms;
}

void world_post(struct executor *ex, struct task *task)
{
    struct world_loop *l = CONTAINER_OF(ex, struct world_loop, executor);
    task->next = NULL;
    if (l->last)
        l->last->next = task;
    else
        l->first = task;
    l->last = task;
}
