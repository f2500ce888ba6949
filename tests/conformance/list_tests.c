/* Lists of callbacks and of events: filters, order, positions, what is being tried; before and
 * after a restart. */
#include "suite.h"

#include "base/buf.h"
#include "base/check.h"
#include "domain/clock.h"

#include <stdlib.h>

#define TODAY ((int32_t)(BASE_MS / DAY))

const char *list_text(struct subject *s, struct callback_list l)
{
    static struct buf b;
    buf_clear(&b);
    if (l.limit == 0)
        l.limit = 100;
    if (l.account_no == 0)
        l.account_no = ACCOUNT_A;
    subject_list(s, &l);
    CHECK_EQ_INT(l.status, STORE_OK);
    for (size_t i = 0; i < l.count; i++) {
        buf_add_c(&b, i ? " " : "");
        buf_add_str(&b, l.rows[i].event.event_id);
    }
    buf_add_c(&b, l.more ? "+" : "");
    arena_free(&l.arena);
    return buf_c(&b);
}

static void check_lists(struct subject *s)
{
    CHECK_CSTR(list_text(s, (struct callback_list){0}), "t-1 p-1 c-1 d-1 x-1 o-1 r-1");
    CHECK_CSTR(list_text(s, (struct callback_list){.order = LIST_OLDEST_FIRST}),
               "r-1 o-1 x-1 d-1 c-1 p-1 t-1");
    CHECK_CSTR(list_text(s, (struct callback_list){.limit = 3}), "t-1 p-1 c-1+");
    uint64_t no = row_of(s, ACCOUNT_A, "c-1").event.event_no;
    CHECK_CSTR(list_text(s, (struct callback_list){.limit = 4, .after_event_no = no}),
               "d-1 x-1 o-1 r-1");
    CHECK_CSTR(
        list_text(s, (struct callback_list){.after_event_no = no, .order = LIST_OLDEST_FIRST}),
        "p-1 t-1");
    CHECK_CSTR(list_text(s, (struct callback_list){.event_id = STR("o-1")}), "o-1");
    CHECK_CSTR(list_text(s, (struct callback_list){.event_id = STR("o-")}), "");
    CHECK_CSTR(list_text(s, (struct callback_list){.panelist_id = STR("panelist"), .limit = 2}),
               "t-1 p-1+");
    CHECK_CSTR(list_text(s, (struct callback_list){.panelist_id = STR("nobody")}), "");
    CHECK_CSTR(list_text(s, (struct callback_list){.type = EVENT_OFFER_COMPLETED}), "o-1");
    CHECK_CSTR(list_text(s, (struct callback_list){.state = CALLBACK_SKIPPED}), "t-1 p-1");
    CHECK_CSTR(list_text(s, (struct callback_list){.state = CALLBACK_DELIVERED}), "r-1");
    CHECK_CSTR(list_text(s, (struct callback_list){.undelivered = true}),
               "t-1 p-1 c-1 d-1 x-1 o-1");
    CHECK_CSTR(list_text(s, (struct callback_list){.undelivered = true, .state = CALLBACK_SKIPPED}),
               "t-1 p-1");
    CHECK_CSTR(list_text(s, (struct callback_list){.app_no = APP_A2}), "t-1 p-1");
    CHECK_CSTR(list_text(s, (struct callback_list){.app_no = APP_A1,
                                                   .state = CALLBACK_PENDING,
                                                   .type = EVENT_OFFER_CLICKED}),
               "c-1");
    CHECK_CSTR(list_text(s, (struct callback_list){.has_from = true,
                                                   .accepted_from_ms = BASE_MS,
                                                   .has_to = true,
                                                   .accepted_to_ms = BASE_MS + 1,
                                                   .limit = 1}),
               "t-1+");
    CHECK_CSTR(list_text(s, (struct callback_list){.has_to = true, .accepted_to_ms = BASE_MS}), "");
    /* The first moment of 1970 is a moment, and so are those before it. */
    CHECK_CSTR(list_text(s, (struct callback_list){.has_to = true}), "");
    CHECK_CSTR(list_text(s, (struct callback_list){.has_to = true, .accepted_to_ms = -1}), "");
    CHECK_CSTR(list_text(s, (struct callback_list){.has_from = true, .limit = 1}), "t-1+");
    CHECK_CSTR(
        list_text(s, (struct callback_list){.has_from = true, .accepted_from_ms = BASE_MS + 1}),
        "");
    CHECK_CSTR(list_text(s, (struct callback_list){.account_no = ACCOUNT_B}), "");
}

static enum store_status status_behind(struct subject *s, uint64_t event_no, int64_t accepted_ms)
{
    struct callback_list l = {.account_no = ACCOUNT_A,
                              .order = LIST_OLDEST_FIRST,
                              .after_event_no = event_no,
                              .after_accepted_ms = accepted_ms,
                              .limit = 2};
    subject_list(s, &l);
    arena_free(&l.arena);
    return l.status;
}

/* As for a reader whose place was given out before an older backup was restored. */
static void check_lists_behind_a_place(struct subject *s)
{
    struct event first = row_of(s, ACCOUNT_A, "r-1").event,
                 last = row_of(s, ACCOUNT_A, "t-1").event;
    CHECK_EQ_INT(status_behind(s, first.event_no, 0), STORE_OK);
    CHECK_EQ_INT(status_behind(s, first.event_no, first.accepted_ms), STORE_OK);
    CHECK_EQ_INT(status_behind(s, last.event_no, last.accepted_ms), STORE_OK);
    CHECK_EQ_INT(status_behind(s, first.event_no, first.accepted_ms - 1), STORE_FOREIGN);
    CHECK_EQ_INT(status_behind(s, last.event_no, last.accepted_ms + 1), STORE_FOREIGN);
    /* no such event yet: it cannot be told from one that a replica does not have yet */
    CHECK_EQ_INT(status_behind(s, last.event_no + 1, last.accepted_ms), STORE_OK);
    CHECK_EQ_INT(status_behind(s, 0, 1), STORE_FOREIGN); /* no event ever has it */
}

