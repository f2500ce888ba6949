/* Owed callbacks: who is handed what and when, what a lane finds by paging, what outcomes and
 * resends leave behind. */
#include "suite.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#define LANE_A_SUCCESS lane_of(APP_A1, LANE_SUCCESS)
#define LANE_A_OFFER lane_of(APP_A1, LANE_OFFER)

static void record_one(struct subject *s, struct outcome o)
{
    CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
}

/* What a page has, as "event number" text like "1 2 3+" (+: more); drops it. */
static const char *take_page(const struct due_page *page)
{
    static char text[4096];
    size_t n = 0;
    for (size_t i = 0; i < page->count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%llu", i ? " " : "",
                              (unsigned long long)page->items[i]->event_no);
    snprintf(text + n, sizeof text - n, "%s", page->more ? "+" : "");
    if (page->count) { /* it may stand behind what has just become final */
        const struct callback *last = page->items[page->count - 1];
        CHECK(page->last.due_ms > last->place.due_ms ||
              (page->last.due_ms == last->place.due_ms && page->last.event_no >= last->event_no));
    }
    drop_callbacks(page->items, page->count);
    return text;
}

/* One page of a lane. */
static const char *page_text(struct subject *s, lane_no lane, int64_t until, int64_t after_due,
                             uint64_t after_no, uint32_t limit, int64_t *ret_next)
{
    struct due_page page = {
        .lane = lane, .due_until_ms = until, .after = {after_due, after_no}, .limit = limit};
    subject_page(s, &page);
    if (ret_next)
        *ret_next = page.next_due_ms;
    return take_page(&page);
}

static const char *due_now(struct subject *s, lane_no lane)
{
    return page_text(s, lane, BASE_MS + DAY, 0, 0, 100, NULL);
}

/* Of different accounts they may come in any order. */
static const struct callback *find_owed(struct callback **owed, size_t n, const char *event_id)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(owed[i]->event_id, event_id))
            return owed[i];
    return NULL;
}

static void the_sink_gets_what_is_owed(struct subject *s)
{
    struct candidate items[] = {
        item(EVENT_SURVEY_STARTED, "s-1"), item(EVENT_SURVEY_COMPLETED, "r-1"),
        item_of(APP_A2, EVENT_SURVEY_COMPLETED, "no-url"),
        item_of(APP_B1, EVENT_SURVEY_DISQUALIFIED, "disabled"), item(EVENT_OFFER_CLICKED, "c-1")};
    struct verdict v[ARRAY_LEN(items)];
    REQUIRE(subject_submit(s, items, ARRAY_LEN(items), BASE_MS, v) == STORE_OK);
    struct callback **owed;
    size_t n = subject_take_owed(s, 3, &owed);
    REQUIRE(n == 3);
    const struct callback *c = find_owed(owed, n, "r-1"), *click = find_owed(owed, n, "c-1");
    REQUIRE(c && click && find_owed(owed, n, "disabled"));
    CHECK_EQ_UINT(c->account_no, ACCOUNT_A);
    CHECK_EQ_UINT(c->app_no, APP_A1);
    CHECK_EQ_UINT(c->event_no, 2);
    CHECK_EQ_INT(c->lane, LANE_SUCCESS);
    CHECK_EQ_INT(c->type, EVENT_SURVEY_COMPLETED);
    CHECK_STR(c->panelist_id, "panelist");
    CHECK_EQ_INT(c->place.due_ms, BASE_MS);
    CHECK(c->body.n > 100 && !c->manual && !c->was_delivered && c->attempts_made == 0);
    CHECK_EQ_INT(click->lane, LANE_OFFER);
    drop_callbacks(owed, n);
    CHECK_EQ_INT(row_of(s, ACCOUNT_B, "disabled").state, CALLBACK_PENDING); /* its lane holds it */
    CHECK_CSTR(due_now(s, LANE_A_SUCCESS), "2"); /* dropped by the sink, found by paging */
    CHECK_CSTR(due_now(s, lane_of(APP_A2, LANE_SUCCESS)), "");
    CHECK_CSTR(due_now(s, lane_of(APP_B1, LANE_FAILURE)), "1");
}

