/* The control thread: a worker whose tasks wait for the store, so that one change is durable and
 * applied before the next is judged. */
#include "services/control.h"

#include "accounts/render.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/waiter.h"
#include "base/worker.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define CONTROL_MAGIC 0xC0107201u

struct control {
    uint32_t magic;
    struct control_options options;
    struct worker *worker, *slow;
    atomic_int slow_calls;
    struct waiter stored;
    struct audit audit;
    struct task refresh;
    atomic_bool refreshing;    /* the task is posted */
    int64_t caught_up_mono_ms; /* when other nodes' changes were last read; the worker's */
};

/* --- what other nodes change -------------------------------------------------------------------
 */

static enum store_status catch_up(struct control *control)
{
    struct object_feed feed = {.more = store_leases(control->options.store) != NULL};
    int64_t now_mono_ms = env_mono_ms(control->options.env);
    while (feed.more) {
        feed = (struct object_feed){.done.run = waiter_wake, .reply_to = &control->stored.executor};
        store_feed(control->options.store, &feed);
        waiter_wait(&control->stored);
        bool good = feed.status == STORE_OK;
        for (size_t i = 0; good && i < feed.count; i++)
            control->options.refresh(control->options.context, &feed.arena, &feed.rows[i]);
        arena_free(&feed.arena);
        feed.more = good && (feed.more || feed.count > 0); /* ask again: these rows are applied */
    }
    if (feed.status == STORE_OK)
        control->caught_up_mono_ms = now_mono_ms;
    return feed.status;
}

void control_catch_up(struct control *control)
{
    (void)catch_up(control);
}

enum store_status control_catch_up_since(struct control *control, int64_t asked_mono_ms)
{
    return control->caught_up_mono_ms > asked_mono_ms ? STORE_OK : catch_up(control);
}

static void run_refresh(struct task *task)
{
    struct control *control = CONTAINER_OF(task, struct control, refresh);
    CHECK_MAGIC(control, CONTROL_MAGIC);
    atomic_store(&control->refreshing, false);
    control_catch_up(control);
}

void control_refresh(struct control *control)
{
    CHECK_MAGIC(control, CONTROL_MAGIC);
    if (!atomic_exchange(&control->refreshing, true))
        executor_post(worker_executor(control->worker), &control->refresh);
}

struct control *control_new(const struct control_options *options)
{
    struct control *control = xcalloc(1, sizeof *control);
    control->magic = CONTROL_MAGIC;
    control->options = *options;
    waiter_init(&control->stored);
    control->refresh.run = run_refresh;
    control->refresh.owner = OWNER_DAEMON;
    control->audit = (struct audit){.env = options->env, .directory = options->directory};
    control->worker = worker_start("control");
    control->slow = worker_start("slow");
    return control;
}

void control_free(struct control *control)
{
    CHECK_MAGIC(control, CONTROL_MAGIC);
    worker_stop(control->slow); /* its calls continue on the other worker */
    worker_stop(control->worker);
    waiter_free(&control->stored);
    control->magic = 0;
    free(control);
}

/* Logs a new http URL, which anybody on the way can read: it is allowed. before: NULL for a new
 * app. */
static void warn_plain_urls(const struct app *app, const struct app *before)
{
    for (enum lane_kind k = LANE_SUCCESS; k < LANE_KINDS; k++)
        if (app->url[k].p && !app->parsed[k].https &&
            !(before && str_eq(before->url[k], app->url[k])))
            log_warning("callback_url_not_encrypted", LOG_STR("app", app->id),
                        LOG_C("endpoint", lane_kind_name(k)), LOG_C("fix", "use https"));
}

/* --- what every change goes through ---------------------------------------------------------- */

void control_post(struct control *control, struct task *task)
{
    CHECK_MAGIC(control, CONTROL_MAGIC);
    executor_post(worker_executor(control->worker), task);
}

