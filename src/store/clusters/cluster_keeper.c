/* One keeper thread for each cluster: it passes on word of changes in the home, opens its cluster
 * late if it was down at the start, and submits parts of requests again.
 *
 * A node that cannot reach the home does not know whether a key or a session is still valid, unless
 * nothing has changed there. So a node that changes something in the home writes a mark into every
 * other cluster that it reaches: the home's revision after the change. A node that reads a mark
 * beyond the revision that it has read, and cannot read the home, is behind: it stops answering for
 * keys and sessions after the same time as a node with one cluster. A mark only grows: it is
 * written by compare-and-set against the cluster's change log.
 *
 * Separate keepers keep a cluster that hangs from holding up the others. The home's keeper also
 * does the work that concerns all clusters. */
#include "store/clusters/clusters.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/waiter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS 500
#define STEP_AGAIN_MS 100
#define OPEN_EVERY_MS 2000

static void wake_keeper(struct part *p)
{
    queue_post(&p->to_keeper, request_new(REQUEST_WAKE, NULL));
}

void clusters_wake_keepers(struct clusters *c)
{
    for (size_t i = 0; i < c->count; i++)
        wake_keeper(&c->parts[i]);
}

/* --- what the clusters announce -------------------------------------------------------------- */

static struct part *part_of(struct store_watcher *w)
{
    struct part *p = CONTAINER_OF(w, struct part, watcher);
    CHECK_MAGIC(p->all, CLUSTERS_MAGIC);
    return p;
}

static struct store_watcher *watcher_of(struct store_watcher *w)
{
    return atomic_load(&part_of(w)->all->watcher);
}

static void leases_changed(struct store_watcher *w)
{
    struct store_watcher *to = watcher_of(w);
    if (to)
        to->leases(to);
}

static void lanes_waiting(struct store_watcher *w, const struct lane_backlog *lanes, size_t count)
{
    clusters_announce_waiting(part_of(w), lanes, count);
}

static void panelist_erased(struct store_watcher *w, uint32_t account_no, int64_t mono_ms)
{
    struct store_watcher *to = watcher_of(w);
    if (to)
        to->erased(to, account_no, mono_ms);
}

/* Changes in the home are passed on to the watcher. The other clusters' change logs have only marks
 * and erasures, and the keeper reads them. */
static void objects_changed(struct store_watcher *w)
{
    struct part *p = part_of(w);
    struct store_watcher *to = watcher_of(w);
    if (p->index != 0) {
        atomic_store(&p->feed_wanted, true);
        wake_keeper(p);
    } else if (to) {
        to->objects(to);
    }
}

static void asked(struct store_watcher *w, int64_t question, uint32_t app_no,
                  enum question_scope scope)
{
    struct store_watcher *to = watcher_of(w);
    if (to)
        to->asked(to, question, app_no, scope);
}

void clusters_init_part(struct clusters *c, uint32_t index)
{
    struct part *p = &c->parts[index];
    p->all = c;
    p->index = index;
    p->watcher = (struct store_watcher){
        .leases = leases_changed,
        .waiting = lanes_waiting,
        .erased = panelist_erased,
        .objects = objects_changed,
        .asked = asked,
    };
    p->sink.owed = clusters_owed;
    queue_init(&p->to_keeper);
}

/* When this returns, the earlier watcher is not called any more: store_watch guarantees that for
 * each cluster. */
void clusters_watch(struct store *s, struct store_watcher *watcher)
{
    struct clusters *c = clusters_of(s);
    pthread_mutex_lock(&c->opening);
    atomic_store(&c->watcher, watcher);
    for (size_t i = 0; i < c->count; i++) {
        struct store *part = atomic_load(&c->parts[i].store);
        if (part)
            store_watch(part, watcher ? &c->parts[i].watcher : NULL);
    }
    pthread_mutex_unlock(&c->opening);
}

/* --- changes in the home ---------------------------------------------------------------------- */

