/* POST /api/v1/apps/{AppId}/verify-callback: checks a received body with the app's own secrets:
 * whether Sig and webhook-signature match and, if not, why. The answer contains nothing of a
 * secret. */
#include "accounts/fields.h"
#include "api/mutation.h"
#include "api/route.h"
#include "domain/signature.h"
#include "domain/verify_sig.h"

static const struct field_rule rules[] = {
    {"Body", true, false},
    {"Secret", true, false},
    {"WebhookId", true, false},
    {"WebhookTimestamp", true, false},
    {"WebhookSignature", true, false},
};

struct judging {
    struct call *c;
    const struct json *asked;
    struct str secrets[LIVE_SECRETS_MOST]; /* live, newest first */
    size_t secret_count;
    struct json_writer *w;
    bool secret_is_right; /* the given one, the receiver's */
};

static void refuse_faults(struct call *c, const struct json *asked)
{
    struct fields f = {.body = asked, .faults = &c->problems};
    struct str text;
    if (!fields_check(&f, rules, ARRAY_LEN(rules)))
        return;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        fields_text(&f, rules[i].name, 0, LIMIT_CHANGE_BODY_BYTES, &text);
    fields_required(&f, "Body");
}

static void finding(struct judging *j, bool matches, const char *cause, struct str detail)
{
    json_object(j->w);
    json_key_bool(j->w, "Matches", matches);
    json_key_c(j->w, "Cause", cause);
    json_key_string(j->w, "Detail", detail);
    json_end_object(j->w);
}

/* --- Sig ------------------------------------------------------------------------------------ */

static struct verify_input input_of(const struct json *body, struct str secret)
{
    return (struct verify_input){
        .panelist_id = json_member_text(body, "PanelistId"),
        .reward_id = json_member_text(body, "RewardId"),
        .sig = json_member_text(body, "Sig"),
        .signature = json_member_text(body, "Signature"),
        .secret = secret,
    };
}

static enum verify_cause judge_with(const struct json *body, struct str secret, struct buf *why)
{
    struct verify_input in = input_of(body, secret);
    buf_clear(why);
    return verify_sig(&in, why);
}

static struct str detail_of_match(const struct json *body)
{
    struct verify_input in = input_of(body, STR_NONE);
    if (verify_is_test(&in))
        return STR("It is a test: its RewardId begins with " EVENT_ID_OF_TESTS ". Do not pay it.");
    return STR_NONE;
}

/* Tries the app's secrets first: a Sig made with one of them is right. Then the receiver's secret,
 * which is another app's or an old one. */
static void judge_sig(struct judging *j, const struct json *body)
{
    struct str given = json_member_text(j->asked, "Secret");
    struct buf why = {0}, newest = {0};
    enum verify_cause cause = VERIFY_UNEXPLAINED;
    for (size_t i = 0; i < j->secret_count && cause != VERIFY_OK; i++) {
        enum verify_cause found = judge_with(body, j->secrets[i], &why);
        if (i == 0 || found == VERIFY_OK)
            cause = found;
        if (i == 0)
            buf_add_str(&newest, buf_str(&why));
    }
    bool same = !given.p;
    for (size_t i = 0; i < j->secret_count; i++)
        same |= str_eq(given, j->secrets[i]);
    if (!same)
        finding(j, cause == VERIFY_OK, "wrong_secret",
                cause == VERIFY_OK
                    ? STR("The Sig is right, but your secret is not this app's: it is another "
                          "app's, an old one, or has white space around it.")
                    : STR("Your secret is not this app's: it is another app's, an old one, or has "
                          "white space around it."));
    else if (cause == VERIFY_OK)
        finding(j, true, NULL, detail_of_match(body));
    else
        finding(j, false, verify_cause_name(cause), buf_str(&newest));
    j->secret_is_right = given.p && same && cause == VERIFY_OK;
    buf_free(&why);
    buf_free(&newest);
}

/* --- webhook-signature ------------------------------------------------------------------------ */

