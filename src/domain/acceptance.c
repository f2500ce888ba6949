/* Decides about a reported event; see acceptance.h. Whether the callback of a reversal then waits
 * for its original: domain/callback_life.c.
 *
 * One function for each kind of decision; acceptance_decide calls them in the order of precedence:
 * repeated (duplicate or conflict), refused by intake, original (which must exist, not be reversed
 * yet, and have what the reversal repeats of it), then amounts, then the callback's state.
 * Everything that decides is an argument, so the same candidate with the same facts always becomes
 * the same event. */
#include "domain/acceptance.h"

#include "domain/acceptance_times.h"
#include "domain/money.h"

static bool paid_by_disqualification_rule(const struct candidate *c)
{
    return c->type == EVENT_SURVEY_DISQUALIFIED && !c->has_reward;
}

bool acceptance_needs_payments(const struct candidate *c)
{
    return paid_by_disqualification_rule(c) && !c->is_test &&
           c->terms->disqualification_reward_micros > 0;
}

bool acceptance_needs_original(const struct candidate *c)
{
    return c->type == EVENT_OFFER_COMPLETION_REVERSED && !c->refused;
}

bool acceptance_reward(const struct candidate *c, int64_t *ret_reward_micros)
{
    if (c->has_reward) {
        bool may_be_negative = c->type == EVENT_AD_HOC && c->terms->negative_ad_hoc;
        int64_t least = may_be_negative ? -MONEY_MAX_REWARD_MICROS : 0;
        if (c->reward_micros < least || c->reward_micros > MONEY_MAX_REWARD_MICROS)
            return false;
        *ret_reward_micros = c->reward_micros;
        return true;
    }
    if (c->type == EVENT_AD_HOC)
        return false; /* it must have a Reward, as there is nothing to compute one from */
    return money_reward(c->revenue_micros, c->terms->currency_micros, c->terms->reward_decimals,
                        ret_reward_micros);
}

static struct verdict refuse(enum verdict_kind kind, const char *field)
{
    return (struct verdict){.kind = kind, .field = field};
}

/* The first field that the reversal gives differently from its original; NULL: none. */
static const char *differing_field(const struct candidate *c, const struct event *original)
{
    const struct {
        const char *name;
        struct str given, want;
        bool is_erased; /* the original's value is gone */
    } texts[] = {
        {"PanelistId", c->panelist_id, original->panelist_id, original->is_erased},
        {"OfferTitle", c->offer_title, original->offer_title, false},
        {"OfferGoalId", c->offer_goal_id, original->offer_goal_id, false},
        {"SessionId", c->session_id, original->session_id, original->is_erased},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i].given.p && !texts[i].is_erased && !str_eq(texts[i].given, texts[i].want))
            return texts[i].name;
    if (c->offer_id != 0 && c->offer_id != original->offer_id)
        return "OfferId";
    if (c->has_is_test && c->is_test != original->is_test)
        return "IsTest";
    return NULL;
}

static struct verdict judge_original(const struct candidate *c, const struct event *original,
                                     bool original_reversed)
{
    if (!original || original->type != EVENT_OFFER_COMPLETED ||
        original->app_no != c->terms->app_no || original->account_no != c->terms->account_no)
        return refuse(VERDICT_ORIGINAL_NOT_FOUND, "OriginalRewardId");
    if (original_reversed)
        return refuse(VERDICT_ALREADY_REVERSED, "OriginalRewardId");
    const char *field = differing_field(c, original);
    if (field)
        return refuse(VERDICT_MISMATCH, field);
    return (struct verdict){.kind = VERDICT_ACCEPTED};
}

/* The reversal of a test that went to the TestCallbackUrl goes nowhere else, even if the app has no
 * TestCallbackUrl any more: no other receiver knows of the test. */
static void take_from_original(struct event *e, const struct app_terms *terms,
                               const struct event *original)
{
    e->lane = original->lane == LANE_TEST ? LANE_TEST : app_lane(terms, e->type, original->is_test);
    e->original_no = original->event_no;
    e->is_test = original->is_test;
    e->revenue_micros = -original->revenue_micros;
    e->reward_micros = -original->reward_micros;
    e->panelist_id = original->panelist_id;
    e->session_id = original->session_id;
    e->offer_id = original->offer_id;
    e->offer_title = original->offer_title;
    e->offer_goal_id = original->offer_goal_id;
}

