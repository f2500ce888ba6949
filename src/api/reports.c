/* GET /api/v1/reports/...: reads the store's rows page by page and streams them as the report is
 * printed (reports/report_writer.c), so a report of any length needs memory for one page. */
#include "api/internal.h"
#include "api/route.h"
#include "domain/clock.h"
#include "reports/report.h"

#include <stdlib.h>

#define ROWS_PER_PAGE 5000

struct report_stream {
    struct call *c;
    struct report_query query;
    struct report_writer writer;
    bool begun;
};

static void ask(struct report_stream *s);

static void finish(struct report_stream *s)
{
    report_writer_free(&s->writer);
    free(s->query.rows);
}

/* In the middle of the answer the status cannot report it any more. */
static void fail(struct report_stream *s)
{
    finish(s);
    if (s->begun)
        call_abort_pieces(s->c);
    else
        call_answer_busy(s->c, s->query.status);
}

static void drained(struct http_request *r)
{
    struct call *c = r->context;
    CHECK_MAGIC(c, CALL_MAGIC);
    ask(c->work);
}

static void page_done(struct task *task)
{
    struct report_stream *s = CONTAINER_OF(task, struct report_stream, query.done);
    struct call *c = s->c;
    if (s->query.status != STORE_OK) {
        fail(s);
        return;
    }
    struct buf piece = {0};
    if (!s->begun) {
        call_begin_pieces(c,
                          s->writer.request.csv ? "text/csv; charset=utf-8" : "application/json");
        report_begin(&s->writer, &piece, call_now_ms(c));
        s->begun = true;
    }
    report_rows(&s->writer, &piece, s->query.rows, s->query.count);
    bool more = s->query.more && !c->r->gone;
    if (more) {
        s->query.after_day = s->query.rows[s->query.count - 1].day;
        s->query.after_client_no = s->query.rows[s->query.count - 1].client_no;
    } else {
        report_end(&s->writer, &piece);
    }
    free(s->query.rows);
    s->query.rows = NULL;
    if (more) {
        call_piece(c, buf_str(&piece), drained);
    } else {
        finish(s);
        call_end_pieces(c, buf_str(&piece));
    }
    buf_free(&piece);
}

static void ask(struct report_stream *s)
{
    if (s->c->r->gone) {
        finish(s);
        call_end_pieces(s->c, STR_NONE);
        return;
    }
    s->query.done.run = page_done;
    s->query.reply_to = call_executor(s->c);
    store_report(s->c->api->options.store, &s->query);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The clients named by clientIds. False: one of them is not this account's (404 answered). */
static bool find_clients(struct call *c, struct report_query *q)
{
    struct str rest = call_parameter(c, "clientIds");
    if (!rest.p)
        return true;
    uint32_t *numbers = call_alloc(c, (rest.n + 1) * sizeof *numbers);
    size_t count = 0;
    while (rest.p) {
        struct str id = str_cut(&rest, ',');
        if (!id.n) {
            problem_add(&c->problems, STR("clientIds"), "invalid",
                        "ClientIds separated by single commas.");
            return true;
        }
        struct client *client = directory_client(c->api->options.directory, id);
        bool ours = client && client->account_no == c->account_no;
        if (ours)
            numbers[count++] = client->client_no;
        client_unref(client);
        if (!ours) {
            call_answer_problem(c, 404, "The account has no client of the id %.*s.", STR_ARG(id));
            return false;
        }
    }
    qsort(numbers, count, sizeof *numbers, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!i || numbers[i] != numbers[kept - 1])
            numbers[kept++] = numbers[i];
    q->client_nos = numbers;
    q->client_count = kept;
    return true;
}

static void answer_report(struct call *c, enum report_kind kind)
{
    struct report_stream *s = call_alloc(c, sizeof *s);
    s->c = c;
    c->work = s;
    if (!find_clients(c, &s->query))
        return;
    struct report_arguments arguments = {
        .start_date = call_parameter(c, "startDate"),
        .end_date = call_parameter(c, "endDate"),
        .product_type = call_parameter(c, "productType"),
        .format = call_parameter(c, "format"),
        .include_test = call_parameter(c, "includeTest"),
        .accept = http_header_list(c->r, "accept"),
    };
    struct report_writer *w = &s->writer;
    report_parse(kind, &arguments, clock_day(call_now_ms(c)), &c->problems, &w->request);
    if (c->problems.count) {
        call_answer_invalid_query(c);
        return;
    }
    w->directory = c->api->options.directory;
    w->arena = &c->r->arena;
    s->query.account_no = c->account_no;
    s->query.first_day = w->request.first_day;
    s->query.last_day = w->request.last_day;
    s->query.include_test = w->request.include_test;
    s->query.after_day = INT32_MIN;
    s->query.limit = ROWS_PER_PAGE;
    ask(s);
}

void report_earnings(struct call *c)
{
    answer_report(c, REPORT_EARNINGS);
}

void report_arpdau(struct call *c)
{
    answer_report(c, REPORT_ARPDAU);
}

void report_survey_attempts(struct call *c)
{
    answer_report(c, REPORT_SURVEY_ATTEMPTS);
}

void report_conversions(struct call *c)
{
    answer_report(c, REPORT_CONVERSIONS);
}

void report_active_panelist(struct call *c)
{
    answer_report(c, REPORT_ACTIVE_PANELIST);
}
