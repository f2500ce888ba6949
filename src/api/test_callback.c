/* POST /api/v1/apps/{AppId}/test-callback: sends one signed attempt of any RewardType and answers
 * with its result. With "Send":false nothing is sent, and the answer has the request that would
 * be. The store records nothing: a test counts in no report, feed, books or suspension. */
#include "accounts/fields.h"
#include "api/callback_render.h"
#include "api/internal.h"
#include "api/live.h"
#include "api/mutation.h"
#include "api/route.h"
#include "base/limits.h"
#include "delivery/callback_request.h"
#include "domain/event_type_list.h"
#include "domain/money.h"
#include "domain/payload.h"
#include "domain/request_format.h"
#include "domain/traceparent.h"
#include "domain/url_macros.h"
#include "send/request_print.h"

#include <stdio.h>

static const struct field_rule rules[] = {
    {"RewardType", true, false},    {"PanelistId", true, false},
    {"Url", true, false},           {"Reward", true, false},
    {"RevenueAmount", true, false}, {"RequestFormat", true, false},
    {"TrimDecimals", true, false},  {"NumericOfferGoalId", true, false},
    {"Send", true, false},
};

struct testing {
    struct call *c;
    struct delivery_test test;
    struct payload_options options;
    bool sends;
    char event_id[40];
};

static void test_done(struct task *task)
{
    struct testing *t = CONTAINER_OF(task, struct testing, test.done);
    struct arena arena = t->test.arena;
    if (t->test.busy) {
        call_answer_problem(
            t->c, 429,
            "Too many test callbacks to this host are in progress. Wait for one to end.");
        arena_free(&arena);
        return;
    }
    if (t->test.fault) {
        call_answer_problem(t->c, 503,
                            "This service could not send the test callback; the fault is its own, "
                            "not the receiver's. %s",
                            local_fault_text(t->test.fault));
        arena_free(&arena);
        return;
    }
    struct json_writer *w = call_begin_object(t->c);
    json_key_string(w, "RewardId", t->test.event.event_id);
    render_attempt_members(t->c, w, &t->test.attempt, &t->test.event, t->c->app);
    render_body(t->c, w, &t->test.event, t->c->app);
    call_end_object(t->c, 200);
    arena_free(&arena);
}

static bool is_apps_own(const struct app *app, struct str url)
{
    bool own = false;
    for (enum lane_kind k = LANE_SUCCESS; k < LANE_KINDS; k++)
        own = own || str_eq(app->url[k], url);
    return own;
}

/* The app's URL whose masked form was given; otherwise the given text. */
static struct str unmasked(const struct app *app, struct str given)
{
    struct str found = given;
    for (enum lane_kind k = LANE_SUCCESS; k < LANE_KINDS; k++)
        if (url_is_masked_form_of(given, app->url[k]))
            found = app->url[k];
    return found;
}

static void read_url(struct call *c, const struct json *object, struct testing *t)
{
    const struct json *m = json_member(object, "Url");
    struct url url;
    struct buf macros_why = {0};
    const char *why;
    if (!m || m->type == JSON_NULL)
        return;
    struct str given = m->type == JSON_STRING ? unmasked(c->app, m->text) : STR_NONE;
    if (m->type != JSON_STRING)
        problem_add(&c->problems, STR("Url"), "invalid", "A URL as a string.");
    else if (!is_apps_own(c->app, given) && !url_macros_check(given, &macros_why))
        problem_add(&c->problems, STR("Url"), "invalid", "%s", buf_c(&macros_why));
    else if (!url_parse(&t->test.arena, given, &url, &why))
        problem_add(&c->problems, STR("Url"), "invalid", "%s", why);
    else if (url_is_masked(&url))
        problem_add(&c->problems, STR("Url"), "invalid",
                    URL_MASKED_WHY ", or leave Url out to test the app's own");
    else
        t->test.url = arena_str(&t->test.arena, given);
    buf_free(&macros_why);
}

/* A test contains a valid Sig, with which its sender could forge callbacks: so tests are not sent
 * to any URL. */
static bool may_send_to(const struct call *c, struct str url)
{
    return !url.p || is_apps_own(c->app, url) || call_may(c, SCOPE_APPS_WRITE);
}

static void read_names(const struct fields *f, struct testing *t)
{
    struct event *e = &t->test.event;
    struct str type = STR_NONE, panelist_id = STR_NONE;
    fields_required(f, "RewardType");
    fields_text(f, "RewardType", 0, NAME_BYTES_MAX, &type);
    if (type.p && (!event_type_parse(type, &e->type) || e->type == EVENT_SURVEY_STARTED))
        event_types_refuse(f->faults, STR("RewardType"), "must be one of", EVENT_TYPES_REWARD);
    fields_required(f, "PanelistId");
    fields_text(f, "PanelistId", 1, LIMIT_PANELIST_ID_BYTES, &panelist_id);
    e->panelist_id = arena_str(&t->test.arena, panelist_id);
}

