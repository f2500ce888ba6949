/* How long bodies and attempts are kept: by the final state, however long a callback has waited.
 * The oracle keeps everything. */
#include "suite.h"

#include "base/check.h"

#include <stdlib.h>

#define LONG_AGO_MS (BASE_MS - 130 * DAY) /* in a period of its own that bodies are purged of */

/* Returns when everything is in the database. */
static void settle(struct subject *s)
{
    struct report_query query = {.account_no = ACCOUNT_A, .limit = 1};
    subject_report(s, &query);
    free(query.rows);
}

/* The clock of retention stands at BASE_MS, and not at the first event: in each cluster. */
static void begin_clock(struct subject *s)
{
    struct store_numbers n;
    int64_t until = env_mono_ms(env_real()) + 60000;
    do {
        store_get_numbers(s->store, &n);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    } while ((n.retention_clock_ms == 0 || (s->has_clock && !s->has_clock(s))) &&
             env_mono_ms(env_real()) < until);
    CHECK_EQ_INT(n.retention_clock_ms, BASE_MS);
}

/* Purges, and waits until the body of "gone" is gone: on PostgreSQL all go at once. */
static void purge(struct subject *s)
{
    struct store_bounds bounds = {.retention = {90, 30, 91}};
    int64_t until = env_mono_ms(env_real()) + 60000;
    if (!s->keeps)
        return;
    settle(s);
    do { /* PostgreSQL gives a lock half a second, and then tries again in a minute */
        store_set_bounds(s->store, &bounds);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    } while (row_of(s, ACCOUNT_A, "gone").event.body.n > 0 && env_mono_ms(env_real()) < until);
    CHECK_EQ_UINT(row_of(s, ACCOUNT_A, "gone").event.body.n, 0);
    /* SQLite drops segment by segment, and before it writes what comes now */
    CHECK_EQ_INT(subject_object(s, OBJECT_NOTICE, "n", "{}"), STORE_OK);
    CHECK(subject_objects(s, OBJECT_NOTICE, "n", "o", 1)[0] == 'n');
}

static uint64_t submit_old(struct subject *s, struct candidate c, int64_t at_ms)
{
    struct verdict v = {0};
    c.occurred_ms = at_ms;
    CHECK_EQ_INT(subject_submit(s, &c, 1, at_ms, &v), STORE_OK);
    CHECK_EQ_INT(v.kind, VERDICT_ACCEPTED);
    return v.event_no;
}

/* Ends what has been submitted: later events are of another segment on SQLite. */
static void end_segment(struct subject *s)
{
    settle(s);
    CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_STARTED, "now")).kind, VERDICT_ACCEPTED);
}

static void drop_owed(struct subject *s, size_t count)
{
    struct callback **owed;
    size_t n = subject_take_owed(s, count, &owed);
    CHECK_EQ_UINT(n, count);
    drop_callbacks(owed, n);
}

/* Skipped at once, as it has no URL, in a segment or period of its own. */
static void submit_gone(struct subject *s, int64_t at_ms)
{
    (void)submit_old(s, item_of(APP_A2, EVENT_SURVEY_COMPLETED, "gone"), at_ms);
    CHECK(row_of(s, ACCOUNT_A, "gone").event.body.n > 50);
    settle(s);
}

/* In the segment or period of "late" nothing waits any more. */
static void becomes_final_late(struct subject *s, enum callback_state state)
{
    begin_clock(s);
    submit_gone(s, LONG_AGO_MS - 60 * DAY);
    uint64_t late_no = submit_old(s, item(EVENT_SURVEY_COMPLETED, "late"), LONG_AGO_MS);
    end_segment(s);
    drop_owed(s, 1);
    struct outcome o = outcome_of(ACCOUNT_A, late_no, LANE_SUCCESS, APP_A1, 1, state, 0);
    if (state == CALLBACK_SKIPPED) {
        o.has_attempt = false;
        o.reason = REASON_NO_URL;
    }
    CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
    purge(s);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "late").state, state);
    CHECK(row_of(s, ACCOUNT_A, "late").event.body.n > 50);
    if (s->keeps)
        subject_reopen(s);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "late", BASE_MS), STORE_OK);
    drop_owed(s, 1);
}

static void a_body_stays_after_a_late_delivery(struct subject *s)
{
    becomes_final_late(s, CALLBACK_DELIVERED);
}

static void a_body_stays_after_a_late_death(struct subject *s)
{
    becomes_final_late(s, CALLBACK_DEAD);
}

static void a_body_stays_after_a_late_skip(struct subject *s)
{
    becomes_final_late(s, CALLBACK_SKIPPED);
}

/* Nothing of that panelist is kept, and so nothing else for it. */
static void an_erasure_keeps_no_bodies(struct subject *s)
{
    struct candidate erased = item(EVENT_SURVEY_COMPLETED, "erased");
    int64_t events;
    begin_clock(s);
    erased.panelist_id = STR("another");
    (void)submit_old(s, erased, LONG_AGO_MS);
    submit_gone(s, LONG_AGO_MS);
    end_segment(s);
    drop_owed(s, 1);
    CHECK_EQ_INT(subject_erase(s, ACCOUNT_A, "another", &events), STORE_OK);
    CHECK_EQ_INT(events, 1);
    purge(s);
}

void run_retention_tests(void)
{
    RUN_FRESH(a_body_stays_after_a_late_delivery);
    RUN_FRESH(a_body_stays_after_a_late_death);
    RUN_FRESH(a_body_stays_after_a_late_skip);
    RUN_FRESH(an_erasure_keeps_no_bodies);
}
