/* Simulated survey and offer traffic: every RewardType in plausible shares, and some reversals. The
 * history has the rhythm of days and weeks, slow growth, a bad day and a good one. Live traffic is
 * drawn in the same way, but faster: enough to see something, and so little that half an hour of it
 * does not exceed the days before. */
#include "cli/demo.h"
#include "domain/clock.h"
#include "domain/money.h"

#include <stdio.h>

#define HISTORY_DAYS 30
#define HISTORY_BATCH 2000
#define VISITS_A_DAY 6000
#define LIVE_VISITS_OF_100 40 /* chance of a visit in each fifth of a second: two a second */
#define PANELISTS 2500        /* of each app */
#define OUTCOME_LATEST_MS 300000

/* The share of a day's visits that begin in each hour (UTC), of 128. */
static const unsigned char hour_shares[24] = {4, 3, 2, 1, 1, 1, 2, 3,  4,  5, 5, 6,
                                              6, 6, 6, 7, 7, 8, 9, 10, 10, 9, 7, 6};
#define HOUR_SHARES 128

struct batch {
    struct demo_world *world;
    struct rng *rng;
    struct buf text;
    long count;
};

static void add_head(struct batch *b, const struct demo_app *a, const char *type, uint64_t id,
                     int64_t at_ms)
{
    buf_printf(&b->text,
               "%s{\"EventId\":\"%s-%016llx\",\"Type\":\"%s\",\"ClientId\":\"%s\",\"PanelistId\":"
               "\"player-%llu\",\"Timestamp\":\"",
               b->count ? ",\n" : "", a->app_id, (unsigned long long)id, type, a->client_id,
               (unsigned long long)(1000 + id % PANELISTS));
    clock_print(&b->text, at_ms);
    buf_add_char(&b->text, '"');
    b->count++;
}

static void add_revenue(struct batch *b, int64_t least_micros, int64_t most_micros)
{
    int64_t cents = MICROS_PER_UNIT / 100;
    int64_t micros =
        least_micros + (int64_t)rng_below(b->rng, (uint64_t)(most_micros - least_micros));
    buf_add_c(&b->text, ",\"RevenueAmount\":");
    money_print(&b->text, micros - micros % cents, 2);
}

static void add_offer(struct batch *b, uint64_t id)
{
    static const char *const titles[] = {"Reach level 10", "Install and open", "Build a castle",
                                         "First purchase"};
    buf_printf(&b->text, ",\"OfferId\":%llu,\"OfferTitle\":\"%s\"",
               (unsigned long long)(100 + id % 4), titles[id % 4]);
}

static uint64_t of_same_panelist(struct rng *rng, uint64_t id)
{
    return rng_next(rng) / (2 * PANELISTS) * PANELISTS + id % PANELISTS;
}

/* Adds the events of one panelist's visit. */
static void add_survey_visit(struct batch *b, const struct demo_app *a, int64_t at_ms)
{
    uint64_t id = rng_next(b->rng), luck = rng_below(b->rng, 100);
    add_head(b, a, "survey_started", id, at_ms);
    buf_add_char(&b->text, '}');
    id = of_same_panelist(b->rng, id);
    if (luck < 45) {
        add_head(b, a, "survey_completed", id, at_ms + 240000);
        add_revenue(b, 300000, 2500000);
        buf_printf(&b->text, ",\"SessionId\":\"s-%llx\"}", (unsigned long long)(id >> 40));
    } else if (luck < 85) {
        add_head(b, a, "survey_disqualified", id, at_ms + MINUTE_MS);
        buf_add_c(&b->text, ",\"Reason\":\"not a match\"}");
    } else if (luck < 90) {
        add_head(b, a, "profiler_completed", id, at_ms + 90000);
        buf_add_c(&b->text, ",\"RevenueAmount\":0.05}");
    }
}

static void add_offer_visit(struct batch *b, const struct demo_app *a, int64_t at_ms)
{
    uint64_t id = rng_next(b->rng), luck = rng_below(b->rng, 100);
    add_head(b, a, "offer_clicked", id, at_ms);
    add_offer(b, id);
    buf_add_char(&b->text, '}');
    if (luck >= 40)
        return;
    uint64_t goal = of_same_panelist(b->rng, id);
    add_head(b, a, "offer_completed", goal, at_ms + 120000);
    add_offer(b, id);
    add_revenue(b, 500000, 8000000);
    buf_printf(&b->text, ",\"OfferGoalId\":\"%llu\"}", (unsigned long long)(id % 9));
    if (luck < 3) {
        uint64_t reversal = of_same_panelist(b->rng, id);
        add_head(b, a, "offer_completion_reversed", reversal, at_ms + 180000);
        buf_printf(&b->text, ",\"OriginalRewardId\":\"%s-%016llx\",\"Reason\":\"refund\"}",
                   a->app_id, (unsigned long long)goal);
    }
}

