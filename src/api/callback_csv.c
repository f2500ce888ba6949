/* Prints rows of the callback log as CSV. Texts that a stranger has chosen (PanelistId) or may
 * have influenced (an attempt's Detail) go through csv_text. Ids, our own names, numbers and times
 * cannot be misread by CSV readers or spreadsheets. */
#include "api/callback_csv.h"

#include "api/internal.h"
#include "domain/clock.h"
#include "domain/money.h"
#include "domain/payload.h"

static const char reward_names[] = "RewardId,AppId,ClientId,PanelistId,RewardType,State,Reason,"
                                   "Reward,RevenueAmount,IsTest,Timestamp,CreatedAt,"
                                   "OriginalRewardId";
static const char callback_names[] = ",Endpoint,NextAttemptAt,AttemptCount,LastAttemptAt,"
                                     "LastDurationMs,LastStatus,LastClass,LastDetail";

void callback_csv_begin(enum csv_columns columns, struct buf *to)
{
    buf_add_c(to, reward_names);
    buf_add_c(to, columns == CSV_CALLBACKS ? callback_names : "");
    buf_add_c(to, "\r\n");
}

void csv_text(struct buf *to, struct str text)
{
    bool is_formula = text.n > 0 && char_in(text.p[0], "=+-@\t\r\n");
    bool quoted = false;
    for (size_t i = 0; i < text.n; i++)
        quoted |= char_in(text.p[i], ",\"\r\n");
    buf_add_c(to, quoted ? "\"" : "");
    buf_add_c(to, is_formula ? "'" : "");
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"')
            buf_add_char(to, '"');
        buf_add_char(to, text.p[i]);
    }
    buf_add_c(to, quoted ? "\"" : "");
}

static void add_c(struct buf *to, const char *text)
{
    buf_add_char(to, ',');
    buf_add_c(to, text ? text : "");
}

/* 0: none. */
static void add_time(struct buf *to, int64_t ms)
{
    buf_add_char(to, ',');
    if (ms)
        clock_print(to, ms);
}

static void add_facts(struct call *c, struct buf *to, const struct callback_row *row)
{
    const struct event *e = &row->event;
    struct app *app = directory_app_by_no(c->api->options.directory, e->app_no);
    struct client *client = directory_client_by_no(c->api->options.directory, e->client_no);
    ASSERT(app && client); /* neither is ever deleted */
    buf_printf(to, "%.*s,%.*s,%.*s,", STR_ARG(e->event_id), STR_ARG(app->id), STR_ARG(client->id));
    app_unref(app);
    client_unref(client);
    csv_text(to, e->panelist_id);
    add_c(to, event_type_name(e->type));
    add_c(to, callback_state_name(row->state));
    add_c(to, callback_reason_name(row->reason));
    buf_add_char(to, ',');
    money_print(to, e->reward_micros, payload_reward_digits(e));
    buf_add_char(to, ',');
    money_print(to, e->revenue_micros, 2);
    add_c(to, e->is_test ? "true" : "false");
    add_time(to, e->occurred_ms);
    add_time(to, e->accepted_ms);
    buf_printf(to, ",%.*s", STR_ARG(e->original_reward_id));
}

static void add_last_attempt(struct buf *to, const struct callback_row *row)
{
    if (row->log_count == 0) {
        buf_add_c(to, ",,,,,");
        return;
    }
    const struct attempt *a = &row->log[row->log_count - 1];
    add_time(to, a->at_ms);
    buf_printf(to, ",%lld,", (long long)a->duration_ms);
    if (a->status)
        buf_add_int(to, a->status);
    add_c(to, a->class == ATTEMPT_OK ? NULL : attempt_class_name(a->class));
    buf_add_char(to, ',');
    csv_text(to, a->detail);
}

void callback_csv_row(struct call *c, enum csv_columns columns, struct buf *to,
                      const struct callback_row *row)
{
    add_facts(c, to, row);
    if (columns == CSV_CALLBACKS) {
        add_c(to, lane_kind_name(row->event.lane));
        add_time(to, row->next_attempt_ms);
        buf_printf(to, ",%lld", (long long)row->attempts);
        add_last_attempt(to, row);
    }
    buf_add_c(to, "\r\n");
}
