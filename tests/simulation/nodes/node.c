/* One node as store/postgresql runs it: a thread that renews, looks and acts each second, and one
 * that looks four times a second what others have handed over, and for what waits in shards that
 * were claimed. Each waits for its own requests. */
#include "nodes.h"

#include "base/alloc.h"

#include <string.h>

#define STEP_MS 250
#define STEP_DRAINING_MS 20
#define RESCAN_MS 60000
#define LEAVE_MS 10000
#define PUMP_MS 100

int64_t node_mono(const struct node *n)
{
    return n->offset_ms + w.now_ms * n->rate_ppm / PPM;
}

void node_after(struct node *n, struct moment *m, int64_t ms)
{
    happens_at(m, w.now_ms + ms * PPM / n->rate_ppm + 1);
}

bool node_is_stopped(struct node *n, struct moment *m)
{
    if (n->stopped_until_ms <= w.now_ms)
        return false;
    happens_at(m, n->stopped_until_ms + below(50)); /* in whatever order */
    return true;
}

/* --- turns ------------------------------------------------------------------------------------ */

static bool is_draining(const struct member *m)
{
    for (size_t i = 0; i < SHARDS; i++)
        if (m->holds[i].state == SHARD_DRAINING)
            return true;
    return false;
}

static void next_step(struct node *n)
{
    node_after(n, &n->turn, is_draining(&n->member) ? STEP_DRAINING_MS : STEP_MS);
}

static void publish(struct node *n)
{
    struct leases_published published;
    leases_publish(&n->leases, &n->member, &published);
    for (size_t i = 0; i < SHARDS; i++)
        n->fresh[i] |= published.gained[i] && !planted("claimed_not_looked_through");
}

static void read_busy(const struct node *n, int32_t busy[SHARDS])
{
    for (size_t i = 0; i < SHARDS; i++)
        busy[i] = planted("busy_ignored") ? 0 : atomic_load(&n->leases.busy[i]);
}

static void turn_over(struct node *n, bool good)
{
    n->turn_due_mono_ms = good ? node_mono(n) + NODE_RENEW_MS : 0;
    next_step(n);
}

static void step(struct moment *m)
{
    struct node *n = CONTAINER_OF(m, struct node, turn);
    if (node_is_stopped(n, m))
        return;
    int32_t busy[SHARDS];
    int64_t now = node_mono(n);
    read_busy(n, busy);
    if (n->leaving && n->member.leaving &&
        (now >= n->leave_by_mono_ms ||
         (member_held(&n->member) == 0 && !is_draining(&n->member)))) {
        world_trace("%d is gone", (int)n->id);
        request_send(request_new(n, REQUEST_LEAVE));
        return;
    }
    if (now < n->turn_due_mono_ms && n->leaving == n->member.leaving &&
        !member_can_release(&n->member, busy, now)) {
        next_step(n);
        return;
    }
    n->member.leaving = n->leaving;
    n->turns++;
    request_send(request_new(n, REQUEST_LOOK));
}

static void looked(struct request *r)
{
    struct node *n = r->node;
    struct shards_todo *todo = &r->look->todo;
    int32_t busy[SHARDS];
    int64_t now = node_mono(n);
    member_renewed(&n->member, planted("lease_from_the_answer") ? now : r->sent_mono_ms, now);
    read_busy(n, busy);
    member_look(&n->member, &r->look->seen, busy, now, todo);
    n->looked_ms = r->as_of_ms;
    publish(n);
    if (todo->lost + todo->drained + todo->claims + todo->releases > 0)
        world_trace("%d looked: lost %zu, drains %zu, releases %zu, claims %zu", (int)n->id,
                    todo->lost, todo->drained, todo->releases, todo->claims);
    if (todo->claims + todo->releases == 0) {
        turn_over(n, true);
        return;
    }
    checks_releasing(n, todo);
    struct request *act = request_new(n, REQUEST_ACT);
    act->look->todo = *todo;
    for (size_t i = 0; i < todo->releases; i++)
        act->look->release_fence[i] = n->member.holds[todo->release[i]].fence;
    request_send(act);
}

static void acted(struct request *r)
{
    struct node *n = r->node;
    const struct look *look = r->look;
    for (size_t i = 0; i < look->todo.releases; i++)
        member_released(&n->member, look->todo.release[i]);
    for (size_t i = 0; i < look->todo.claims; i++)
        if (look->claimed[i]) {
            member_claimed(&n->member, look->todo.claim[i], look->claimed[i]);
            n->claim_looked_ms[look->todo.claim[i]] = n->looked_ms;
        }
    publish(n);
}

/* --- keeping ---------------------------------------------------------------------------------- */

static void keep(struct moment *m)
{
    struct node *n = CONTAINER_OF(m, struct node, keep);
    if (!node_is_stopped(n, m))
        request_send(request_new(n, REQUEST_POLL));
}

