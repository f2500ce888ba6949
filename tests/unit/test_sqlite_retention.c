/* What the SQLite store lets go when it is old enough, and what it keeps. */
#include "sqlite_store.h"

#include "sqlite_sql.h"

/* The applier purges behind what it applies, and a read after a change waits for that. */
static void change_and_wait(void)
{
    struct object_change c = {.kind = OBJECT_NOTICE, .id = STR("n"), .document = STR("{}")};
    struct object_list l = {.kind = OBJECT_NOTICE, .from = STR("n"), .below = STR("o"), .limit = 1};
    ASK(store_change_object, store, &c);
    ASK(store_list_objects, store, &l); /* behind the barrier, as reads of objects are */
    CHECK_EQ_UINT(l.count, 1);
    arena_free(&l.arena);
}

/* Another process: its start has looked at what is old, and its life begins. */
static void live_again(void)
{
    reopen();
    change_and_wait();
}

/* The store runs until then, and has looked at what is old. */
static void live_until(int64_t wall_ms)
{
    int64_t by_ms = wall_ms - wall_now_ms;
    wall_now_ms = wall_ms; /* first: a purge is due by the other one */
    mono_added_ms += by_ms;
    change_and_wait();
    change_and_wait();
}

static void purges_what_is_old(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_STARTED, "s-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-3", "ann");
    record(2, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    live_until(NOW_MS + HOUR_MS);
    CHECK_EQ_UINT(attempts_of("e-2"), 1);
    live_until(NOW_MS + 29 * DAY_MS);
    CHECK_EQ_UINT(attempts_of("e-2"), 1);
    live_until(NOW_MS + 200 * DAY_MS);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-4", "ann");
    CHECK_EQ_UINT(attempts_of("e-2"), 0);
    CHECK_EQ_INT(report(false).active_panelists, 1);
    CHECK_EQ_INT(report(false).conversions[0], 3);
    struct due_page p;
    CHECK_CSTR(page(LANE_SUCCESS, NOW_MS, &p), "3 4"); /* waiting ones keep their bodies */
    CHECK_EQ_INT(submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann").kind, VERDICT_DUPLICATE);
    wall_now_ms = NOW_MS;
    end();
}

/* A purge follows at once, not when the next hour is over. */
static void a_shorter_period_holds_at_once(void)
{
    struct store_bounds bounds = {.retention = {90, 30, 91}};
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    live_until(NOW_MS + 20 * DAY_MS);
    CHECK_EQ_UINT(attempts_of("e-1"), 1);
    store_set_bounds(store, &bounds);
    change_and_wait();
    CHECK_EQ_UINT(attempts_of("e-1"), 1);
    bounds.retention.attempts_days = 10;
    store_set_bounds(store, &bounds);
    change_and_wait();
    CHECK_EQ_UINT(attempts_of("e-1"), 0);
    wall_now_ms = NOW_MS;
    end();
}

static struct intraday_query intraday_of(int64_t at_ms)
{
    struct intraday_query q = {.account_no = terms.account_no, .day = clock_day(at_ms)};
    ASK(store_intraday, store, &q);
    CHECK_EQ_INT(q.status, STORE_OK);
    return q;
}

/* Also where the clock comes back to what was dropped: it is not taken for whole. */
static void drops_the_parts_of_days(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    live_until(NOW_MS + HOUR_MS);
    live_until(NOW_MS + INTRADAY_DAYS * DAY_MS);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    CHECK_EQ_INT(intraday_of(NOW_MS).slots[48].conversions, 2);
    CHECK(intraday_of(NOW_MS).complete);
    live_until(wall_now_ms + DAY_MS);
    (void)submit_at(make(EVENT_SURVEY_COMPLETED, "e-3", "ann"), wall_now_ms);
    CHECK_EQ_INT(intraday_of(NOW_MS).slots[48].conversions, 0);
    CHECK(!intraday_of(NOW_MS).complete);
    CHECK(intraday_of(wall_now_ms).complete);
    wall_now_ms = NOW_MS;
    end();
}

static size_t body_bytes_of(const char *event_id)
{
    struct callback_get g = get(event_id);
    CHECK_EQ_INT(g.status, STORE_OK);
    size_t bytes = g.row.event.body.n;
    arena_free(&g.arena);
    return bytes;
}

static enum store_status resend(const char *event_id)
{
    struct resend r = {
        .account_no = terms.account_no, .event_id = str_of(event_id), .now_ms = NOW_MS};
    ASK(store_resend, store, &r);
    return r.status;
}

/* Of 64 events in a row, and for as long as it takes: what is not final is never purged. */
static void keeps_the_attempts_of_what_is_not_final(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    (void)submit_new(EVENT_OFFER_COMPLETED, "o-3", "ann");
    record(1, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5, 1);
    record(2, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    record(3, LANE_OFFER, CALLBACK_PENDING, NOW_MS + 5, 1);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-4", "ann");
    record(4, LANE_SUCCESS, CALLBACK_DELIVERED, 0, (int)DAY_MS); /* a day later */
    live_until(NOW_MS + HOUR_MS);
    live_until(NOW_MS + 30 * DAY_MS);
    CHECK_EQ_UINT(attempts_of("e-2"), 1);
    live_until(NOW_MS + 31 * DAY_MS);
    CHECK_EQ_UINT(attempts_of("e-2"), 0);
    CHECK_EQ_UINT(attempts_of("e-4"), 1);
    struct callback_get g = get("e-1");
    if (CHECK_EQ_UINT(g.row.log_count, 1)) {
        CHECK_EQ_INT(g.row.log[0].at_ms, NOW_MS + 1);
        CHECK_STR(g.row.log[0].detail, "it said 500");
        CHECK_EQ_UINT(g.row.log[0].response_body.n, 7);
    }
    arena_free(&g.arena);
    record(3, LANE_OFFER, CALLBACK_DEAD, 0, 2);
    record(1, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5, (int)DAY_MS + 2);
    change_and_wait();
    live_until(NOW_MS + 32 * DAY_MS); /* another day goes */
    CHECK_EQ_UINT(attempts_of("e-4"), 0);
    CHECK_EQ_UINT(attempts_of("o-3"), 1); /* the one that was kept already */
    CHECK_EQ_UINT(attempts_of("e-1"), 2);
    reopen();
    CHECK_EQ_UINT(attempts_of("e-1"), 2);
    wall_now_ms = NOW_MS;
    end();
}

/* A clock that was put back has written to a day before that callback was accepted. */
static void keeps_what_is_kept_when_a_day_before_it_goes(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    live_until(NOW_MS + HOUR_MS);
    live_until(NOW_MS + 10 * DAY_MS);
    (void)submit_at(make(EVENT_SURVEY_COMPLETED, "e-2", "ann"), wall_now_ms);
    record(2, LANE_SUCCESS, CALLBACK_PENDING, wall_now_ms + 5, 10 * (int)DAY_MS);
    (void)report(false);
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 10 * (int)DAY_MS);
    (void)report(false);
    live_until(NOW_MS + 41 * DAY_MS);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM sqlite_schema WHERE name='attempts_kept'"), 1);
    (void)submit_at(make(EVENT_SURVEY_COMPLETED, "e-3", "ann"), wall_now_ms);
    record(3, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    (void)report(false);
    live_until(NOW_MS + 42 * DAY_MS);
    CHECK_EQ_UINT(attempts_of("e-3"), 0);
    CHECK_EQ_UINT(attempts_of("e-2"), 1);
    wall_now_ms = NOW_MS;
    end();
}

/* An attempt that is older than its limit when its callback becomes final stays for as long again:
 * it tells why the callback waited. */
static void keeps_the_attempts_of_what_has_become_final_late(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    record(1, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5, 1);
    record(2, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5, 1);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-3", "ann");
    record(3, LANE_SUCCESS, CALLBACK_DELIVERED, 0, (int)DAY_MS);
    live_until(NOW_MS + HOUR_MS);
    live_until(NOW_MS + 31 * DAY_MS);
    CHECK_EQ_UINT(attempts_of("e-1"), 1);
    record(1, LANE_SUCCESS, CALLBACK_DEAD, 0, (int)DAY_MS + 1);
    change_and_wait();
    live_until(NOW_MS + 32 * DAY_MS); /* another day goes */
    CHECK_EQ_UINT(attempts_of("e-3"), 0);
    CHECK_EQ_UINT(attempts_of("e-1"), 1); /* the one that was kept */
    CHECK_EQ_UINT(attempts_of("e-2"), 1);
    live_again();
    live_until(NOW_MS + 62 * DAY_MS);
    struct callback_get g = get("e-1");
    if (CHECK_EQ_UINT(g.row.log_count, 1))
        CHECK_STR(g.row.log[0].detail, "it said 500");
    arena_free(&g.arena);
    live_until(NOW_MS + 63 * DAY_MS);
    CHECK_EQ_UINT(attempts_of("e-1"), 0);
    CHECK_EQ_UINT(attempts_of("e-2"), 1); /* waits still */
    record(2, LANE_SUCCESS, CALLBACK_DELIVERED, 0, (int)DAY_MS + 2);
    change_and_wait();
    live_until(NOW_MS + 64 * DAY_MS);
    CHECK_EQ_UINT(attempts_of("e-2"), 1);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM sqlite_schema WHERE name='attempts_kept'"), 0);
    wall_now_ms = NOW_MS;
    end();
}

/* A segment that is sealed loses its bodies whole, when all are old and none is waited for. */
static void drops_the_bodies_of_a_sealed_segment(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    (void)report(false);
    (void)submit_at(make(EVENT_SURVEY_COMPLETED, "e-3", "ann"), NOW_MS + 31 * DAY_MS);
    live_until(NOW_MS + HOUR_MS);
    live_until(NOW_MS + 93 * DAY_MS);
    CHECK(body_bytes_of("e-1") > 50); /* e-2 is pending, and the four days are not over */
    live_until(NOW_MS + 95 * DAY_MS);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-4", "ann");
    CHECK(body_bytes_of("e-1") > 50 && body_bytes_of("e-2") > 50);
    record(2, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    (void)report(false);
    live_until(NOW_MS + 186 * DAY_MS);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-5", "ann");
    CHECK_EQ_UINT(body_bytes_of("e-1"), 0);
    CHECK_EQ_UINT(body_bytes_of("e-2"), 0);
    CHECK(body_bytes_of("e-3") > 50); /* the open segment's are never dropped */
    CHECK_EQ_INT(resend("e-1"), STORE_PURGED);
    CHECK_EQ_INT(resend("nothing"), STORE_NOT_FOUND);
    CHECK_EQ_INT(resend("e-3"), STORE_OK);
    CHECK_EQ_INT(report(false).conversions[0], 5);
    CHECK_EQ_INT(submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann").kind, VERDICT_DUPLICATE);
    CHECK_EQ_INT(submit_new(EVENT_SURVEY_COMPLETED, "e-1", "bob").kind, VERDICT_CONFLICT);
    wall_now_ms = NOW_MS;
    end();
}

/* A callback that waited for long keeps its body for as long as any other: by its final state. */
static void keeps_the_bodies_of_what_has_become_final_late(enum callback_state state)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    (void)report(false);
    (void)submit_at(make(EVENT_SURVEY_COMPLETED, "e-2", "ann"), NOW_MS + 31 * DAY_MS);
    live_until(NOW_MS + HOUR_MS);
    live_until(NOW_MS + 95 * DAY_MS);
    record(1, LANE_SUCCESS, state, 0, 1);
    live_again(); /* the outcome is in the journal only: a start replays it */
    live_until(wall_now_ms + HOUR_MS);
    CHECK(body_bytes_of("e-1") > 50);
    live_until(NOW_MS + 140 * DAY_MS);
    CHECK_EQ_INT(resend("e-1"), STORE_OK); /* and is final again, 45 days later */
    (void)report(false);
    live_again(); /* so that the outcome is of the resend's try */
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 2);
    (void)report(false);
    live_until(NOW_MS + 230 * DAY_MS);
    CHECK(body_bytes_of("e-1") > 50);
    live_until(NOW_MS + 231 * DAY_MS);
    CHECK_EQ_UINT(body_bytes_of("e-1"), 0);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM final_late"), 0);
    wall_now_ms = NOW_MS;
    end();
}

static void keeps_the_bodies_of_what_was_delivered_late(void)
{
    keeps_the_bodies_of_what_has_become_final_late(CALLBACK_DELIVERED);
}

static void keeps_the_bodies_of_what_died_late(void)
{
    keeps_the_bodies_of_what_has_become_final_late(CALLBACK_DEAD);
}

static void keeps_the_bodies_of_what_was_skipped_late(void)
{
    keeps_the_bodies_of_what_has_become_final_late(CALLBACK_SKIPPED);
}

/* What is final within four days is not noted, and nothing of an erased panelist is kept for. */
static void notes_only_what_has_become_final_late(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "bob");
    live_until(NOW_MS + 4 * DAY_MS);
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    (void)report(false);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM final_late"), 0);
    live_until(NOW_MS + 31 * DAY_MS);
    (void)submit_at(make(EVENT_SURVEY_COMPLETED, "e-3", "cat"), wall_now_ms);
    (void)report(false);
    live_until(NOW_MS + 95 * DAY_MS);
    CHECK(body_bytes_of("e-1") > 50);
    struct erase e = {.account_no = terms.account_no, .panelist_id = STR("bob")};
    ASK(store_erase, store, &e);
    CHECK_EQ_INT(e.erased, 1);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM final_late"), 0);
    live_until(wall_now_ms + HOUR_MS);
    CHECK_EQ_UINT(body_bytes_of("e-1"), 0);
    wall_now_ms = NOW_MS;
    end();
}

/* The extra try of a delivered one is owed like any other: it needs its body. */
static void keeps_the_bodies_that_a_resend_owes(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    (void)report(false);
    (void)submit_at(make(EVENT_SURVEY_COMPLETED, "e-2", "ann"), NOW_MS + 31 * DAY_MS);
    live_until(NOW_MS + HOUR_MS);
    CHECK_EQ_INT(resend("e-1"), STORE_OK);
    (void)report(false);
    live_until(NOW_MS + 95 * DAY_MS);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-3", "ann");
    CHECK(body_bytes_of("e-1") > 50);
    reopen(); /* so that the outcome is of the try that is owed */
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 2);
    (void)report(false);
    live_until(wall_now_ms + HOUR_MS);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-4", "ann");
    CHECK(body_bytes_of("e-1") > 50); /* from that try on it can be sent again, as ever */
    live_until(NOW_MS + 186 * DAY_MS);
    CHECK_EQ_UINT(body_bytes_of("e-1"), 0);
    wall_now_ms = NOW_MS;
    end();
}

