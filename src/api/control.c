/* The control thread: a worker whose tasks wait for the store themselves, so that one change is
 * durable and applied before the next is judged. */
#include "api/control.h"

#include "accounts/render.h"
#include "api/internal.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/waiter.h"
#include "base/worker.h"

#include <stdlib.h>

#define CONTROL_MAGIC 0xC0107201u

struct control {
    uint32_t magic;
    struct control_options options;
    struct worker *worker;
    struct waiter stored;
};

struct control *control_new(const struct control_options *options)
{
    struct control *control = xcalloc(1, sizeof *control);
    control->magic = CONTROL_MAGIC;
    control->options = *options;
    waiter_init(&control->stored);
    control->worker = worker_start("control");
    return control;
}

void control_free(struct control *control)
{
    CHECK_MAGIC(control, CONTROL_MAGIC);
    worker_stop(control->worker);
    waiter_free(&control->stored);
    control->magic = 0;
    free(control);
}

/* A URL that anybody on the way can read is allowed and said. */
static void warn_plain_urls(const struct app *app)
{
    for (enum lane_kind k = LANE_SUCCESS; k < LANE_KINDS; k++)
        if (app->url[k].p && !app->parsed[k].https)
            log_warning("callback_url_not_encrypted", LOG_STR("app", app->id),
                        LOG_C("endpoint", lane_kind_name(k)), LOG_C("fix", "use https"));
}

/* On the control thread: waits until the change is on disk, then applies it. */
static enum store_status keep(struct control *control, struct change *change)
{
    struct object_change object = {
        .done.run = waiter_wake,
        .reply_to = &control->stored.executor,
        .kind = (enum object_kind)change->kind,
        .id = change->id,
        .document = change->remove ? STR_NONE : buf_str(&change->document),
    };
    store_change_object(control->options.store, &object);
    waiter_wait(&control->stored);
    if (object.status != STORE_OK)
        return object.status;
    change_apply(control->options.accounts, change);
    if (change->kind == ACCOUNT_APP) {
        control->options.app_changed(control->options.context, change->app->app_no);
        warn_plain_urls(change->app);
    }
    return STORE_OK;
}

/* --- changes asked for by calls ------------------------------------------------------------- */

static uint64_t version_of(const struct change *change)
{
    switch (change->kind) {
    case ACCOUNT_PARTNER: return change->partner->version;
    case ACCOUNT_APP: return change->app->version;
    case ACCOUNT_CLIENT: return change->client->version;
    case ACCOUNT_KEY: return change->key->version;
    }
    UNREACHABLE();
}

static void answer_refused(struct mutation *m)
{
    struct call *c = m->c;
    switch (m->result) {
    case CHANGE_INVALID: call_answer_invalid(c); return;
    case CHANGE_FORBIDDEN:
        call_answer_problem(c, 403, "A key can be given only scopes that its maker has.");
        return;
    case CHANGE_NOT_FOUND:
        call_answer_problem(c, 404, "There is no such object in this account.");
        return;
    case CHANGE_CONFLICT:
        call_answer_problem(c, 409,
                            "The id is taken; choose another, or leave it out to have one made.");
        return;
    case CHANGE_STALE:
        call_answer_problem(c, 412,
                            "The object has changed since the version that If-Match names; read it "
                            "again and repeat the change.");
        return;
    case CHANGE_READY: call_answer_busy(c, m->stored); return;
    }
    UNREACHABLE();
}

static void answer_on_loop(struct task *task)
{
    struct mutation *m = CONTAINER_OF(task, struct mutation, task);
    struct buf answer = m->answer, headers = m->headers;
    if (m->result != CHANGE_READY || m->stored != STORE_OK)
        answer_refused(m);
    else if (!m->render)
        call_answer_empty(m->c, m->status);
    else
        call_answer_json_with(m->c, m->status, buf_str(&headers), &answer);
    buf_free(&answer);
    buf_free(&headers);
}

static void print_answer(struct mutation *m)
{
    struct json_writer w;
    json_write_to(&w, &m->answer);
    m->render(m, &w);
    char tag[ETAG_MAX];
    etag_print(tag, version_of(&m->change));
    buf_printf(&m->headers, "ETag: %s\r\n", tag);
    if (m->location)
        buf_printf(&m->headers, "Location: %s%.*s\r\n", m->location, STR_ARG(m->change.id));
}

static void run_mutation(struct task *task)
{
    struct mutation *m = CONTAINER_OF(task, struct mutation, task);
    struct control *control = m->control;
    m->accounts = control->options.accounts;
    m->result = m->judge(m);
    if (m->result == CHANGE_READY) {
        m->stored = keep(control, &m->change);
        if (m->stored == STORE_OK && m->render)
            print_answer(m);
        change_free(control->options.accounts, &m->change);
    }
    m->task.run = answer_on_loop;
    executor_post(call_executor(m->c), &m->task);
}

void control_ask(struct control *control, struct mutation *m)
{
    CHECK_MAGIC(control, CONTROL_MAGIC);
    m->control = control;
    m->task.run = run_mutation;
    executor_post(worker_executor(control->worker), &m->task);
}

/* --- 410 ------------------------------------------------------------------------------------- */

struct disabling {
    struct task task;
    struct control *control;
    uint32_t app_no;
    enum lane_kind kind;
    struct arena arena; /* of the URL */
    struct str url;
};

static void run_disabling(struct task *task)
{
    struct disabling *d = CONTAINER_OF(task, struct disabling, task);
    const struct control_options *options = &d->control->options;
    struct change change;
    if (change_disable_lane(options->accounts, d->app_no, d->kind, d->url, &change) ==
        CHANGE_READY) {
        log_warning("lane_disabled", LOG_STR("app", change.app->id),
                    LOG_C("endpoint", lane_kind_name(d->kind)),
                    LOG_C("reason", "the receiver answered 410 Gone"));
        if (keep(d->control, &change) != STORE_OK)
            log_error("lane_disabled_not_stored", LOG_STR("app", change.id));
        change_free(options->accounts, &change);
    }
    options->gone_settled(options->context, d->app_no, d->kind);
    arena_free(&d->arena);
    free(d);
}

void control_disable_lane(struct control *control, uint32_t app_no, enum lane_kind kind,
                          struct str url)
{
    CHECK_MAGIC(control, CONTROL_MAGIC);
    struct disabling *d = xcalloc(1, sizeof *d);
    d->control = control;
    d->app_no = app_no;
    d->kind = kind;
    d->url = arena_str(&d->arena, url);
    d->task.run = run_disabling;
    executor_post(worker_executor(control->worker), &d->task);
}
