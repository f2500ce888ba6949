/* Operations that concern several clusters: requests with events of several accounts, lists of the
 * audit log, checks of the books, numbers.
 *
 * A request with events of several clusters is accepted whole, or refused whole if one of them does
 * not accept events. If a cluster stops accepting after another has stored its part, the part is
 * submitted again until it is accepted: a refusal must mean that nothing is stored. The sender is
 * told meanwhile that the result is unknown, as for any commit in doubt
 * (docs/operators/postgresql.md). After that (SPLIT_MS) the part is given up: it might be refused
 * for ever, and the sender repeats the request. The bytes of all such requests together are
 * bounded. */
#include "store/clusters/clusters.h"

#include "base/alloc.h"
#include "base/arithmetic.h"

#include <stdlib.h>

/* Longer than the sender waits for an answer (docs/operators/limits.md). */
#define SPLIT_MS 40000

/* --- events ----------------------------------------------------------------------------------- */

struct cluster_request {
    struct intake_batch batch;
    struct split *split;
    struct cluster_request *next; /* in the list of those to submit again */
    uint32_t cluster;
    size_t *places; /* indices of its items in the whole batch */
};

struct split {
    struct clusters *all;
    struct intake_batch *whole;
    int64_t give_up_mono_ms;
    atomic_int left; /* parts without an answer */
    size_t count;
    struct cluster_request requests[];
};

struct cluster_request *cluster_request_next(const struct cluster_request *p)
{
    return p->next;
}

struct cluster_request *cluster_request_push(struct cluster_request *p,
                                             struct cluster_request *list)
{
    p->next = list;
    return p;
}

static void end_split(struct split *split, enum store_status status)
{
    struct intake_batch *whole = split->whole;
    if (status == STORE_OK) {
        whole->verdicts = arena_zalloc(&whole->arena, whole->count * sizeof *whole->verdicts);
        for (size_t i = 0; i < split->count; i++)
            for (size_t j = 0; j < split->requests[i].batch.count; j++)
                whole->verdicts[split->requests[i].places[j]] =
                    split->requests[i].batch.verdicts[j];
    }
    for (size_t i = 0; i < split->count; i++)
        arena_free(&split->requests[i].batch.arena);
    whole->status = status;
    atomic_fetch_sub(&split->all->split_bytes, (long long)whole->bytes);
    executor_post(whole->reply_to, &whole->done);
    free(split);
}

/* True if none of its events are stored. */
static bool is_refused(const struct cluster_request *p)
{
    return p->batch.status == STORE_BUSY || p->batch.status == STORE_REFUSED;
}

/* Runs when all parts have an answer. Parts that were refused are submitted again if another part
 * was accepted. */
static void judge_split(struct split *split)
{
    size_t refused = 0, failed = 0;
    for (size_t i = 0; i < split->count; i++) {
        refused += is_refused(&split->requests[i]);
        failed += split->requests[i].batch.status == STORE_FAILED;
    }
    bool over =
        atomic_load(&split->all->stopping) || env_mono_ms(env_real()) >= split->give_up_mono_ms;
    if (failed > 0 || (over && refused > 0 && refused < split->count)) {
        end_split(split, failed > 0 ? STORE_FAILED : STORE_PARTLY);
        return;
    }
    if (refused == 0 || refused == split->count) {
        end_split(split, refused ? STORE_BUSY : STORE_OK);
        return;
    }
    struct cluster_request *again[CLUSTERS_MOST];
    size_t n = 0;
    for (size_t i = 0; i < split->count; i++)
        if (is_refused(&split->requests[i]))
            again[n++] = &split->requests[i];
    atomic_store(&split->left, (int)n);
    for (size_t i = 0; i < n; i++)
        clusters_submit_again(split->all, again[i]);
}

static void cluster_request_done(struct task *task)
{
    struct cluster_request *p =
        CONTAINER_OF(CONTAINER_OF(task, struct intake_batch, done), struct cluster_request, batch);
    struct split *split = p->split;
    if (atomic_fetch_sub(&split->left, 1) == 1)
        judge_split(split);
}

void cluster_request_submit(struct cluster_request *p)
{
    struct store *to = clusters_reach(p->split->all, p->cluster);
    p->batch.done.run = cluster_request_done;
    p->batch.reply_to = &clusters_here;
    if (to) {
        store_submit(to, &p->batch);
        return;
    }
    p->batch.status = STORE_BUSY;
    executor_post(p->batch.reply_to, &p->batch.done);
}

static bool takes(struct clusters *c, uint32_t cluster)
{
    struct store *s = atomic_load(&c->parts[cluster].store);
    return s && store_get_refusal(s) == STORE_TAKES;
}