/* What the app pays for a disqualification: nothing above the cap. Tests are always paid. */
static void pay_disqualification(struct event *e, const struct candidate *c,
                                 const struct payments *paid)
{
    const struct app_terms *terms = c->terms;
    bool capped = !c->is_test && !cap_allows(terms->disqualification_cap, c->occurred_ms, paid);
    e->reward_micros = capped ? 0 : terms->disqualification_reward_micros;
    if (!c->is_test && terms->disqualification_reward_micros > 0)
        e->cap = capped ? CAP_REACHED : CAP_COUNTED;
}

static void set_amounts(struct event *e, const struct candidate *c, const struct payments *paid)
{
    if (c->type == EVENT_SURVEY_STARTED || c->type == EVENT_OFFER_CLICKED)
        return; /* neither is paid, whatever was sent */
    e->revenue_micros = c->has_revenue ? c->revenue_micros : 0;
    if (paid_by_disqualification_rule(c)) {
        pay_disqualification(e, c, paid);
    } else {
        bool in_range = acceptance_reward(c, &e->reward_micros);
        ASSERT(in_range); /* intake has rejected other amounts */
    }
}

static void set_state(struct event *e, const struct candidate *c)
{
    e->state = CALLBACK_SKIPPED;
    if (e->lane == LANE_NONE)
        e->state = CALLBACK_NONE;
    else if (!c->deliver)
        e->reason_skipped = REASON_IMPORTED;
    else if (!c->terms->has_url[e->lane])
        e->reason_skipped = REASON_NO_URL;
    else if (!app_wants(c->terms, e->type, e->is_test, e->lane))
        e->reason_skipped = REASON_NOT_WANTED;
    else
        e->state = CALLBACK_PENDING;
}

static struct verdict judge_repeated(const struct candidate *c,
                                     const struct acceptance_facts *facts)
{
    if (facts->known_content != c->content)
        return refuse(VERDICT_CONFLICT, NULL);
    return (struct verdict){.kind = VERDICT_DUPLICATE, .event_no = facts->known_event_no};
}

/* Asserts that the store's facts are consistent. */
static void check_facts(const struct candidate *c, const struct acceptance_facts *facts)
{
    ASSERT(!facts->is_known || facts->known_event_no > 0);
    ASSERT(facts->original || !facts->is_original_reversed);
    ASSERT(!facts->original || (acceptance_needs_original(c) && facts->original->event_no > 0));
}

struct verdict acceptance_decide(const struct candidate *c, const struct acceptance_facts *facts,
                                 struct event *ret_event)
{
    check_facts(c, facts);
    if (facts->is_known)
        return judge_repeated(c, facts);
    if (c->refused)
        return refuse(VERDICT_REFUSED, NULL);
    bool reversal = c->type == EVENT_OFFER_COMPLETION_REVERSED;
    if (reversal) {
        struct verdict v = judge_original(c, facts->original, facts->is_original_reversed);
        if (v.kind != VERDICT_ACCEPTED)
            return v;
    }

    struct event e = {
        .account_no = c->terms->account_no,
        .app_no = c->terms->app_no,
        .client_no = c->client_no,
        .type = c->type,
        .lane = app_lane(c->terms, c->type, c->is_test),
        .is_test = c->is_test,
        .reward_decimals = c->terms->reward_decimals,
        .occurred_ms = c->occurred_ms,
        .event_no = facts->last_event_no + 1,
        .accepted_ms = acceptance_ms(facts->last_accepted_ms, facts->received_ms),
        .due_ms = facts->received_ms,
        .event_id = c->event_id,
        .original_reward_id = c->original_reward_id,
        .reason = c->reason,
        .key = c->key,
        .content = c->content,
    };
    if (reversal) {
        take_from_original(&e, c->terms, facts->original);
    } else {
        e.panelist_id = c->panelist_id;
        e.session_id = c->session_id;
        e.mid = c->mid;
        e.offer_id = c->offer_id;
        e.offer_title = c->offer_title;
        /* a click is not about a goal yet */
        e.offer_goal_id = c->type == EVENT_OFFER_CLICKED ? STR_NONE : c->offer_goal_id;
        set_amounts(&e, c, &facts->paid);
    }
    set_state(&e, c);
    *ret_event = e;
    return (struct verdict){.kind = VERDICT_ACCEPTED, .event_no = e.event_no};
}