static void imported_events_are_not_delivered(struct subject *s)
{
    struct candidate c = item(EVENT_SURVEY_COMPLETED, "old");
    c.deliver = false;
    c.occurred_ms = BASE_MS - 2000 * DAY;
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_ACCEPTED);
    struct callback_row row = row_of(s, ACCOUNT_A, "old");
    CHECK_EQ_INT(row.state, CALLBACK_SKIPPED);
    CHECK_EQ_INT(row.reason, REASON_IMPORTED);
    CHECK_CSTR(due_now(s, LANE_A_SUCCESS), "");
}

static void submit_completions(struct subject *s, int count)
{
    struct candidate items[64];
    struct verdict v[64];
    char ids[64][16];
    for (int i = 0; i < count; i++) {
        snprintf(ids[i], sizeof ids[i], "r-%d", i + 1);
        items[i] = item(EVENT_SURVEY_COMPLETED, ids[i]);
    }
    CHECK_EQ_INT(subject_submit(s, items, (size_t)count, BASE_MS, v), STORE_OK);
    struct callback **owed;
    size_t n = subject_take_owed(s, (size_t)count, &owed);
    CHECK_EQ_UINT(n, (size_t)count);
    drop_callbacks(owed, n);
}

static struct outcome retry_at(uint64_t event_no, int32_t number, int64_t due_ms)
{
    return outcome_of(ACCOUNT_A, event_no, LANE_SUCCESS, APP_A1, number, CALLBACK_PENDING, due_ms);
}

static struct outcome final(uint64_t event_no, int32_t number, enum callback_state state)
{
    return outcome_of(ACCOUNT_A, event_no, LANE_SUCCESS, APP_A1, number, state, 0);
}

static void pages_by_due_time(struct subject *s)
{
    submit_completions(s, 6);
    record_one(s, retry_at(2, 1, BASE_MS + 5000));
    record_one(s, retry_at(3, 1, BASE_MS - 7));
    record_one(s, final(4, 1, CALLBACK_DELIVERED));
    record_one(s, retry_at(5, 1, BASE_MS + 60000));
    int64_t next = 0;
    CHECK_CSTR(page_text(s, LANE_A_SUCCESS, BASE_MS, 0, 0, 100, &next), "3 1 6");
    CHECK_EQ_INT(next, BASE_MS + 5000);
    CHECK_CSTR(page_text(s, LANE_A_SUCCESS, BASE_MS, 0, 0, 2, NULL), "3 1+");
    CHECK_CSTR(page_text(s, LANE_A_SUCCESS, BASE_MS, BASE_MS, 1, 2, NULL), "6");
    CHECK_CSTR(page_text(s, LANE_A_SUCCESS, BASE_MS + 5000, BASE_MS, 6, 2, &next), "2");
    CHECK_EQ_INT(next, BASE_MS + 60000);
    CHECK_CSTR(page_text(s, LANE_A_SUCCESS, BASE_MS + DAY, 0, 0, 100, &next), "3 1 6 2 5");
    CHECK(next == INT64_MAX);
    CHECK_CSTR(page_text(s, LANE_A_OFFER, BASE_MS + DAY, 0, 0, 100, &next), "");
    CHECK(next == INT64_MAX);
}