static void add_item(struct cluster_request *p, const struct intake_batch *whole, size_t at)
{
    if (!p->batch.items) {
        p->batch.items = arena_alloc(&p->batch.arena, whole->count * sizeof *whole->items);
        p->places = arena_alloc(&p->batch.arena, whole->count * sizeof *p->places);
    }
    p->places[p->batch.count] = at;
    p->batch.items[p->batch.count++] = whole->items[at];
}

static struct split *split_up(struct clusters *c, struct intake_batch *whole, const bool in[])
{
    struct split *split =
        xcalloc(1, sizeof *split + CLUSTERS_MOST * sizeof(struct cluster_request));
    struct cluster_request *of[CLUSTERS_MOST];
    split->all = c;
    split->whole = whole;
    split->give_up_mono_ms = env_mono_ms(env_real()) + SPLIT_MS;
    for (uint32_t i = 0; i < c->count; i++) {
        if (!in[i])
            continue;
        of[i] = &split->requests[split->count++];
        of[i]->split = split;
        of[i]->cluster = i;
        of[i]->batch.received_ms = whole->received_ms;
    }
    for (size_t i = 0; i < whole->count; i++)
        add_item(of[cluster_map_get(c->accounts, whole->items[i].terms->account_no)], whole, i);
    for (size_t i = 0; i < split->count; i++)
        split->requests[i].batch.bytes =
            whole->bytes * split->requests[i].batch.count / whole->count;
    return split;
}

/* A single request is accepted whatever its size. */
static bool take_room(struct clusters *c, const struct intake_batch *batch)
{
    long long bytes = (long long)batch->bytes;
    long long before = atomic_fetch_add(&c->split_bytes, bytes);
    if (before == 0 || before + bytes <= LIMIT_STORE_QUEUED_BYTES)
        return true;
    atomic_fetch_sub(&c->split_bytes, bytes);
    return false;
}

static void refuse(struct intake_batch *batch)
{
    batch->status = STORE_BUSY;
    executor_post(batch->reply_to, &batch->done);
}

void clusters_submit(struct clusters *c, struct intake_batch *batch)
{
    bool in[CLUSTERS_MOST] = {0};
    uint32_t concerned = 0, last = 0;
    for (size_t i = 0; i < batch->count; i++) {
        last = cluster_map_get(c->accounts, batch->items[i].terms->account_no);
        concerned += !in[last];
        in[last] = true;
    }
    if (concerned <= 1) {
        struct store *to = atomic_load(&c->parts[last].store);
        if (to)
            store_submit(to, batch);
        else
            refuse(batch);
        return;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        if (in[i] && !takes(c, i)) {
            refuse(batch);
            return;
        }
    }
    if (!take_room(c, batch)) {
        refuse(batch);
        return;
    }
    struct split *split = split_up(c, batch, in);
    size_t count = split->count; /* the last part that ends frees the split */
    atomic_store(&split->left, (int)count);
    for (size_t i = 0; i < count; i++)
        cluster_request_submit(&split->requests[i]);
}

/* --- the audit log ------------------------------------------------------------------------------
 */

struct list_fanout;

struct fanout_part {
    struct object_list list;
    struct list_fanout *gathering;
    size_t taken; /* rows already merged */
};

struct list_fanout {
    struct object_list *asker;
    atomic_int left;
    size_t count;
    struct fanout_part of[CLUSTERS_MOST];
};

/* The list whose next row has the highest id. NULL: all rows are merged, or one list has no rows
 * left here but more in its store. */
static struct fanout_part *highest(struct list_fanout *g)
{
    struct fanout_part *best = NULL;
    for (size_t i = 0; i < g->count; i++) {
        struct fanout_part *l = &g->of[i];
        if (l->taken == l->list.count && l->list.more)
            return NULL;
        if (l->taken < l->list.count &&
            (!best || str_cmp(l->list.rows[l->taken].id, best->list.rows[best->taken].id) > 0))
            best = l;
    }
    return best;
}

static void merge(struct list_fanout *g)
{
    struct object_list *to = g->asker;
    struct fanout_part *from;
    to->rows = arena_alloc(&to->arena, to->limit * sizeof *to->rows);
    to->count = 0;
    while (to->count < to->limit && (from = highest(g)) != NULL) {
        const struct object_row *row = &from->list.rows[from->taken++];
        to->rows[to->count++] = (struct object_row){arena_str(&to->arena, row->id),
                                                    arena_str(&to->arena, row->document)};
    }
    to->more = false;
    for (size_t i = 0; i < g->count; i++)
        to->more |= g->of[i].taken < g->of[i].list.count || g->of[i].list.more;
}

