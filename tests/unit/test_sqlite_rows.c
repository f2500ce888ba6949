/* Event rows as the applier writes them: those that are as most are in one way, others in another;
 * and what outcomes make of them once they are there. */
#include "sqlite_store.h"

#include "sqlite_sql.h"

static bool is_special(int i)
{
    return i == 20 || i == 55 || (i > 60 && i % 3 == 0);
}

/* One memtable with long and short runs of rows that are as most are, and others between them: each
 * is found again as it was. */
static void keeps_rows_of_all_kinds(void)
{
    char id[16];
    mono_stands_still = true;
    begin();
    for (int i = 1; i <= 90; i++) {
        snprintf(id, sizeof id, "e-%d", i);
        bool special = is_special(i);
        struct candidate c =
            make(special ? EVENT_OFFER_COMPLETED : EVENT_SURVEY_COMPLETED, id, "ann");
        c.mid = special ? STR("mid") : STR_NONE;
        c.is_test = i == 30 || i == 55;
        c.occurred_ms = NOW_MS + (i % 3 - 1) * 1000;
        (void)submit(c);
        if (i % 4 == 0)
            record((uint64_t)i, special ? LANE_OFFER : LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i <= 90; i++) {
            snprintf(id, sizeof id, "e-%d", i);
            bool special = is_special(i);
            struct callback_get g = get(id);
            CHECK_EQ_INT(g.status, STORE_OK);
            const struct event *e = &g.row.event;
            CHECK_EQ_UINT(e->event_no, (uint64_t)i);
            CHECK_EQ_INT(e->type, special ? EVENT_OFFER_COMPLETED : EVENT_SURVEY_COMPLETED);
            CHECK_EQ_INT(e->is_test, i == 30 || i == 55);
            CHECK_EQ_INT(e->occurred_ms, NOW_MS + (i % 3 - 1) * 1000);
            CHECK_EQ_INT(e->accepted_ms, NOW_MS);
            CHECK(special ? str_eq(e->mid, STR("mid")) : !e->mid.p);
            CHECK(special ? str_eq(e->offer_title, STR("An offer")) : !e->offer_title.p);
            CHECK_EQ_INT(g.row.state, i % 4 == 0 ? CALLBACK_DELIVERED : CALLBACK_PENDING);
            CHECK_EQ_INT(g.row.attempts, i % 4 == 0);
            CHECK(e->body.n > 50);
            arena_free(&g.arena);
        }
        reopen();
    }
    CHECK_EQ_INT(sql_number("SELECT min(accepted_ms) FROM event"), NOW_MS);
    CHECK_EQ_INT(sql_number("SELECT max(accepted_ms) FROM event"), NOW_MS);
    CHECK_EQ_INT(sql_number("SELECT max(abs(accepted_after_ms)) FROM event"), 1000);
    mono_stands_still = false;
    end();
}

/* --- outcomes of older rows ------------------------------------------------------------------- */

#define OLDER 400
#define LATER_MS (NOW_MS + 5000)

static struct {
    enum callback_state state;
    enum callback_reason reason;
    int attempts;
} expected[OLDER + 1];

static const char *older_id(int i)
{
    static char id[16];
    snprintf(id, sizeof id, "o-%d", i);
    return id;
}

/* First a long run of them, then every fifth, then ever fewer; later some of those that wait. */
static bool is_told(int i, int round)
{
    if (round > 0)
        return expected[i].state == CALLBACK_PENDING && (i % 3 == 0 || i % 50 == 10);
    return i <= 200 ? i % 50 != 0 : i <= 300 ? i % 5 == 0 : i % 40 == 0;
}

/* Most are delivered, and their place is not quite the one they waited at. */
static struct outcome outcome_of(int i, int round)
{
    struct outcome o = {
        .account_no = terms.account_no,
        .event_no = (uint64_t)i,
        .lane = lane_of(terms.app_no, LANE_SUCCESS),
        .has_attempt = true,
        .attempt = {.number = expected[i].attempts + 1,
                    .at_ms = NOW_MS + 1,
                    .status = 200,
                    .class = ATTEMPT_OK},
        .state = CALLBACK_DELIVERED,
        .place = {expected[i].attempts, expected[i].attempts, NOW_MS + i % 2},
    };
    switch (round > 0 ? -1 : i % 50) {
    case 7: o.state = CALLBACK_DEAD, o.reason = REASON_FINAL_STATUS; break;
    case 8: o.state = CALLBACK_SKIPPED, o.reason = REASON_NO_URL, o.has_attempt = false; break;
    case 9: o.has_attempt = false; break;
    case 10: o.state = CALLBACK_PENDING, o.place = (struct schedule_place){1, 1, LATER_MS}; break;
    case 11: o.attempt.number = 3; break;
    case 12: o.place.failed_attempts = 2; break;
    default: break;
    }
    return o;
}

