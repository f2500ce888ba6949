/* Prints callbacks for partners.
 *
 * Stored bodies have zeros in place of Sig. They are shown with the Sig that the next attempt would
 * send, made with the present secret. Sig covers neither the amount nor the border between
 * PanelistId and RewardId: whoever has the Sig of any callback can make another body with a valid
 * Sig. So only those who may see the secret see Sig; others see asterisks. */
#include "api/callback_render.h"

#include "api/internal.h"
#include "domain/payload.h"
#include "domain/request_format.h"
#include "domain/signature.h"
#include "send/request_print.h"
#include "services/reward_json.h"

/* A receiver may send thousands of short lines, and each is compared with the others. */
#define HEADER_LINES_SHOWN 200

static struct str shown_lines(struct str all)
{
    struct str rest = all;
    for (int i = 0; rest.p && i < HEADER_LINES_SHOWN; i++)
        (void)str_cut(&rest, '\n');
    return rest.p ? (struct str){all.p, (size_t)(rest.p - all.p)} : all;
}

static bool earlier_line_has(struct str all, const char *end, struct str name)
{
    struct str rest = {all.p, (size_t)(end - all.p)};
    while (rest.p) {
        struct str line = str_cut(&rest, '\n');
        if (str_eq(str_cut(&line, ':'), name))
            return true;
    }
    return false;
}

/* Prints "Name: value\n" lines as an object; values of a repeated name are joined by ", ". */
static void json_headers(struct json_writer *w, struct str all)
{
    if (!all.p) {
        json_null(w);
        return;
    }
    struct str lines = shown_lines(all);
    json_object(w);
    struct str rest = lines;
    while (rest.p) {
        struct str line = str_cut(&rest, '\n');
        struct str value = line;
        struct str name = str_cut(&value, ':');
        if (!line.n || !value.p || earlier_line_has(lines, line.p, name))
            continue;
        struct buf joined = {0};
        buf_add_str(&joined, str_trim(value));
        struct str later = rest;
        while (later.p) {
            struct str other = str_cut(&later, '\n');
            if (!str_eq(str_cut(&other, ':'), name) || !other.p)
                continue;
            buf_add_c(&joined, ", ");
            buf_add_str(&joined, str_trim(other));
        }
        json_key_str(w, name);
        json_string(w, buf_str(&joined));
        buf_free(&joined);
    }
    json_end_object(w);
}

/* How the attempt ended. */
static void render_end(struct json_writer *w, const struct attempt *a)
{
    json_key_int_or_null(w, "Status", a->status);
    json_key_c(w, "Class", a->class == ATTEMPT_OK ? NULL : attempt_class_name(a->class));
    json_key_string(w, "Detail", a->detail.n ? a->detail : STR_NONE);
}

/* --- the request ------------------------------------------------------------------------------ */

/* With Sig or with asterisks; absent where the body is no longer kept. */
static struct str shown_body(struct call *c, const struct event *e, const struct app *app)
{
    char hex[SIG_HEX_BYTES];
    if (!e->body.p)
        return STR_NONE;
    struct str copy = arena_str(&c->r->arena, e->body);
    if (call_may(c, SCOPE_APPS_WRITE))
        signature_sig(e->panelist_id, e->event_id, secrets_sig(&app->secrets, call_now_ms(c)), hex);
    else
        memset(hex, '*', sizeof hex);
    payload_sign((char *)copy.p, e->signature_offset, hex);
    return copy;
}

void render_body(struct call *c, struct json_writer *w, const struct event *e,
                 const struct app *app)
{
    json_key_string(w, "Body", shown_body(c, e, app));
}

/* The log has the configured URL, and the stored body has the values of its macros: so erasing the
 * body erases all. Without a body, or if nothing was replaced, the configured URL is shown. */
void render_request(struct call *c, struct json_writer *w, const struct attempt *a,
                    const struct event *e, const struct app *app)
{
    struct buf url = {0}, body = {0};
    enum request_format format =
        a->request_headers.p ? request_format_of_log(a->request_headers) : REQUEST_JSON;
    struct request_facts facts = {.occurred_ms = e->occurred_ms, .is_test = e->is_test};
    if (e->body.p && a->url.p && !request_is_plain(format, a->url)) {
        facts.body = shown_body(c, e, app);
        if (call_may(c, SCOPE_APPS_WRITE))
            facts.secret = secrets_sig(&app->secrets, call_now_ms(c));
        request_print_url(&url, a->url, format, &facts);
        if (format == REQUEST_FORM)
            request_print_body(&body, format, facts.body);
    }
    json_key_c(w, "Method", request_format_method(format));
    json_key_string(w, "Url", url.p ? buf_str(&url) : a->url);
    json_key(w, "RequestHeaders");
    json_headers(w, a->request_headers);
    json_key_string(w, "RequestBody", body.p ? buf_str(&body) : STR_NONE);
    buf_free(&url);
    buf_free(&body);
}

/* --- attempts and callbacks ------------------------------------------------------------------- */

