/* Each change as plain data: the same op on the store and on the oracle is the same request. */
#include "ops.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

/* --- making them up --------------------------------------------------------------------------- */

static uint64_t below(struct traffic *t, uint64_t bound)
{
    return rng_below(&t->rng, bound);
}

static void random_submit(struct traffic *t, struct op *op)
{
    op->count = 1 + below(t, OP_ITEMS_MAX);
    traffic_batch(t, op->items, op->count, op->now_ms);
    for (size_t i = 0; i < op->count; i++) {
        struct candidate *c = &op->items[i];
        struct str *texts[] = {&c->event_id,      &c->panelist_id,        &c->session_id, &c->mid,
                               &c->offer_goal_id, &c->original_reward_id, &c->reason};
        for (size_t j = 0; j < ARRAY_LEN(texts); j++)
            *texts[j] = arena_str(&op->arena, *texts[j]);
    }
}

static void random_record(struct traffic *t, struct subject *model, struct op *op)
{
    static const enum callback_state states[] = {CALLBACK_PENDING, CALLBACK_DELIVERED,
                                                 CALLBACK_DEAD};
    struct due_page page = {
        .lane = lane_of(traffic_app(t), (enum lane_kind)(1 + below(t, LANE_LAST))),
        .due_until_ms = op->now_ms,
        .limit = OP_ITEMS_MAX,
    };
    subject_page(model, &page);
    for (size_t i = 0; i < page.count; i++) {
        const struct callback *c = page.items[i];
        enum callback_state state = c->was_delivered ? CALLBACK_DELIVERED : states[below(t, 3)];
        op->outcomes[op->count] =
            outcome_of(c->account_no, c->event_no, c->lane, c->app_no, c->attempts_made + 1, state,
                       state == CALLBACK_PENDING ? op->now_ms + (int64_t)below(t, 9000) : 0);
        /* A restart forgets numbers of resends, and with them whoever tried before: what is
         * recorded here was decided after all of them. */
        op->outcomes[op->count].resend_no = UINT64_MAX;
        op->outcomes[op->count++].attempt.manual = c->manual;
    }
    drop_callbacks(page.items, page.count);
}

struct op *op_random(struct traffic *t, struct subject *model, int64_t now_ms)
{
    struct op *op = xcalloc(1, sizeof *op);
    op->now_ms = now_ms;
    op->account_no = 1 + (uint32_t)below(t, 2);
    uint64_t kind = below(t, 100);
    if (kind < 55) {
        op->kind = OP_SUBMIT;
        random_submit(t, op);
    } else if (kind < 85) {
        op->kind = OP_RECORD;
        random_record(t, model, op);
    } else if (kind < 92) {
        op->kind = OP_RESEND;
        traffic_id(t, op->id);
    } else if (kind < 94) {
        op->kind = OP_ERASE;
        snprintf(op->id, sizeof op->id, "p%llu", (unsigned long long)below(t, 12));
    } else {
        op->kind = OP_OBJECT;
        op->deletes = below(t, 4) == 0;
        snprintf(op->id, sizeof op->id, "o%llu", (unsigned long long)below(t, 5));
    }
    return op;
}

void op_free(struct op *op)
{
    arena_free(&op->arena);
    free(op);
}

/* --- asking ----------------------------------------------------------------------------------- */

struct started_op {
    enum op_kind kind;
    struct intake_batch *batch;
    struct outcome_batch outcomes;
    struct resend resend;
    struct erase erase;
    struct object_change object;
    char document[64];
};

static void never_run(struct task *task)
{
    (void)task;
    UNREACHABLE();
}

struct started_op *op_start(struct subject *s, const struct op *op)
{
    struct started_op *a = xcalloc(1, sizeof *a);
    a->kind = op->kind;
    switch (op->kind) {
    case OP_SUBMIT:
        a->batch = subject_make_batch(s, op->items, op->count, op->now_ms);
        store_submit(s->store, a->batch);
        break;
    case OP_RECORD:
        a->outcomes = (struct outcome_batch){
            .done.run = never_run, .reply_to = &s->executor, .count = op->count};
        a->outcomes.items = arena_alloc(&a->outcomes.arena, sizeof op->outcomes);
        memcpy(a->outcomes.items, op->outcomes, sizeof op->outcomes);
        store_record(s->store, &a->outcomes);
        break;
    case OP_RESEND:
        a->resend = (struct resend){.done.run = never_run,
                                    .reply_to = &s->executor,
                                    .account_no = op->account_no,
                                    .event_id = str_of(op->id),
                                    .now_ms = op->now_ms};
        store_resend(s->store, &a->resend);
        break;
    case OP_ERASE:
        a->erase = (struct erase){.done.run = never_run,
                                  .reply_to = &s->executor,
                                  .account_no = op->account_no,
                                  .panelist_id = str_of(op->id)};
        store_erase(s->store, &a->erase);
        break;
    case OP_OBJECT:
        snprintf(a->document, sizeof a->document, "{\"at\":%lld}", (long long)op->now_ms);
        a->object = (struct object_change){.done.run = never_run,
                                           .reply_to = &s->executor,
                                           .kind = OBJECT_RECOVERY,
                                           .id = str_of(op->id)};
        if (!op->deletes)
            a->object.document = str_of(a->document);
        store_change_object(s->store, &a->object);
        break;
    }
    return a;
}

static enum store_status finish_submit(struct subject *s, struct started_op *a,
                                       struct verdict *ret_verdicts)
{
    subject_wait(s, &a->batch->done);
    enum store_status status = a->batch->status;
    if (status == STORE_OK)
        memcpy(ret_verdicts, a->batch->verdicts, a->batch->count * sizeof *ret_verdicts);
    free_batch(a->batch);
    return status;
}

enum store_status op_finish(struct subject *s, struct started_op *a, struct verdict *ret_verdicts)
{
    enum store_status status = STORE_OK;
    switch (a->kind) {
    case OP_SUBMIT: status = finish_submit(s, a, ret_verdicts); break;
    case OP_RECORD:
        subject_wait(s, &a->outcomes.done);
        status = a->outcomes.status;
        arena_free(&a->outcomes.arena);
        break;
    case OP_RESEND:
        subject_wait(s, &a->resend.done);
        status = a->resend.status;
        break;
    case OP_ERASE:
        subject_wait(s, &a->erase.done);
        status = a->erase.status;
        break;
    case OP_OBJECT:
        subject_wait(s, &a->object.done);
        status = a->object.status;
        break;
    }
    free(a);
    return status;
}
