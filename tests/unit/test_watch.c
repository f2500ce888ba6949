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

/* A store that answers reports only, at once. */
struct reporting_store {
    struct store store;
    enum store_status status;
    int asked;
    uint32_t account_nos[8];
};

static void answer_report(struct store *s, enum request_kind kind, void *what)
{
    struct reporting_store *r = CONTAINER_OF(s, struct reporting_store, store);
    struct report_query *q = what;
    ASSERT(kind == REQUEST_REPORT);
    r->account_nos[r->asked++ % 8] = q->account_no;
    q->status = r->status;
    executor_post(q->reply_to, &q->done);
}

static struct reporting_store reporting_store(enum store_status status)
{
    static const struct store_ops ops = {.request = answer_report};
    return (struct reporting_store){.store = {STORE_MAGIC, &ops}, .status = status};
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

static void asks_for_one_partner_a_call(void)
{
    struct fixture f;
    open_with_three_partners(&f);
    struct reporting_store r = reporting_store(STORE_OK);
    struct watch *w = watch_new(&f.env, &r.store, f.directory);
    watch_look(w);
    CHECK_EQ_INT(r.asked, 0);
    for (int hour = 0; hour < 2; hour++) {
        f.now_ms += HOUR_AND_MORE_MS;
        for (int i = 1; i <= 5; i++) {
            watch_look(w);
            CHECK_EQ_INT(r.asked, hour * 3 + (i < 3 ? i : 3));
        }
    }
    for (int i = 0; i < 6; i++)
        CHECK_EQ_UINT(r.account_nos[i], (uint32_t)(3 - i % 3));
    watch_free(w);
    fixture_close(&f);
}

static void asks_a_busy_store_once_an_hour(void)
{
    struct fixture f;
    open_with_three_partners(&f);
    struct reporting_store r = reporting_store(STORE_BUSY);
    struct watch *w = watch_new(&f.env, &r.store, f.directory);
    for (int hour = 1; hour <= 3; hour++) {
        f.now_ms += HOUR_AND_MORE_MS;
        for (int i = 0; i < 5; i++)
            watch_look(w);
        CHECK_EQ_INT(r.asked, hour);
    }
    watch_free(w);
    fixture_close(&f);
}

int main(void)
{
    log_set(LOG_ERROR, false);
    RUN(finds_clients_with_outcomes_and_no_starts);
    RUN(asks_for_one_partner_a_call);
    RUN(asks_a_busy_store_once_an_hour);
    return check_done("watch");
}
