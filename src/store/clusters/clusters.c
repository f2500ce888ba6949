/* The store operations that go to a single cluster, and opening, starting and closing all of
 * them. */
#include "store/clusters/clusters.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdlib.h>

static void run_here(struct executor *executor, struct task *task)
{
    (void)executor;
    task->run(task);
}

struct executor clusters_here = {.post = run_here};

/* --- routing --------------------------------------------------------------------------------- */

/* A cluster that is down is not asked: the request would wait for it and hold up others. */
struct store *clusters_reach(struct clusters *c, uint32_t index)
{
    struct store *s = atomic_load(&c->parts[index].store);
    return s && store_get_refusal(s) != STORE_REFUSES_DATABASE ? s : NULL;
}

static uint32_t cluster_of_lane(const struct clusters *c, lane_no lane)
{
    return cluster_map_get(c->apps, lane_app_no(lane));
}

/* Outcomes go to their cluster even when it is down, because its store queues them. */
static void record(struct clusters *c, struct outcome_batch *batch)
{
    uint32_t index =
        batch->count > 0 ? cluster_map_get(c->accounts, batch->items[0].account_no) : 0;
    for (size_t i = 0; i < batch->count; i++)
        ASSERT(cluster_map_get(c->accounts, batch->items[i].account_no) == index);
    struct store *to = atomic_load(&c->parts[index].store);
    ASSERT(to); /* its store was open when their lanes were made */
    store_record(to, batch);
}

static uint32_t cluster_of(const struct clusters *c, enum request_kind kind, void *what)
{
    if (kind == REQUEST_PAGE)
        return cluster_of_lane(c, ((const struct due_page *)what)->lane);
    return cluster_map_get(c->accounts,
                           request_account(&(struct request){.kind = kind, .what = what}));
}

static void request(struct store *s, enum request_kind kind, void *what)
{
    struct clusters *c = clusters_of(s);
    switch (kind) {
    case REQUEST_INTAKE: clusters_submit(c, what); return;
    case REQUEST_OUTCOMES: record(c, what); return;
    case REQUEST_OBJECT: clusters_change_object(c, what); return;
    case REQUEST_OBJECTS: clusters_list_objects(c, what); return;
    case REQUEST_BOOKS: clusters_check_books(c, what); return;
    case REQUEST_FEED: clusters_feed(c, what); return;
    default: break;
    }
    struct store *to = clusters_reach(c, cluster_of(c, kind, what));
    if (to)
        to->ops->request(to, kind, what); /* the wrapping store has asserted the request already */
    else
        request_reply(kind, what, STORE_BUSY);
}

/* --- other nodes ------------------------------------------------------------------------------ */

static struct leases *leases_of_lane(struct leases *l, lane_no lane)
{
    struct clusters *c = CONTAINER_OF(l, struct clusters, leases);
    struct store *s = atomic_load(&c->parts[cluster_of_lane(c, lane)].store);
    return s ? store_leases(s) : &c->closed;
}

static struct leases *get_leases(struct store *s)
{
    return &clusters_of(s)->leases;
}

static void ask_node(struct store *s, struct store_question *question)
{
    struct clusters *c = clusters_of(s);
    struct store *to = clusters_reach(c, cluster_map_get(c->apps, question->app_no));
    if (to) {
        store_ask(to, question);
        return;
    }
    question->answered = false;
    executor_post(question->reply_to, &question->done);
}

static void answer_node(struct store *s, uint32_t app_no, int64_t question, struct str answer)
{
    struct clusters *c = clusters_of(s);
    struct store *to = clusters_reach(c, cluster_map_get(c->apps, app_no));
    if (to)
        store_answer(to, app_no, question, answer);
}

static void place(struct store *s, uint32_t account_no, uint32_t app_no, uint32_t cluster)
{
    struct clusters *c = clusters_of(s);
    if (cluster < c->count) /* otherwise the start is about to be refused */
        cluster_map_set(app_no ? c->apps : c->accounts, app_no ? app_no : account_no, cluster);
    if (app_no)
        clusters_app_known(c, app_no);
}

/* --- before the start ------------------------------------------------------------------------- */

static const struct hash_secret *get_hash_secret(struct store *s)
{
    return store_hash_secret(clusters_home(clusters_of(s)));
}

static void visit_objects(struct store *s, object_visitor visit, void *context)
{
    store_visit_objects(clusters_home(clusters_of(s)), visit, context);
}

