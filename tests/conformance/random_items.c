/* Random traffic: few ids and few texts, so that chance makes them meet. */
#include "random_items.h"

#include <stdio.h>

static uint64_t below(struct traffic *t, uint64_t bound)
{
    return rng_below(&t->rng, bound);
}

void traffic_id(struct traffic *t, char ret[40])
{
    snprintf(ret, 40, "id-%llu", (unsigned long long)below(t, (uint64_t)t->ids));
}

uint32_t traffic_app(struct traffic *t)
{
    static const uint32_t apps[] = {APP_A1, APP_A1, APP_A2, APP_B1};
    return apps[below(t, 4)];
}

static struct str maybe_text(struct traffic *t, char *room)
{
    uint64_t kind = below(t, 6);
    if (kind > 2)
        return STR_NONE;
    snprintf(room, 40, "%s", kind == 0 ? "" : kind == 1 ? "a \"q\"\n" : "\xc3\xbc/plain");
    return str_of(room);
}

static void random_item(struct traffic *t, struct candidate *c, char text[8][40], int64_t now_ms)
{
    static const enum integration integrations[] = {INTEGRATION_SDK, INTEGRATION_IFRAME,
                                                    INTEGRATION_MONETIZATION_API};
    uint64_t kind = below(t, 11);
    enum event_type type = kind < 8   ? (enum event_type)(kind + 1)
                           : kind < 9 ? EVENT_OFFER_COMPLETED
                                      : EVENT_SURVEY_STARTED;
    traffic_id(t, text[0]);
    *c = item_of(traffic_app(t), type, text[0]);
    c->client_no += (uint32_t)below(t, 2);
    c->integration = integrations[below(t, 3)];
    snprintf(text[1], 40, "p%llu", (unsigned long long)below(t, 12));
    c->panelist_id = str_of(text[1]);
    c->is_test = below(t, 8) == 0;
    c->deliver = below(t, 20) != 0;
    c->refused = below(t, 30) == 0;
    c->occurred_ms = now_ms - (int64_t)below(t, 3) * DAY - (int64_t)below(t, (uint64_t)DAY);
    if (!c->deliver)
        c->occurred_ms -= 150 * DAY; /* moved in */
    if (below(t, 4) == 0)
        c->trace = STR("0Yb]+4p6^Z8MkP{3sUe:Tj7A!wQ=xR01");
    c->session_id = maybe_text(t, text[2]);
    if (!event_type_is_offer(type))
        c->mid = maybe_text(t, text[3]);
    else if (type != EVENT_OFFER_COMPLETION_REVERSED)
        c->offer_goal_id = maybe_text(t, text[4]);
    if (c->has_revenue)
        c->revenue_micros = (int64_t)below(t, 5000000);
    if (type == EVENT_AD_HOC)
        c->reward_micros = (int64_t)below(t, 5000000) - (c->terms->negative_ad_hoc ? 2000000 : 0);
    if (type == EVENT_OFFER_COMPLETION_REVERSED) {
        traffic_id(t, text[5]);
        c->original_reward_id = str_of(text[5]);
        c->offer_id = 0;
        c->offer_title = c->session_id = STR_NONE;
        c->has_is_test = below(t, 4) == 0;
        c->is_test = c->has_is_test && below(t, 2) == 0;
        if (below(t, 4) != 0)
            c->panelist_id = STR_NONE; /* taken from the original */
    }
    if (type == EVENT_SURVEY_DISQUALIFIED || type == EVENT_AD_HOC)
        c->reason = maybe_text(t, text[6]);
}

void traffic_batch(struct traffic *t, struct candidate *ret_items, size_t count, int64_t now_ms)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && below(t, 15) == 0)
            ret_items[i] = ret_items[below(t, i)]; /* a duplicate within the batch */
        else
            random_item(t, &ret_items[i], t->text[i], now_ms);
    }
}
