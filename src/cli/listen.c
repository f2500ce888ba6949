/* postbackd listen: a partner's new callbacks, copied to a server that nobody outside can reach.
 *
 * The feed of rewards is read from where it ends at the start, once a second. Each new reward's
 * body is signed anew with the app's Callback Secret and posted to --to. The server at --url knows
 * nothing of the copy: it counts neither as an attempt nor as a delivery. */
#include "cli/client.h"
#include "cli/command.h"

#include "base/env.h"
#include "domain/payload.h"
#include "domain/signature.h"
#include "json/reader.h"

#include <stdio.h>
#include <unistd.h>

#define LOOK_EVERY_S 1
#define ANSWER_SHOWN_BYTES 200

struct listening {
    struct client_session *server, *target;
    struct json_parser *parser;
    struct arena arena; /* of one look */
    struct buf after;   /* the cursor into the feed; empty: from its beginning */
    bool is_away;       /* said already */
};

/* How a question to the server ended. */
enum asked { ASKED_OK, ASKED_LATER, ASKED_REFUSED };

static enum asked say_why(struct listening *l, int status, const struct json *answer)
{
    bool later = status == 0 || status == 429 || status == 503;
    struct str detail = json_member_text(answer, "detail");
    if (!later)
        command_fail(1, "the server refuses: %d %.*s%s", status, STR_ARG(detail),
                     status == 403 ? " It takes callbacks:read and apps:write." : "");
    else if (!l->is_away)
        command_fail(1, "the server does not answer now (%d); trying again", status);
    l->is_away = later;
    return later ? ASKED_LATER : ASKED_REFUSED;
}

/* *ret lives until the end of the look. */
static enum asked ask(struct listening *l, const char *path, const struct json **ret)
{
    struct buf text = {0};
    struct json *answer = NULL;
    struct str why;
    int status = client_request(l->server, "GET", path, "", STR_NONE, &text);
    struct str kept = arena_str(&l->arena, buf_str(&text));
    buf_free(&text);
    bool readable = status && json_parse(l->parser, &l->arena, kept, &answer, &why) &&
                    answer->type == JSON_OBJECT;
    if (status != 200)
        return say_why(l, status, readable ? answer : NULL);
    if (!readable) {
        command_fail(1, "the answer is not JSON: is --url a postbackd server?");
        return ASKED_REFUSED;
    }
    l->is_away = false;
    *ret = answer;
    return ASKED_OK;
}

static void sign(struct listening *l, struct str id, struct str secret, struct str body)
{
    char signature[WEBHOOK_SIGNATURE_BYTES], at[24];
    int64_t now_s = env_wall_ms(env_real()) / 1000;
    snprintf(at, sizeof at, "%lld", (long long)now_s);
    signature_webhook(secret, id, now_s, body, signature);
    client_add_header(l->target, "webhook-id", id);
    client_add_header(l->target, "webhook-timestamp", str_of(at));
    client_add_header(l->target, "webhook-signature", str_of(signature));
}

static void forward(struct listening *l, const struct json *reward, struct str secret)
{
    struct str id = json_member_text(reward, "RewardId"),
               type = json_member_text(reward, "RewardType");
    struct str body = json_member_text(reward, "Body");
    if (!body.p) {
        printf("%.*s %.*s: its body is no longer stored\n", STR_ARG(type), STR_ARG(id));
        return;
    }
    struct buf answer = {0};
    sign(l, id, secret, body);
    int64_t began_ms = env_mono_ms(env_real());
    int status = client_request(l->target, "POST", "", "application/json", body, &answer);
    int64_t took_ms = env_mono_ms(env_real()) - began_ms;
    struct str shown = {answer.p, answer.n < ANSWER_SHOWN_BYTES ? answer.n : ANSWER_SHOWN_BYTES};
    if (status)
        printf("%d %.*s %.*s in %lld ms: ", status, STR_ARG(type), STR_ARG(id), (long long)took_ms);
    else
        printf("no answer to %.*s %.*s: ", STR_ARG(type), STR_ARG(id));
    for (size_t i = 0; i < shown.n; i++)
        putchar((unsigned char)shown.p[i] < ' ' || shown.p[i] == 0x7f ? ' ' : shown.p[i]);
    putchar('\n');
    fflush(stdout);
    buf_free(&answer);
}

