/* GET /api/v1/statements?day=: the books of one report day for each app, for partners who compare
 * them with their own (docs/partners/statements.md). */
#include "api/callback_filters.h"
#include "api/internal.h"
#include "api/query.h"
#include "api/route.h"
#include "domain/clock.h"
#include "store/statement.h"

#include <stdlib.h>

struct stating {
    struct call *c;
    uint32_t app_no; /* 0: all apps */
    struct statement_query query;
};

static void add(struct statement_sums *to, const struct statement_sums *more)
{
    to->count += more->count;
    to->reward_micros += more->reward_micros;
    to->revenue_micros += more->revenue_micros;
}

static void print_sums(struct json_writer *w, const struct statement_sums *sums, int reward_digits)
{
    json_key_int(w, "Count", sums->count);
    json_key_money(w, "Reward", sums->reward_micros, reward_digits);
    json_key_money(w, "RevenueAmount", sums->revenue_micros, 2);
}

static void print_groups(struct json_writer *w, const struct statement_app *app)
{
    json_key_array(w, "Groups");
    for (enum event_type t = EVENT_SURVEY_COMPLETED; t <= EVENT_TYPE_LAST; t++) {
        for (enum callback_state s = CALLBACK_PENDING; s <= CALLBACK_SKIPPED; s++) {
            if (app->sums[t][s].count == 0)
                continue;
            json_object(w);
            json_key_c(w, "RewardType", event_type_name(t));
            json_key_c(w, "State", callback_state_name(s));
            print_sums(w, &app->sums[t][s], app->reward_digits);
            json_end_object(w);
        }
    }
    json_end_array(w);
}

static void print_digest(struct json_writer *w, const struct statement_app *app)
{
    struct buf hex = {0};
    buf_add_hex(&hex, app->digest, STATEMENT_DIGEST_BYTES);
    json_key_string(w, "Digest", buf_str(&hex));
    buf_free(&hex);
}

static void print_app(struct call *c, struct json_writer *w, const struct statement_app *app,
                      bool open_day)
{
    struct app *entry = directory_app_by_no(c->api->options.directory, app->app_no);
    ASSERT(entry); /* apps are never deleted */
    struct statement_sums total = {0}, pending = {0};
    for (int t = 0; t <= EVENT_TYPE_LAST; t++) {
        for (int s = 0; s <= CALLBACK_SKIPPED; s++)
            add(&total, &app->sums[t][s]);
        add(&pending, &app->sums[t][CALLBACK_PENDING]);
    }
    json_object(w);
    json_key_string(w, "AppId", entry->id);
    json_key_bool(w, "Final", !open_day && pending.count == 0);
    print_sums(w, &total, app->reward_digits);
    print_digest(w, app);
    print_groups(w, app);
    json_end_object(w);
    app_unref(entry);
}

static void statement_done(struct task *task)
{
    struct stating *s = CONTAINER_OF(task, struct stating, query.done);
    struct call *c = s->c;
    if (!call_store_ok(c, s->query.status))
        return;
    int64_t now_ms = call_now_ms(c);
    struct buf day = {0};
    clock_print_day(&day, s->query.day);
    struct json_writer *w = call_begin_object(c);
    json_key_string(w, "Day", buf_str(&day));
    json_key_time(w, "GeneratedAt", now_ms);
    json_key_array(w, "Items");
    for (size_t i = 0; i < s->query.count; i++)
        if (!s->app_no || s->app_no == s->query.apps[i].app_no)
            print_app(c, w, &s->query.apps[i], now_ms < statement_closes_ms(s->query.day));
    json_end_array(w);
    free(s->query.apps);
    buf_free(&day);
    call_end_object(c, 200);
}

void statements_get(struct call *c)
{
    struct stating *s = call_alloc(c, sizeof *s);
    if (!call_parameter_app(c, &s->query.account_no, &s->app_no))
        return;
    if (!query_day(c, "day", &s->query.day))
        problem_add(&c->problems, STR("day"), "required", "The day as YYYY-MM-DD, in UTC.");
    if (c->problems.count) {
        call_answer_invalid_query(c);
        return;
    }
    s->c = c;
    s->query.account_no = c->account_no;
    s->query.done.run = statement_done;
    s->query.reply_to = call_executor(c);
    store_statement(c->api->options.store, &s->query);
}
