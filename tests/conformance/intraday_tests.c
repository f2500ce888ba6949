/* How a day goes: slots of a quarter of an hour, panelists in the slot of their first start,
 * nothing of tests and of what comes too late. */
#include "suite.h"

#include "base/buf.h"

#define TODAY ((int32_t)(BASE_MS / DAY))
#define SLOT INTRADAY_SLOT_MS

/* "slot starts/payouts/active/earnings;" of those with any; "-" in front where it is not whole. */
static const char *intraday_text(struct subject *s, uint32_t account_no, int32_t day)
{
    static struct buf b;
    struct intraday_query q = {.account_no = account_no, .day = day};
    buf_clear(&b);
    subject_intraday(s, &q);
    CHECK_EQ_INT(q.status, STORE_OK);
    buf_add_c(&b, q.complete ? "" : "-");
    for (int i = 0; i < INTRADAY_SLOTS; i++) {
        const struct intraday_slot *slot = &q.slots[i];
        if (slot->survey_starts || slot->conversions || slot->active_panelists ||
            slot->earnings_micros)
            buf_printf(&b, "%d %lld/%lld/%lld/%lld;", i, (long long)slot->survey_starts,
                       (long long)slot->conversions, (long long)slot->active_panelists,
                       (long long)slot->earnings_micros);
    }
    return buf_c(&b);
}

static void start_at(struct subject *s, const char *id, const char *panelist, int64_t occurred_ms)
{
    struct candidate c = item(EVENT_SURVEY_STARTED, id);
    c.panelist_id = str_of(panelist);
    accept_at(s, c, occurred_ms, BASE_MS);
}

static void slots_have_what_happened_in_them(struct subject *s)
{
    int64_t day = TODAY * DAY;
    accept_at(s, item(EVENT_SURVEY_COMPLETED, "r-1"), day, BASE_MS);
    accept_at(s, item(EVENT_SURVEY_COMPLETED, "r-2"), day + SLOT - 1, BASE_MS);
    accept_at(s, item(EVENT_OFFER_COMPLETED, "o-1"), day + SLOT, BASE_MS);
    accept_at(s, item(EVENT_SURVEY_STARTED, "s-1"), day + DAY - 1, BASE_MS + DAY / 2);
    accept_at(s, reversal("x-1", "o-1"), day + 2 * SLOT, BASE_MS);
    struct candidate test = item(EVENT_SURVEY_COMPLETED, "t-1");
    test.is_test = true;
    accept_at(s, test, day + 3 * SLOT, BASE_MS);
    accept_at(s, item_of(APP_B1, EVENT_SURVEY_COMPLETED, "b-1"), day, BASE_MS);
    accept_at(s, item(EVENT_SURVEY_COMPLETED, "y-1"), day - 1, BASE_MS);
    const char *whole = "0 0/2/0/2500000;1 0/1/0/1250000;2 0/0/0/-1250000;95 1/0/1/0;";
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY), whole);
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY - 1), "95 0/1/0/1250000;");
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY + 1), "");
    CHECK_CSTR(intraday_text(s, ACCOUNT_B, TODAY), "0 0/1/0/1250000;");
    CHECK_CSTR(intraday_text(s, 3, TODAY), "");
    if (!s->keeps)
        return;
    subject_reopen(s);
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY), whole);
}

/* Whatever the order in which starts are reported. */
static void a_panelist_is_new_once_a_day(struct subject *s)
{
    int64_t day = TODAY * DAY;
    start_at(s, "s-1", "ann", day + 8 * SLOT);
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY), "8 1/0/1/0;");
    start_at(s, "s-2", "ann", day + 9 * SLOT);
    start_at(s, "s-3", "ann", day + 5 * SLOT); /* late, and the first */
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY), "5 1/0/1/0;8 1/0/0/0;9 1/0/0/0;");
    if (s->keeps)
        subject_reopen(s);
    start_at(s, "s-4", "ann", day + 6 * SLOT);
    start_at(s, "s-5", "bob", day + 6 * SLOT);
    struct candidate test = item(EVENT_SURVEY_STARTED, "t-1");
    test.panelist_id = STR("eve");
    test.is_test = true;
    accept_at(s, test, day, BASE_MS);
    start_at(s, "s-6", "eve", day + 7 * SLOT);
    struct candidate other = item(EVENT_SURVEY_STARTED, "s-7"); /* another client, another count */
    other.client_no = 111;
    other.panelist_id = STR("ann");
    accept_at(s, other, day + 7 * SLOT, BASE_MS);
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY),
               "5 1/0/1/0;6 2/0/1/0;7 2/0/2/0;8 1/0/0/0;9 1/0/0/0;");
    int64_t erased = 0;
    CHECK_EQ_INT(subject_erase(s, ACCOUNT_A, "bob", &erased), STORE_OK);
    start_at(s, "s-8", "bob", day + 9 * SLOT); /* somebody new, for all that is known */
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY),
               "5 1/0/1/0;6 2/0/1/0;7 2/0/2/0;8 1/0/0/0;9 2/0/1/0;");
}

static void what_comes_too_late_is_in_no_slot(struct subject *s)
{
    int64_t day = TODAY * DAY;
    accept_at(s, item(EVENT_SURVEY_STARTED, "s-1"), day, day + (INTRADAY_DAYS + 1) * DAY - 1);
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY), "0 1/0/1/0;");
    accept_at(s, item(EVENT_SURVEY_STARTED, "s-2"), day, day + (INTRADAY_DAYS + 1) * DAY);
    accept_at(s, item(EVENT_SURVEY_COMPLETED, "r-2"), day, day + (INTRADAY_DAYS + 1) * DAY);
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY), "-0 1/0/1/0;");
}

/* A clock that is ahead makes an event of today too late. Once it is right, the day still lacks
 * that event. */
static void a_day_that_lacks_an_event_is_not_whole(struct subject *s)
{
    int64_t day = TODAY * DAY;
    struct candidate test = item(EVENT_SURVEY_COMPLETED, "t-1");
    test.is_test = true;
    accept_at(s, item(EVENT_SURVEY_COMPLETED, "r-1"), day, BASE_MS);
    accept_at(s, item(EVENT_SURVEY_COMPLETED, "n-1"), day + DAY, BASE_MS + DAY);
    accept_at(s, test, day, BASE_MS + 40 * DAY);
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY), "0 0/1/0/1250000;");
    accept_at(s, item(EVENT_SURVEY_COMPLETED, "r-2"), day, BASE_MS + 40 * DAY);
    accept_at(s, item(EVENT_SURVEY_COMPLETED, "r-3"), day, BASE_MS);
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY), "-0 0/2/0/2500000;");
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY + 1), "0 0/1/0/1250000;");
    if (!s->keeps)
        return;
    subject_reopen(s);
    CHECK_CSTR(intraday_text(s, ACCOUNT_A, TODAY), "-0 0/2/0/2500000;");
}

void run_intraday_tests(void)
{
    RUN_FRESH(slots_have_what_happened_in_them);
    RUN_FRESH(a_panelist_is_new_once_a_day);
    RUN_FRESH(what_comes_too_late_is_in_no_slot);
    RUN_FRESH(a_day_that_lacks_an_event_is_not_whole);
}