static void raise_to(atomic_llong *at, long long revision)
{
    long long was = atomic_load(at);
    while (was < revision && !atomic_compare_exchange_weak(at, &was, revision)) {
    }
}

struct changing {
    struct object_change change;
    struct object_change *asker;
    struct clusters *all;
};

/* True for the kinds that say who may do what, and for settings. */
static bool must_be_known(enum object_kind kind)
{
    return kind != OBJECT_AUDIT && kind != OBJECT_RECOVERY && kind != OBJECT_NOTICE &&
           kind != OBJECT_IDEMPOTENCY_KEY;
}

static bool others_must_know(const struct object_change *change)
{
    bool must = must_be_known(change->kind);
    for (size_t i = 0; i < change->part_count; i++)
        must |= must_be_known(change->parts[i].kind);
    return must;
}

static void change_done(struct task *task)
{
    struct changing *k =
        CONTAINER_OF(CONTAINER_OF(task, struct object_change, done), struct changing, change);
    struct object_change *asker = k->asker;
    struct clusters *c = k->all;
    asker->status = k->change.status;
    asker->revision = k->change.revision;
    if (asker->status == STORE_OK && others_must_know(asker)) {
        raise_to(&c->changed, asker->revision);
        clusters_wake_keepers(c);
    }
    free(k);
    executor_post(asker->reply_to, &asker->done);
}

void clusters_change_object(struct clusters *c, struct object_change *change)
{
    struct changing *k = xcalloc(1, sizeof *k);
    k->asker = change;
    k->all = c;
    k->change = *change;
    k->change.done.run = change_done;
    k->change.reply_to = &clusters_here;
    store_change_object(clusters_home(c), &k->change);
}

struct feeding {
    struct object_feed feed;
    struct object_feed *asker;
    struct clusters *all;
};

static void feed_done(struct task *task)
{
    struct feeding *k =
        CONTAINER_OF(CONTAINER_OF(task, struct object_feed, done), struct feeding, feed);
    struct object_feed *asker = k->asker;
    asker->status = k->feed.status;
    asker->arena = k->feed.arena;
    asker->rows = k->feed.rows;
    asker->count = k->feed.count;
    asker->more = k->feed.more;
    asker->revision = k->feed.revision;
    if (asker->status == STORE_OK)
        raise_to(&k->all->heard, asker->revision);
    if (asker->status != STORE_OK)
        atomic_store(&k->all->parts[0].feed_wanted, true);
    free(k);
    executor_post(asker->reply_to, &asker->done);
}

void clusters_feed(struct clusters *c, struct object_feed *feed)
{
    struct store *home = clusters_reach(c, 0);
    if (!home) { /* an asker would wait for the home before each change */
        atomic_store(&c->parts[0].feed_wanted, true);
        feed->status = STORE_BUSY;
        feed->count = 0;
        feed->more = false;
        executor_post(feed->reply_to, &feed->done);
        return;
    }
    struct feeding *k = xcalloc(1, sizeof *k);
    k->asker = feed;
    k->all = c;
    k->feed.done.run = feed_done;
    k->feed.reply_to = &clusters_here;
    k->feed.arena = feed->arena;
    store_feed(home, &k->feed);
}

bool clusters_fresh(struct leases *l, int64_t mono_ms)
{
    struct clusters *c = CONTAINER_OF(l, struct clusters, leases);
    if (leases_fresh(store_leases(clusters_home(c)), mono_ms))
        return true;
    if (atomic_load(&c->told) > atomic_load(&c->heard))
        return false;
    for (size_t i = 1; i < c->count; i++) {
        struct store *part = atomic_load(&c->parts[i].store);
        if (part && leases_fresh(store_leases(part), mono_ms))
            return true;
    }
    return false;
}

/* --- the keeper ------------------------------------------------------------------------------- */

/* Writes this node's latest home revision as the cluster's mark. Stale: another node has written a
 * mark that was not read yet, and that may be higher. */