static void add_visit(struct batch *b, int64_t at_ms)
{
    const struct demo_app *a = b->world->apps;
    uint64_t share = rng_below(b->rng, 100);
    for (; share >= a->visits_of_100; a++)
        share -= a->visits_of_100;
    uint64_t luck = rng_below(b->rng, 100);
    if (luck < 70) {
        add_survey_visit(b, a, at_ms);
    } else if (luck < 98) {
        add_offer_visit(b, a, at_ms);
    } else {
        add_head(b, a, "ad_hoc", rng_next(b->rng), at_ms);
        buf_printf(&b->text, ",\"Reward\":25,\"Reason\":\"support ticket\"%s}",
                   luck == 99 ? ",\"IsTest\":true" : "");
    }
}

static bool post(struct batch *b, struct client_session *c, const char *path)
{
    struct buf body = {0}, answer = {0};
    buf_printf(&body, "[%.*s]", STR_ARG(buf_str(&b->text)));
    int status = client_request(c, "POST", path, "application/json", buf_str(&body), &answer);
    bool good = status == 202 && strstr(buf_c(&answer), "\"Rejected\":[]");
    if (!good)
        fprintf(stderr, "postbackd: demo: events answered %d: %.300s\n", status, buf_c(&answer));
    b->world->events_sent += b->count;
    buf_free(&body);
    buf_free(&answer);
    buf_clear(&b->text);
    b->count = 0;
    return good;
}

static uint64_t draw_hour(struct rng *rng)
{
    uint64_t share = rng_below(rng, HOUR_SHARES), hour = 0;
    for (; share >= hour_shares[hour]; hour++)
        share -= hour_shares[hour];
    return hour;
}

/* The number of visits on a day: more on weekends, growing day by day, at random up to 8 % more or
 * less; one day lost half, and one has a campaign. */
static uint64_t visits_of(struct rng *rng, int32_t day, int32_t today)
{
    int age = today - day;
    uint64_t percent = 100 - (uint64_t)age + (rng_below(rng, 17) - 8);
    if ((day + 4) % 7 == 0 || (day + 4) % 7 == 6)
        percent += 30;
    if (age == 19)
        percent /= 2;
    if (age == 9)
        percent += 55;
    return VISITS_A_DAY * percent / 100;
}

/* Adds the visits of one day; of today, those whose outcome is known by now. */
static bool add_day(struct batch *b, struct client_session *c, int32_t day, int32_t today)
{
    int64_t end_ms = b->world->started_ms - OUTCOME_LATEST_MS;
    for (uint64_t left = visits_of(b->rng, day, today); left; left--) {
        int64_t at_ms = day * DAY_MS + (int64_t)draw_hour(b->rng) * HOUR_MS +
                        (int64_t)rng_below(b->rng, (uint64_t)HOUR_MS);
        if (at_ms < end_ms)
            add_visit(b, at_ms);
        if (b->count >= HISTORY_BATCH && !post(b, c, "/api/v1/events?deliver=false"))
            return false;
    }
    return true;
}

bool demo_make_history(struct demo_world *w, struct client_session *c, struct rng *rng)
{
    struct batch b = {.world = w, .rng = rng};
    int32_t today = clock_day(w->started_ms);
    bool good = true;
    for (int32_t day = today - HISTORY_DAYS; good && day <= today; day++) {
        demo_print_progress(w, day - today + HISTORY_DAYS, HISTORY_DAYS + 1);
        good = add_day(&b, c, day, today);
    }
    good = good && (!b.count || post(&b, c, "/api/v1/events?deliver=false"));
    buf_free(&b.text);
    return good;
}

bool demo_send_traffic(struct demo_world *w, struct client_session *c, struct rng *rng)
{
    struct batch b = {.world = w, .rng = rng};
    /* Outcomes are dated minutes after their start: begin in the past, so that they end before
     * now. */
    int64_t at_ms = env_wall_ms(env_real()) - OUTCOME_LATEST_MS;
    if (rng_below(rng, 100) < LIVE_VISITS_OF_100)
        add_visit(&b, at_ms + (int64_t)rng_below(rng, 1000));
    bool good = !b.count || post(&b, c, "/api/v1/events");
    buf_free(&b.text);
    return good;
}