static size_t get_backlog(struct store *s, struct lane_backlog **ret_lanes)
{
    struct clusters *c = clusters_of(s);
    struct lane_backlog *all = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct store *part = atomic_load(&c->parts[i].store);
        struct lane_backlog *lanes = NULL;
        size_t n = part ? store_backlog(part, &lanes) : 0;
        all = xgrow(all, &capacity, count + n + 1, sizeof *all);
        for (size_t j = 0; j < n; j++)
            all[count++] = lanes[j];
        free(lanes);
    }
    *ret_lanes = all;
    return count;
}

/* --- life ------------------------------------------------------------------------------------- */

static void start(struct store *s, struct owed_sink *sink)
{
    struct clusters *c = clusters_of(s);
    c->sink = sink;
    c->started = true;
    /* visit_objects does not say up to which revision it has read */
    atomic_store(&c->parts[0].feed_wanted, true);
    for (size_t i = 0; i < c->count; i++) {
        struct part *p = &c->parts[i];
        struct store *part = atomic_load(&p->store);
        if (part)
            store_start(part, &p->sink);
        ASSERT(pthread_create(&p->keeper, NULL, clusters_keeper_main, p) == 0);
    }
}

/* A cluster that is down gets the bounds in take_up. */
static void set_bounds(struct store *s, const struct store_bounds *bounds)
{
    struct clusters *c = clusters_of(s);
    pthread_mutex_lock(&c->opening);
    c->bounds = *bounds;
    for (size_t i = 0; i < c->count; i++) {
        struct store *part = atomic_load(&c->parts[i].store);
        if (part)
            store_set_bounds(part, bounds);
    }
    pthread_mutex_unlock(&c->opening);
}

static void stopping(struct store *s)
{
    struct clusters *c = clusters_of(s);
    pthread_mutex_lock(&c->opening);
    atomic_store(&c->stopping, true);
    for (size_t i = 0; i < c->count; i++) {
        struct store *part = atomic_load(&c->parts[i].store);
        if (part)
            store_stopping(part);
    }
    pthread_mutex_unlock(&c->opening);
    clusters_wake_keepers(c);
}

static void close_part(struct clusters *c, size_t index)
{
    struct part *p = &c->parts[index];
    struct store *s = atomic_load(&p->store);
    if (s)
        store_close(s);
    queue_destroy(&p->to_keeper);
    free(p->why_away);
    free(c->uris[index]);
}

static void close_all(struct store *s)
{
    struct clusters *c = clusters_of(s);
    stopping(s);
    for (size_t i = 0; c->started && i < c->count; i++)
        ASSERT(pthread_join(c->parts[i].keeper, NULL) == 0);
    for (size_t i = c->count; i-- > 0;)
        close_part(c, i);
    free(c->unrouted);
    cluster_map_free(c->accounts);
    cluster_map_free(c->apps);
    pthread_mutex_destroy(&c->opening);
    pthread_mutex_destroy(&c->lock);
    c->magic = c->store.magic = 0;
    free(c);
}

static const struct store_ops clusters_ops = {
    .request = request,
    .leases = get_leases,
    .watch = clusters_watch,
    .ask = ask_node,
    .answer = answer_node,
    .place = place,
    .refusal = clusters_get_refusal,
    .numbers = clusters_get_numbers,
    .clusters = clusters_get_states,
    .set_bounds = set_bounds,
    .hash_secret = get_hash_secret,
    .visit_objects = visit_objects,
    .backlog = get_backlog,
    .start = start,
    .stopping = stopping,
    .close = close_all,
};

struct store *clusters_store_open(const struct clusters_store_options *options, char **ret_why)
{
    struct clusters *c = xcalloc(1, sizeof *c);
    ASSERT(options->uri_count > 0 && options->uri_count <= CLUSTERS_MOST);
    c->store = (struct store){.magic = STORE_MAGIC, .ops = &clusters_ops};
    c->magic = CLUSTERS_MAGIC;
    c->options = *options;
    c->bounds = (struct store_bounds){.retention = options->each.retention,
                                      .waiting_most = options->each.waiting_most};
    c->count = options->uri_count;
    c->accounts = cluster_map_new();
    c->apps = cluster_map_new();
    c->leases.of = leases_of_lane;
    c->leases.fresh = clusters_fresh;
    ASSERT(pthread_mutex_init(&c->opening, NULL) == 0);
    ASSERT(pthread_mutex_init(&c->lock, NULL) == 0);
    for (uint32_t i = 0; i < c->count; i++) {
        c->uris[i] = xstrdup(options->uris[i]);
        clusters_init_part(c, i);
    }
    if (!clusters_open_part(c, 0, ret_why)) {
        close_all(&c->store);
        return NULL;
    }
    for (uint32_t i = 1; i < c->count; i++) {
        char *why = NULL;
        if (clusters_open_part(c, i, &why))
            continue;
        clusters_note_away(&c->parts[i], why);
        free(why);
    }
    return &c->store;
}