static void leave_mark(struct part *p, struct store *to, struct waiter *done)
{
    long long revision = atomic_load(&p->all->changed);
    char text[24];
    if (revision <= p->marked)
        return;
    snprintf(text, sizeof text, "%lld", revision);
    struct object_change mark = {
        .done.run = waiter_wake,
        .reply_to = &done->executor,
        .kind = OBJECT_MARK,
        .id = STR("home"),
        .document = str_of(text),
        .judged = true,
    };
    store_change_object(to, &mark);
    waiter_wait(done);
    if (mark.status == STORE_OK)
        p->marked = revision;
    if (mark.status != STORE_STALE)
        return;
    atomic_store(&p->feed_wanted, true);
    wake_keeper(p);
}

static void read_mark(struct part *p, struct str text)
{
    uint64_t number;
    if (!str_parse_uint(text, INT64_MAX, &number)) {
        log_warning("cluster_mark_damaged", LOG_INT("cluster", p->index), LOG_STR("mark", text),
                    LOG_C("fix", "a row of the database is damaged: any change of an account or a"
                                 " key writes the mark anew"));
        return;
    }
    long long revision = (long long)number;
    if (revision > p->marked)
        p->marked = revision;
    raise_to(&p->all->told, revision);
}

/* Reads the cluster's change log for marks. The store itself announces the erasures in it. */
static void read_feed(struct part *p, struct store *from, struct waiter *done)
{
    bool more = atomic_exchange(&p->feed_wanted, false);
    while (more) {
        struct object_feed feed = {.done.run = waiter_wake, .reply_to = &done->executor};
        store_feed(from, &feed);
        waiter_wait(done);
        bool good = feed.status == STORE_OK;
        for (size_t i = 0; good && i < feed.count; i++)
            if (feed.rows[i].kind == OBJECT_MARK && feed.rows[i].document.p)
                read_mark(p, feed.rows[i].document);
        /* asking again says that the rows are applied */
        more = good && (feed.more || feed.count > 0);
        arena_free(&feed.arena);
        if (!good)
            atomic_store(&p->feed_wanted, true);
    }
}

/* Announces changes in the home again if the home could not be read when they were announced
 * first. */
static void tell_of_home(struct clusters *c)
{
    pthread_mutex_lock(&c->opening); /* keeps the watcher registered during the call */
    struct store_watcher *to = atomic_load(&c->watcher);
    if (to && clusters_reach(c, 0) && atomic_exchange(&c->parts[0].feed_wanted, false))
        to->objects(to);
    pthread_mutex_unlock(&c->opening);
}

/* The other kinds of objects are the home's. Later marks come by the change log. */
static void visit_mark(void *part, enum object_kind kind, struct str id, struct str document)
{
    (void)id;
    if (kind == OBJECT_MARK)
        read_mark(part, document);
}

static bool has_failed(struct store *s)
{
    return store_get_refusal(s) == STORE_REFUSES_FAILED;
}

static struct store *open_part(struct clusters *c, uint32_t index, char **ret_why)
{
    struct postgresql_store_options options = c->options.each;
    options.uri = c->uris[index];
    options.cluster = index;
    options.home = index ? clusters_home(c) : NULL;
    options.others = index ? NULL : (const char *const *)c->uris + 1;
    options.other_count = index ? 0 : c->count - 1;
    if (index)
        options.replica_uri = NULL; /* the replica is the home's */
    struct store *s = postgresql_store_open(&options, ret_why);
    c->parts[index].open_mono_ms = env_mono_ms(env_real()) + OPEN_EVERY_MS;
    if (s && index)
        store_visit_objects(s, visit_mark, &c->parts[index]);
    if (s && index && has_failed(s)) {
        /* it went down again: only this cluster is late, the others go on */
        store_close(s);
        s = NULL;
        *ret_why = xstrdup("what it has could not be read");
    }
    return s;
}

/* A cluster may be away for another reason than before: its database may be back, and empty. */
void clusters_note_away(struct part *p, const char *why)
{
    if (p->why_away && strcmp(p->why_away, why) == 0)
        return;
    log_warning("cluster_away", LOG_INT("cluster", p->index), LOG_C("why", why));
    free(p->why_away);
    p->why_away = xstrdup(why);
}

