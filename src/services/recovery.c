/* The thread that runs recoveries; see recovery.h. If several nodes share a store, all know all
 * recoveries, and the node with the first shard runs them.
 *
 * Ten times a second each recovery gets what its rate allows, and spends it on its apps in turn, so
 * that a receiver that is down does not hold up the account's others. Only this thread changes a
 * recovery; parts that others may read (`resent`, the list itself) change under the lock. */
#include "services/recovery_state.h"

#include "base/alloc.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "domain/clock.h"

#define SAVE_MS 1000
#define KEPT_DAYS 30 /* after its creation, if it is finished */

struct recoveries *recoveries_new(struct env *env)
{
    struct recoveries *all = xcalloc(1, sizeof *all);
    all->magic = RECOVERIES_MAGIC;
    all->env = env;
    pthread_condattr_t attributes;
    ASSERT(pthread_condattr_init(&attributes) == 0);
    ASSERT(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    ASSERT(pthread_cond_init(&all->wake, &attributes) == 0);
    pthread_condattr_destroy(&attributes);
    ASSERT(pthread_mutex_init(&all->lock, NULL) == 0);
    waiter_init(&all->waiter);
    return all;
}

static void free_pages(struct running *at)
{
    for (size_t i = 0; at->pages && i < at->r.part_count; i++)
        arena_free(&at->pages[i].list.arena);
    free(at->pages);
    at->pages = NULL;
}

static void free_running(struct running *at)
{
    free_pages(at);
    free(at->r.parts);
    free(at);
}

static struct running *find_locked(struct recoveries *all, struct str id)
{
    struct running *at = all->first;
    while (at && !str_is(id, at->r.id))
        at = at->next;
    return at;
}

static void add_locked(struct recoveries *all, const struct recovery *r)
{
    struct running *at = xcalloc(1, sizeof *at);
    at->r = *r;
    at->done = recovery_is_done(r);
    at->pages = at->done ? NULL : xcalloc(r->part_count, sizeof *at->pages);
    at->credit_milli = 1000;
    at->refilled_mono_ms = env_mono_ms(all->env);
    at->next = all->first;
    all->first = at;
    pthread_cond_signal(&all->wake);
}

void recoveries_add(struct recoveries *all, const struct recovery *r)
{
    CHECK_MAGIC(all, RECOVERIES_MAGIC);
    pthread_mutex_lock(&all->lock);
    add_locked(all, r);
    pthread_mutex_unlock(&all->lock);
}

static bool read_document(struct str document, struct recovery *ret)
{
    struct arena arena = {0};
    struct json *object = NULL;
    struct str why;
    bool good = json_parse(&arena, document, &object, &why) && recovery_read(object, ret);
    arena_free(&arena);
    return good;
}

bool recoveries_load(struct recoveries *all, struct str document)
{
    struct recovery r;
    bool good = read_document(document, &r);
    if (good)
        recoveries_add(all, &r);
    return good;
}

void recoveries_refresh(struct recoveries *all, struct str id, struct str document)
{
    CHECK_MAGIC(all, RECOVERIES_MAGIC);
    struct recovery_news *n = xcalloc(1, sizeof *n);
    n->gone = !document.p;
    if (id.n >= sizeof n->id || (!n->gone && !read_document(document, &n->r))) {
        log_error("recovery_not_read", LOG_STR("recovery", id));
        free(n);
        return;
    }
    memcpy(n->id, id.p, id.n);
    pthread_mutex_lock(&all->lock);
    struct running *at = find_locked(all, id);
    if (at)
        at->is_gone |= n->gone;
    if (!n->gone && !at) {
        add_locked(all, &n->r);
        free(n);
    } else {
        n->next = all->news;
        all->news = n;
        pthread_cond_signal(&all->wake);
    }
    pthread_mutex_unlock(&all->lock);
}

bool recoveries_find(struct recoveries *all, struct str id, struct recovery *ret, bool *ret_done)
{
    CHECK_MAGIC(all, RECOVERIES_MAGIC);
    pthread_mutex_lock(&all->lock);
    const struct running *at = find_locked(all, id);
    bool found = at && !at->is_gone;
    if (found) {
        *ret = at->r;
        ret->parts = NULL;
        ret->part_count = 0;
        *ret_done = at->done;
    }
    pthread_mutex_unlock(&all->lock);
    return found;
}

size_t recoveries_running(struct recoveries *all, uint32_t account_no)
{
    size_t n = 0;
    pthread_mutex_lock(&all->lock);
    for (const struct running *at = all->first; at; at = at->next)
        n += at->r.account_no == account_no && !at->done && !at->is_gone;
    pthread_mutex_unlock(&all->lock);
    return n;
}

void recoveries_remove(struct recoveries *all, struct recovery_removal *removal)
{
    CHECK_MAGIC(all, RECOVERIES_MAGIC);
    pthread_mutex_lock(&all->lock);
    removal->next = all->removals;
    all->removals = removal;
    pthread_cond_signal(&all->wake);
    pthread_mutex_unlock(&all->lock);
}

/* --- the store, waited for ------------------------------------------------------------------- */

/* Stores the recovery; absent document: deletes it. `asked` NULL: no caller asked for it. */
static enum store_status keep(struct recoveries *all, struct running *at, struct str document,
                              const struct recovery_removal *asked)
{
    struct object_change change = {
        .done.run = waiter_wake,
        .reply_to = &all->waiter.executor,
        .kind = OBJECT_RECOVERY,
        .id = str_of(at->r.id),
        .document = document,
        .judged = document.p != NULL, /* another node may have removed it */
        .parts = asked ? asked->parts : NULL,
        .part_count = asked ? asked->part_count : 0,
    };
    store_change_object(all->store, &change);
    waiter_wait(&all->waiter);
    return change.status;
}

static void save(struct recoveries *all, struct running *at)
{
    struct buf document = {0};
    recovery_print(&document, &at->r);
    if (keep(all, at, buf_str(&document), NULL) == STORE_OK)
        at->changed = false;
    buf_free(&document);
    at->saved_mono_ms = env_mono_ms(all->env);
}

static void run_one(struct recoveries *all, struct running *at)
{
    recovery_tick(all, at);
    bool done = recovery_is_done(&at->r);
    if (at->changed && (done || env_mono_ms(all->env) - at->saved_mono_ms >= SAVE_MS))
        save(all, at);
    if (!done)
        return;
    pthread_mutex_lock(&all->lock);
    at->done = true;
    pthread_mutex_unlock(&all->lock);
    free_pages(at);
    log_info("recovery_done", LOG_C("recovery", at->r.id), LOG_INT("matched", at->r.matched),
             LOG_INT("resent", at->r.resent), LOG_INT("purged", at->r.purged),
             LOG_INT("erased", at->r.erased));
}

/* --- the thread ------------------------------------------------------------------------------- */

static void unlink_one(struct recoveries *all, struct running *at)
{
    pthread_mutex_lock(&all->lock);
    struct running **link = &all->first;
    while (*link != at)
        link = &(*link)->next;
    *link = at->next;
    pthread_mutex_unlock(&all->lock);
    free_running(at);
}

/* STORE_OK: it was deleted in the store and here. */
static enum store_status forget(struct recoveries *all, struct running *at,
                                const struct recovery_removal *asked)
{
    enum store_status status = keep(all, at, STR_NONE, asked);
    if (status != STORE_OK && status != STORE_NOT_FOUND)
        return status;
    unlink_one(all, at);
    return STORE_OK;
}

static void remove_one(struct recoveries *all, struct recovery_removal *removal)
{
    pthread_mutex_lock(&all->lock);
    struct running *at = find_locked(all, removal->id);
    pthread_mutex_unlock(&all->lock);
    removal->status = at ? forget(all, at, removal) : STORE_NOT_FOUND;
    executor_post(removal->reply_to, &removal->done);
}

static void work(struct recoveries *all)
{
    pthread_mutex_lock(&all->lock);
    struct running *first = all->first;
    pthread_mutex_unlock(&all->lock);
    int64_t old_ms = env_wall_ms(all->env) - KEPT_DAYS * DAY_MS;
    for (struct running *at = first, *next; at; at = next) {
        next = at->next;
        if (!at->done)
            run_one(all, at);
        else if (at->r.created_ms < old_ms)
            (void)forget(all, at, NULL);
    }
}

/* Takes over the parts of the given state. */
static void take_state(struct recoveries *all, struct running *at, struct recovery_news *n)
{
    struct recovery_part *old = at->r.parts;
    free_pages(at);
    pthread_mutex_lock(&all->lock);
    at->r = n->r;
    at->done = recovery_is_done(&at->r);
    pthread_mutex_unlock(&all->lock);
    at->pages = at->done ? NULL : xcalloc(at->r.part_count, sizeof *at->pages);
    at->changed = false;
    free(old);
}

/* The node that runs it has a newer state than the stored one. */
static void take_news(struct recoveries *all, struct recovery_news *n)
{
    pthread_mutex_lock(&all->lock);
    struct running *at = find_locked(all, str_of(n->id));
    pthread_mutex_unlock(&all->lock);
    if (at && n->gone)
        unlink_one(all, at);
    else if (at && !all->mine)
        take_state(all, at, n);
    else
        free(n->r.parts);
    free(n);
}

/* The oldest first. */
static void take_all_news(struct recoveries *all, struct recovery_news *latest)
{
    struct recovery_news *oldest = NULL;
    for (struct recovery_news *next; latest; latest = next) {
        next = latest->next;
        latest->next = oldest;
        oldest = latest;
    }
    for (struct recovery_news *next; oldest; oldest = next) {
        next = oldest->next;
        take_news(all, oldest);
    }
}

static bool any_running(const struct recoveries *all)
{
    for (const struct running *at = all->first; at; at = at->next)
        if (!at->done)
            return true;
    return false;
}

static void wait_tick(struct recoveries *all)
{
    int64_t at_ms = env_mono_ms(env_real()) + RECOVERY_TICK_MS; /* by the condition's clock */
    struct timespec until = {.tv_sec = (time_t)(at_ms / 1000),
                             .tv_nsec = (long)(at_ms % 1000) * 1000000};
    int result = 0;
    while (!all->stopping && !all->removals && !all->news && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&all->wake, &all->lock, &until);
}

static void *run(void *arg)
{
    struct recoveries *all = arg;
    CHECK_MAGIC(all, RECOVERIES_MAGIC);
    pthread_mutex_lock(&all->lock);
    while (!all->stopping || all->removals) {
        struct recovery_removal *removals = all->removals;
        struct recovery_news *news = all->news;
        all->removals = NULL;
        all->news = NULL;
        pthread_mutex_unlock(&all->lock);
        take_all_news(all, news);
        all->mine = leases_first(store_leases(all->store));
        if (!removals && all->mine)
            work(all);
        for (struct recovery_removal *at = removals, *next; at; at = next) {
            next = at->next;
            remove_one(all, at);
        }
        pthread_mutex_lock(&all->lock);
        if (any_running(all))
            wait_tick(all);
        else
            while (!all->stopping && !all->removals && !all->news && !any_running(all))
                pthread_cond_wait(&all->wake, &all->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

void recoveries_start(struct recoveries *all, struct store *store, struct delivery *delivery)
{
    CHECK_MAGIC(all, RECOVERIES_MAGIC);
    all->store = store;
    all->delivery = delivery;
    all->started = true;
    ASSERT(pthread_create(&all->thread, NULL, run, all) == 0);
    pthread_setname_np(all->thread, "recovery");
}

void recoveries_stop(struct recoveries *all)
{
    CHECK_MAGIC(all, RECOVERIES_MAGIC);
    if (!all->started)
        return;
    pthread_mutex_lock(&all->lock);
    all->stopping = true;
    pthread_cond_signal(&all->wake);
    pthread_mutex_unlock(&all->lock);
    ASSERT(pthread_join(all->thread, NULL) == 0);
    all->started = false;
    for (struct running *at = all->first; at; at = at->next)
        if (at->changed)
            save(all, at);
}

void recoveries_free(struct recoveries *all)
{
    if (!all)
        return;
    CHECK_MAGIC(all, RECOVERIES_MAGIC);
    for (struct running *at = all->first, *next; at; at = next) {
        next = at->next;
        free_running(at);
    }
    for (struct recovery_news *n = all->news, *next; n; n = next) {
        next = n->next;
        free(n->r.parts);
        free(n);
    }
    pthread_mutex_destroy(&all->lock);
    pthread_cond_destroy(&all->wake);
    waiter_free(&all->waiter);
    all->magic = 0;
    free(all);
}
