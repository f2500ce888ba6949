/* The database: one transaction at a time, at one moment. It keeps the three rules at the head of
 * store/nodes/shards.h; plants of bugs in them stand beside each. */
#include "nodes.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define LATE_MS 15000 /* what is due for so long is told of again */

int64_t database_now(void)
{
    return w.db.offset_ms + w.now_ms * w.db.rate_ppm / PPM;
}

int64_t database_lease_left(uint64_t node)
{
    const struct node_row *row = &w.db.rows[node];
    return row->there ? row->lease_until - database_now() : INT64_MIN;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Whoever runs on its host knows that it is dead. */
static bool is_gone(const struct node *asks, uint64_t id)
{
    bool gone = false;
    for (size_t i = 0; i < w.node_count; i++)
        if (w.nodes[i]->id == id)
            gone = !w.nodes[i]->alive && w.nodes[i]->host == asks->host;
    return gone;
}

static void renew_and_look(struct request *r)
{
    struct node *n = r->node;
    struct look *look = r->look;
    bool runs[NODES_EVER + 1] = {false};
    int64_t early = planted("lease_over_too_early") ? NODE_LEASE_MS * 3 / 4 : 0;
    w.db.rows[n->id] = (struct node_row){
        .there = true, .leaving = n->member.leaving, .lease_until = database_now() + NODE_LEASE_MS};
    look->seen = (struct shards_seen){.nodes = look->nodes};
    for (uint64_t id = 1; id <= NODES_EVER; id++) {
        struct node_row *row = &w.db.rows[id];
        if (row->there && id != n->id && is_gone(n, id))
            row->there = false;
        runs[id] = row->there && row->lease_until - early > database_now();
        bool overlooked =
            (planted("newest_overlooked") && id > NODES_EVER / 2 && id != n->id) ||
            (planted("others_overlooked_at_times") && id != n->id && n->turns % 16 < 8);
        if (runs[id] && !row->leaving && !overlooked)
            look->nodes[look->seen.node_count++] = id;
    }
    for (size_t i = 0; i < SHARDS; i++) {
        uint64_t owner = w.db.shards[i].owner;
        look->seen.shards[i] = w.db.shards[i];
        look->seen.lapsed[i] = w.db.rows[owner].there && !runs[owner];
        if (!runs[owner])
            look->seen.shards[i].owner = 0;
    }
    r->as_of_ms = w.now_ms;
}

/* Also a lease that was over when the node looked, and was renewed since. */
static bool is_leased(uint64_t owner)
{
    if (planted("renewed_one_claimed") || planted("lease_over_too_early"))
        return false;
    return owner && database_lease_left(owner) > 0;
}

static void claim(struct request *r, size_t at)
{
    struct look *look = r->look;
    size_t shard = look->todo.claim[at];
    struct shard_seen *s = &w.db.shards[shard];
    if (s->fence != look->todo.claim_fence[at] && !planted("claim_not_compared"))
        return;
    if (is_leased(s->owner) && !planted("claim_not_compared"))
        return;
    *s = (struct shard_seen){r->node->id,
                             s->fence + (!planted("fence_not_increased") || s->fence == 0)};
    look->claimed[at] = s->fence;
    w.db.claimer[shard] = r->node->id;
    w.db.claims[shard]++;
    w.moves++;
}

static void release_and_claim(struct request *r)
{
    struct shards_todo *todo = &r->look->todo;
    for (size_t i = 0; i < todo->releases; i++) {
        struct shard_seen *s = &w.db.shards[todo->release[i]];
        if (s->owner == r->node->id && s->fence == r->look->release_fence[i])
            s->owner = 0;
    }
    for (size_t i = 0; i < todo->claims; i++)
        claim(r, i);
}

static void leave(const struct node *n)
{
    for (size_t i = 0; i < SHARDS; i++)
        if (w.db.shards[i].owner == n->id)
            w.db.shards[i].owner = 0;
    w.db.rows[n->id].there = false;
}

/* --- handover and backlogs -------------------------------------------------------------------- */

static void put_handover(uint32_t lane, size_t carries)
{
    struct database *db = &w.db;
    uint64_t owner = db->shards[shard_of_lane(lane)].owner;
    if (planted("row_dropped_while_lapsed") && (!owner || database_lease_left(owner) <= 0))
        return;
    db->handover =
        xgrow(db->handover, &db->handover_capacity, db->handover_count + 1, sizeof *db->handover);
    db->handover[db->handover_count++] = (struct handover_row){++db->handover_no, lane, carries};
}

static void found(struct request *r, size_t what, uint64_t row)
{
    size_t before = r->found_count, capacity = before, rows = before;
    r->found = xgrow(r->found, &capacity, before + 1, sizeof *r->found);
    r->rows = xgrow(r->rows, &rows, before + 1, sizeof *r->rows);
    r->found[before] = what;
    r->rows[before] = row;
    r->found_count++;
}

/* Only rows of shards that are the node's by what stands here, not by what it believes. */
static void poll_handover(struct request *r)
{
    for (size_t i = 0; i < SHARDS; i++)
        r->heard_fence[i] = w.db.shards[i].fence;
    for (size_t i = 0; i < w.db.handover_count; i++) {
        uint32_t lane = w.db.handover[i].lane, shard = shard_of_lane(lane);
        bool own = planted("rows_of_lost_shards_taken")
                       ? r->node->member.holds[shard].state != SHARD_ELSEWHERE
                       : w.db.shards[shard].owner == r->node->id;
        if (!own)
            continue;
        size_t capacity = r->found_count;
        r->heard = xgrow(r->heard, &capacity, r->found_count + 1, sizeof *r->heard);
        r->heard[r->found_count] = w.db.handover[i];
        found(r, lane, w.db.handover[i].no);
    }
}

static void delete_handover(const struct request *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < w.db.handover_count; i++) {
        bool told = false;
        for (size_t j = 0; j < r->found_count; j++)
            told |= r->rows[j] == w.db.handover[i].no;
        if (!told)
            w.db.handover[kept++] = w.db.handover[i];
    }
    w.db.handover_count = kept;
}

