/* Which clients report outcomes but no starts, and how the watch goes through the partners. */
#include "daemon/watch.h"

#include "accounts_fixture.h"
#include "check.h"

#include "base/log.h"
#include "store/queue.h"
#include "store/store_ops.h"

#define HOUR_AND_MORE_MS 3700000

static void finds_clients_with_outcomes_and_no_starts(void)
{
    const struct report_row rows[] = {
        {.day = 1, .client_no = 1, .survey_outcomes = 3, .conversions = {3, 0}},
        {.day = 1, .client_no = 2, .conversions = {0, 5}}, /* offers need no start */
        {.day = 1, .client_no = 4, .survey_outcomes = 1},  /* disqualified: no conversion */
        {.day = 2, .client_no = 1, .survey_starts = 1},
        {.day = 2, .client_no = 3, .survey_outcomes = 1, .survey_starts = 2},
        {.day = 2, .client_no = 5, .survey_outcomes = 2, .conversions = {2, 0}},
    };
    CHECK_EQ_UINT(watch_find_startless(rows, 6, 0), 4);
    CHECK_EQ_UINT(watch_find_startless(rows, 6, 4), 5);
    CHECK_EQ_UINT(watch_find_startless(rows, 6, 5), 0);
    CHECK_EQ_UINT(watch_find_startless(NULL, 0, 0), 0);
}

/* A store that answers reports only, at once or not at all. */
struct reporting_store {
    struct store store;
    enum store_status status;
    bool is_silent;
    struct report_query *last;
    int asked;
    uint32_t account_nos[8];
};

static void answer_report(struct store *s, enum request_kind kind, void *what)
{
    struct reporting_store *r = CONTAINER_OF(s, struct reporting_store, store);
    struct report_query *q = what;
    ASSERT(kind == REQUEST_REPORT);
    r->account_nos[r->asked++ % 8] = q->account_no;
    r->last = q;
    q->status = r->status;
    if (!r->is_silent)
        executor_post(q->reply_to, &q->done);
}

static struct reporting_store reporting_store(enum store_status status)
{
    static const struct store_ops ops = {.request = answer_report};
    return (struct reporting_store){.store = {.magic = STORE_MAGIC, .ops = &ops}, .status = status};
}

static void open_with_three_partners(struct fixture *f)
{
    fixture_open(f);
    for (int i = 1; i <= 3; i++) {
        char body[32];
        snprintf(body, sizeof(body), "{\"PartnerId\":\"p%d\"}", i);
        REQUIRE(fixture_partner(f, body));
    }
}

static void asks_for_one_partner_after_the_other(void)
{
    struct fixture f;
    open_with_three_partners(&f);
    struct reporting_store r = reporting_store(STORE_OK);
    struct watch *w = watch_new(&f.env, &r.store, f.directory);
    watch_look(w);
    CHECK_EQ_INT(r.asked, 0);
    for (int hour = 0; hour < 2; hour++) {
        f.now_ms += HOUR_AND_MORE_MS;
        for (int call = 0; call < 10; call++) { /* every second one takes an answer */
            watch_look(w);
            CHECK_EQ_INT(r.asked, hour * 3 + (call < 4 ? call / 2 + 1 : 3));
        }
    }
    for (int i = 0; i < 6; i++)
        CHECK_EQ_UINT(r.account_nos[i], (uint32_t)(3 - i % 3));
    watch_free(w);
    fixture_close(&f);
}

/* The cluster of one partner may be away while the others' are there. */
static void goes_on_behind_a_partner_that_is_away(void)
{
    struct fixture f;
    open_with_three_partners(&f);
    struct reporting_store r = reporting_store(STORE_BUSY);
    struct watch *w = watch_new(&f.env, &r.store, f.directory);
    f.now_ms += HOUR_AND_MORE_MS;
    for (int call = 0; call < 10; call++)
        watch_look(w);
    CHECK_EQ_INT(r.asked, 3);
    watch_free(w);
    fixture_close(&f);
}

static void waits_for_no_answer(void)
{
    struct fixture f;
    open_with_three_partners(&f);
    struct reporting_store r = reporting_store(STORE_OK);
    r.is_silent = true;
    struct watch *w = watch_new(&f.env, &r.store, f.directory);
    f.now_ms += HOUR_AND_MORE_MS;
    for (int call = 0; call < 5; call++)
        watch_look(w);
    CHECK_EQ_INT(r.asked, 1);
    executor_post(r.last->reply_to, &r.last->done);
    watch_free(w); /* takes the answer that has come */
    fixture_close(&f);
}

int main(void)
{
    log_set(LOG_ERROR, false);
    RUN(finds_clients_with_outcomes_and_no_starts);
    RUN(asks_for_one_partner_after_the_other);
    RUN(goes_on_behind_a_partner_that_is_away);
    RUN(waits_for_no_answer);
    return check_done("watch");
}