bool control_post_slow(struct control *control, struct task *task, bool known)
{
    CHECK_MAGIC(control, CONTROL_MAGIC);
    int most = known ? SLOW_CALLS_MOST : SLOW_CALLS_MOST - SLOW_CALLS_KNOWN;
    if (atomic_fetch_add(&control->slow_calls, 1) >= most) {
        atomic_fetch_sub(&control->slow_calls, 1);
        return false;
    }
    executor_post(worker_executor(control->slow), task);
    return true;
}

void control_slow_done(struct control *control)
{
    atomic_fetch_sub(&control->slow_calls, 1);
}

struct audit *control_audit(struct control *control)
{
    return &control->audit;
}

struct idempotency *control_idempotency(struct control *control)
{
    return control->options.idempotency;
}

struct accounts *control_accounts(struct control *control)
{
    return control->options.accounts;
}

enum store_status control_keep(struct control *control, const struct object_part *parts,
                               size_t count)
{
    ASSERT(count > 0);
    struct object_change object = {
        .done.run = waiter_wake,
        .reply_to = &control->stored.executor,
        .kind = parts[0].kind,
        .id = parts[0].id,
        .document = parts[0].document,
        .parts = parts + 1,
        .part_count = count - 1,
        .judged = true,
    };
    store_change_object(control->options.store, &object);
    waiter_wait(&control->stored);
    return object.status;
}

enum store_status control_keep_made(struct control *control, const struct idempotency_key *key,
                                    const struct object_part *parts, size_t count)
{
    struct idempotency *all = control->options.idempotency;
    struct arena arena = {0};
    if (!key)
        return control_keep(control, parts, count);
    struct object_part *with_key = arena_alloc(&arena, (count + IDEMPOTENCY_PARTS) * sizeof *parts);
    memcpy(with_key, parts, count * sizeof *parts);
    size_t end = count + idempotency_parts(all, key, parts, &arena, with_key + count);
    enum store_status status = control_keep(control, with_key, end);
    for (size_t i = count; status == STORE_OK && i < end; i++) {
        bool good = idempotency_refresh(all, with_key[i].id, with_key[i].document);
        ASSERT(good);
    }
    arena_free(&arena);
    return status;
}

/* --- accounts -------------------------------------------------------------------------------- */

static const char *kind_name(enum account_kind kind)
{
    switch (kind) {
    case ACCOUNT_PARTNER: return "partner";
    case ACCOUNT_APP: return "app";
    case ACCOUNT_CLIENT: return "client";
    case ACCOUNT_KEY: return "key";
    }
    UNREACHABLE();
}

/* Prints the entry as the API shows it. */
static void print_entry(enum account_kind kind, const void *entry, struct buf *to)
{
    struct json_writer w;
    json_write_to(&w, to);
    switch (kind) {
    case ACCOUNT_PARTNER: render_partner(&w, entry); return;
    case ACCOUNT_APP: render_app(&w, entry, false); return;
    case ACCOUNT_CLIENT: render_client(&w, entry); return;
    case ACCOUNT_KEY: render_key(&w, entry, STR_NONE, STR_NONE, false); return;
    }
    UNREACHABLE();
}

static uint32_t account_of(const struct change *change)
{
    switch (change->kind) {
    case ACCOUNT_PARTNER: return change->partner->account_no;
    case ACCOUNT_APP: return change->app->terms.account_no;
    case ACCOUNT_CLIENT: return change->client->account_no;
    case ACCOUNT_KEY: return change->key->account_no;
    }
    UNREACHABLE();
}

/* Prints the entry before the change. False: it is new. */
static bool print_before(struct directory *d, const struct change *change, struct buf *to)
{
    struct partner *p = NULL;
    struct app *a = NULL;
    struct client *c = NULL;
    struct api_key *k = NULL;
    switch (change->kind) {
    case ACCOUNT_PARTNER: p = directory_partner(d, change->id); break;
    case ACCOUNT_APP: a = directory_app(d, change->id); break;
    case ACCOUNT_CLIENT: c = directory_client(d, change->id); break;
    case ACCOUNT_KEY: k = directory_key(d, change->id); break;
    }
    const void *entry = p ? (void *)p : a ? (void *)a : c ? (void *)c : (void *)k;
    if (entry)
        print_entry(change->kind, entry, to);
    partner_unref(p);
    app_unref(a);
    client_unref(c);
    api_key_unref(k);
    return entry != NULL;
}

