/* Joins what intake rejected with what the store decided, in the order of the request. Both lists
 * ascend, so this is one merge. */
#include "intake/answer.h"

#include "json/writer.h"

static void error(struct json_writer *w, struct str field, const char *code, struct str detail)
{
    json_object(w);
    json_key_string(w, "Field", field);
    json_key_c(w, "Code", code);
    json_key_string(w, "Detail", detail);
    json_end_object(w);
}

static void begin_rejection(struct json_writer *w, uint32_t index, struct str event_id)
{
    json_object(w);
    json_key_int(w, "Index", index);
    json_key_string(w, "EventId", event_id);
    json_key_array(w, "Errors");
}

static void end_rejection(struct json_writer *w, size_t left_out)
{
    json_end_array(w);
    if (left_out > 0)
        json_key_int(w, "MoreErrors", (int64_t)left_out);
    json_end_object(w);
}

static void errors(struct json_writer *w, const struct problems *faults)
{
    for (const struct problem *p = faults->first; p; p = p->next)
        error(w, p->field, p->code, p->detail);
}

static void by_intake(struct json_writer *w, const struct intake_rejection *r)
{
    begin_rejection(w, r->index, r->event_id);
    errors(w, &r->faults);
    end_rejection(w, r->faults.left_out);
}

static void by_store(struct json_writer *w, const struct intake_items *items, size_t i,
                     const struct verdict *v)
{
    begin_rejection(w, items->indexes[i], items->items[i].event_id);
    switch (v->kind) {
    case VERDICT_ACCEPTED:
    case VERDICT_DUPLICATE: UNREACHABLE();
    case VERDICT_CONFLICT:
        error(w, STR("EventId"), "conflict",
              STR("an event with this EventId and other content was accepted before"));
        break;
    case VERDICT_REFUSED: errors(w, &items->refusals[i]); break;
    case VERDICT_ORIGINAL_NOT_FOUND:
        error(w, STR("OriginalRewardId"), "original_not_found",
              STR("the app has no offer_completed event with this id"));
        break;
    case VERDICT_ALREADY_REVERSED:
        error(w, STR("OriginalRewardId"), "already_reversed",
              STR("the event with this id is already reversed"));
        break;
    case VERDICT_MISMATCH:
        error(w, str_of(v->field), "invalid",
              STR("must be the same as in the reversed event, or be left out"));
        break;
    case VERDICT_NOT_STORABLE:
        error(w, STR("EventId"), "invalid",
              STR("the database refuses a value of this event; the operator's log says which "
                  "(statement_refused)"));
        break;
    }
    end_rejection(w, v->kind == VERDICT_REFUSED ? items->refusals[i].left_out : 0);
}

static bool is_rejected(const struct verdict *v)
{
    return v->kind != VERDICT_ACCEPTED && v->kind != VERDICT_DUPLICATE;
}

static struct intake_counts count(const struct intake_items *items, const struct verdict *verdicts)
{
    struct intake_counts n = {.rejected = items->rejected_count};
    for (size_t i = 0; i < items->count; i++) {
        n.accepted += verdicts[i].kind == VERDICT_ACCEPTED;
        n.duplicates += verdicts[i].kind == VERDICT_DUPLICATE;
        n.rejected += is_rejected(&verdicts[i]);
    }
    return n;
}

struct intake_counts intake_answer(struct buf *to, const struct intake_items *items,
                                   const struct verdict *verdicts)
{
    struct intake_counts n = count(items, verdicts);
    struct json_writer w;
    json_write_to(&w, to);
    json_object(&w);
    json_key_int(&w, "Accepted", (int64_t)n.accepted);
    json_key_int(&w, "Duplicates", (int64_t)n.duplicates);
    json_key_array(&w, "Rejected");
    size_t of_intake = 0;
    for (size_t i = 0; i <= items->count; i++) {
        uint32_t before = i < items->count ? items->indexes[i] : UINT32_MAX;
        while (of_intake < items->rejected_count && items->rejected[of_intake].index < before)
            by_intake(&w, &items->rejected[of_intake++]);
        if (i < items->count && is_rejected(&verdicts[i]))
            by_store(&w, items, i, &verdicts[i]);
    }
    json_end_array(&w);
    json_end_object(&w);
    return n;
}