bool clusters_open_part(struct clusters *c, uint32_t index, char **ret_why)
{
    struct store *s = open_part(c, index, ret_why);
    if (!s)
        return false;
    atomic_store(&c->parts[index].store, s);
    return true;
}

/* Does for a late cluster what the daemon does at its start: waiting lanes, the watcher, the
 * threads. */
static void take_up(struct clusters *c, struct part *p, struct store *s)
{
    struct lane_backlog *lanes = NULL;
    size_t count = store_backlog(s, &lanes);
    bool failed = has_failed(s); /* the cluster went down again meanwhile */
    pthread_mutex_lock(&c->opening);
    bool over = failed || atomic_load(&c->stopping);
    struct store_watcher *to = atomic_load(&c->watcher);
    if (!over) {
        atomic_store(&p->store, s);
        store_watch(s, to ? &p->watcher : NULL);
        store_set_bounds(s, &c->bounds);
        store_start(s, &p->sink);
        log_info("cluster_back", LOG_INT("cluster", p->index));
        leases_changed(&p->watcher);
        lanes_waiting(&p->watcher, lanes, count);
    }
    pthread_mutex_unlock(&c->opening);
    if (over)
        store_close(s);
    free(lanes);
}

static void open_late(struct clusters *c, struct part *p)
{
    char *why = NULL;
    if (env_mono_ms(env_real()) < p->open_mono_ms)
        return;
    struct store *s = open_part(c, p->index, &why);
    if (s)
        take_up(c, p, s);
    else
        clusters_note_away(p, why);
    free(why);
}

void clusters_submit_again(struct clusters *c, struct cluster_request *p)
{
    pthread_mutex_lock(&c->lock);
    bool over = c->keeper_over;
    if (!over)
        c->again = cluster_request_push(p, c->again);
    pthread_mutex_unlock(&c->lock);
    if (over)
        cluster_request_submit(p); /* it is refused, which ends the request */
}

static void try_again(struct clusters *c, bool over)
{
    pthread_mutex_lock(&c->lock);
    struct cluster_request *list = c->again;
    c->again = NULL;
    c->keeper_over = over;
    pthread_mutex_unlock(&c->lock);
    while (list) {
        struct cluster_request *p = list;
        list = cluster_request_next(p);
        cluster_request_submit(p);
    }
}

static bool wait_for_work(struct part *p)
{
    struct clusters *c = p->all;
    pthread_mutex_lock(&c->lock);
    bool any = p->index == 0 && c->again != NULL;
    pthread_mutex_unlock(&c->lock);
    (void)queue_has_any(&p->to_keeper, any ? STEP_AGAIN_MS : STEP_MS);
    struct request_list words = queue_take_all(&p->to_keeper, 0);
    while (words.first)
        free(request_list_take(&words));
    return !atomic_load(&c->stopping);
}

/* The change log is read first, because a mark is compared against it. */
static void keep_part(struct part *p, struct waiter *done)
{
    if (!atomic_load(&p->store))
        open_late(p->all, p);
    struct store *s = clusters_reach(p->all, p->index);
    if (s)
        read_feed(p, s, done);
    if (s)
        leave_mark(p, s, done);
}

static void keep_home(struct clusters *c)
{
    tell_of_home(c);
    clusters_retry_unrouted(c);
    try_again(c, false);
}

void *clusters_keeper_main(void *part)
{
    struct part *p = part;
    CHECK_MAGIC(p->all, CLUSTERS_MAGIC);
    struct waiter done;
    pthread_setname_np(pthread_self(), "store-clusters");
    waiter_init(&done);
    while (wait_for_work(p)) {
        if (p->index == 0)
            keep_home(p->all);
        else
            keep_part(p, &done);
    }
    if (p->index == 0)
        try_again(p->all, true);
    waiter_free(&done);
    return NULL;
}