/* Lanes that run dry together: each gets its own page, whatever the others ask for. */
static void pages_asked_at_once(struct subject *s)
{
    const struct {
        lane_no lane;
        int64_t until, after_due;
        uint64_t after_no;
        uint32_t limit;
        const char *text;
        int64_t next;
    } asked[] = {
        {LANE_A_SUCCESS, BASE_MS, 0, 0, 100, "3 1 4 6", BASE_MS + 5000},
        {LANE_A_OFFER, BASE_MS + DAY, 0, 0, 100, "", INT64_MAX},
        {LANE_A_SUCCESS, BASE_MS, BASE_MS, 1, 1, "4+", BASE_MS},
        {LANE_A_SUCCESS, BASE_MS + 5000, BASE_MS, 6, 2, "2", BASE_MS + 60000},
        {LANE_A_SUCCESS, BASE_MS - 8, 0, 0, 5, "", BASE_MS - 7},
        {LANE_A_SUCCESS, BASE_MS + DAY, 0, 0, 100, "3 1 4 6 2 5", INT64_MAX},
    };
    struct due_page pages[ARRAY_LEN(asked) * 8];
    submit_completions(s, 6);
    record_one(s, retry_at(2, 1, BASE_MS + 5000));
    record_one(s, retry_at(3, 1, BASE_MS - 7));
    record_one(s, retry_at(5, 1, BASE_MS + 60000));
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        size_t of = i % ARRAY_LEN(asked);
        pages[i] = (struct due_page){.lane = asked[of].lane,
                                     .due_until_ms = asked[of].until,
                                     .after = {asked[of].after_due, asked[of].after_no},
                                     .limit = asked[of].limit,
                                     .brief = i % 16 == 15}; /* may be behind */
        subject_start_page(s, &pages[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        subject_wait(s, &pages[i].done);
        CHECK_EQ_INT(pages[i].status, STORE_OK);
        int64_t next = pages[i].next_due_ms;
        const char *text = take_page(&pages[i]);
        if (pages[i].brief)
            continue;
        CHECK_CSTR(text, asked[i % ARRAY_LEN(asked)].text);
        CHECK_EQ_INT(next, asked[i % ARRAY_LEN(asked)].next);
    }
}

static void outcomes_are_kept_with_their_attempts(struct subject *s)
{
    submit_completions(s, 3);
    record_one(s, retry_at(1, 1, BASE_MS + 5000));
    struct callback_row row = row_of(s, ACCOUNT_A, "r-1");
    CHECK_EQ_INT(row.state, CALLBACK_PENDING);
    CHECK_EQ_INT(row.next_attempt_ms, BASE_MS + 5000);
    CHECK_EQ_INT(row.attempts, 1);
    struct outcome both[2] = {final(1, 2, CALLBACK_DELIVERED), final(2, 1, CALLBACK_DEAD)};
    CHECK_EQ_INT(subject_record(s, both, 2), STORE_OK);
    struct outcome skipped = {.account_no = ACCOUNT_A,
                              .event_no = 3,
                              .lane = LANE_A_SUCCESS,
                              .state = CALLBACK_SKIPPED,
                              .reason = REASON_DISABLED};
    record_one(s, skipped);
    row = row_of(s, ACCOUNT_A, "r-1");
    CHECK_EQ_INT(row.state, CALLBACK_DELIVERED);
    CHECK_EQ_INT(row.next_attempt_ms, 0);
    CHECK_EQ_INT(row.attempts, 2);
    REQUIRE(row.log_count == 2);
    const struct attempt *a = &row.log[0];
    CHECK_EQ_INT(a->number, 1);
    CHECK_EQ_INT(a->status, 503);
    CHECK_EQ_INT(a->class, ATTEMPT_STATUS);
    CHECK_EQ_INT(a->at_ms, BASE_MS + 1);
    CHECK_EQ_INT(a->duration_ms, 12);
    CHECK_STR(a->url, "http://receiver.example/cb");
    CHECK_STR(a->detail, "The receiver answered 503.");
    CHECK_STR(a->request_headers, "Postbackd-Attempt: 1\n");
    CHECK_STR(a->response_headers, "Server: x\n");
    CHECK_STR(a->response_body, "\xff not text");
    CHECK_EQ_INT(row.log[1].status, 200);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-2").state, CALLBACK_DEAD);
    row = row_of(s, ACCOUNT_A, "r-3");
    CHECK(row.state == CALLBACK_SKIPPED && row.reason == REASON_DISABLED && row.log_count == 0);
    CHECK_CSTR(due_now(s, LANE_A_SUCCESS), "");
}

/* What a disabled app has kept for years, or what a recovery asks for again. */
static void outcomes_of_four_years_in_one_batch(struct subject *s)
{
    enum { MONTHS = 48 };
    struct outcome outcomes[MONTHS];
    for (int i = 0; i < MONTHS; i++) {
        char id[16];
        struct verdict v;
        snprintf(id, sizeof id, "month-%d", i);
        struct candidate c = item(EVENT_SURVEY_COMPLETED, id);
        REQUIRE(subject_submit(s, &c, 1, BASE_MS + i * 30 * DAY, &v) == STORE_OK);
        outcomes[i] = final(v.event_no, 1, CALLBACK_DELIVERED);
    }
    CHECK_EQ_INT(subject_record(s, outcomes, MONTHS), STORE_OK);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "month-0").state, CALLBACK_DELIVERED);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "month-47").state, CALLBACK_DELIVERED);
    CHECK_CSTR(page_text(s, LANE_A_SUCCESS, INT64_MAX, 0, 0, 100, NULL), "");
}