/* Also events that owe no callback. */
static void check_lists_of_all_events(struct subject *s)
{
    struct callback_list all = {.all_events = true, .order = LIST_OLDEST_FIRST}, l = all;
    CHECK_CSTR(list_text(s, l), "s-1 s-2 s-3 s-4 s-5 r-1 o-1 x-1 d-1 c-1 p-1 t-1");
    l.after_event_no = row_of(s, ACCOUNT_A, "r-1").event.event_no;
    l.limit = 2;
    CHECK_CSTR(list_text(s, l), "o-1 x-1+");
    l.order = LIST_NEWEST_FIRST;
    CHECK_CSTR(list_text(s, l), "s-5 s-4+");
    l = all;
    l.of_day = true;
    l.day = TODAY;
    CHECK_CSTR(list_text(s, l), "s-1 s-2 s-3 s-4 s-5 r-1 o-1 c-1 p-1");
    l.app_no = APP_A2;
    CHECK_CSTR(list_text(s, l), "p-1");
    l.app_no = 0;
    l.day = TODAY - 1;
    CHECK_CSTR(list_text(s, l), "x-1 d-1");
    l.day = TODAY - 2;
    CHECK_CSTR(list_text(s, l), "");
    l = all;
    l.type = EVENT_SURVEY_STARTED;
    l.limit = 4;
    CHECK_CSTR(list_text(s, l), "s-1 s-2 s-3 s-4+");
    l.panelist_id = STR("other");
    CHECK_CSTR(list_text(s, l), "s-3");
    l.all_events = false;
    CHECK_CSTR(list_text(s, l), "");
    l = all;
    l.event_id = STR("s-2");
    CHECK_CSTR(list_text(s, l), "s-2");
    l.state = CALLBACK_PENDING;
    CHECK_CSTR(list_text(s, l), "");
    l.event_id = STR_NONE;
    CHECK_CSTR(list_text(s, l), "o-1 x-1 d-1 c-1");
    l = all;
    l.account_no = ACCOUNT_B;
    CHECK_CSTR(list_text(s, l), "b-1");
}

static void lists_and_filters(struct subject *s)
{
    submit_traffic(s);
    uint64_t no = row_of(s, ACCOUNT_A, "r-1").event.event_no;
    struct outcome o = outcome_of(ACCOUNT_A, no, LANE_SUCCESS, APP_A1, 1, CALLBACK_DELIVERED, 0);
    CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
    check_lists(s);
    check_lists_behind_a_place(s);
    check_lists_of_all_events(s);
    if (s->keeps) {
        subject_reopen(s);
        check_lists(s);
        check_lists_behind_a_place(s);
        check_lists_of_all_events(s);
    }
}

/* The asker says which callbacks are being tried; this matters only for those that are pending. */
static void lists_show_what_is_being_tried(struct subject *s)
{
    char id[8];
    for (int i = 1; i <= 6; i++) {
        snprintf(id, sizeof id, "r-%d", i);
        CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_COMPLETED, id)).kind, VERDICT_ACCEPTED);
    }
    struct outcome o = outcome_of(ACCOUNT_A, 5, LANE_SUCCESS, APP_A1, 1, CALLBACK_DELIVERED, 0);
    CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
    static const uint64_t tried[] = {2, 3, 5, 6, 99};
    struct callback_list list = {.tried = tried, .tried_count = ARRAY_LEN(tried)};
    list.state = CALLBACK_DELIVERING;
    CHECK_CSTR(list_text(s, list), "r-6 r-3 r-2");
    list.after_event_no = 6;
    CHECK_CSTR(list_text(s, list), "r-3 r-2");
    list.after_event_no = 0;
    list.order = LIST_OLDEST_FIRST;
    CHECK_CSTR(list_text(s, list), "r-2 r-3 r-6");
    list.event_id = STR("r-3");
    CHECK_CSTR(list_text(s, list), "r-3");
    list.event_id = STR_NONE;
    list.panelist_id = STR("nobody");
    CHECK_CSTR(list_text(s, list), "");
    list.panelist_id = STR_NONE;
    list.state = CALLBACK_PENDING;
    CHECK_CSTR(list_text(s, list), "r-1 r-4");
    list.tried_count = 0;
    CHECK_CSTR(list_text(s, list), "r-1 r-2 r-3 r-4 r-6");
    struct callback_list rows = {
        .account_no = ACCOUNT_A, .limit = 10, .tried = tried, .tried_count = ARRAY_LEN(tried)};
    subject_list(s, &rows);
    REQUIRE(rows.count == 6);
    CHECK(rows.rows[0].state == CALLBACK_DELIVERING && rows.rows[0].next_attempt_ms == 0);
    CHECK_EQ_INT(rows.rows[1].state, CALLBACK_DELIVERED);
    CHECK(rows.rows[2].state == CALLBACK_PENDING && rows.rows[2].next_attempt_ms == BASE_MS);
    arena_free(&rows.arena);
}

void run_list_tests(void)
{
    RUN_FRESH(lists_and_filters);
    RUN_FRESH(lists_show_what_is_being_tried);
}