static void read_amounts(const struct fields *f, struct event *e)
{
    bool may_be_negative = e->type == EVENT_AD_HOC || e->type == EVENT_OFFER_COMPLETION_REVERSED;
    int64_t reward = MONEY_MAX_REWARD_MICROS, revenue = MONEY_MAX_REVENUE_MICROS;
    e->reward_micros = e->revenue_micros = MICROS_PER_UNIT;
    fields_money(f, "Reward", may_be_negative ? -reward : 0, reward, &e->reward_micros, NULL);
    fields_money(f, "RevenueAmount", may_be_negative ? -revenue : 0, revenue, &e->revenue_micros,
                 NULL);
}

/* A random id that no event has: EventIds with this prefix are refused. */
static void name_test(struct testing *t, struct env *env)
{
    uint64_t random;
    env_random(env, &random, sizeof random);
    snprintf(t->event_id, sizeof t->event_id, EVENT_ID_OF_TESTS "%016llx",
             (unsigned long long)random);
    t->test.event.event_id = str_of(t->event_id);
}

/* Fills in plausible amounts if none are given, and what the type requires: clicks have zeros. */
static void fill_event(struct testing *t, const struct app *app)
{
    struct event *e = &t->test.event;
    e->account_no = app->terms.account_no;
    e->app_no = app->app_no;
    e->lane = app_lane(&app->terms, e->type, true);
    e->is_test = true;
    e->reward_decimals = app->terms.reward_decimals;
    e->occurred_ms = e->accepted_ms = call_now_ms(t->c);
    if (event_type_is_offer(e->type)) {
        e->offer_id = 1;
        e->offer_title = STR("Test offer");
        e->offer_goal_id = e->type == EVENT_OFFER_CLICKED ? STR_NONE : STR("1");
    }
    if (e->type == EVENT_OFFER_CLICKED) {
        e->reward_micros = e->revenue_micros = 0;
    } else if (e->type == EVENT_OFFER_COMPLETION_REVERSED) {
        e->original_reward_id = STR(EVENT_ID_OF_TESTS "original");
        e->reward_micros = e->reward_micros > 0 ? -e->reward_micros : e->reward_micros;
        e->revenue_micros = e->revenue_micros > 0 ? -e->revenue_micros : e->revenue_micros;
    }
}

/* True if the receiver could not tell this signed test from a real callback: such a test may only
 * go to the URL for tests. */
static bool looks_real(const struct testing *t, const struct app *app)
{
    struct str url = t->test.url.p ? t->test.url : app->url[t->test.event.lane];
    bool is_for_tests = app->url[LANE_TEST].p && str_eq(url, app->url[LANE_TEST]);
    for (enum lane_kind k = LANE_SUCCESS; k < LANE_KINDS; k++)
        is_for_tests = is_for_tests && (k == LANE_TEST || !str_eq(url, app->url[k]));
    return !is_for_tests && !request_shows_test(t->test.format, url);
}

static void print_body(struct testing *t)
{
    struct buf body = {0};
    t->test.event.signature_offset = payload_print(&body, &t->test.event, &t->options);
    t->test.event.body = arena_take(&t->test.arena, &body);
}

/* "Name: value\r\n" lines as an object. */
static void print_headers(struct json_writer *w, struct str lines)
{
    json_key_object(w, "Headers");
    while (lines.n) {
        struct str value = str_cut(&lines, '\r'), name = str_cut(&value, ':');
        lines = (struct str){lines.p + 1, lines.n - 1};
        json_key_str(w, name);
        json_string(w, str_trim(value));
    }
    json_end_object(w);
}

/* `postbackd listen` gets a copy, as JSON whatever the test's format is. */
static void tell_live(struct testing *t)
{
    struct call *c = t->c;
    const struct event *e = &t->test.event;
    struct request_source from = request_of_test(e, REQUEST_JSON, STR("/"));
    struct callback_request request = {0};
    struct buf json = {0};
    struct json_writer w;
    request_build(&request, &from, c->app, call_now_ms(c));
    json_write_to(&w, &json);
    json_object(&w);
    json_key_string(&w, "RewardId", e->event_id);
    json_key_string(&w, "AppId", c->app->id);
    json_key_c(&w, "RewardType", event_type_name(e->type));
    print_headers(&w, buf_str(&request.headers));
    json_key_string(&w, "Body", buf_str(&request.body));
    json_end_object(&w);
    live_test(c->api->options.live, c->account_no, call_now_ms(c), buf_str(&json));
    request_free(&request);
    buf_free(&json);
}

static void written(struct call *c, enum store_status status)
{
    struct testing *t = c->work;
    struct arena arena = t->test.arena; /* answering frees the call, and `t` with it */
    if (call_store_ok(c, status)) {
        tell_live(t);
        delivery_send_test(c->api->options.delivery, &t->test);
    } else {
        arena_free(&arena);
    }
}

