/* What a live stream holds and looks at: its own account's apps. */
#include "api/live_sums.h"

#include "check.h"

#define OTHERS_APPS 100000

static size_t apps_sent(struct live_sums *sums, struct live_sent *sent, uint32_t account_no)
{
    const struct live_app *now;
    struct live_app *before;
    size_t count = 0, place = 0;
    while ((now = live_sent_next(sent, live_sums_account(sums, account_no), &place, &before))) {
        *before = *now;
        count++;
    }
    return count;
}

static void a_stream_tells_each_change_once(void)
{
    struct live_sums sums = {0};
    struct live_sent sent = {0};
    CHECK_EQ_UINT(apps_sent(&sums, &sent, 7), 0);
    live_sums_app(&sums, 7, 30)->delivered++;
    live_sums_app(&sums, 7, 12)->dead++;
    live_sums_app(&sums, 8, 13)->dead++;
    CHECK_EQ_UINT(apps_sent(&sums, &sent, 7), 2);
    CHECK_EQ_UINT(apps_sent(&sums, &sent, 7), 0);
    live_sums_app(&sums, 7, 12)->endpoint++;
    size_t place = 0;
    struct live_app *before;
    const struct live_app *now =
        live_sent_next(&sent, live_sums_account(&sums, 7), &place, &before);
    REQUIRE(now);
    CHECK_EQ_UINT(now->app_no, 12);
    CHECK_EQ_UINT(now->endpoint - before->endpoint, 1);
    CHECK_EQ_UINT(now->dead - before->dead, 0);
    live_sent_free(&sent);
    live_sums_free(&sums);
}

static void a_stream_holds_its_own_accounts_apps_only(void)
{
    struct live_sums sums = {0};
    struct live_sent sent = {0};
    for (uint32_t i = 0; i < OTHERS_APPS; i++)
        live_sums_app(&sums, 2 + i % 1000, 1 + i)->delivered++;
    for (uint32_t i = 0; i < 3; i++)
        live_sums_app(&sums, 1, OTHERS_APPS + 1 + i)->delivered++;
    CHECK_EQ_UINT(live_sums_account(&sums, 1)->count, 3);
    CHECK_EQ_UINT(apps_sent(&sums, &sent, 1), 3);
    CHECK(sent.capacity < 20);
    live_sent_free(&sent);
    live_sums_free(&sums);
}

static void each_account_counts_its_own_events(void)
{
    struct live_sums sums = {0};
    live_sums_account(&sums, 7)->accepted += 3;
    live_sums_account(&sums, 900)->accepted++; /* the accounts move */
    live_sums_app(&sums, 7, 30)->delivered++;
    CHECK_EQ_UINT(live_sums_account(&sums, 7)->accepted, 3);
    CHECK_EQ_UINT(live_sums_account(&sums, 900)->accepted, 1);
    CHECK_EQ_UINT(live_sums_account(&sums, 8)->accepted, 0);
    live_sums_free(&sums);
}

static void a_stream_that_opens_late_tells_only_what_follows(void)
{
    struct live_sums sums = {0};
    struct live_sent sent = {0};
    live_sums_app(&sums, 7, 30)->delivered = 5;
    CHECK_EQ_UINT(apps_sent(&sums, &sent, 7), 1); /* it catches up */
    size_t grown = sent.capacity;
    for (uint32_t app_no = 31; live_sums_account(&sums, 7)->count <= grown; app_no++)
        live_sums_app(&sums, 7, app_no)->failed++;
    CHECK_EQ_UINT(apps_sent(&sums, &sent, 7), grown); /* each app that is new */
    CHECK(sent.capacity > grown);
    CHECK_EQ_UINT(sent.apps[0].delivered, 5);
    CHECK_EQ_UINT(apps_sent(&sums, &sent, 7), 0);
    live_sent_free(&sent);
    live_sums_free(&sums);
}

static void a_stream_of_an_account_without_apps_holds_none(void)
{
    struct live_sums sums = {0};
    struct live_sent sent = {0};
    struct live_app *before;
    size_t place = 0;
    live_sums_account(&sums, 7)->accepted++;
    live_sums_app(&sums, 8, 30)->delivered++;
    CHECK(!live_sent_next(&sent, live_sums_account(&sums, 7), &place, &before));
    CHECK_EQ_UINT(place, 0);
    CHECK(!sent.apps && sent.capacity == 0);
    live_sent_free(&sent);
    live_sums_free(&sums);
}

/* What comes from a damaged store, under the lock that deliveries take. */
static void an_app_of_two_accounts_counts_in_the_first(void)
{
    struct live_sums sums = {0};
    struct live_sent sent = {0};
    live_sums_app(&sums, 7, 30)->delivered++;
    CHECK(!live_sums_app(&sums, 8, 30)); /* without apps */
    live_sums_app(&sums, 8, 31)->delivered++;
    CHECK(!live_sums_app(&sums, 8, 30)); /* with another app at that place */
    CHECK_EQ_UINT(apps_sent(&sums, &sent, 8), 1);
    REQUIRE(live_sums_app(&sums, 7, 30));
    CHECK_EQ_UINT(live_sums_app(&sums, 7, 30)->delivered, 1);
    live_sent_free(&sent);
    live_sums_free(&sums);
}

int main(void)
{
    RUN(a_stream_tells_each_change_once);
    RUN(a_stream_holds_its_own_accounts_apps_only);
    RUN(each_account_counts_its_own_events);
    RUN(a_stream_that_opens_late_tells_only_what_follows);
    RUN(a_stream_of_an_account_without_apps_holds_none);
    RUN(an_app_of_two_accounts_counts_in_the_first);
    return check_done("live_sums");
}
