/* The outside of delivery_world.h: clocks, receivers, a directory of a few apps. */
#pragma once

#include "check.h"

#include "base/alloc.h"
#include "base/log.h"
#include "delivery/dispatcher.h"

#include <stdlib.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

#define WORLD_LOOPS_MAX 3
#define WORLD_APPS_MAX 600
#define WORLD_START_WALL_MS INT64_C(1763726400000)
#define WORLD_START_MONO_MS INT64_C(1000000)

struct world_row {
    uint64_t event_no;
    lane_no lane;
    struct callback_status status;
    int32_t oks, resends;
    struct pending_resend resend;
    const char *panelist; /* NULL: "p" */
    bool is_erased;
    int64_t last_try_wall_ms, first_try_wall_ms;
    enum attempt_class last_class;
    size_t last_header_bytes; /* of the answer, as logged */
};

struct world_exchange {
    struct exchange *x;
    struct world_loop *loop;
    int64_t ends_mono_ms;
    struct world_exchange *next;
};

struct world_loop {
    struct outside outside;
    struct executor executor;
    struct task *first, *last;
    int64_t wake_mono_ms;
    struct world *world;
    struct rng rng;
};

/* What a receiver answers. */
struct world_answer {
    enum attempt_class class;
    int status;
    int64_t after_ms;       /* -1: hangs until the deadline (ATTEMPT_TIMEOUT) */
    int64_t retry_after_ms; /* -1: none */
};

struct world_store_job {
    struct task task; /* unused link holder */
    struct outcome_batch *batch;
    struct due_page *page;
    int64_t read_mono_ms, done_mono_ms;
    bool read;
    struct world_store_job *next;
};

struct world {
    int64_t wall_skew_ms, mono_ms;
    struct world_loop loops[WORLD_LOOPS_MAX];
    size_t loop_count;
    struct world_exchange *exchanges;
    int32_t in_flight, in_flight_max;
    int64_t starts;

    struct store store;
    struct world_row *rows;
    size_t row_count, row_capacity;
    struct world_store_job *jobs;
    struct rng rng;
    int64_t store_delay_ms;  /* at most; each job draws */
    int64_t record_delay_ms; /* of each batch of outcomes, besides */
    int64_t pages_asked, records;
    uint64_t resends;
    enum store_status page_status;
    struct leases leases;   /* where the store is shared */
    int64_t fences[SHARDS]; /* what the store itself has */
    int64_t outcomes_refused;

    struct app *apps[WORLD_APPS_MAX]; /* by app_no */
    struct delivery *delivery;
    struct world_answer (*answer)(struct world *w, const struct exchange *x, uint32_t app_no);
    int32_t disables_asked;
    struct lane_notice notices[32]; /* the first ones; app and detail are not kept */
    int64_t notice_count;
    bool stopped;
    struct task stopped_task;
    int64_t tries[WORLD_APPS_MAX], app_in_flight[WORLD_APPS_MAX], app_in_flight_max[WORLD_APPS_MAX];
    bool double_try; /* an event was tried while another try of it was under way */
};

static struct world *world_now_in_use; /* the fakes below have no other way to find it */

/* --- the directory, in place of the real one --- */

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

/* --- the sender, in place of the real one --- */

void sender_start(struct sender *sender, struct exchange *x)
{
    (void)sender;
    (void)x;
    UNREACHABLE();
}

void sender_cancel(struct sender *sender, struct exchange *x)
{
    (void)sender;
    (void)x;
    UNREACHABLE();
}

void exchange_free_results(struct exchange *x)
{
    buf_free(&x->request_headers);
    buf_free(&x->response_headers);
    buf_free(&x->response_body);
}

/* "http://hostN:80/appM/..." */
static inline uint32_t world_app_of(const struct exchange *x)
{
    unsigned app_no = 0;
    char target[64];
    snprintf(target, sizeof(target), "%.*s", STR_ARG(x->url->target));
    if (sscanf(target, "/app%u/", &app_no) != 1)
        return 0;
    return app_no;
}

static inline uint64_t world_event_of(const struct exchange *x)
{
    char headers[1024];
    unsigned long long no = 0;
    snprintf(headers, sizeof(headers), "%.*s", STR_ARG(x->headers));
    const char *at = strstr(headers, "webhook-id: e-");
    if (at)
        (void)sscanf(at, "webhook-id: e-%llu", &no);
    return no;
}

static inline struct world_loop *world_loop_of(struct outside *o)
{
    return CONTAINER_OF(o, struct world_loop, outside);
}

static inline int64_t world_wall(struct outside *o)
{
    const struct world *w = world_loop_of(o)->world;
    return WORLD_START_WALL_MS + (w->mono_ms - WORLD_START_MONO_MS) + w->wall_skew_ms;
}

static inline int64_t world_mono(struct outside *o)
{
    return world_loop_of(o)->world->mono_ms;
}

static inline struct world_row *world_row(struct world *w, uint32_t app_no, uint64_t event_no)
{
    for (size_t i = 0; i < w->row_count; i++)
        if (w->rows[i].event_no == event_no && w->rows[i].lane / LANE_KINDS == app_no)
            return &w->rows[i];
    return NULL;
}

static inline void world_start(struct outside *o, struct exchange *x)
{
    struct world_loop *l = world_loop_of(o);
    struct world *w = l->world;
    uint32_t app_no = world_app_of(x);
    for (struct world_exchange *e = w->exchanges; e; e = e->next)
        if (world_app_of(e->x) == app_no && world_event_of(e->x) == world_event_of(x))
            w->double_try = true;
    struct world_answer a = w->answer(w, x, app_no);
    struct world_exchange *e = xcalloc(1, sizeof(*e));
    e->x = x;
    e->loop = l;
    if (a.after_ms < 0) {
        a.after_ms = x->timeout_ms;
        a.class = ATTEMPT_TIMEOUT;
        a.status = 0;
    }
    x->class = a.class;
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
    w->starts++;
    w->tries[app_no]++;
    if (++w->app_in_flight[app_no] > w->app_in_flight_max[app_no])
        w->app_in_flight_max[app_no] = w->app_in_flight[app_no];
    if (++w->in_flight > w->in_flight_max)
        w->in_flight_max = w->in_flight;
}

static inline void world_unlink(struct world *w, struct world_exchange **at)
{
    struct world_exchange *e = *at;
    *at = e->next;
    w->in_flight--;
    w->app_in_flight[world_app_of(e->x)]--;
    free(e);
}

static inline void world_cancel(struct outside *o, struct exchange *x)
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

static inline void world_wake_at(struct outside *o, int64_t mono_ms)
{
    world_loop_of(o)->wake_mono_ms = mono_ms;
}

static inline void world_post(struct executor *ex, struct task *task)
{
    struct world_loop *l = CONTAINER_OF(ex, struct world_loop, executor);
    task->next = NULL;
    if (l->last)
        l->last->next = task;
    else
        l->first = task;
    l->last = task;
}
