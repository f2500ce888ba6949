/* What is asked for right behind an erasure, before anybody has answered it: a store that applies
 * erasures later must decide as if it had applied them at once. */
#include "suite.h"

#include "base/check.h"

#define LANE_A_OFFER lane_of(APP_A1, LANE_OFFER)
#define ROUNDS 24 /* each meets the store at another moment of its work */

/* Of the one event that was taken in. */
static void drop_owed(struct subject *s)
{
    struct callback **owed;
    size_t n = subject_take_owed(s, 1, &owed);
    drop_callbacks(owed, n);
}

/* One item about the panelist of that round. */
static struct candidate item_of_round(struct candidate c, char panelist[16], int round)
{
    snprintf(panelist, 16, "p-%d", round);
    c.panelist_id = str_of(panelist);
    return c;
}

/* Asks for both, in this order, and only then waits. */
static struct verdict erase_and_submit(struct subject *s, const char *panelist, struct candidate c)
{
    struct erase erase = {.account_no = ACCOUNT_A, .panelist_id = str_of(panelist)};
    struct intake_batch *batch = subject_make_batch(s, &c, 1, BASE_MS);
    subject_start_erase(s, &erase);
    store_submit(s->store, batch);
    subject_wait(s, &erase.done);
    subject_wait(s, &batch->done);
    CHECK_EQ_INT(erase.status, STORE_OK);
    CHECK_EQ_INT(batch->status, STORE_OK);
    struct verdict v = batch->status == STORE_OK ? batch->verdicts[0] : (struct verdict){0};
    free_batch(batch);
    return v;
}

static bool is_due(struct subject *s, uint64_t event_no)
{
    struct due_page page = {
        .lane = LANE_A_OFFER, .due_until_ms = BASE_MS + DAY, .limit = LIMIT_PAGE_CALLBACKS};
    subject_page(s, &page);
    bool found = false;
    for (size_t i = 0; i < page.count; i++)
        found |= page.items[i]->event_no == event_no;
    drop_callbacks(page.items, page.count);
    return found;
}

/* The original is skipped by the erasure: nothing would ever let its reversal go. */
static void a_reversal_right_behind_an_erasure_is_due(struct subject *s)
{
    for (int round = 0; round < ROUNDS; round++) {
        char panelist[16], original[16], reversed[16];
        snprintf(original, sizeof original, "o-%d", round);
        snprintf(reversed, sizeof reversed, "x-%d", round);
        struct candidate c = item(EVENT_OFFER_COMPLETED, original);
        CHECK_EQ_INT(submit_one(s, item_of_round(c, panelist, round)).kind, VERDICT_ACCEPTED);
        drop_owed(s);
        struct candidate x = reversal(reversed, original);
        x.panelist_id = round % 2 ? str_of(panelist) : STR_NONE; /* any matches by then */
        struct verdict v = erase_and_submit(s, panelist, x);
        CHECK_EQ_INT(v.kind, VERDICT_ACCEPTED);
        CHECK_EQ_INT(row_of(s, ACCOUNT_A, original).state, CALLBACK_SKIPPED);
        CHECK(is_due(s, v.event_no));
        struct callback **owed;
        size_t n = subject_take_owed(s, 1, &owed);
        CHECK(n == 1 && owed[0]->event_no == v.event_no);
        drop_callbacks(owed, n);
    }
    if (!s->keeps)
        return;
    subject_reopen(s);
    CHECK(is_due(s, 2) && is_due(s, 2 * ROUNDS));
}

/* Its try was under way and fails meanwhile: it does not wait for another, nor does its reversal
 * for it. */
static void a_failed_try_of_an_erased_one_is_its_end(struct subject *s)
{
    for (int round = 0; round < ROUNDS; round++) {
        char panelist[16], original[16], reversed[16];
        snprintf(original, sizeof original, "o-%d", round);
        snprintf(reversed, sizeof reversed, "x-%d", round);
        struct candidate c = item(EVENT_OFFER_COMPLETED, original);
        struct verdict v = submit_one(s, item_of_round(c, panelist, round));
        struct erase erase = {.account_no = ACCOUNT_A, .panelist_id = str_of(panelist)};
        subject_start_erase(s, &erase);
        struct outcome o =
            outcome_of(ACCOUNT_A, v.event_no, LANE_OFFER, APP_A1, 1, CALLBACK_PENDING, BASE_MS + 5);
        CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
        struct candidate x = reversal(reversed, original);
        x.panelist_id = STR_NONE;
        struct verdict of_reversal = submit_one(s, x);
        CHECK(is_due(s, of_reversal.event_no));
        subject_wait(s, &erase.done);
        CHECK(is_due(s, of_reversal.event_no) && !is_due(s, v.event_no));
        struct callback_row row = row_of(s, ACCOUNT_A, original);
        CHECK_EQ_INT(row.state, CALLBACK_SKIPPED);
        REQUIRE(row.log_count == 1);
        CHECK(!row.log[0].response_body.p && !row.log[0].request_headers.p);
    }
}

