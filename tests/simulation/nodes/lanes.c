/* What a node delivers: lanes made under a fence, pages read into them, exchanges, outcomes; and
 * what comes in at it for lanes of anybody. Far simpler than delivery/, which has a simulation of
 * its own; what both keep is said in docs/simulation.md. */
#include "nodes.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define AT_ONCE 4

/* --- starting --------------------------------------------------------------------------------- */

static bool may_start(struct node *n)
{
    int64_t now = node_mono(n);
    if (planted("margin_ignored"))
        now -= NODE_MARGIN_MS;
    return planted("lease_ignored") || leases_run(&n->leases, now);
}

static void send_outcome(struct node *n, const struct outcome *o)
{
    struct request *r = request_new(n, REQUEST_OUTCOME);
    r->outcome = *o;
    request_send(r);
}

static void exchange_free(struct exchange *x)
{
    if (x->moment.place)
        timeline_remove(&w.timeline, &x->moment);
    *x->from = x->next;
    if (x->next)
        x->next->from = x->from;
    free(x);
}

static void exchange_ends(struct moment *m)
{
    struct exchange *x = CONTAINER_OF(m, struct exchange, moment);
    if (node_is_stopped(x->node, m))
        return;
    send_outcome(x->node, &x->outcome);
    exchange_free(x);
}

/* Some take longer than a shard that moves waits for them. */
static int64_t exchange_takes_ms(void)
{
    if (w.calm)
        return 20 + below(200);
    return one_in(20) ? below(9 * SECOND) : 20 + below(one_in(3) ? 2000 : 300);
}

static void start(struct node *n, struct lane_here *lane, size_t callback, int64_t fence)
{
    const struct callback *c = &w.db.callbacks[callback];
    uint32_t shard = shard_of_lane(c->lane);
    struct exchange *x = xcalloc(1, sizeof *x);
    x->node = n;
    x->moment.happen = exchange_ends;
    x->next = w.exchanges;
    x->from = &w.exchanges;
    if (x->next)
        x->next->from = &x->next;
    w.exchanges = x;
    x->outcome = (struct outcome){
        .callback = callback,
        .fence = fence,
        .claims = w.db.claimer[shard] == n->id ? w.db.claims[shard] : 0,
        .try_no = c->tries + 1,
        .resend_no = c->resend_no,
        .good = w.calm || !one_in(4),
    };
    checks_starting(n, &x->outcome);
    n->known[callback] = KNOWN_UNDER_WAY;
    n->started_mono_ms[shard] = node_mono(n);
    lane->under_way++;
    w.starts++;
    happens_at(&x->moment, w.now_ms + exchange_takes_ms());
}

/* --- lanes ------------------------------------------------------------------------------------ */

static void drop_queue(struct node *n, struct lane_here *lane)
{
    for (size_t i = 0; i < lane->queued; i++)
        n->known[lane->queue[i]] = KNOWN_NOT;
    lane->queued = 0;
}

static void offer(struct node *n, struct lane_here *lane, size_t callback)
{
    if (n->known[callback] == KNOWN_UNDER_WAY)
        n->known[callback] = KNOWN_AGAIN;
    if (n->known[callback] != KNOWN_NOT || !lane->there)
        return;
    n->known[callback] = KNOWN_QUEUED;
    lane->queue[lane->queued++] = (uint16_t)callback;
}

/* Made under the fence that is its shard's now, if that is here. */
static bool lane_make(struct node *n, uint32_t no)
{
    struct lane_here *lane = &n->lanes[no];
    int64_t fence = leases_fence(&n->leases, lane_no_of(no));
    if (lane->there || fence == 0)
        return lane->there;
    lane->there = true;
    lane->fence = fence;
    lane->watermark = (struct handoff_watermark){.made_mono_ms = node_mono(n)};
    return true;
}

static void shown(struct lane_here *lane, size_t callback)
{
    uint64_t event_no = callback + 1;
    if (lane->watermark.shown_no >= event_no || planted("carried_though_shown"))
        return;
    lane->watermark.shown_no = event_no & INT64_MAX;
    lane->watermark.covers = false;
}

void lanes_carried(struct node *n, const struct handover_row *row, struct handoff_stamp word)
{
    struct lane_here *lane = &n->lanes[row->lane];
    if (!lane_make(n, row->lane))
        return;
    if (planted("carried_under_an_old_fence"))
        word = (struct handoff_stamp){lane->fence, INT64_MAX};
    enum handoff_fate fate =
        handoff_judge(&lane->watermark, 0, lane->fence, word, row->callback + 1);
    if (fate == HANDOFF_OWED)
        offer(n, lane, row->callback);
    lane->wants_page |= fate == HANDOFF_UNSURE;
}

void lanes_waiting(struct node *n, uint32_t no)
{
    if (lane_make(n, no))
        n->lanes[no].wants_page = true;
}

static void ask_page(struct node *n, uint32_t no)
{
    struct lane_here *lane = &n->lanes[no];
    struct request *r = request_new(n, REQUEST_PAGE);
    r->lane = no;
    r->lane_fence = lane->fence;
    if (planted("page_before_claim") && !lane->read)
        r->as_of_ms = n->claim_looked_ms[shard_of_lane(no)] - NODE_RENEW_MS;
    lane->wants_page = false;
    lane->read = true;
    lane->page_asked = true;
    lane->page_is_behind = false;
    request_send(r);
}

