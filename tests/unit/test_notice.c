/* What the store keeps of a notice comes back as it was, whatever stands in its texts. */
#include "check.h"

#include "operations/notice.h"
#include "json/reader.h"

#include <stdio.h>
#include <string.h>

static struct notice *some_notice(void)
{
    struct notice *n =
        notice_new(NULL, OPERATIONS_OF_HEALTH, OPERATIONS_BY_MAIL, 7, 12, LANE_OFFER);
    n->is = OPERATIONS_SUSPENDED;
    n->told = OPERATIONS_DISABLED;
    n->since_ms = 1763726400123;
    n->class = ATTEMPT_STATUS;
    n->status = 503;
    n->error_ms = 1763726400100;
    n->owed_ms = 1763726400200;
    n->sent_ms = 1763726400300;
    snprintf(n->detail, sizeof n->detail, "%s", "It said \"no\"\n\xc3\xbc.");
    return n;
}

static void check_round(const struct notice *n)
{
    struct buf once = {0}, twice = {0};
    notice_print(&once, n);
    struct notice *back = notice_read(NULL, buf_str(&once));
    CHECK(back != NULL);
    if (back) {
        notice_print(&twice, back);
        CHECK_CSTR(buf_c(&twice), buf_c(&once));
        CHECK_CSTR(back->detail, n->detail);
        CHECK_CSTR(back->object_id, "12-3-0-1");
        CHECK_EQ_INT(back->channel, OPERATIONS_BY_MAIL);
        CHECK(str_eq(buf_str(&back->body), buf_str(&n->body)));
        notice_free(back);
    }
    buf_free(&once);
    buf_free(&twice);
}

static void a_notice_comes_back(void)
{
    struct notice *n = some_notice();
    check_round(n);
    n->saying = OPERATIONS_SUSPENDED;
    snprintf(n->id, sizeof n->id, "%s", "ops_1");
    buf_add_c(&n->body, "{\"Type\":\"endpoint.suspended\"}");
    n->has_format = true;
    n->format = REQUEST_GET;
    check_round(n);
    notice_free(n);
}

/* The app may have another RequestFormat by now. */
static void its_fix_is_for_the_request_that_was_made(void)
{
    struct app app = {.request_format = REQUEST_GET};
    struct notice *n = some_notice();
    struct buf document = {0};
    n->status = 405;
    CHECK(str_has_prefix(str_of(notice_fix(n, &app)), "Route GET ")); /* not known: the app's */
    n->has_format = true;
    n->format = REQUEST_JSON;
    CHECK(str_has_prefix(str_of(notice_fix(n, &app)), "Route POST "));
    notice_print(&document, n);
    notice_free(n);
    n = notice_read(NULL, buf_str(&document));
    if (CHECK(n)) {
        CHECK(str_has_prefix(str_of(notice_fix(n, &app)), "Route POST "));
        notice_free(n);
    }
    buf_free(&document);
}

static void a_person_s_notice_comes_back(void)
{
    struct buf once = {0}, twice = {0};
    struct notice *n = notice_new(NULL, OPERATIONS_OF_HEALTH, OPERATIONS_TO_PERSON, UINT32_MAX,
                                  UINT32_MAX, LANE_OFFER);
    notice_set_user(n, UINT32_MAX);
    notice_print(&once, n);
    struct notice *back = notice_read(NULL, buf_str(&once));
    CHECK(back != NULL);
    if (back) {
        notice_print(&twice, back);
        CHECK_CSTR(buf_c(&twice), buf_c(&once));
        CHECK_CSTR(back->object_id, "4294967295-3-0-3-u4294967295");
        notice_free(back);
    }
    notice_free(n);
    buf_free(&once);
    buf_free(&twice);
}