static struct audit_note note_of(struct control *control, const struct change *change,
                                 const char *action, char ret_made[32])
{
    struct audit_note note = {
        .account_no = account_of(change),
        .object_kind = kind_name(change->kind),
        .object_id = change->id,
    };
    bool known = print_before(control->options.directory, change, &note.before);
    if (!change->remove)
        print_entry(change->kind, change->entry, &note.after);
    snprintf(ret_made, 32, "%s.%s", note.object_kind,
             change->remove ? "removed"
             : known        ? "changed"
                            : "created");
    note.action = action ? action : ret_made;
    return note;
}

static struct object_part part_of(const struct change *change)
{
    return (struct object_part){
        .kind = (enum object_kind)change->kind,
        .id = change->id,
        .document = change->remove ? STR_NONE : buf_str(&change->document),
    };
}

enum store_status control_change_silently(struct control *control, struct change *change)
{
    struct object_part part = part_of(change);
    enum store_status status = control_keep(control, &part, 1);
    if (status == STORE_OK)
        change_apply(control->options.accounts, change);
    return status;
}

enum store_status control_change(struct control *control, const struct actor *by,
                                 const char *action, struct change *change)
{
    char made[32];
    struct arena arena = {0};
    struct audit_note note = note_of(control, change, action, made);
    struct object_part parts[1 + AUDIT_PARTS] = {part_of(change)};
    size_t count = 1 + audit_parts(&control->audit, by, &note, &arena, parts + 1);
    struct app *before = NULL;
    if (change->kind == ACCOUNT_APP)
        before = directory_app(control->options.directory, change->id);
    enum store_status status =
        control_keep_made(control, by ? by->idempotency_key : NULL, parts, count);
    audit_note_free(&note);
    arena_free(&arena);
    if (status == STORE_OK)
        change_apply(control->options.accounts, change);
    if (status == STORE_OK && change->kind == ACCOUNT_APP) {
        control->options.app_changed(control->options.context, change->app->app_no);
        warn_plain_urls(change->app, before);
    }
    app_unref(before);
    return status;
}

enum store_status control_change_people(struct control *control, struct people *people,
                                        const struct actor *by, const struct audit_note *note,
                                        struct people_change *change)
{
    struct object_part parts[PEOPLE_PARTS_MAX + AUDIT_PARTS];
    size_t count = people_change_parts(people, change, parts);
    if (note)
        count += audit_parts(&control->audit, by, note, &change->arena, parts + count);
    enum store_status status = control_keep(control, parts, count);
    if (status == STORE_OK)
        people_change_apply(people, change);
    return status;
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

/* STORE_OK also if there is nothing to do any more. */
static enum store_status disable(struct disabling *d)
{
    struct accounts *accounts = d->control->options.accounts;
    struct change change;
    control_catch_up(d->control);
    if (change_disable_lane(accounts, d->app_no, d->kind, d->url, &change) != CHANGE_READY)
        return STORE_OK;
    enum store_status status = control_change(d->control, NULL, "app.endpoint_disabled", &change);
    if (status == STORE_OK)
        log_warning("lane_disabled", LOG_STR("app", change.app->id),
                    LOG_C("endpoint", lane_kind_name(d->kind)),
                    LOG_C("reason", "the receiver answered 410 Gone"));
    change_free(accounts, &change);
    return status;
}

static void run_disabling(struct task *task)
{
    struct disabling *d = CONTAINER_OF(task, struct disabling, task);
    const struct control_options *options = &d->control->options;
    enum store_status status = STORE_STALE;
    for (int tries = 0; tries < CONTROL_TRIES && status == STORE_STALE; tries++)
        status = disable(d);
    if (status != STORE_OK)
        log_error("lane_disabled_not_stored", LOG_INT("app", d->app_no));
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
    d->task.owner = OWNER_DAEMON;
    executor_post(worker_executor(control->worker), &d->task);
}