static enum asked copy(struct listening *l, struct str reward_id)
{
    const struct json *reward = NULL, *secret = NULL;
    struct buf path = {0};
    buf_add_c(&path, "/api/v1/callbacks/");
    client_add_escaped(&path, reward_id);
    enum asked asked = ask(l, buf_c(&path), &reward);
    if (asked == ASKED_OK) {
        buf_clear(&path);
        buf_add_c(&path, "/api/v1/apps/");
        client_add_escaped(&path, json_member_text(reward, "AppId"));
        buf_add_c(&path, "/secret");
        asked = ask(l, buf_c(&path), &secret);
    }
    if (asked == ASKED_OK)
        forward(l, reward, json_member_text(secret, "CallbackSecret"));
    buf_free(&path);
    return asked;
}

/* One page of the feed; its rewards are copied only where `copies`. */
static enum asked read_page(struct listening *l, bool copies, bool *ret_more)
{
    const struct json *page = NULL;
    struct buf path = {0};
    buf_add_c(&path, "/api/v1/rewards?limit=1");
    if (l->after.n)
        buf_printf(&path, "&after=%s", buf_c(&l->after));
    enum asked asked = ask(l, buf_c(&path), &page);
    buf_free(&path);
    const struct json *items = asked == ASKED_OK ? json_member(page, "Items") : NULL;
    *ret_more = items && items->first;
    if (*ret_more && copies)
        asked = copy(l, json_member_text(items->first, "RewardId"));
    struct str next = json_member_text(page, "Next");
    if (asked == ASKED_OK && next.p) {
        buf_clear(&l->after);
        buf_add_str(&l->after, next);
    }
    return asked;
}

/* Where the feed ends now: behind the newest callback. */
static enum asked find_end(struct listening *l)
{
    const struct json *newest = NULL;
    bool more = true;
    enum asked asked = ask(l, "/api/v1/callbacks?limit=1", &newest);
    struct str next = json_member_text(newest, "Next");
    if (next.p)
        buf_add_str(&l->after, next);
    else
        while (asked == ASKED_OK && more)
            asked = read_page(l, false, &more);
    return asked;
}

static int listen_until_refused(struct listening *l)
{
    enum asked asked;
    while ((asked = find_end(l)) == ASKED_LATER)
        sleep(LOOK_EVERY_S);
    if (asked == ASKED_OK)
        puts("listening - stop with Ctrl-C");
    fflush(stdout);
    while (asked != ASKED_REFUSED) {
        bool more = true;
        while (more && (asked = read_page(l, true, &more)) == ASKED_OK)
            arena_free(&l->arena);
        arena_free(&l->arena);
        if (asked != ASKED_REFUSED)
            sleep(LOOK_EVERY_S);
    }
    return 1;
}

int command_listen(struct settings *s)
{
    struct str key = settings_text(s, OPTION_KEY), to = settings_text(s, OPTION_TO);
    if (!key.p)
        key = settings_text(s, OPTION_API_KEY);
    if (!key.p)
        return command_fail(EXIT_USAGE, "listen needs --key, or POSTBACKD_API_KEY, of your account "
                                        "with the scopes callbacks:read and apps:write.");
    if (!str_has_prefix(to, "http://") && !str_has_prefix(to, "https://"))
        return command_fail(EXIT_USAGE, "listen needs --to, your server's URL, such as "
                                        "http://localhost:3000/hook.");
    struct listening l = {
        .server = client_open(settings_text(s, OPTION_URL), key),
        .target = client_open(to, STR_NONE),
        .parser = json_parser_new(),
    };
    int status = listen_until_refused(&l);
    client_close(l.server);
    client_close(l.target);
    json_parser_free(l.parser);
    arena_free(&l.arena);
    buf_free(&l.after);
    return status;
}