static void what_is_no_notice_is_refused(void)
{
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "{\"Account\":1}",
        "{\"Channel\":0,\"Account\":0,\"App\":1,\"Kind\":1,\"Is\":0,\"Told\":0,\"Since\":0,"
        "\"Class\":0,"
        "\"Status\":0,\"ErrorAt\":0,\"Detail\":\"\",\"Owed\":0,\"Sent\":0}",
        "{\"Account\":1,\"App\":1,\"Kind\":9,\"Is\":0,\"Told\":0,\"Since\":0,\"Class\":0,"
        "\"Status\":0,\"ErrorAt\":0,\"Detail\":\"\",\"Owed\":0,\"Sent\":0}",
        "{\"Account\":1,\"App\":1,\"Kind\":1,\"Is\":0,\"Told\":0,\"Since\":0,\"Class\":0,"
        "\"Status\":0,\"ErrorAt\":0,\"Detail\":\"\",\"Owed\":0,\"Sent\":0,\"Body\":3,\"Saying\":0,"
        "\"Id\":"
        "\"x\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(notice_read(NULL, str_of(bad[i])) == NULL);
}

/* The body of a message about an app with a name that calls everybody and ends what it stands in.
 */
static const struct json *chat(struct arena *arena, enum operations_format format, size_t url_bytes)
{
    struct notice *n = some_notice();
    struct buf body = {0}, url = {0};
    struct str why;
    struct json *object = NULL;
    buf_add_c(&url, "https://partner.example/");
    while (url.n < url_bytes)
        buf_add_c(&url, "\xc3\xbc");
    struct app app = {.id = STR("game"), .name = STR("<!channel> @everyone ``` & **x**")};
    app.url[LANE_OFFER] = buf_str(&url);
    chat_text_print(&body, n, NULL, &app, STR("https://postback.example"), format);
    CHECK(json_parse(arena, arena_str(arena, buf_str(&body)), &object, &why));
    buf_free(&body);
    buf_free(&url);
    notice_free(n);
    return object;
}

static bool has(struct str text, const char *what)
{
    return memmem(text.p, text.n, what, strlen(what)) != NULL;
}

static void no_chat_reads_a_name_as_markup(void)
{
    struct arena arena = {0};
    struct str slack = json_member_text(chat(&arena, OPERATIONS_SLACK, 0), "text");
    CHECK(has(slack, "game: the Offer Callback URL is d"));
    CHECK(has(slack, "&lt;!channel&gt; @everyone ``` &amp; **x**") && !has(slack, "<"));
    CHECK(has(slack, "Dashboard: https://postback.example"));

    const struct json *message = chat(&arena, OPERATIONS_DISCORD, 0);
    struct str discord = json_member_text(message, "content");
    const struct json *mentions = json_member(message, "allowed_mentions");
    CHECK(json_member(mentions, "parse") && !json_member(mentions, "parse")->first);
    CHECK(has(discord, "<!channel> @everyone ''' & **x**"));
    CHECK(has(discord, "\n```\nDashboard: https://postback.example"));

    const struct json *card = json_member(
        json_member(chat(&arena, OPERATIONS_TEAMS, 0), "attachments")->first, "content");
    for (const struct json *b = json_member(card, "body")->first; b; b = b->next)
        CHECK(str_is(json_member_text(b, "type"), "RichTextBlock"));
    CHECK(str_is(json_member_text(json_member(card, "actions")->first, "url"),
                 "https://postback.example"));
    arena_free(&arena);
}

static void the_longest_message_keeps_to_the_limits(void)
{
    struct arena arena = {0};
    struct str discord = json_member_text(chat(&arena, OPERATIONS_DISCORD, 2048), "content");
    CHECK(discord.n <= 2000 && discord.n > 1990 && str_is_utf8(discord));
    CHECK(has(discord, "\n```\nDashboard: https://postback.example"));
    CHECK(json_member_text(chat(&arena, OPERATIONS_SLACK, 2048), "text").n < 40000);
    arena_free(&arena);
}

int main(void)
{
    RUN(no_chat_reads_a_name_as_markup);
    RUN(the_longest_message_keeps_to_the_limits);
    RUN(a_notice_comes_back);
    RUN(its_fix_is_for_the_request_that_was_made);
    RUN(a_person_s_notice_comes_back);
    RUN(what_is_no_notice_is_refused);
    return check_done("notice");
}