/* Fresh ones first, and now and then what is late in all. */
static void look_through(struct node *n)
{
    bool any = false;
    for (size_t i = 0; i < SHARDS; i++)
        any |= n->fresh[i];
    bool rescan = !any && node_mono(n) >= n->rescan_due_mono_ms && !planted("no_rescan");
    if (!any && !rescan) {
        node_after(n, &n->keep, STEP_MS);
        return;
    }
    struct request *r = request_new(n, REQUEST_BACKLOG);
    r->only_late = rescan;
    for (size_t i = 0; i < SHARDS; i++)
        r->shards[i] = rescan ? n->leases.fence[i] != 0 : n->fresh[i];
    if (rescan)
        n->rescan_due_mono_ms = node_mono(n) + RESCAN_MS;
    else
        memset(n->fresh, 0, sizeof n->fresh);
    request_send(r);
}

static void polled(struct request *r)
{
    struct request *commit = request_new(r->node, REQUEST_POLLED);
    commit->found_count = r->found_count;
    commit->rows = r->rows;
    commit->heard = r->heard;
    memcpy(commit->heard_fence, r->heard_fence, sizeof r->heard_fence);
    commit->heard_since_mono_ms = r->sent_mono_ms;
    r->rows = NULL;
    r->heard = NULL;
    request_send(commit);
}

/* Its commit is known, or in doubt: then the lanes look. */
static void tell(struct request *r, bool committed)
{
    struct node *n = r->node;
    for (size_t i = 0; i < r->found_count; i++) {
        const struct handover_row *row = &r->heard[i];
        struct handoff_stamp word = {r->heard_fence[shard_of_lane(row->lane)], n->heard_mono_ms};
        bool carried = row->callback != CARRIES_NONE && n->heard_mono_ms > 0;
        if (carried && (committed || planted("carried_before_the_commit")))
            lanes_carried(n, row, word);
        else
            lanes_waiting(n, row->lane);
    }
    if (committed)
        n->heard_mono_ms = r->heard_since_mono_ms;
}

static void looked_through(struct request *r, bool good)
{
    struct node *n = r->node;
    for (size_t i = 0; !good && !r->only_late && i < SHARDS; i++)
        n->fresh[i] |= r->shards[i];
    for (size_t i = 0; good && i < r->found_count; i++)
        lanes_waiting(n, (uint32_t)r->found[i]);
    if (good)
        look_through(n);
    else
        node_after(n, &n->keep, STEP_MS);
}

void node_answered(struct request *r, bool good)
{
    struct node *n = r->node;
    switch (r->kind) {
    case REQUEST_LOOK:
        if (good)
            looked(r);
        else
            turn_over(n, false);
        break;
    case REQUEST_ACT:
        if (good)
            acted(r);
        turn_over(n, good);
        break;
    case REQUEST_LEAVE: node_kill(n); break;
    case REQUEST_POLL:
        if (good)
            polled(r);
        else
            node_after(n, &n->keep, STEP_MS);
        break;
    case REQUEST_POLLED:
        tell(r, good);
        if (good)
            look_through(n);
        else
            node_after(n, &n->keep, STEP_MS);
        break;
    case REQUEST_BACKLOG: looked_through(r, good); break;
    default: break; /* handover: nobody waits for it */
    }
}

/* --- coming and going ------------------------------------------------------------------------- */

static void pump(struct moment *m)
{
    struct node *n = CONTAINER_OF(m, struct node, pump);
    if (node_is_stopped(n, m))
        return;
    lanes_pump(n);
    node_after(n, m, PUMP_MS);
}

struct node *node_join(uint64_t id, uint32_t host)
{
    struct node *n = xcalloc(1, sizeof *n);
    ASSERT(w.node_count < NODES_EVER);
    w.nodes[w.node_count++] = n;
    n->id = id;
    n->host = host;
    n->alive = true;
    n->rate_ppm = PPM + (w.skew_ppm ? below(2 * w.skew_ppm) - w.skew_ppm : 0);
    n->offset_ms = below(DAY);
    n->patience_ms = 1000 + below(3000);
    n->turn.happen = step;
    n->keep.happen = keep;
    n->pump.happen = pump;
    member_init(&n->member, id);
    n->leases.looked_until_mono_ms = INT64_MAX; /* looks at changes are not modelled */
    n->rescan_due_mono_ms = node_mono(n) + below(RESCAN_MS);
    happens_at(&n->turn, w.now_ms + below(STEP_MS));
    happens_at(&n->keep, w.now_ms + below(STEP_MS));
    happens_at(&n->pump, w.now_ms + below(PUMP_MS));
    world_trace("%d joins on host %u", (int)id, host);
    return n;
}

static void never(struct moment *m)
{
    if (m->place)
        timeline_remove(&w.timeline, m);
}

/* What it has sent is on its way all the same. */
void node_kill(struct node *n)
{
    n->alive = false;
    never(&n->turn);
    never(&n->keep);
    never(&n->pump);
    lanes_forget(n);
}

void node_leave(struct node *n)
{
    n->leaving = true;
    n->leave_by_mono_ms = node_mono(n) + LEAVE_MS;
}
