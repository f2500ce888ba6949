/* The callback's body, byte for byte.
 *
 * Partners compare and hash these bytes, so they are fixed when the event is accepted, except for
 * the hex digits of Sig (and of the deprecated Signature), which depend on the secret at the time
 * of sending. Until then the place of Sig is free: it keeps the traceparent of the request that
 * posted the event, which so needs no room of its own, and goes wherever the body goes. The order
 * of members is that of the specification (2.2 for surveys, 2.3 for offers), followed by the
 * contract's additions:
 *
 *   survey: Sig PanelistId RewardType RewardId Reward SessionId? Mid? RevenueAmount IsTest
 *           [Signature UniqueSurveyId] [ClientId Timestamp]
 *   offer:  Sig OfferId OfferGoalId OfferTitle PanelistId RewardType RewardId Reward
 *           RevenueAmount SessionId? ClientId Timestamp [OriginalRewardId] ["IsTest":true] */
#include "domain/payload.h"

#include "domain/clock.h"
#include "domain/money.h"
#include "domain/signature.h"
#include "domain/traceparent.h"

#define SIG_BLANK "00000000000000000000000000000000"
#define GOAL_NUMBER_DIGITS 15 /* below 2^53 */
_Static_assert(sizeof SIG_BLANK - 1 == SIG_HEX_BYTES, "room for the hex digits");
_Static_assert(TRACEPARENT_PACKED_BYTES == SIG_HEX_BYTES, "room for the traceparent");

/* For literals, whose length is known at compile time. */
#define ADD(to, literal) buf_add((to), "" literal "", sizeof(literal) - 1)

static bool needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

static void print_escaped(struct buf *to, unsigned char c)
{
    switch (c) {
    case '"': ADD(to, "\\\""); break;
    case '\\': ADD(to, "\\\\"); break;
    case '\b': ADD(to, "\\b"); break;
    case '\f': ADD(to, "\\f"); break;
    case '\n': ADD(to, "\\n"); break;
    case '\r': ADD(to, "\\r"); break;
    case '\t': ADD(to, "\\t"); break;
    default: ADD(to, "\\u00"); buf_add_hex(to, &c, 1);
    }
}

void payload_print_string(struct buf *to, struct str s)
{
    buf_add_char(to, '"');
    size_t from = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (!needs_escape((unsigned char)s.p[i]))
            continue;
        buf_add(to, s.p + from, i - from);
        print_escaped(to, (unsigned char)s.p[i]);
        from = i + 1;
    }
    if (from < s.n)
        buf_add(to, s.p + from, s.n - from);
    buf_add_char(to, '"');
}

int payload_reward_digits(const struct event *e)
{
    return e->reward_decimals < 2 ? e->reward_decimals : 2;
}

/* ,"PanelistId":...,"RewardType":...,"RewardId":...,"Reward":... : the same in both bodies. */
static void print_reward(struct buf *to, const struct event *e, const struct payload_options *o)
{
    ADD(to, ",\"PanelistId\":");
    payload_print_string(to, e->panelist_id);
    ADD(to, ",\"RewardType\":\"");
    buf_add_c(to, event_type_name(e->type));
    ADD(to, "\",\"RewardId\":");
    payload_print_string(to, e->event_id);
    ADD(to, ",\"Reward\":");
    money_print(to, e->reward_micros, o->trim_decimals ? 0 : payload_reward_digits(e));
}

static void print_session(struct buf *to, const struct event *e)
{
    if (!e->session_id.p)
        return;
    ADD(to, ",\"SessionId\":");
    payload_print_string(to, e->session_id);
}

static void print_revenue(struct buf *to, const struct event *e, const struct payload_options *o)
{
    ADD(to, ",\"RevenueAmount\":");
    money_print(to, e->revenue_micros, o->trim_decimals ? 0 : 2);
}

/* A number that every JSON parser reads exactly: digits, at most GOAL_NUMBER_DIGITS, without
 * leading zeros. */
static bool is_number(struct str text)
{
    bool good = text.n > 0 && text.n <= GOAL_NUMBER_DIGITS && (text.p[0] != '0' || text.n == 1);
    for (size_t i = 0; good && i < text.n; i++)
        good = char_is_digit(text.p[i]);
    return good;
}

