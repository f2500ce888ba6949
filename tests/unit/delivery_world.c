/* The clockwork: what happens next, and running it. */
#include "delivery_world.h"

struct world_row *world_add_row(struct world *w, uint32_t app_no, uint64_t event_no)
{
    struct world_row *row = ARRAY_PUSH(w->rows, w->row_count, w->row_capacity);
    *row = (struct world_row){
        .event_no = event_no,
        .lane = lane_of(app_no, LANE_SUCCESS),
        .life = {.lane = lane_of(app_no, LANE_SUCCESS),
                 .state = CALLBACK_PENDING,
                 .wait = WAIT_DUE,
                 .place = {.due_ms = world_wall(&w->loops[0].runtime)}},
    };
    return row;
}

void world_accept(struct world *w, uint32_t app_no, uint64_t event_no)
{
    world_hand_over(w, world_add_row(w, app_no, event_no));
}

void world_recover_apps(struct world *w, uint32_t apps, uint64_t each)
{
    struct lane_backlog *backlog = xcalloc(apps, sizeof *backlog);
    for (uint32_t app = 1; app <= apps; app++) {
        world_set_app(w, app, (int)app);
        for (uint64_t i = 1; i <= each; i++)
            world_add_row(w, app, i);
        backlog[app - 1] = (struct lane_backlog){lane_of(app, LANE_SUCCESS), WORLD_START_WALL_MS};
    }
    delivery_recover(w->delivery, backlog, apps);
    free(backlog);
}

void world_accept_many(struct world *w, uint32_t app_no, uint64_t first, uint64_t last)
{
    for (uint64_t event_no = first; event_no <= last; event_no++)
        world_accept(w, app_no, event_no);
}

void world_resend(struct world *w, struct world_row *row)
{
    row->resends++;
    row->resend.no = ++w->resends;
    world_owe_resend(w, row);
}

bool world_run_tasks(struct world *w)
{
    bool any = false;
    for (size_t i = 0; i < w->loop_count; i++) {
        struct world_loop *l = &w->loops[i];
        struct task *t;
        while ((t = l->first) != NULL) {
            l->first = t->next;
            if (!l->first)
                l->last = NULL;
            t->run(t);
            any = true;
        }
        if (l->runtime.on_tick_end)
            l->runtime.on_tick_end(l->runtime.context);
        any |= l->first != NULL;
    }
    return any;
}

static bool world_end_exchanges(struct world *w)
{
    bool any = false;
    while (w->exchanges && w->exchanges->ends_mono_ms <= w->mono_ms) {
        struct exchange *x = w->exchanges->x;
        world_unlink(w, &w->exchanges);
        x->done(x);
        any = true;
    }
    return any;
}

static int64_t world_next(const struct world *w)
{
    int64_t at = INT64_MAX;
    for (size_t i = 0; i < w->loop_count; i++)
        if (w->loops[i].wake_mono_ms < at)
            at = w->loops[i].wake_mono_ms;
    if (w->exchanges && w->exchanges->ends_mono_ms < at)
        at = w->exchanges->ends_mono_ms;
    for (const struct world_store_job *j = w->jobs; j; j = j->next) {
        int64_t next = j->read ? j->done_mono_ms : j->read_mono_ms;
        if (next < at)
            at = next;
    }
    return at;
}

void world_run(struct world *w, int64_t for_ms)
{
    int64_t until = w->mono_ms + for_ms;
    int64_t same_moment = 0, moment = w->mono_ms;
    for (;;) {
        w->mono_ms += w->clock_ahead_ms;
        w->clock_ahead_ms = 0;
        bool busy = world_end_exchanges(w);
        world_run_store(w);
        busy |= world_run_tasks(w);
        if (w->mono_ms != moment)
            same_moment = 0;
        moment = w->mono_ms;
        ASSERT(same_moment++ < 100000); /* a hot loop */
        int64_t next = world_next(w);
        if (busy || next <= w->mono_ms)
            continue;
        if (next > until)
            break;
        w->mono_ms = next;
    }
    w->mono_ms = w->mono_ms > until ? w->mono_ms : until;
}

static const struct store_ops world_ops = {
    .request = world_request,
    .leases = world_leases,
};

struct world_answer world_ok(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w;
    (void)x;
    (void)app;
    return (struct world_answer){ATTEMPT_OK, 200, 5, -1};
}

static struct str world_text(const char *text)
{
    return str_of(xstrdup(text));
}