/* Returns the latest resend that the callback handed over knows of. */
static uint64_t check_owed_one(struct subject *s, uint64_t event_no, bool manual,
                               bool was_delivered, int32_t attempts, int32_t slot)
{
    struct callback **owed;
    size_t n = subject_take_owed(s, 1, &owed);
    uint64_t resend_no = 0;
    if (CHECK(n == 1)) {
        resend_no = owed[0]->resend_no;
        CHECK_EQ_UINT(owed[0]->event_no, event_no);
        CHECK_EQ_INT(owed[0]->manual, manual);
        CHECK_EQ_INT(owed[0]->was_delivered, was_delivered);
        CHECK_EQ_INT(owed[0]->attempts_made, attempts);
        CHECK_EQ_INT(owed[0]->place.slot, slot);
    }
    drop_callbacks(owed, n);
    return resend_no;
}

static void resends_in_every_state(struct subject *s)
{
    submit_completions(s, 3);
    record_one(s, retry_at(1, 1, BASE_MS + 5000));
    record_one(s, final(2, 7, CALLBACK_DEAD));
    record_one(s, final(3, 1, CALLBACK_DELIVERED));
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "nothing", BASE_MS), STORE_NOT_FOUND);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_B, "r-1", BASE_MS), STORE_NOT_FOUND);

    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-1", BASE_MS + 10), STORE_OK);
    check_owed_one(s, 1, true, false, 1, 1); /* due now, where it stood */
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-1").next_attempt_ms, BASE_MS + 10);

    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-2", BASE_MS + 20), STORE_OK);
    check_owed_one(s, 2, true, false, 7, 0); /* a fresh schedule */
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-2").state, CALLBACK_PENDING);

    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-3", BASE_MS + 30), STORE_OK);
    uint64_t resend_no = check_owed_one(s, 3, true, true, 1, 0); /* one extra try */
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-3").state, CALLBACK_DELIVERED);
    CHECK_CSTR(due_now(s, LANE_A_SUCCESS), "1 2 3");
    struct outcome extra = final(3, 2, CALLBACK_DELIVERED);
    extra.attempt.manual = true;
    extra.resend_no = resend_no;
    record_one(s, extra);
    CHECK_CSTR(due_now(s, LANE_A_SUCCESS), "1 2");
    struct callback_row row = row_of(s, ACCOUNT_A, "r-3");
    CHECK(row.attempts == 2 && row.log_count == 2 && row.log[1].manual);
    CHECK_EQ_INT(subject_numbers(s, 2, 1, 1, NUMBERS_ANY).callbacks_delivered,
                 1); /* counted once */

    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-1", BASE_MS + 40), STORE_OK);
    struct outcome again = retry_at(1, 2, BASE_MS + 6000);
    again.resend_no = check_owed_one(s, 1, true, false, 1, 1);
    record_one(s, again);
    struct due_page page = {.lane = LANE_A_SUCCESS, .due_until_ms = BASE_MS + DAY, .limit = 5};
    subject_page(s, &page);
    REQUIRE(page.count ==
            2); /* the try behind the one that was asked for is the schedule's again */
    CHECK(page.items[0]->manual && !page.items[1]->manual);
    drop_callbacks(page.items, page.count);
}

/* What was decided before a resend was accepted, and is recorded after it, comes first: the resend
 * finds the callback in the state that the outcome left. */