static void list_done(struct task *task)
{
    struct list_fanout *g =
        CONTAINER_OF(CONTAINER_OF(task, struct object_list, done), struct fanout_part, list)
            ->gathering;
    if (atomic_fetch_sub(&g->left, 1) != 1)
        return;
    struct object_list *asker = g->asker;
    asker->status = STORE_OK;
    for (size_t i = 0; i < g->count; i++)
        if (g->of[i].list.status != STORE_OK)
            asker->status = g->of[i].list.status;
    if (asker->status == STORE_OK)
        merge(g);
    for (size_t i = 0; i < g->count; i++)
        arena_free(&g->of[i].list.arena);
    free(g);
    executor_post(asker->reply_to, &asker->done);
}

/* Asks the home and the account's cluster; all clusters if no account is given. */
void clusters_list_objects(struct clusters *c, struct object_list *list)
{
    struct store *to[CLUSTERS_MOST] = {0};
    struct list_fanout *g = xcalloc(1, sizeof *g);
    uint32_t own = cluster_map_get(c->accounts, list->account_no);
    g->asker = list;
    for (uint32_t i = 0; i < c->count; i++) {
        if (i != 0 && i != own && list->account_no != 0)
            continue;
        struct fanout_part *l = &g->of[g->count];
        to[g->count++] = clusters_reach(c, i);
        l->gathering = g;
        l->list = (struct object_list){
            .done.run = list_done,
            .reply_to = &clusters_here,
            .kind = list->kind,
            .account_no = list->account_no,
            .from = list->from,
            .below = list->below,
            .limit = list->limit,
            .status = STORE_BUSY,
        };
    }
    size_t count = g->count; /* the last list that ends frees it */
    atomic_store(&g->left, (int)count);
    for (size_t i = 0; i < count; i++) {
        if (to[i])
            store_list_objects(to[i], &g->of[i].list);
        else
            executor_post(&clusters_here, &g->of[i].list.done);
    }
}

/* --- the books ----------------------------------------------------------------------------------
 *
 * A check goes on in the next cluster when one is finished, while its bounds allow more. A position
 * is the last account and day, and the account tells the cluster. */

struct books_fanout {
    struct books_check check;
    struct books_check *asker;
    struct clusters *all;
    uint32_t cluster;
};

static void take_differences(struct books_check *to, struct books_check *from)
{
    size_t count = to->difference_count + from->difference_count, capacity = to->difference_count;
    if (count > BOOKS_DIFFERENCES_MOST)
        count = BOOKS_DIFFERENCES_MOST;
    to->differences = xgrow(to->differences, &capacity, count + 1, sizeof *to->differences);
    for (size_t i = 0; to->difference_count < count; i++)
        to->differences[to->difference_count++] = from->differences[i];
    to->difference_total += from->difference_total;
    free(from->differences);
}

static void take_checked(struct books_check *to, struct books_check *from)
{
    to->days += from->days;
    to->callbacks += from->callbacks;
    to->took_ms += from->took_ms;
    take_differences(to, from);
    if (from->days == 0)
        return;
    to->last_account_no = from->last_account_no;
    to->last_day = from->last_day;
}

static void check_done(struct task *task);

static void ask_check(struct books_fanout *k)
{
    struct store *to = clusters_reach(k->all, k->cluster);
    const struct books_check *asker = k->asker;
    bool begins = k->cluster != cluster_map_get(k->all->accounts, asker->after_account_no);
    k->check = (struct books_check){
        .done.run = check_done,
        .reply_to = &clusters_here,
        .after_account_no = begins ? 0 : asker->after_account_no,
        .after_day = begins ? INT32_MIN : asker->after_day,
        .from_day = asker->from_day,
        .callbacks_most = asker->callbacks_most - asker->callbacks,
        .status = STORE_BUSY,
    };
    if (to)
        store_check_books(to, &k->check);
    else
        executor_post(&clusters_here, &k->check.done);
}

static void check_done(struct task *task)
{
    struct books_fanout *k =
        CONTAINER_OF(CONTAINER_OF(task, struct books_check, done), struct books_fanout, check);
    struct books_check *asker = k->asker;
    bool good = k->check.status == STORE_OK, last = k->cluster + 1 == k->all->count;
    take_checked(asker, &k->check);
    bool full = asker->callbacks >= asker->callbacks_most || asker->days >= BOOKS_DAYS_MOST;
    if (good && !k->check.more && !last && !full) {
        k->cluster++;
        ask_check(k);
        return;
    }
    /* If a cluster is down, the days checked so far count, and the next check begins with that
     * cluster. */
    asker->status = asker->days > 0 ? STORE_OK : k->check.status;
    asker->more = !good || k->check.more || !last;
    free(k);
    executor_post(asker->reply_to, &asker->done);
}