/* A lane that knows nothing of an erasure yet tries again what it has made skipped. */
static void an_outcome_behind_an_erasure_and_another_one_counts(struct subject *s)
{
    for (int round = 0; round < ROUNDS; round++) {
        char panelist[16], id[16];
        snprintf(id, sizeof id, "t-%d", round);
        struct candidate c = item(EVENT_OFFER_COMPLETED, id);
        struct verdict v = submit_one(s, item_of_round(c, panelist, round));
        struct erase erase = {.account_no = ACCOUNT_A, .panelist_id = str_of(panelist)};
        subject_start_erase(s, &erase);
        for (int try = 1; try <= 3; try++) {
            struct outcome o =
                outcome_of(ACCOUNT_A, v.event_no, LANE_OFFER, APP_A1, try,
                           try < 3 ? CALLBACK_PENDING : CALLBACK_DELIVERED, BASE_MS + 5 * try);
            CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
        }
        subject_wait(s, &erase.done);
        CHECK(!is_due(s, v.event_no));
        CHECK_EQ_INT(row_of(s, ACCOUNT_A, id).state, CALLBACK_DELIVERED);
    }
}

/* Nothing is left to send, applied or not; whoever asks is told why. */
static void a_resend_right_behind_an_erasure_is_refused(struct subject *s)
{
    for (int round = 0; round < ROUNDS; round++) {
        char panelist[16], id[16];
        snprintf(id, sizeof id, "r-%d", round);
        struct candidate c = item(EVENT_OFFER_COMPLETED, id);
        struct verdict v = submit_one(s, item_of_round(c, panelist, round));
        struct outcome o = outcome_of(ACCOUNT_A, v.event_no, LANE_OFFER, APP_A1, 1,
                                      CALLBACK_DELIVERED, BASE_MS + 5);
        if (round % 2)
            CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
        struct erase erase = {.account_no = ACCOUNT_A, .panelist_id = str_of(panelist)};
        struct resend resend = {
            .account_no = ACCOUNT_A, .event_id = str_of(id), .now_ms = BASE_MS + 9};
        subject_start_erase(s, &erase);
        subject_start_resend(s, &resend);
        subject_wait(s, &erase.done);
        subject_wait(s, &resend.done);
        CHECK_EQ_INT(resend.status, STORE_ERASED);
        CHECK(!is_due(s, v.event_no));
    }
    if (!s->keeps)
        return;
    subject_reopen(s);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-1", BASE_MS + 9), STORE_ERASED);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "nothing", BASE_MS + 9), STORE_NOT_FOUND);
}

/* What was paid to whom is not known any more, applied or not: the cap begins anew. */
static void payments_of_an_erased_panelist_count_no_more(struct subject *s)
{
    for (int round = 0; round < ROUNDS; round++) {
        char panelist[16], ids[4][16];
        struct candidate items[3];
        struct verdict v[3];
        for (int i = 0; i < 4; i++)
            snprintf(ids[i], sizeof ids[i], "d-%d-%d", round, i);
        for (int i = 0; i < 3; i++)
            items[i] = item_of_round(item(EVENT_SURVEY_DISQUALIFIED, ids[i]), panelist, round);
        REQUIRE(subject_submit(s, items, 3, BASE_MS, v) == STORE_OK);
        struct candidate again = item(EVENT_SURVEY_DISQUALIFIED, ids[3]);
        CHECK_EQ_INT(erase_and_submit(s, panelist, item_of_round(again, panelist, round)).kind,
                     VERDICT_ACCEPTED);
        CHECK_EQ_INT(row_of(s, ACCOUNT_A, ids[1]).event.reward_micros, 500000);
        CHECK_EQ_INT(row_of(s, ACCOUNT_A, ids[2]).event.reward_micros, 0);
        CHECK_EQ_INT(row_of(s, ACCOUNT_A, ids[3]).event.reward_micros, 500000);
    }
}

void run_erasing_tests(void)
{
    RUN_FRESH(a_reversal_right_behind_an_erasure_is_due);
    RUN_FRESH(a_failed_try_of_an_erased_one_is_its_end);
    RUN_FRESH(an_outcome_behind_an_erasure_and_another_one_counts);
    RUN_FRESH(a_resend_right_behind_an_erasure_is_refused);
    RUN_FRESH(payments_of_an_erased_panelist_count_no_more);
}