static void a_resend_outlives_what_was_decided_before_it(struct subject *s)
{
    submit_completions(s, 5);
    for (int i = 1; i <= 4; i++) {
        char id[8];
        snprintf(id, sizeof id, "r-%d", i);
        CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, id, BASE_MS + i), STORE_OK);
        CHECK(check_owed_one(s, (uint64_t)i, true, false, 0, 0) > 0);
    }
    struct outcome skipped = final(4, 1, CALLBACK_SKIPPED);
    skipped.has_attempt = false;
    skipped.reason = REASON_DISABLED;
    struct outcome decided[4] = {final(1, 1, CALLBACK_DELIVERED), final(2, 1, CALLBACK_DEAD),
                                 retry_at(3, 1, BASE_MS + 5000), skipped};
    CHECK_EQ_INT(subject_record(s, decided, 4), STORE_OK);
    struct callback **owed;
    size_t n = subject_take_owed(s, 4, &owed);
    REQUIRE(n == 4);
    CHECK(owed[0]->was_delivered && owed[0]->manual && owed[0]->attempts_made == 1);
    CHECK(!owed[1]->was_delivered && owed[1]->manual && owed[1]->place.slot == 0);
    CHECK(owed[2]->place.slot == 1 && owed[2]->place.due_ms == BASE_MS + 3);
    CHECK(owed[3]->manual && owed[3]->attempts_made == 0);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-1").state, CALLBACK_DELIVERED);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-2").state, CALLBACK_PENDING);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-4").reason, REASON_NONE);
    CHECK_CSTR(due_now(s, LANE_A_SUCCESS), "5 1 2 3 4");
    CHECK_EQ_INT(subject_numbers(s, 4, 1, 1, NUMBERS_ANY).callbacks_dead, 1);
    if (s->keeps) {
        subject_reopen(s);
        CHECK_CSTR(due_now(s, LANE_A_SUCCESS), "5 1 2 3 4");
    }
    for (size_t i = 0; i < 4; i++) { /* whoever knows of the resend answers it */
        struct outcome o = final(i + 1, 2, CALLBACK_DELIVERED);
        o.resend_no = owed[i]->resend_no;
        record_one(s, o);
    }
    drop_callbacks(owed, n);
    CHECK_CSTR(due_now(s, LANE_A_SUCCESS), "5");
}

/* A page is younger than what was resent before it was asked for. */
static void a_page_knows_of_resends(struct subject *s)
{
    submit_completions(s, 1);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-1", BASE_MS + 1), STORE_OK);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-1", BASE_MS + 2), STORE_OK);
    struct callback **owed;
    size_t n = subject_take_owed(s, 2, &owed);
    REQUIRE(n == 2);
    struct due_page page = {.lane = LANE_A_SUCCESS, .due_until_ms = BASE_MS + DAY, .limit = 5};
    subject_page(s, &page);
    REQUIRE(page.count == 1);
    CHECK(owed[0]->resend_no < owed[1]->resend_no);
    CHECK_EQ_UINT(page.items[0]->resend_no, owed[1]->resend_no);
    struct outcome o = final(1, 1, CALLBACK_DELIVERED);
    o.resend_no = owed[0]->resend_no; /* the first of two */
    record_one(s, o);
    CHECK_CSTR(due_now(s, LANE_A_SUCCESS), "1");
    o.attempt.number = 2;
    o.resend_no = owed[1]->resend_no;
    record_one(s, o);
    CHECK_CSTR(due_now(s, LANE_A_SUCCESS), "");
    drop_callbacks(owed, n);
    drop_callbacks(page.items, page.count);
}