void clusters_check_books(struct clusters *c, struct books_check *check)
{
    struct books_fanout *k = xcalloc(1, sizeof *k);
    k->asker = check;
    k->all = c;
    k->cluster = cluster_map_get(c->accounts, check->after_account_no);
    ask_check(k);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void add_timings(struct store_numbers *to, const struct store_numbers *n)
{
    for (size_t i = 0; i < STORE_TIMINGS; i++) {
        for (size_t j = 0; j < TIMING_BUCKETS; j++)
            to->timings[i].counts[j] += n->timings[i].counts[j];
        to->timings[i].total_us += n->timings[i].total_us;
    }
}

static void add_numbers(struct store_numbers *to, const struct store_numbers *n)
{
    to->events_accepted += n->events_accepted;
    to->callbacks_delivered += n->callbacks_delivered;
    to->callbacks_dead += n->callbacks_dead;
    to->callbacks_pending += n->callbacks_pending;
    if (n->oldest_pending_ms &&
        (!to->oldest_pending_ms || n->oldest_pending_ms < to->oldest_pending_ms))
        to->oldest_pending_ms = n->oldest_pending_ms;
    to->last_accepted_ms = int64_max(to->last_accepted_ms, n->last_accepted_ms);
    to->retention_clock_ms = int64_max(to->retention_clock_ms, n->retention_clock_ms);
    to->events_queued += n->events_queued;
    to->queued_bytes += n->queued_bytes;
    to->queued_most_bytes += n->queued_most_bytes;
    to->commits += n->commits;
    add_timings(to, n);
    for (size_t i = 0; i < STORE_REFUSALS; i++)
        to->refused[i] += n->refused[i];
    to->waiting_most += n->waiting_most;
    to->nodes = int64_max(to->nodes, n->nodes);
    to->shards += n->shards;
    to->shards_held += n->shards_held;
    to->shards_taken_over += n->shards_taken_over;
    to->shards_lost += n->shards_lost;
    to->outcomes_refused += n->outcomes_refused;
    to->statements_refused += n->statements_refused;
    to->outcomes_set_aside += n->outcomes_set_aside;
    if (n->sqlstate[0] &&
        (!to->sqlstate[0] || n->statement_refused_ms < to->statement_refused_ms)) {
        to->statement_refused_ms = n->statement_refused_ms;
        memcpy(to->sqlstate, n->sqlstate, sizeof to->sqlstate);
    }
    to->handed_over += n->handed_over;
    if (llabs(n->clock_ahead_ms) > llabs(to->clock_ahead_ms))
        to->clock_ahead_ms = n->clock_ahead_ms;
}

/* The store accepts events while at least one cluster accepts those of its accounts. */
enum store_refusal clusters_get_refusal(struct store *s)
{
    struct clusters *c = clusters_of(s);
    enum store_refusal refusal = store_get_refusal(clusters_home(c));
    for (size_t i = 1; i < c->count && refusal != STORE_REFUSES_FAILED; i++) {
        struct store *part = atomic_load(&c->parts[i].store);
        enum store_refusal own = part ? store_get_refusal(part) : STORE_REFUSES_DATABASE;
        if (own == STORE_TAKES || own == STORE_REFUSES_FAILED)
            refusal = own;
    }
    return refusal;
}

/* Sums over the clusters. */
void clusters_get_numbers(struct store *s, struct store_numbers *ret)
{
    struct clusters *c = clusters_of(s);
    store_get_numbers(clusters_home(c), ret);
    ret->clusters = (int64_t)c->count;
    ret->clusters_away = ret->refusal == STORE_REFUSES_DATABASE;
    for (size_t i = 1; i < c->count; i++) {
        struct store *part = atomic_load(&c->parts[i].store);
        struct store_numbers n = {.shards = SHARDS, .refusal = STORE_REFUSES_DATABASE};
        if (part)
            store_get_numbers(part, &n);
        ret->clusters_away += n.refusal == STORE_REFUSES_DATABASE;
        add_numbers(ret, &n);
    }
    ret->refusal = clusters_get_refusal(s);
    ret->accepting = ret->refusal == STORE_TAKES;
    ret->failed = ret->refusal == STORE_REFUSES_FAILED;
}

size_t clusters_get_states(struct store *s, struct cluster_state *ret)
{
    struct clusters *c = clusters_of(s);
    for (size_t i = 0; i < c->count; i++) {
        struct store *part = atomic_load(&c->parts[i].store);
        ret[i] = cluster_state_away((uint32_t)i, store_refusal_text(STORE_REFUSES_DATABASE));
        if (part && store_get_clusters(part, &ret[i]) > 0)
            ret[i].number = (uint32_t)i;
    }
    return c->count;
}