/* It drops what it has not begun, and is forgotten once nothing of it is under way. */
static void lane_leave(struct node *n, uint32_t no)
{
    struct lane_here *lane = &n->lanes[no];
    drop_queue(n, lane);
    if (lane->under_way > 0 || lane->page_asked)
        return;
    lane->there = lane->wants_page = lane->read = false;
    lanes_waiting(n, no); /* it may be here again, under another fence */
}

static void lane_pump(struct node *n, uint32_t no)
{
    struct lane_here *lane = &n->lanes[no];
    lane_no at = lane_no_of(no);
    if (leases_lost(&n->leases, at, lane->fence)) {
        lane_leave(n, no);
        return;
    }
    if (lane->wants_page && !lane->page_asked)
        ask_page(n, no);
    if (!may_start(n))
        return;
    for (size_t i = 0; i < lane->queued && lane->under_way < AT_ONCE;) {
        size_t callback = lane->queue[i];
        if (w.db.callbacks[callback].due_ms > w.now_ms) {
            i++;
            continue;
        }
        if (!leases_begin(&n->leases, at, lane->fence))
            return;
        lane->queue[i] = lane->queue[--lane->queued];
        start(n, lane, callback, lane->fence);
    }
}

void lanes_pump(struct node *n)
{
    for (uint32_t i = 0; i < w.lane_count; i++)
        if (n->lanes[i].there)
            lane_pump(n, i);
}

/* What was read before a callback's end was heard of says nothing about it. */
static void paged(struct request *r, bool good)
{
    struct node *n = r->node;
    struct lane_here *lane = &n->lanes[r->lane];
    lane->page_asked = false;
    if (!good || lane->fence != r->lane_fence) {
        lane->wants_page = true;
        return;
    }
    for (size_t i = 0; i < r->found_count; i++) {
        shown(lane, r->found[i]);
        if (n->told_ms[r->found[i]] <= r->sent_ms)
            offer(n, lane, r->found[i]);
    }
    lane->watermark.covers = !lane->page_is_behind;
}

static void recorded(struct request *r, bool good)
{
    struct node *n = r->node;
    size_t callback = r->outcome.callback;
    uint32_t no = w.db.callbacks[callback].lane;
    struct lane_here *lane = &n->lanes[no];
    if (!good) { /* in doubt: once more, whatever became of it */
        send_outcome(n, &r->outcome);
        return;
    }
    leases_end(&n->leases, lane_no_of(no));
    lane->under_way--;
    lane->wants_page |= n->known[callback] == KNOWN_AGAIN;
    n->known[callback] = KNOWN_NOT;
    n->told_ms[callback] = w.now_ms;
    if (r->fate == OUTCOME_RESENT || (r->fate == OUTCOME_STORED && !r->outcome.good))
        offer(n, lane, callback);
}

/* --- what comes in ---------------------------------------------------------------------------- */

static void change(struct node *n, enum request_kind kind, uint32_t lane, size_t callback)
{
    struct request *r = request_new(n, kind);
    r->lane = lane;
    r->callback = callback;
    r->fence = leases_fence(&n->leases, lane_no_of(lane));
    r->with_row = r->fence == 0;
    request_send(r);
}

void lanes_intake(struct node *n)
{
    if (w.db.callback_count + 20 < CALLBACKS_MOST)
        change(n, REQUEST_INTAKE, (uint32_t)below(w.lane_count), 0);
}

void lanes_resend(struct node *n)
{
    if (w.db.callback_count == 0)
        return;
    size_t callback = (size_t)below((int64_t)w.db.callback_count);
    change(n, REQUEST_RESEND, w.db.callbacks[callback].lane, callback);
}

/* Whether nobody can have claimed the shard since it was asked for, nor done what came in. */
static bool is_here_still(struct node *n, const struct request *r)
{
    return may_start(n) && leases_fence(&n->leases, lane_no_of(r->lane)) == r->fence;
}

/* Where the shard may have gone between asking and the answer, a row follows. */
static void changed(struct request *r)
{
    struct node *n = r->node;
    if (r->with_row)
        return;
    if (!is_here_still(n, r)) {
        if (planted("row_behind_forgotten")) {
            w.db.callbacks[r->callback].untold = false;
            return;
        }
        struct request *row = request_new(n, REQUEST_HANDOVER);
        row->lane = r->lane;
        row->callback = r->callback;
        request_send(row);
        return;
    }
    w.db.callbacks[r->callback].untold = false;
    if (n->told_ms[r->callback] > r->sent_ms) /* read from a page and tried meanwhile */
        lanes_waiting(n, r->lane);
    else if (lane_make(n, r->lane)) {
        struct lane_here *lane = &n->lanes[r->lane];
        if (r->kind == REQUEST_RESEND) {
            shown(lane, r->callback);
            lane->page_is_behind = lane->page_asked;
        }
        offer(n, lane, r->callback);
    }
}

void lanes_answered(struct request *r, bool good)
{
    switch (r->kind) {
    case REQUEST_PAGE: paged(r, good); break;
    case REQUEST_OUTCOME: recorded(r, good); break;
    default:
        if (good)
            changed(r);
    }
}

void lanes_forget(struct node *n)
{
    for (struct exchange *x = w.exchanges, *next; x; x = next) {
        next = x->next;
        if (x->node == n)
            exchange_free(x);
    }
}
