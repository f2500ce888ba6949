/* docs/state.md, "What intake makes of an event", against domain/acceptance.c and life_accept:
 * every kind of event in everything that a store may have found about it. */
#include "domain/acceptance.h"
#include "domain/callback_life.h"

#include "state_page.h"

#define NOW INT64_C(1763726400000)

static const struct app_terms terms = {
    .account_no = 3,
    .app_no = 7,
    .currency_micros = 1000000,
    .disqualification_reward_micros = 500000,
    .disqualification_cap = 1,
    .has_url = {false, true, true, true},
};
static struct app_terms no_url, unwanted;

/* What is asked about: a candidate, and what is found about it besides its EventId. */
struct asked {
    struct candidate candidate;
    struct acceptance_facts facts;
    struct event original;
    struct callback_life original_status;
};

static int64_t paid_at_ms[] = {NOW};

/* --- rows ------------------------------------------------------------------------------------ */

static void start(struct asked *a)
{
    a->candidate.type = EVENT_SURVEY_STARTED;
}

static void complete(struct asked *a)
{
    a->candidate.type = EVENT_SURVEY_COMPLETED;
    a->candidate.has_revenue = true;
    a->candidate.revenue_micros = 1000000;
}

static void complete_without_url(struct asked *a)
{
    complete(a);
    no_url = terms;
    no_url.has_url[LANE_SUCCESS] = false;
    a->candidate.terms = &no_url;
}

static void complete_unwanted(struct asked *a)
{
    complete(a);
    unwanted = terms;
    unwanted.unwanted_types = UINT32_C(1) << EVENT_SURVEY_COMPLETED;
    a->candidate.terms = &unwanted;
}

static void import(struct asked *a)
{
    complete(a);
    a->candidate.deliver = false;
}

static void disqualify(struct asked *a)
{
    a->candidate.type = EVENT_SURVEY_DISQUALIFIED;
}

static void disqualify_beyond_the_cap(struct asked *a)
{
    disqualify(a);
    a->facts.paid = (struct payments){paid_at_ms, ARRAY_LEN(paid_at_ms)};
}

static void reverse(struct asked *a, enum callback_state state)
{
    a->candidate.type = EVENT_OFFER_COMPLETION_REVERSED;
    a->original = (struct event){
        .account_no = terms.account_no,
        .app_no = terms.app_no,
        .event_no = 8,
        .type = EVENT_OFFER_COMPLETED,
        .panelist_id = a->candidate.panelist_id,
    };
    a->facts.original = &a->original;
    a->original_status.state = state;
}

static void reverse_pending(struct asked *a)
{
    reverse(a, CALLBACK_PENDING);
}

static void reverse_delivered(struct asked *a)
{
    reverse(a, CALLBACK_DELIVERED);
}

static void reverse_dead(struct asked *a)
{
    reverse(a, CALLBACK_DEAD);
}

static void reverse_skipped(struct asked *a)
{
    reverse(a, CALLBACK_SKIPPED);
}

static void reverse_without_url(struct asked *a)
{
    reverse(a, CALLBACK_PENDING);
    no_url = terms;
    no_url.has_url[LANE_OFFER] = false;
    a->candidate.terms = &no_url;
}

static void reverse_nothing(struct asked *a)
{
    reverse(a, CALLBACK_PENDING);
    a->facts.original = NULL;
}

static void reverse_another_type(struct asked *a)
{
    reverse(a, CALLBACK_PENDING);
    a->original.type = EVENT_OFFER_CLICKED;
}

static void reverse_another_apps(struct asked *a)
{
    reverse(a, CALLBACK_PENDING);
    a->original.app_no++;
}

static void reverse_twice(struct asked *a)
{
    reverse(a, CALLBACK_DELIVERED);
    a->facts.is_original_reversed = true;
}

static void reverse_of_another_panelist(struct asked *a)
{
    reverse(a, CALLBACK_DELIVERED);
    a->original.panelist_id = STR("p-2");
}

static void reverse_of_an_erased_panelist(struct asked *a)
{
    reverse(a, CALLBACK_SKIPPED);
    a->original.panelist_id = STR("erased_1");
    a->original.is_erased = true;
}

static const struct row {
    const char *name;
    void (*ask)(struct asked *a);
} rows[] = {
    {"survey_started", start},
    {"an event that owes a callback", complete},
    {"the same, its lane has no URL", complete_without_url},
    {"the same, not among the app's `RewardTypes`", complete_unwanted},
    {"the same, imported or `deliver=false`", import},
    {"survey_disqualified within the cap", disqualify},
    {"survey_disqualified beyond the cap", disqualify_beyond_the_cap},
    {"a reversal, its original pending", reverse_pending},
    {"a reversal, its original delivered", reverse_delivered},
    {"a reversal, its original dead", reverse_dead},
    {"a reversal, its original skipped", reverse_skipped},
    {"a reversal, its lane has no URL", reverse_without_url},
    {"a reversal without an original", reverse_nothing},
    {"a reversal of another type than offer_completed", reverse_another_type},
    {"a reversal of another app's event", reverse_another_apps},
    {"a second reversal", reverse_twice},
    {"a reversal with another PanelistId", reverse_of_another_panelist},
    {"a reversal whose original's panelist is erased", reverse_of_an_erased_panelist},
};

