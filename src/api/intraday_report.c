/* GET /api/v1/intraday?day=: one of the last days in quarters of an hour, so that a day in
 * progress can be compared with the same time of the day before. */
#include "api/internal.h"
#include "api/query.h"
#include "api/route.h"
#include "domain/clock.h"
#include "domain/money.h"

struct intraday_request {
    struct call *c;
    struct intraday_query query;
};

static void print_slot(struct json_writer *w, const struct intraday_slot *slot, int64_t from_ms)
{
    struct buf earnings = {0};
    money_print_wide(&earnings, slot->earnings_micros, 2);
    json_object(w);
    json_key_time(w, "From", from_ms);
    json_key_raw(w, "Earnings", buf_str(&earnings));
    json_key_int(w, "Conversions", slot->conversions);
    json_key_int(w, "SurveyAttempts", slot->survey_starts);
    json_key_int(w, "ActivePanelists", slot->active_panelists);
    json_end_object(w);
    buf_free(&earnings);
}

static void query_done(struct task *task)
{
    struct intraday_request *a = CONTAINER_OF(task, struct intraday_request, query.done);
    const struct intraday_query *q = &a->query;
    if (!call_store_ok(a->c, q->status))
        return;
    struct buf day = {0};
    clock_print_day(&day, q->day);
    struct json_writer *w = call_begin_object(a->c);
    json_key_c(w, "Report", "intraday");
    json_key_string(w, "Day", buf_str(&day));
    json_key_time(w, "GeneratedAt", call_now_ms(a->c));
    json_key_bool(w, "Complete", q->complete);
    json_key_array(w, "Rows");
    for (int i = 0; i < INTRADAY_SLOTS; i++)
        if (!intraday_slot_is_empty(&q->slots[i]))
            print_slot(w, &q->slots[i], q->day * DAY_MS + i * INTRADAY_SLOT_MS);
    json_end_array(w);
    buf_free(&day);
    call_end_object(a->c, 200);
}

void report_intraday(struct call *c)
{
    struct intraday_request *a = call_alloc(c, sizeof *a);
    int32_t first = clock_day(call_now_ms(c)) - INTRADAY_DAYS;
    if (!query_day(c, "day", &a->query.day))
        problem_add(&c->problems, STR("day"), "required", "The day as YYYY-MM-DD, in UTC.");
    else if (!c->problems.count && a->query.day < first)
        problem_add(&c->problems, STR("day"), "out_of_range",
                    "Quarters of an hour are available for today and the %d days before.",
                    INTRADAY_DAYS);
    if (c->problems.count) {
        call_answer_invalid_query(c);
        return;
    }
    a->c = c;
    a->query.account_no = c->account_no;
    a->query.done.run = query_done;
    a->query.reply_to = call_executor(c);
    store_intraday(c->api->options.store, &a->query);
}