static void a_reversal_waits_for_its_original(struct subject *s)
{
    struct candidate items[2] = {item(EVENT_OFFER_COMPLETED, "o-1"), reversal("x-1", "o-1")};
    struct verdict v[2];
    REQUIRE(subject_submit(s, items, 2, BASE_MS, v) == STORE_OK);
    struct callback **owed;
    size_t n = subject_take_owed(s, 1, &owed);
    CHECK(n == 1 && owed[0]->event_no == 1);
    drop_callbacks(owed, n);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "x-1").state, CALLBACK_PENDING);
    CHECK_CSTR(due_now(s, LANE_A_OFFER), "1");
    record_one(s, outcome_of(ACCOUNT_A, 1, LANE_OFFER, APP_A1, 1, CALLBACK_PENDING, BASE_MS + 5));
    CHECK_CSTR(due_now(s, LANE_A_OFFER), "1");
    struct outcome last = outcome_of(ACCOUNT_A, 1, LANE_OFFER, APP_A1, 2, CALLBACK_DELIVERED, 0);
    last.attempt.at_ms = BASE_MS + 7000;
    last.attempt.duration_ms = 500;
    record_one(s, last);
    check_owed_one(s, 2, false, false, 0, 0);
    CHECK_CSTR(due_now(s, LANE_A_OFFER), "2");
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "x-1").next_attempt_ms, BASE_MS + 7500); /* its schedule */
}

static void a_resent_reversal_waits_for_its_original(struct subject *s)
{
    struct candidate items[2] = {item(EVENT_OFFER_COMPLETED, "o-1"), reversal("x-1", "o-1")};
    struct verdict v[2];
    REQUIRE(subject_submit(s, items, 2, BASE_MS, v) == STORE_OK);
    struct callback **owed;
    size_t n = subject_take_owed(s, 1, &owed);
    drop_callbacks(owed, n);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "x-1", BASE_MS + 10), STORE_OK);
    CHECK_CSTR(due_now(s, LANE_A_OFFER), "1");
    record_one(s, outcome_of(ACCOUNT_A, 1, LANE_OFFER, APP_A1, 1, CALLBACK_DELIVERED, 0));
    check_owed_one(s, 2, true, false, 0, 0);
    CHECK_CSTR(due_now(s, LANE_A_OFFER), "2");
}

/* Its lane has the reversal from an earlier resend, and goes on with it (docs/state.md). */
static void a_held_back_resend_outlives_the_run_before_it(struct subject *s)
{
    struct candidate items[2] = {item(EVENT_OFFER_COMPLETED, "o-1"), reversal("x-1", "o-1")};
    struct verdict v[2];
    REQUIRE(subject_submit(s, items, 2, BASE_MS, v) == STORE_OK);
    (void)check_owed_one(s, 1, false, false, 0, 0);
    struct outcome original = outcome_of(ACCOUNT_A, 1, LANE_OFFER, APP_A1, 1, CALLBACK_DEAD, 0);
    struct outcome reversed = outcome_of(ACCOUNT_A, 2, LANE_OFFER, APP_A1, 1, CALLBACK_DEAD, 0);
    record_one(s, original);
    (void)check_owed_one(s, 2, false, false, 0, 0);
    record_one(s, reversed);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "x-1", BASE_MS + 10), STORE_OK);
    reversed.resend_no = check_owed_one(s, 2, true, false, 1, 0);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "o-1", BASE_MS + 11), STORE_OK);
    original.resend_no = check_owed_one(s, 1, true, false, 1, 0);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "x-1", BASE_MS + 12), STORE_OK);
    CHECK_CSTR(due_now(s, LANE_A_OFFER), "1");
    for (int32_t number = 2; number <= 3; number++) {
        reversed.attempt.number = number;
        reversed.state = number == 2 ? CALLBACK_PENDING : CALLBACK_DEAD;
        reversed.reason = number == 2 ? REASON_NONE : REASON_ATTEMPTS;
        record_one(s, reversed);
        CHECK_EQ_INT(row_of(s, ACCOUNT_A, "x-1").state, CALLBACK_PENDING);
        CHECK_CSTR(due_now(s, LANE_A_OFFER), "1");
    }
    original.attempt.number = 2;
    original.state = CALLBACK_DELIVERED;
    original.reason = REASON_NONE;
    record_one(s, original);
    CHECK(check_owed_one(s, 2, true, false, 3, 0) > reversed.resend_no);
    CHECK_CSTR(due_now(s, LANE_A_OFFER), "2");
}