/* A purge does not look at what is not in SQLite yet. Here it is due, and the applier is held up by
 * somebody else's lock, while a resend is accepted that the next memtable has. */
static void keeps_the_body_of_a_resend_that_is_not_applied_yet(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    (void)report(false);
    (void)submit_at(make(EVENT_SURVEY_COMPLETED, "e-2", "ann"), NOW_MS + 31 * DAY_MS);
    live_until(NOW_MS + HOUR_MS);
    live_until(NOW_MS + 93 * DAY_MS);
    (void)submit_at(make(EVENT_SURVEY_COMPLETED, "e-3", "ann"), NOW_MS + 95 * DAY_MS);
    (void)report(false);
    sqlite3 *other = open_database();
    ASSERT(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    (void)submit_at(make(EVENT_SURVEY_COMPLETED, "e-4", "ann"), NOW_MS + 95 * DAY_MS);
    struct report_query q = {.account_no = terms.account_no, .limit = 1};
    q.done.run = nothing;
    q.reply_to = &waiter.executor;
    store_report(store, &q); /* the applier has its turn, and is held up */
    struct store_numbers n;
    do
        store_get_numbers(store, &n);
    while (n.refusal != STORE_REFUSES_DATABASE);
    wall_now_ms = NOW_MS + 95 * DAY_MS; /* from here on a purge is due */
    mono_added_ms += 2 * DAY_MS;
    CHECK_EQ_INT(resend("e-1"), STORE_OK);
    ASSERT(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(other);
    await();
    free(q.rows);
    change_and_wait();
    CHECK(body_bytes_of("e-1") > 50);
    enum store_status again;
    do /* as busy, until the purge is over */
        again = resend("e-1");
    while (again == STORE_BUSY);
    CHECK_EQ_INT(again, STORE_OK);
    CHECK(body_bytes_of("e-1") > 50);
    wall_now_ms = NOW_MS;
    end();
}

/* One start, however far ahead its clock is, and whatever it takes in. */
static void a_start_with_a_wrong_clock_purges_nothing(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    live_until(NOW_MS + HOUR_MS);
    wall_now_ms = NOW_MS + 400 * DAY_MS;
    reopen();
    struct candidate ahead = make(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    ahead.occurred_ms = wall_now_ms; /* today would lack one of its own that comes that late */
    (void)submit_at(ahead, wall_now_ms);
    live_until(wall_now_ms + HOUR_MS);
    CHECK_EQ_UINT(attempts_of("e-1"), 1);
    wall_now_ms = NOW_MS + 2 * HOUR_MS;
    reopen();
    live_until(wall_now_ms + HOUR_MS);
    CHECK_EQ_UINT(attempts_of("e-1"), 1);
    CHECK(body_bytes_of("e-1") > 50);
    CHECK(!intraday_of(NOW_MS).status && intraday_of(NOW_MS).complete);
    wall_now_ms = NOW_MS;
    end();
}

int main(void)
{
    RUN(a_start_with_a_wrong_clock_purges_nothing);
    RUN(purges_what_is_old);
    RUN(a_shorter_period_holds_at_once);
    RUN(keeps_the_attempts_of_what_is_not_final);
    RUN(keeps_what_is_kept_when_a_day_before_it_goes);
    RUN(keeps_the_attempts_of_what_has_become_final_late);
    RUN(keeps_the_bodies_of_what_was_delivered_late);
    RUN(keeps_the_bodies_of_what_died_late);
    RUN(keeps_the_bodies_of_what_was_skipped_late);
    RUN(notes_only_what_has_become_final_late);
    RUN(drops_the_parts_of_days);
    RUN(drops_the_bodies_of_a_sealed_segment);
    RUN(keeps_the_bodies_that_a_resend_owes);
    RUN(keeps_the_body_of_a_resend_that_is_not_applied_yet);
    return check_done("sqlite_retention");
}