static bool holds(struct str signatures, const char *one)
{
    while (signatures.p)
        if (str_is(str_trim(str_cut(&signatures, ' ')), one))
            return true;
    return false;
}

static bool webhook_matches(const struct judging *j, int64_t timestamp_s, struct str body)
{
    char text[WEBHOOK_SIGNATURE_BYTES];
    for (size_t i = 0; i < j->secret_count; i++) {
        signature_webhook(j->secrets[i], json_member_text(j->asked, "WebhookId"), timestamp_s, body,
                          text);
        if (holds(json_member_text(j->asked, "WebhookSignature"), text))
            return true;
    }
    return false;
}

static bool whole_number(struct str s, int64_t *ret)
{
    uint64_t value;
    if (s.n > 12 || !str_parse_uint(s, INT64_MAX, &value))
        return false;
    *ret = (int64_t)value;
    return true;
}

static struct str without_space(struct str s)
{
    while (s.n && (s.p[0] == ' ' || (s.p[0] >= '\t' && s.p[0] <= '\r')))
        s = (struct str){s.p + 1, s.n - 1};
    while (s.n && (s.p[s.n - 1] == ' ' || (s.p[s.n - 1] >= '\t' && s.p[s.n - 1] <= '\r')))
        s.n--;
    return s;
}

static void judge_webhook(struct judging *j)
{
    struct str body = json_member_text(j->asked, "Body");
    int64_t timestamp_s;
    if (!json_member_text(j->asked, "WebhookSignature").p)
        json_null(j->w);
    else if (!whole_number(str_trim(json_member_text(j->asked, "WebhookTimestamp")), &timestamp_s))
        finding(j, false, "timestamp",
                STR("webhook-timestamp is missing or is not whole seconds; take it from the same "
                    "request as the signature."));
    else if (webhook_matches(j, timestamp_s, body))
        finding(j, true, NULL, STR_NONE);
    else if (webhook_matches(j, timestamp_s, without_space(body)))
        finding(j, false, "white_space",
                STR("It matches without the white space around the body: sign the bytes as they "
                    "came, without a line end added."));
    else
        finding(j, false, "unexplained",
                STR("The body's bytes, webhook-id or webhook-timestamp are not those that were "
                    "signed, or the secret was another one. Sign the raw body: JSON that was "
                    "parsed and written again has other bytes."));
}

static void written_down(struct call *c, enum store_status status)
{
    if (call_store_ok(c, status))
        call_end_json(c, 200);
}

/* Setting an app up includes checking the receiver's secret: all of its people see that step. */
static void write_down(struct call *c)
{
    struct audit_note note = {
        .action = "app.secret_checked",
        .account_no = c->account_no,
        .object_kind = "app",
        .object_id = c->app->id,
    };
    call_note(c, &note, written_down);
}

void app_verify_callback(struct call *c)
{
    const struct json *asked;
    if (!call_read_object(c, &asked))
        return;
    refuse_faults(c, asked);
    struct json *body = NULL;
    struct str why;
    if (!c->problems.count &&
        !json_parse(&c->r->arena, json_member_text(asked, "Body"), &body, &why))
        problem_add(&c->problems, STR("Body"), "invalid", "It is not valid JSON: %.*s",
                    STR_ARG(why));
    else if (body && body->type != JSON_OBJECT)
        problem_add(&c->problems, STR("Body"), "invalid", "It is JSON, but not an object.");
    if (c->problems.count) {
        call_answer_invalid(c);
        return;
    }
    struct judging j = {.c = c, .asked = asked, .w = call_begin_object(c)};
    j.secret_count = secrets_live(&c->app->secrets, call_now_ms(c), j.secrets);
    json_key_string(j.w, "RewardId", json_member_text(body, "RewardId"));
    json_key(j.w, "Sig");
    judge_sig(&j, body);
    json_key(j.w, "WebhookSignature");
    judge_webhook(&j);
    json_end_object(j.w);
    if (j.secret_is_right)
        write_down(c);
    else
        call_end_json(c, 200);
}