void render_attempt_members(struct call *c, struct json_writer *w, const struct attempt *a,
                            const struct event *e, const struct app *app)
{
    json_key_int(w, "Number", a->number);
    json_key_bool(w, "Manual", a->manual);
    json_key_time_or_null(w, "At", a->at_ms);
    json_key_int(w, "DurationMs", a->duration_ms);
    render_request(c, w, a, e, app);
    render_end(w, a);
    json_key(w, "ResponseHeaders");
    json_headers(w, a->response_headers);
    json_key_string(w, "ResponseBody", a->response_body);
}

static void render_facts(struct call *c, struct json_writer *w, const struct callback_row *row,
                         const struct app *app)
{
    reward_print_members(w, c->api->options.directory, row, app, !c->account_no);
}

static struct app *app_of(struct call *c, const struct callback_row *row)
{
    struct app *app = directory_app_by_no(c->api->options.directory, row->event.app_no);
    ASSERT(app); /* apps are never deleted */
    return app;
}

static void render_short_attempt(struct json_writer *w, const struct attempt *a)
{
    json_object(w);
    json_key_int(w, "Number", a->number);
    json_key_bool(w, "Manual", a->manual);
    json_key_time_or_null(w, "At", a->at_ms);
    json_key_int(w, "DurationMs", a->duration_ms);
    render_end(w, a);
    json_end_object(w);
}

void render_reward(struct call *c, struct json_writer *w, const struct callback_row *row,
                   bool with_attempts)
{
    struct app *app = app_of(c, row);
    json_object(w);
    render_facts(c, w, row, app);
    if (with_attempts) {
        json_key_array(w, "Attempts");
        for (size_t i = 0; i < row->log_count; i++)
            render_short_attempt(w, &row->log[i]);
        json_end_array(w);
    }
    json_end_object(w);
    app_unref(app);
}

/* Names are those of the reported event; members that were not given are null. */
static void render_given(struct call *c, struct json_writer *w, const struct event *e)
{
    json_key_string(w, "SessionId", e->session_id);
    json_key_string(w, "Mid", e->mid);
    json_key_int_or_null(w, "OfferId", e->offer_id);
    json_key_string(w, "OfferTitle", e->offer_title);
    json_key_string(w, "OfferGoalId", e->offer_goal_id);
    json_key_string(w, "OriginalRewardId", e->original_reward_id);
    if (c->is_operator) /* who wrote it wrote it for operators */
        json_key_string(w, "ReasonGiven", e->reason);
}

void render_event(struct call *c, struct json_writer *w, const struct callback_row *row)
{
    const struct event *e = &row->event;
    struct app *app = app_of(c, row);
    struct client *client = directory_client_by_no(c->api->options.directory, e->client_no);
    ASSERT(client); /* clients are never deleted */
    json_object(w);
    json_key_string(w, "EventId", e->event_id);
    json_key_string(w, "AppId", app->id);
    json_key_string(w, "ClientId", client->id);
    client_unref(client);
    app_unref(app);
    json_key_string(w, "PanelistId", e->panelist_id);
    json_key_c(w, "Type", event_type_name(e->type));
    json_key_c(w, "State", callback_state_name(row->state));
    json_key_c(w, "Reason", callback_reason_name(row->reason));
    json_key_money(w, "Reward", e->reward_micros, payload_reward_digits(e));
    json_key_money(w, "RevenueAmount", e->revenue_micros, 2);
    json_key_c(w, "Cap", cap_part_name(e->cap));
    json_key_bool(w, "IsTest", e->is_test);
    json_key_time(w, "Timestamp", e->occurred_ms);
    json_key_time(w, "CreatedAt", e->accepted_ms);
    render_given(c, w, e);
    json_end_object(w);
}

/* The last attempt, in a list; null: there was none, it is no longer kept, or it was delivered. */
static void render_last_attempt(struct json_writer *w, const struct callback_row *row)
{
    json_key(w, "LastAttempt");
    if (row->log_count > 0)
        render_short_attempt(w, &row->log[row->log_count - 1]);
    else
        json_null(w);
}

void render_callback(struct call *c, struct json_writer *w, const struct callback_row *row,
                     enum callback_shown shown)
{
    struct app *app = app_of(c, row);
    json_object(w);
    render_facts(c, w, row, app);
    json_key_c(w, "Endpoint", lane_kind_name(row->event.lane));
    if (shown != SHOW_ITEM) {
        json_key_url_masked(w, "Url", app->url[row->event.lane]);
        render_body(c, w, &row->event, app);
    }
    json_key_time_or_null(w, "NextAttemptAt", row->next_attempt_ms);
    if (row->event.reason.p && c->is_operator) /* who wrote it wrote it for operators */
        json_key_string(w, "ReasonGiven", row->event.reason);
    json_key_int(w, "AttemptCount", row->attempts);
    if (shown != SHOW_WHOLE) {
        render_last_attempt(w, row);
    } else {
        json_key_array(w, "Attempts");
        for (size_t i = 0; i < row->log_count; i++) {
            json_object(w);
            render_attempt_members(c, w, &row->log[i], &row->event, app);
            json_end_object(w);
        }
        json_end_array(w);
    }
    json_end_object(w);
    app_unref(app);
}