static void print_goal(struct buf *to, struct str goal, bool as_number)
{
    ADD(to, ",\"OfferGoalId\":");
    if (!goal.p)
        ADD(to, "null");
    else if (as_number && is_number(goal))
        buf_add_str(to, goal);
    else
        payload_print_string(to, goal);
}

static void print_client_and_time(struct buf *to, const struct event *e, struct str client_id)
{
    ADD(to, ",\"ClientId\":");
    payload_print_string(to, client_id);
    ADD(to, ",\"Timestamp\":\"");
    clock_print(to, e->occurred_ms);
    ADD(to, "\"");
}

/* Returns the offset of Signature's digits in `to`; 0: none. */
static size_t print_survey(struct buf *to, const struct event *e, const struct payload_options *o)
{
    size_t signature_at = 0;
    print_reward(to, e, o);
    if (o->integration != INTEGRATION_MONETIZATION_API) {
        print_session(to, e);
    } else if (e->mid.p) {
        ADD(to, ",\"Mid\":");
        payload_print_string(to, e->mid);
    }
    print_revenue(to, e, o);
    ADD(to, ",\"IsTest\":");
    buf_add_c(to, e->is_test ? "true" : "false");
    if (o->legacy_fields) {
        ADD(to, ",\"Signature\":\"");
        signature_at = to->n;
        ADD(to, SIG_BLANK "\",\"UniqueSurveyId\":");
        payload_print_string(to, e->event_id);
    }
    if (o->extended_fields)
        print_client_and_time(to, e, o->client_id);
    return signature_at;
}

static void print_offer(struct buf *to, const struct event *e, const struct payload_options *o)
{
    ADD(to, ",\"OfferId\":");
    buf_add_int(to, e->offer_id);
    print_goal(to, e->offer_goal_id, o->numeric_goal_ids);
    ADD(to, ",\"OfferTitle\":");
    payload_print_string(to, e->offer_title);
    print_reward(to, e, o);
    print_revenue(to, e, o);
    print_session(to, e);
    print_client_and_time(to, e, o->client_id);
    if (e->type == EVENT_OFFER_COMPLETION_REVERSED) {
        ADD(to, ",\"OriginalRewardId\":");
        payload_print_string(to, e->original_reward_id);
    }
    if (e->is_test)
        ADD(to, ",\"IsTest\":true");
}

uint16_t payload_print(struct buf *to, const struct event *e, const struct payload_options *o)
{
    ASSERT(event_lane(e->type) != LANE_NONE);
    size_t start = to->n, signature_at = 0;
    ADD(to, "{\"Sig\":\"" SIG_BLANK "\"");
    if (o->trace.p)
        memcpy(to->p + start + BODY_SIG_OFFSET, o->trace.p, SIG_HEX_BYTES);
    if (event_type_is_offer(e->type))
        print_offer(to, e, o);
    else
        signature_at = print_survey(to, e, o);
    ADD(to, "}");
    if (signature_at == 0)
        return 0;
    ASSERT(signature_at - start <= UINT16_MAX); /* the limits of texts keep it near 8 KiB */
    return (uint16_t)(signature_at - start);
}

struct payload_options payload_options_of(const struct app_terms *terms, struct str client_id,
                                          enum integration integration)
{
    return (struct payload_options){
        .client_id = client_id,
        .legacy_fields = terms->legacy_fields,
        .extended_fields = terms->extended_fields,
        .trim_decimals = terms->trim_decimals,
        .numeric_goal_ids = terms->numeric_goal_ids,
        .integration = integration,
    };
}

void payload_fix(struct event *e, const struct candidate *c, struct buf *room)
{
    e->body = STR_NONE;
    if (e->lane == LANE_NONE)
        return;
    struct payload_options options = payload_options_of(c->terms, c->client_id, c->integration);
    options.trace = c->trace;
    buf_clear(room);
    e->signature_offset = payload_print(room, e, &options);
    e->body = buf_str(room);
}

void payload_sign(char *body, uint16_t signature_offset, const char hex[32])
{
    memcpy(body + BODY_SIG_OFFSET, hex, SIG_HEX_BYTES);
    if (signature_offset)
        memcpy(body + signature_offset, hex, SIG_HEX_BYTES);
}
