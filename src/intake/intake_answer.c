/* Merges the rejections of intake with the verdicts of the store, in the order of the request. Both
 * lists are ascending. */
#include "intake/intake_answer.h"

#include "base/limits.h"

static struct problem problem_of(const struct verdict *v)
{
    switch (v->kind) {
    case VERDICT_ACCEPTED:
    case VERDICT_DUPLICATE:
    case VERDICT_REFUSED: break;
    case VERDICT_CONFLICT:
        return (struct problem){
            STR("EventId"), "conflict",
            STR("an event with this EventId and other content was accepted before"), NULL};
    case VERDICT_ORIGINAL_NOT_FOUND:
        return (struct problem){STR("OriginalRewardId"), "original_not_found",
                                STR("the app has no offer_completed event with this id"), NULL};
    case VERDICT_ALREADY_REVERSED:
        return (struct problem){STR("OriginalRewardId"), "already_reversed",
                                STR("the event with this id is already reversed"), NULL};
    case VERDICT_MISMATCH:
        return (struct problem){str_of(v->field), "invalid",
                                STR("must be the same as in the reversed event, or be left out"),
                                NULL};
    case VERDICT_NOT_STORABLE:
        return (struct problem){STR("EventId"), "invalid",
                                STR("the database refuses a value of this event; the operator's "
                                    "log says which (statement_refused)"),
                                NULL};
    }
    UNREACHABLE();
}

static bool is_rejected(const struct verdict *v)
{
    return v->kind != VERDICT_ACCEPTED && v->kind != VERDICT_DUPLICATE;
}

struct intake_counts intake_count(const struct intake_items *items, const struct verdict *verdicts)
{
    struct intake_counts n = {.rejected = items->rejected_count};
    for (size_t i = 0; i < items->count; i++) {
        n.accepted += verdicts[i].kind == VERDICT_ACCEPTED;
        n.duplicates += verdicts[i].kind == VERDICT_DUPLICATE;
        n.rejected += is_rejected(&verdicts[i]);
    }
    return n;
}

static void visit_by_store(const struct intake_items *items, size_t i, const struct verdict *v,
                           intake_rejection_visitor visit, void *context)
{
    struct problem problem;
    struct intake_rejection r = {.index = items->indexes[i],
                                 .event_id = items->items[i].event_id,
                                 .source = items->sources[i],
                                 .faults = items->refusals[i]};
    if (v->kind != VERDICT_REFUSED) {
        problem = problem_of(v);
        r.faults = (struct problems){.first = &problem, .last = &problem, .count = 1};
    }
    visit(context, &r);
}

void intake_visit_rejections(const struct intake_items *items, const struct verdict *verdicts,
                             intake_rejection_visitor visit, void *context)
{
    size_t of_intake = 0;
    for (size_t i = 0; i <= items->count; i++) {
        uint32_t before = i < items->count ? items->indexes[i] : UINT32_MAX;
        while (of_intake < items->rejected_count && items->rejected[of_intake].index < before)
            visit(context, &items->rejected[of_intake++]);
        if (i < items->count && is_rejected(&verdicts[i]))
            visit_by_store(items, i, &verdicts[i], visit, context);
    }
}

void intake_print_rejection(struct json_writer *w, const struct intake_rejection *r)
{
    json_object(w);
    json_key_int(w, "Index", r->index);
    json_key_string(w, "EventId", r->event_id);
    json_key_array(w, "Errors");
    for (const struct problem *p = r->faults.first; p; p = p->next) {
        json_object(w);
        json_key_string(w, "Field", p->field);
        json_key_c(w, "Code", p->code);
        json_key_string(w, "Detail", p->detail);
        json_end_object(w);
    }
    json_end_array(w);
    if (r->faults.left_out > 0)
        json_key_int(w, "MoreErrors", (int64_t)r->faults.left_out);
    json_end_object(w);
}

static void print_rejection(void *context, const struct intake_rejection *r)
{
    intake_print_rejection(context, r);
}

struct intake_counts intake_answer(struct buf *to, const struct intake_items *items,
                                   const struct verdict *verdicts)
{
    struct intake_counts n = intake_count(items, verdicts);
    struct json_writer w;
    json_write_to(&w, to);
    json_object(&w);
    json_key_int(&w, "Accepted", (int64_t)n.accepted);
    json_key_int(&w, "Duplicates", (int64_t)n.duplicates);
    json_key_array(&w, "Rejected");
    intake_visit_rejections(items, verdicts, print_rejection, &w);
    json_end_array(&w);
    json_end_object(&w);
    return n;
}

void intake_print_unread(struct buf *to, enum intake_result result, struct str why)
{
    if (result == INTAKE_TOO_MANY)
        buf_printf(to, "A request can have at most %d events. Send the rest in more requests.",
                   LIMIT_EVENTS_PER_REQUEST);
    else
        buf_printf(to, "The body cannot be read, and nothing of it was stored: %.*s", STR_ARG(why));
}
