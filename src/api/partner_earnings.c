/* GET /api/v1/earnings: the earnings of each partner in a range of days, for operators. Partners
 * are read one after the other, a page of rows at a time. So a list of any length needs memory for
 * one page only, and other requests are served in between. */
#include "api/account_routes.h"
#include "api/internal.h"
#include "api/partner_walk.h"
#include "api/route.h"
#include "domain/clock.h"
#include "domain/money.h"
#include "reports/report.h"

#include <stdlib.h>

#define ROWS_PER_PAGE 5000

struct earnings_list {
    struct call *c;
    struct partner_walk walk;
    struct report_query query;
    struct report_row sums; /* of the partner's rows so far */
};

static void end(struct partner_walk *walk, bool more)
{
    struct earnings_list *l = CONTAINER_OF(walk, struct earnings_list, walk);
    json_end_array(&l->c->writer);
    list_print_next(l->c, &l->c->writer, more, walk->last_no);
    call_end_object(l->c, 200);
}

static void print_partner(struct earnings_list *l)
{
    const struct report_row *sums = &l->sums;
    __int128 earned = sums->earnings_micros[0] + sums->earnings_micros[1];
    struct json_writer *w = &l->c->writer;
    json_object(w);
    json_key_string(w, "PartnerId", l->walk.partner->id);
    json_key_string(w, "Name", l->walk.partner->name);
    json_key_money(w, "Earnings", earned, 2);
    json_key_int(w, "ActivePanelists", sums->active_panelists);
    json_key(w, "Arpdau");
    if (sums->active_panelists)
        json_money(w, money_divide(earned, sums->active_panelists), 2);
    else
        json_null(w);
    json_key_int(w, "SurveyAttempts", sums->survey_starts);
    json_key_int(w, "Conversions", sums->conversions[0] + sums->conversions[1]);
    json_end_object(w);
}

static void add_rows(struct earnings_list *l)
{
    struct report_row *to = &l->sums;
    for (size_t i = 0; i < l->query.count; i++) {
        const struct report_row *row = &l->query.rows[i];
        to->survey_starts += row->survey_starts;
        to->active_panelists += row->active_panelists;
        for (size_t product = 0; product < 2; product++) {
            to->conversions[product] += row->conversions[product];
            to->earnings_micros[product] += row->earnings_micros[product];
        }
    }
}

static void page_done(struct task *task)
{
    struct earnings_list *l = CONTAINER_OF(task, struct earnings_list, query.done);
    if (l->query.status != STORE_OK) {
        partner_walk_abort(&l->walk);
        call_answer_busy(l->c, l->query.status);
        return;
    }
    add_rows(l);
    bool more = l->query.more && !l->c->r->gone;
    if (more) {
        l->query.after_day = l->query.rows[l->query.count - 1].day;
        l->query.after_client_no = l->query.rows[l->query.count - 1].client_no;
    }
    free(l->query.rows);
    l->query.rows = NULL;
    if (more) {
        store_report(l->c->api->options.store, &l->query);
        return;
    }
    print_partner(l);
    partner_walk_next(&l->walk);
}

static void read_partner(struct partner_walk *walk)
{
    struct earnings_list *l = CONTAINER_OF(walk, struct earnings_list, walk);
    l->sums = (struct report_row){0};
    l->query.account_no = walk->partner->account_no;
    l->query.after_day = INT32_MIN;
    l->query.after_client_no = 0;
    store_report(l->c->api->options.store, &l->query);
}

static void print_day(struct json_writer *w, const char *name, int32_t day)
{
    struct buf text = {0};
    clock_print_day(&text, day);
    json_key_string(w, name, buf_str(&text));
    buf_free(&text);
}

void earnings_list(struct call *c)
{
    struct earnings_list *l = call_alloc(c, sizeof *l);
    struct report_arguments arguments = {
        .start_date = call_parameter(c, "startDate"),
        .end_date = call_parameter(c, "endDate"),
    };
    struct report_request range = {0};
    report_parse(REPORT_EARNINGS, &arguments, clock_day(call_now_ms(c)), &c->problems, &range);
    if (!list_position(c, &l->walk.last_no, &l->walk.left)) {
        call_answer_invalid_query(c);
        return;
    }
    l->c = c;
    l->walk.c = c;
    l->walk.read = read_partner;
    l->walk.end = end;
    l->query.first_day = range.first_day;
    l->query.last_day = range.last_day;
    l->query.limit = ROWS_PER_PAGE;
    l->query.done.run = page_done;
    l->query.reply_to = call_executor(c);
    struct json_writer *w = call_begin_object(c);
    print_day(w, "StartDate", range.first_day);
    print_day(w, "EndDate", range.last_day);
    json_key_time(w, "GeneratedAt", call_now_ms(c));
    json_key_array(w, "Items");
    partner_walk_begin(&l->walk);
}
