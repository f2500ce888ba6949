/* Decides changes and adds the decisions to the journal's group and to the active memtable. They
 * become durable when the writer commits the group. */
#include "store/sqlite/writer_intake.h"

#include "domain/acceptance.h"
#include "domain/payload.h"
#include "store/sqlite/writer_thread.h"

#include <inttypes.h>

struct original {
    bool found, reversed;
    struct event event;
};

static void find_original(struct sqlite_store *s, const struct candidate *c, struct original *ret)
{
    struct view *v = &s->view;
    struct key_found found;
    struct callback_life life;
    *ret = (struct original){0};
    struct key128 key = event_key(&v->secret, c->terms->account_no, c->original_reward_id);
    if (!view_key(v, key, &found) ||
        !view_event(v, found.id, &s->writer.scratch, &ret->event, &life))
        return;
    ret->found = true;
    ret->reversed = view_reversal(v, found.id) != 0;
}

static struct verdict decide(struct sqlite_store *s, const struct candidate *c, int64_t received_ms)
{
    struct view *v = &s->view;
    struct key_found found = {0};
    struct original original = {0};
    struct event e;
    bool is_known = view_key(v, c->key, &found);
    struct acceptance_facts facts = {
        .received_ms = received_ms,
        .last_accepted_ms = v->last_accepted_ms,
        .is_known = is_known,
        .known_content = found.content,
        .known_event_no = event_no_of_id(found.id),
    };
    if (!is_known) {
        facts.last_event_no = view_last_event_no(v, c->terms->account_no);
        if (acceptance_needs_original(c))
            find_original(s, c, &original);
        if (acceptance_needs_payments(c))
            facts.paid = view_payments(v, c);
    }
    facts.original = original.found ? &original.event : NULL;
    facts.is_original_reversed = original.reversed;
    struct verdict verdict = acceptance_decide(c, &facts, &e);
    if (verdict.kind != VERDICT_ACCEPTED)
        return verdict;
    if (sql_failed(&v->lookup.sql))
        /* the look-ups are worthless; the failure stops the store with this group */
        return verdict;
    payload_fix(&e, c, &s->writer.body);
    record_add_event(&s->writer.group, &e);
    view_add_event(v, &e);
    return verdict;
}

/* True if the journal has room for the part of the batch that goes into this group. */
bool writer_intake_ready(struct sqlite_store *s, const struct request *r)
{
    const struct intake_batch *batch = r->what;
    size_t bytes = s->writer.group.n;
    for (size_t i = r->decided; i < batch->count && bytes < s->group_bytes; i++)
        bytes += record_event_bytes_most(&batch->items[i]);
    return journal_ready(s->journal, bytes);
}

bool writer_intake(struct sqlite_store *s, struct request *r)
{
    struct intake_batch *batch = r->what;
    store_warn_of_clock(s->view.last_accepted_ms, batch->received_ms);
    if (r->decided == 0)
        batch->verdicts = arena_alloc(&batch->arena, batch->count * sizeof *batch->verdicts + 1);
    for (; r->decided < batch->count && !writer_group_is_full(s); r->decided++) {
        if (r->decided + 1 < batch->count)
            key_sets_prefetch(&s->view.lookup.keys, batch->items[r->decided + 1].key);
        batch->verdicts[r->decided] = decide(s, &batch->items[r->decided], batch->received_ms);
    }
    if (r->decided < batch->count)
        return false;
    batch->status = STORE_OK;
    store_intake_ended(&s->store, batch);
    return true;
}

static size_t outcomes_bytes_most(const struct outcome_batch *batch)
{
    size_t bytes = 0;
    for (size_t i = 0; i < batch->count; i++) /* each may be followed by a resend: resend_again */
        bytes += record_outcome_bytes_most(&batch->items[i]) + RECORD_RESEND_BYTES_MOST;
    return bytes;
}

static void add_resend(struct sqlite_store *s, const struct record_resend *r)
{
    record_add_resend(&s->writer.group, r);
    view_add_resend(&s->view, r);
}

/* A resend that was accepted after the outcome was decided takes effect after the outcome. */
static void resend_again(struct sqlite_store *s, const struct outcome *o)
{
    uint64_t id = event_id_of(o->account_no, o->event_no);
    struct pending_resend *resend = pending_resends_find(&s->view.resends, id);
    if (!resend)
        return;
    if (!life_answer_resend(resend, o->resend_no, view_is_erased(&s->view, id))) {
        pending_resends_remove(&s->view.resends, resend);
        return;
    }
    add_resend(s, &(struct record_resend){
                      .account_no = o->account_no,
                      .event_no = o->event_no,
                      .lane = o->lane,
                      .was_delivered = o->state == CALLBACK_DELIVERED,
                      .due_ms = resend->due_ms,
                  });
}