static void tell_of_older(int round)
{
    static struct outcome items[OLDER];
    struct outcome_batch batch = {.items = items};
    for (int i = 1; i <= OLDER; i++) {
        if (!is_told(i, round))
            continue;
        struct outcome o = outcome_of(i, round);
        expected[i].state = o.state;
        expected[i].reason = o.reason;
        if (o.has_attempt)
            expected[i].attempts = o.attempt.number;
        items[batch.count++] = o;
    }
    ASK(store_record, store, &batch);
    CHECK_EQ_INT(batch.status, STORE_OK);
}

static int64_t expected_in(enum callback_state state)
{
    int64_t count = 0;
    for (int i = 1; i <= OLDER; i++)
        count += expected[i].state == state;
    return count;
}

static void check_rows(void)
{
    for (int i = 1; i <= OLDER; i++) {
        struct callback_get g = get(older_id(i));
        CHECK_EQ_INT(g.status, STORE_OK);
        CHECK_EQ_INT(g.row.state, expected[i].state);
        CHECK_EQ_INT(g.row.event.reason_skipped, expected[i].reason);
        CHECK_EQ_INT(g.row.attempts, expected[i].attempts);
        arena_free(&g.arena);
    }
}

static void check_lane(void)
{
    struct due_page p = {.more = true};
    int64_t count = 0;
    while (p.more) {
        p = (struct due_page){.lane = lane_of(terms.app_no, LANE_SUCCESS),
                              .due_until_ms = LATER_MS,
                              .limit = LIMIT_PAGE_CALLBACKS,
                              .after = p.last};
        ASK(store_page, store, &p);
        CHECK_EQ_INT(p.status, STORE_OK);
        count += (int64_t)p.count;
        for (size_t i = 0; i < p.count; i++) {
            CHECK_EQ_INT(expected[p.items[i]->event_no].state, CALLBACK_PENDING);
            callback_free(p.items[i]);
        }
        free(p.items);
    }
    CHECK_EQ_INT(count, expected_in(CALLBACK_PENDING));
}

static void check_sums(void)
{
    struct store_numbers n;
    store_get_numbers(store, &n);
    CHECK_EQ_INT(n.callbacks_pending, expected_in(CALLBACK_PENDING));
    CHECK_EQ_INT(n.callbacks_delivered, expected_in(CALLBACK_DELIVERED));
    CHECK_EQ_INT(n.callbacks_dead, expected_in(CALLBACK_DEAD));
    struct books_check books = {.from_day = INT32_MIN, .callbacks_most = OLDER};
    ASK(store_check_books, store, &books);
    CHECK_EQ_INT(books.callbacks, OLDER);
    CHECK_EQ_INT(books.difference_total, 0);
    free(books.differences);
}

/* Each memtable has outcomes of rows that are all in SQLite already. */
static void takes_outcomes_of_older_rows(void)
{
    mono_stands_still = true;
    begin();
    for (int i = 1; i <= OLDER; i++) {
        (void)submit_at(make(EVENT_SURVEY_COMPLETED, older_id(i), "ann"), NOW_MS + i / 30);
        expected[i].state = CALLBACK_PENDING;
    }
    for (int round = 0; round < 3; round++) {
        check_rows();
        check_lane();
        check_sums();
        tell_of_older(round);
    }
    reopen();
    check_rows();
    check_lane();
    check_sums();
    mono_stands_still = false;
    end();
}

/* --- what waits --------------------------------------------------------------------------------
 */

static void close_store(void)
{
    store_close(store);
    store = NULL;
}

/* Counted as an index over the events that wait would find them. */
static void check_waiting(int64_t count)
{
    CHECK_EQ_INT(sql_number("SELECT coalesce(sum(count),0) FROM waiting"), count);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM (SELECT segment,accepted_ms,count(*) FROM event"
                            " WHERE state=1 GROUP BY 1,2 EXCEPT SELECT * FROM waiting)"),
                 0);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM waiting WHERE count<1"), 0);
}

static void counts_what_waits(void)
{
    struct store_numbers n;
    begin();
    for (int i = 1; i <= 4; i++) {
        char id[8];
        snprintf(id, sizeof id, "e-%d", i);
        (void)submit_new(EVENT_SURVEY_COMPLETED, id, i == 4 ? "bob" : "ann");
        record((uint64_t)i, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5000, 1);
    }
    close_store();
    check_waiting(4);
    reopen();
    store_get_numbers(store, &n);
    CHECK_EQ_INT(n.oldest_pending_ms, NOW_MS);
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 2);
    record(2, LANE_SUCCESS, CALLBACK_DEAD, 0, 2);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-5", "ann"); /* and gone within its memtable */
    record(5, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    close_store();
    check_waiting(2);
    reopen();
    struct erase e = {.account_no = terms.account_no, .panelist_id = STR("bob")};
    ASK(store_erase, store, &e);
    CHECK_EQ_INT(e.erased, 1);
    close_store();
    check_waiting(1);
    reopen();
    record(3, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 2);
    close_store();
    check_waiting(0);
    reopen();
    store_get_numbers(store, &n);
    CHECK_EQ_INT(n.oldest_pending_ms, 0);
    end();
}

int main(void)
{
    RUN(counts_what_waits);
    RUN(keeps_rows_of_all_kinds);
    RUN(takes_outcomes_of_older_rows);
    return check_done("sqlite_rows");
}