/* --- columns --------------------------------------------------------------------------------- */

static void find_nothing(struct asked *a)
{
    (void)a;
}

static void refuse(struct asked *a)
{
    a->candidate.refused = true;
    a->facts.original = NULL; /* acceptance_needs_original: it is not looked for */
    a->facts.is_original_reversed = false;
}

static void find_same(struct asked *a)
{
    a->facts.is_known = true;
    a->facts.known_content = a->candidate.content;
    a->facts.known_event_no = 5;
}

static void find_other(struct asked *a)
{
    find_same(a);
    a->facts.known_content++;
}

static const struct column {
    const char *name;
    void (*find)(struct asked *a);
} columns[] = {
    {"new", find_nothing},
    {"new, refused by intake", refuse},
    {"known, the same content", find_same},
    {"known, another content", find_other},
};

/* --- the table ------------------------------------------------------------------------------- */

static void print_accepted(FILE *to, const struct asked *a, const struct event *e)
{
    bool is_reversal = e->type == EVENT_OFFER_COMPLETION_REVERSED;
    struct callback_life s = life_accept(e, is_reversal ? &a->original_status : NULL);
    const char *reason = callback_reason_name(s.reason);
    fprintf(to, " %s", s.wait == WAIT_HELD ? "held back" : callback_state_name(s.state));
    if (reason)
        fprintf(to, " %s", reason);
    if (e->type == EVENT_SURVEY_DISQUALIFIED)
        fprintf(to, ", %s", e->reward_micros > 0 ? "paid" : "Reward 0");
    fprintf(to, " |");
}

static void print_cell(FILE *to, const struct row *row, const struct column *column)
{
    static const char *const refusals[] = {
        [VERDICT_DUPLICATE] = "duplicate",
        [VERDICT_CONFLICT] = "conflict",
        [VERDICT_REFUSED] = "refused",
        [VERDICT_ORIGINAL_NOT_FOUND] = "original not found",
        [VERDICT_ALREADY_REVERSED] = "already reversed",
        [VERDICT_MISMATCH] = "mismatch",
    };
    struct asked a = {
        .candidate = {.terms = &terms,
                      .client_no = 11,
                      .deliver = true,
                      .occurred_ms = NOW,
                      .event_id = STR("e-1"),
                      .panelist_id = STR("p-1"),
                      .content = 4},
        .facts = {.received_ms = NOW, .last_event_no = 8},
    };
    row->ask(&a);
    column->find(&a);
    struct event e;
    struct verdict v = acceptance_decide(&a.candidate, &a.facts, &e);
    if (v.kind == VERDICT_ACCEPTED)
        print_accepted(to, &a, &e);
    else
        fprintf(to, " %s |", refusals[v.kind]);
}

static char *print_table(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    fprintf(to, "| event |");
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        fprintf(to, " %s |", columns[i].name);
    fprintf(to, "\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fprintf(to, "| %s |", rows[i].name);
        for (size_t k = 0; k < ARRAY_LEN(columns); k++)
            print_cell(to, &rows[i], &columns[k]);
        fprintf(to, "\n");
    }
    fclose(to);
    return text;
}

static void the_page_says_what_becomes_of_every_event(void)
{
    check_state_page(print_table());
}

/* --- what no store can have found --------------------------------------------------------------
 */

static void decide_completed(struct acceptance_facts facts)
{
    struct asked a = {.candidate = {.terms = &terms, .deliver = true, .occurred_ms = NOW}};
    struct event e;
    complete(&a);
    (void)acceptance_decide(&a.candidate, &facts, &e);
}

static void impossible_findings_are_asserted(void)
{
    struct event original = {.event_no = 8, .type = EVENT_OFFER_COMPLETED};
    decide_completed((struct acceptance_facts){.received_ms = NOW});
    CHECK_ABORTS(decide_completed((struct acceptance_facts){.is_known = true}));
    CHECK_ABORTS(decide_completed((struct acceptance_facts){.is_original_reversed = true}));
    CHECK_ABORTS(decide_completed((struct acceptance_facts){.original = &original}));
}

int main(void)
{
    RUN(the_page_says_what_becomes_of_every_event);
    RUN(impossible_findings_are_asserted);
    return check_done("verdict_table");
}