/* The outcome to record. An erasure changes only an outcome after which the callback would be tried
 * again. Attempts under way began in this process, and view_is_erased knows all its erasures. */
static struct outcome decide_outcome(struct sqlite_store *s, const struct outcome *o)
{
    struct outcome decided = *o;
    if (o->state != CALLBACK_PENDING)
        return decided;
    struct callback_life life = view_handed_out(o->lane);
    struct callback_decision d = outcome_decision(o);
    d.is_erased = view_is_erased(&s->view, event_id_of(o->account_no, o->event_no));
    life_decide(&life, &d);
    decided.state = life.state;
    decided.reason = life.reason;
    return decided;
}

void writer_outcomes(struct sqlite_store *s, struct outcome_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct outcome o = decide_outcome(s, &batch->items[i]);
        record_add_outcome(&s->writer.group, &o);
        view_add_outcome(&s->view, &o);
        if (s->view.resends.by_id.count > 0)
            resend_again(s, &o);
    }
}

static size_t parts_bytes_most(const struct object_part *parts, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += record_object_bytes_most(parts[i].id, parts[i].document);
    return bytes;
}

size_t writer_change_bytes_most(const struct request *r)
{
    switch (r->kind) {
    case REQUEST_OUTCOMES: return outcomes_bytes_most(r->what);
    case REQUEST_OBJECT: {
        const struct object_change *change = r->what;
        return record_object_bytes_most(change->id, change->document) +
               parts_bytes_most(change->parts, change->part_count);
    }
    case REQUEST_RESEND: {
        const struct resend *resend = r->what;
        return RECORD_RESEND_BYTES_MOST + parts_bytes_most(resend->parts, resend->part_count);
    }
    case REQUEST_ERASE: {
        const struct erase *erase = r->what;
        struct record_erase record = {.panelist_id = erase->panelist_id,
                                      .replacement = {NULL, ERASED_NAME_BYTES}};
        return record_erase_bytes_most(&record) + parts_bytes_most(erase->parts, erase->part_count);
    }
    default: return 0;
    }
}

static void add_object(struct sqlite_store *s, enum object_kind kind, struct str id,
                       struct str document)
{
    record_add_object(&s->writer.group, kind, id, document);
    view_add_object(&s->view, kind, id, document);
}

static void add_parts(struct sqlite_store *s, const struct object_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].document.p || view_has_object(&s->view, parts[i].kind, parts[i].id))
            add_object(s, parts[i].kind, parts[i].id, parts[i].document);
}

void writer_object(struct sqlite_store *s, struct object_change *change)
{
    change->status = STORE_NOT_FOUND;
    if (!change->document.p && !view_has_object(&s->view, change->kind, change->id))
        return;
    change->status = STORE_OK;
    add_object(s, change->kind, change->id, change->document);
    add_parts(s, change->parts, change->part_count);
}

static void accept_resend(struct sqlite_store *s, struct resend *resend)
{
    struct view *v = &s->view;
    struct key_found found;
    struct event e;
    struct callback_life life;
    resend->status = STORE_NOT_FOUND;
    if (resend->event_id.n > LIMIT_EVENT_ID_BYTES ||
        !view_key(v, event_key(&v->secret, resend->account_no, resend->event_id), &found) ||
        !view_event(v, found.id, &s->writer.scratch, &e, &life))
        return;
    resend->status = resend_status(life_judge_resend(&e, life.state, resend->only_states));
    if (resend->status != STORE_OK)
        return;
    struct record_resend r = {
        .account_no = e.account_no,
        .event_no = e.event_no,
        .lane = lane_of(e.app_no, e.lane),
        .was_delivered = life.state == CALLBACK_DELIVERED,
        .due_ms = resend->now_ms,
    };
    pending_resends_add(&v->resends, found.id, resend->now_ms);
    add_resend(s, &r);
    add_parts(s, resend->parts, resend->part_count);
}

void writer_resend(struct sqlite_store *s, struct resend *resend)
{
    resend->status = STORE_BUSY;
    if (!view_announce_resend(&s->view))
        return;
    accept_resend(s, resend);
    view_resend_judged(&s->view);
}

void writer_erase(struct sqlite_store *s, struct erase *erase)
{
    char replacement[ERASED_NAME_BYTES];
    struct record_erase r = {
        .account_no = erase->account_no,
        .panelist_id = erase->panelist_id,
        .replacement = erased_name(s->env, replacement),
    };
    erase->erased = 0;
    record_add_erase(&s->writer.group, &r);
    view_add_erase(&s->view, &r, erase);
    add_parts(s, erase->parts, erase->part_count);
}