static void a_reversal_of_a_final_one_is_due_at_once(struct subject *s)
{
    CHECK_EQ_INT(submit_one(s, item(EVENT_OFFER_COMPLETED, "o-1")).kind, VERDICT_ACCEPTED);
    record_one(s, outcome_of(ACCOUNT_A, 1, LANE_OFFER, APP_A1, 1, CALLBACK_DEAD, 0));
    struct callback **owed;
    size_t n = subject_take_owed(s, 1, &owed);
    drop_callbacks(owed, n);
    CHECK_EQ_INT(submit_one(s, reversal("x-1", "o-1")).kind, VERDICT_ACCEPTED);
    check_owed_one(s, 2, false, false, 0, 0);
    CHECK_CSTR(due_now(s, LANE_A_OFFER), "2");
}

static void waiting_callbacks_survive(struct subject *s)
{
    if (!s->keeps) {
        CHECK(!s->keeps);
        return;
    }
    submit_completions(s, 5);
    struct candidate items[2] = {item(EVENT_OFFER_COMPLETED, "o-1"), reversal("x-1", "o-1")};
    struct verdict v[2];
    REQUIRE(subject_submit(s, items, 2, BASE_MS, v) == STORE_OK);
    record_one(s, retry_at(1, 3, BASE_MS + 5000));
    record_one(s, final(2, 1, CALLBACK_DELIVERED));
    record_one(s, final(3, 1, CALLBACK_DELIVERED));
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-3", BASE_MS + 1), STORE_OK);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-4", BASE_MS + 2), STORE_OK);
    for (int round = 0; round < 2; round++) {
        subject_reopen(s);
        CHECK_CSTR(due_now(s, LANE_A_SUCCESS), "5 3 4 1");
        CHECK_CSTR(due_now(s, LANE_A_OFFER), "6");
    }
    struct due_page page = {
        .lane = LANE_A_SUCCESS, .due_until_ms = BASE_MS + DAY, .limit = LIMIT_PAGE_CALLBACKS};
    subject_page(s, &page);
    REQUIRE(page.count == 4);
    CHECK(page.items[1]->was_delivered && page.items[1]->manual);
    CHECK(!page.items[2]->was_delivered && page.items[2]->manual);
    CHECK(page.items[3]->attempts_made == 3 && page.items[3]->place.slot == 3);
    CHECK(page.items[0]->body.n > 100);
    drop_callbacks(page.items, page.count);

    subject_reopen_unstarted(s);
    struct lane_backlog *lanes;
    size_t n = store_backlog(s->store, &lanes);
    CHECK_EQ_UINT(n, 2);
    for (size_t i = 0; i < n; i++)
        CHECK(lanes[i].next_due_ms == BASE_MS &&
              (lanes[i].lane == LANE_A_SUCCESS || lanes[i].lane == LANE_A_OFFER));
    free(lanes);
    subject_start(s);
    record_one(s, outcome_of(ACCOUNT_A, 6, LANE_OFFER, APP_A1, 1, CALLBACK_DEAD, 0));
    CHECK_CSTR(due_now(s, LANE_A_OFFER), "7");
}

void run_callback_tests(void)
{
    RUN_FRESH(the_sink_gets_what_is_owed);
    RUN_FRESH(imported_events_are_not_delivered);
    RUN_FRESH(pages_by_due_time);
    RUN_FRESH(pages_asked_at_once);
    RUN_FRESH(outcomes_are_kept_with_their_attempts);
    RUN_FRESH(outcomes_of_four_years_in_one_batch);
    RUN_FRESH(resends_in_every_state);
    RUN_FRESH(a_resend_outlives_what_was_decided_before_it);
    RUN_FRESH(a_page_knows_of_resends);
    RUN_FRESH(a_reversal_waits_for_its_original);
    RUN_FRESH(a_resent_reversal_waits_for_its_original);
    RUN_FRESH(a_held_back_resend_outlives_the_run_before_it);
    RUN_FRESH(a_reversal_of_a_final_one_is_due_at_once);
    RUN_FRESH(waiting_callbacks_survive);
}