/* The audit entry is stored before the test is sent. */
static void write_down(struct testing *t)
{
    struct call *c = t->c;
    const struct event *e = &t->test.event;
    struct audit_note note = {
        .action = "app.test_sent",
        .account_no = c->account_no,
        .object_kind = "app",
        .object_id = c->app->id,
    };
    struct json_writer w;
    json_write_to(&w, &note.after);
    json_object(&w);
    json_key_string(&w, "RewardId", e->event_id);
    json_key_c(&w, "RewardType", event_type_name(e->type));
    json_key_url_masked(&w, "Url", t->test.url.p ? t->test.url : c->app->url[e->lane]);
    json_end_object(&w);
    call_note(c, &note, written);
}

/* --- without sending it ----------------------------------------------------------------------- */

/* The headers and the URL of an attempt made now. */
static void print_request(struct testing *t, struct buf *url_room)
{
    struct delivery_test *test = &t->test;
    const struct event *e = &test->event;
    const struct app *app = t->c->app;
    struct str set = test->url.p ? test->url : app->url[e->lane];
    struct url url = app->parsed[e->lane];
    const char *why;
    struct buf agent = {0}, log = {0};
    struct request_fixed fixed = {0};
    struct callback_request request = {0};
    if (test->url.p)
        ASSERT(url_parse(&test->arena, set, &url, &why)); /* it was parsed before */
    struct request_source from = request_of_test(e, test->format, url.target);
    request_build(&request, &from, app, call_now_ms(t->c));
    struct exchange x = {
        .url = &url,
        .headers = buf_str(&request.headers),
        .body = buf_str(&request.body),
        .format = test->format,
    };
    buf_printf(&agent, "postbackd/%s", t->c->api->options.version);
    request_fixed_make(&fixed, &url, buf_c(&agent));
    request_print_log(&log, &fixed, &x);
    test->attempt.url = url_masked(set, url_room);
    test->attempt.request_headers = arena_take(&test->arena, &log);
    request_free(&request);
    buf_free(&agent);
    request_fixed_free(&fixed);
}

static void show(struct testing *t)
{
    struct call *c = t->c;
    struct arena *arena = &t->test.arena;
    struct buf url = {0};
    print_request(t, &url);
    struct json_writer *w = call_begin_object(c);
    json_key_string(w, "RewardId", t->test.event.event_id);
    render_request(c, w, &t->test.attempt, &t->test.event, c->app);
    render_body(c, w, &t->test.event, c->app);
    arena_free(arena);
    call_end_object(c, 200);
    buf_free(&url);
}

void app_test_callback(struct call *c)
{
    const struct json *object;
    if (!call_read_object(c, &object))
        return;
    struct testing *t = call_alloc(c, sizeof *t);
    t->c = c;
    t->test.format = c->app->request_format;
    t->options = payload_options_of(&c->app->terms, STR("test"), INTEGRATION_SDK);
    t->options.trace = traceparent_pack(http_header(c->r, "traceparent"), &t->test.arena);
    t->sends = true;
    struct fields f = {.body = object, .faults = &c->problems};
    if (fields_check(&f, rules, ARRAY_LEN(rules)))
        read_names(&f, t);
    read_url(c, object, t);
    fields_request_format(&f, "RequestFormat", &t->test.format);
    fields_bool(&f, "TrimDecimals", &t->options.trim_decimals);
    fields_bool(&f, "NumericOfferGoalId", &t->options.numeric_goal_ids);
    fields_bool(&f, "Send", &t->sends);
    if (!may_send_to(c, t->test.url)) {
        struct arena arena = t->test.arena;
        call_answer_problem(c, 403,
                            "A test to a Url that is not one of the app's own needs the scope "
                            "apps:write: it carries a Sig. Leave Url out, or have it configured.");
        arena_free(&arena);
        return;
    }
    read_amounts(&f, &t->test.event);
    if (!c->problems.count && !t->test.url.p &&
        !c->app->url[app_lane(&c->app->terms, t->test.event.type, true)].p)
        problem_add(&c->problems, STR("Url"), "required",
                    "The app has no URL for this RewardType; configure one or give Url.");
    if (c->problems.count) {
        arena_free(&t->test.arena);
        call_answer_invalid(c);
        return;
    }
    name_test(t, c->api->options.env);
    fill_event(t, c->app);
    print_body(t);
    if (!t->sends) {
        show(t);
        return;
    }
    if (looks_real(t, c->app)) {
        struct arena arena = t->test.arena;
        call_answer_problem(c, 409,
                            "With this URL your server could not tell the test from a real "
                            "callback, and would credit it. Put {RewardId} or {IsTest} into the "
                            "URL's query, or set a TestCallbackUrl that only tests go to and leave "
                            "Url out.");
        arena_free(&arena);
        return;
    }
    t->test.app_no = c->app->app_no;
    t->test.done.run = test_done;
    t->test.reply_to = call_executor(c);
    c->work = t;
    write_down(t);
}
