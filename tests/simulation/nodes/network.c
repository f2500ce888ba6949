/* Between a node and the database: requests and answers take their time, are lost on either way,
 * or arrive when nobody waits for them any more. A node that has waited long enough gives up and
 * does not know what became of it. */
#include "nodes.h"

#include "base/alloc.h"

#include <stdlib.h>

struct request *request_new(struct node *n, enum request_kind kind)
{
    struct request *r = xcalloc(1, sizeof *r);
    r->node = n;
    r->kind = kind;
    r->as_of_ms = INT64_MAX;
    if (kind == REQUEST_LOOK || kind == REQUEST_ACT)
        r->look = xcalloc(1, sizeof *r->look);
    r->next = w.requests;
    r->from = &w.requests;
    if (r->next)
        r->next->from = &r->next;
    w.requests = r;
    return r;
}

static void request_free(struct request *r)
{
    if (r->travel.place)
        timeline_remove(&w.timeline, &r->travel);
    if (r->patience.place)
        timeline_remove(&w.timeline, &r->patience);
    *r->from = r->next;
    if (r->next)
        r->next->from = r->from;
    free(r->look);
    free(r->found);
    free(r->rows);
    free(r->heard);
    free(r);
}

void requests_free(void)
{
    while (w.requests)
        request_free(w.requests);
}

static void answer(struct request *r, bool good)
{
    switch (r->kind) {
    case REQUEST_PAGE:
    case REQUEST_OUTCOME:
    case REQUEST_INTAKE:
    case REQUEST_RESEND: lanes_answered(r, good); break;
    default: node_answered(r, good);
    }
}

static void give_up(struct moment *m)
{
    struct request *r = CONTAINER_OF(m, struct request, patience);
    if (r->node->alive && node_is_stopped(r->node, m))
        return;
    r->given_up = true;
    if (r->node->alive)
        answer(r, false);
    if (r->arrived || !r->travel.place)
        request_free(r);
}

static void come_back(struct moment *m)
{
    struct request *r = CONTAINER_OF(m, struct request, travel);
    if (r->node->alive && node_is_stopped(r->node, m))
        return;
    if (r->node->alive)
        answer(r, true);
    request_free(r);
}

/* Mostly fast; at times not. */
static int64_t takes_ms(void)
{
    if (w.calm)
        return 1 + below(4);
    int64_t lot = below(200);
    return lot == 0 ? below(4000) : lot < 10 ? below(300) : 1 + below(4);
}

static bool is_cut(const struct node *n)
{
    return n->cut_until_ms > w.now_ms;
}

static void arrive(struct moment *m)
{
    struct request *r = CONTAINER_OF(m, struct request, travel);
    bool lost = is_cut(r->node) && r->node->cut == CUT_ANSWERS;
    if (w.db.away_until_ms > w.now_ms)
        lost = true;
    else
        database_do(r);
    r->arrived = true;
    r->travel.happen = come_back;
    if (r->given_up)
        request_free(r);
    else if (!lost)
        happens_at(&r->travel, w.now_ms + takes_ms());
}

void request_send(struct request *r)
{
    struct node *n = r->node;
    r->sent_ms = w.now_ms;
    r->sent_mono_ms = node_mono(n);
    r->travel.happen = arrive;
    r->patience.happen = give_up;
    int64_t arrives = w.now_ms + takes_ms();
    if (is_cut(n) && n->cut == CUT_DELAYS)
        arrives += below(n->cut_until_ms - w.now_ms + CUT_DELAYS_MS);
    if (!is_cut(n) || n->cut != CUT_ASKING)
        happens_at(&r->travel, arrives);
    node_after(n, &r->patience, n->patience_ms);
}