struct app *world_set_app(struct world *w, uint32_t app_no, int host)
{
    struct app *old = w->apps[app_no];
    struct app *app = xcalloc(1, sizeof(*app));
    atomic_init(&app->refs, 1);
    app->app_no = app_no;
    app->version = old ? old->version + 1 : 1;
    app->enabled = true;
    app->timeout_ms = 10000;
    app->max_concurrency = 32;
    app->id = STR("app");
    app->secrets.newest = STR("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3");
    if (host >= 0) {
        char text[64];
        snprintf(text, sizeof(text), "http://host%d/app%u/cb", host, app_no);
        app->url[LANE_SUCCESS] = world_text(text);
        char *name = xmalloc(64);
        snprintf(name, 64, "host%d", host);
        app->parsed[LANE_SUCCESS] = (struct url){
            .host = str_of(name),
            .port = 80,
            .target = {app->url[LANE_SUCCESS].p + strlen("http://") + strlen(name),
                       app->url[LANE_SUCCESS].n - strlen("http://") - strlen(name)},
        };
    }
    w->apps[app_no] = app;
    if (old)
        app_unref(old);
    return app;
}

static void world_disable(void *context, uint32_t app_no, enum lane_kind kind, struct str url)
{
    (void)app_no;
    (void)kind;
    CHECK(url.n > 0);
    struct world *w = context;
    w->disables_asked++;
}

static void world_on_lane_state(void *context, const struct lane_notice *notice)
{
    struct world *w = context;
    if (w->notice_count < (int64_t)ARRAY_LEN(w->notices)) {
        struct lane_notice *to = &w->notices[w->notice_count];
        *to = *notice;
        to->app = NULL;
        to->detail = NULL;
    }
    w->notice_count++;
}

struct world *world_open(size_t loops, const char *schedule)
{
    struct world *w = xcalloc(1, sizeof(*w));
    world_now_in_use = w;
    w->mono_ms = WORLD_START_MONO_MS;
    w->loop_count = loops;
    w->answer = world_ok;
    w->store = (struct store){.magic = STORE_MAGIC, .ops = &world_ops};
    rng_seed(&w->rng, 1);
    struct dispatcher_runtime *runtimes[WORLD_LOOPS_MAX];
    for (size_t i = 0; i < loops; i++) {
        struct world_loop *l = &w->loops[i];
        l->world = w;
        l->wake_mono_ms = INT64_MAX;
        rng_seed(&l->rng, i + 2);
        l->executor.post = world_post;
        l->runtime = (struct dispatcher_runtime){
            .executor = &l->executor,
            .rng = &l->rng,
            .wall_ms = world_wall,
            .mono_ms = world_mono,
            .clock_mono_ms = world_clock,
            .start = world_start,
            .cancel = world_cancel,
            .wake_at = world_wake_at,
        };
        runtimes[i] = &l->runtime;
    }
    struct delivery_options options = {
        .store = &w->store,
        .allowance_total = 64,
        .disable_lane = world_disable,
        .on_lane_state = world_on_lane_state,
        .context = w,
    };
    const char *why = "";
    if (!schedule_parse(str_of(schedule), &options.schedule, &why))
        UNREACHABLE();
    w->delivery = delivery_new_on(&options, runtimes, loops);
    return w;
}

void world_stopped(struct task *task)
{
    CONTAINER_OF(task, struct world, stopped_task)->stopped = true;
}

void world_close(struct world *w)
{
    if (!w->stopped) {
        w->stopped_task.run = world_stopped;
        delivery_stop(w->delivery, &w->loops[0].executor, &w->stopped_task);
        world_run(w, 60000);
    }
    CHECK(w->stopped);
    CHECK(!w->double_try);
    CHECK_EQ_INT(w->in_flight, 0);
    delivery_free(w->delivery);
    for (size_t i = 0; i < WORLD_APPS_MAX; i++)
        if (w->apps[i])
            app_unref(w->apps[i]);
    free(w->rows);
    free(w);
}

size_t world_count(const struct world *w, enum callback_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < w->row_count; i++)
        n += w->rows[i].life.state == state;
    return n;
}

struct world_answer world_always_404(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w;
    (void)x;
    (void)app;
    return (struct world_answer){ATTEMPT_STATUS, 404, 5, -1};
}

struct world_answer world_always_500(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w;
    (void)x;
    (void)app;
    return (struct world_answer){ATTEMPT_STATUS, 500, 5, -1};
}

struct world_answer world_refused(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w;
    (void)x;
    (void)app;
    return (struct world_answer){ATTEMPT_REFUSED, 0, 1, -1};
}

int64_t world_in_ram(struct world *w)
{
    struct delivery_numbers n;
    delivery_get_numbers(w->delivery, &n);
    return n.callbacks_in_ram;
}

struct world_answer world_slow(struct world *w, const struct exchange *x, uint32_t app)
{
    (void)w;
    (void)x;
    (void)app;
    return (struct world_answer){ATTEMPT_OK, 204, 300, -1};
}