static void read_backlog(struct request *r)
{
    bool lanes[LANES_MOST] = {false};
    for (size_t i = 0; i < w.db.callback_count; i++) {
        const struct callback *c = &w.db.callbacks[i];
        bool late = c->due_ms + LATE_MS <= w.now_ms;
        if (c->state == WAITING && r->shards[shard_of_lane(c->lane)] && (late || !r->only_late))
            lanes[c->lane] = true;
    }
    for (size_t i = 0; i < w.lane_count; i++)
        if (lanes[i])
            found(r, i, 0);
}

/* as_of_ms: INT64_MAX, but for a planted bug. */
static void read_page(struct request *r)
{
    for (size_t i = 0; i < w.db.callback_count; i++) {
        const struct callback *c = &w.db.callbacks[i];
        if (c->lane == r->lane && c->stored_ms <= r->as_of_ms &&
            (c->state == WAITING || c->done_ms > r->as_of_ms))
            found(r, i, 0);
    }
}

/* --- callbacks -------------------------------------------------------------------------------- */

static bool is_fenced_out(const struct request *r, uint32_t shard)
{
    const struct shard_seen *s = &w.db.shards[shard];
    if (planted("outcome_not_fenced"))
        return false;
    if (planted("owner_compared"))
        return s->owner != r->node->id;
    return s->fence != r->outcome.fence;
}

/* Done twice it changes nothing more: that is how one is resolved whose commit is in doubt. */
static void store_outcome(struct request *r)
{
    const struct outcome *o = &r->outcome;
    struct callback *c = &w.db.callbacks[o->callback];
    if (is_fenced_out(r, shard_of_lane(c->lane))) {
        r->fate = OUTCOME_REFUSED;
        w.refused++;
        world_trace("%d's outcome of %zu under fence %d is refused", (int)r->node->id, o->callback,
                    (int)o->fence);
        return;
    }
    r->fate = c->resend_no == o->resend_no ? OUTCOME_STORED : OUTCOME_RESENT;
    if (c->tries >= o->try_no)
        return;
    checks_storing(o);
    c->tries = o->try_no;
    if (r->fate == OUTCOME_RESENT)
        return;
    c->state = o->good ? DONE : WAITING;
    c->done_ms = w.now_ms;
    c->due_ms = w.now_ms + 500 + o->try_no * 500;
}

static void store_change(struct request *r)
{
    struct callback *c;
    if (r->kind == REQUEST_INTAKE) {
        if (w.db.callback_count == CALLBACKS_MOST)
            return;
        r->callback = w.db.callback_count++;
        c = &w.db.callbacks[r->callback];
        *c = (struct callback){.lane = r->lane, .stored_ms = w.now_ms};
    } else {
        c = &w.db.callbacks[r->callback];
        c->resend_no++;
    }
    c->state = WAITING;
    c->due_ms = c->changed_ms = w.now_ms;
    c->untold = !r->with_row;
    if (r->with_row)
        put_handover(r->lane, r->kind == REQUEST_INTAKE ? r->callback : CARRIES_NONE);
}

void database_do(struct request *r)
{
    struct shard_seen before[SHARDS];
    switch (r->kind) {
    case REQUEST_LOOK: renew_and_look(r); break;
    case REQUEST_ACT:
    case REQUEST_LEAVE:
        memcpy(before, w.db.shards, sizeof before);
        if (r->kind == REQUEST_ACT)
            release_and_claim(r);
        else
            leave(r->node);
        checks_shards(before, r->node->id);
        break;
    case REQUEST_POLL: poll_handover(r); break;
    case REQUEST_POLLED: delete_handover(r); break;
    case REQUEST_BACKLOG: read_backlog(r); break;
    case REQUEST_PAGE: read_page(r); break;
    case REQUEST_OUTCOME: store_outcome(r); break;
    case REQUEST_INTAKE:
    case REQUEST_RESEND: store_change(r); break;
    case REQUEST_HANDOVER:
        put_handover(r->lane, CARRIES_NONE);
        w.db.callbacks[r->callback].untold = false;
        break;
    }
}
