/* postbackd listen: a partner's new callbacks and tests, copied to a server that nobody outside can
 * reach.
 *
 * One connection to the live stream says when something has been accepted; then the feed of rewards
 * is read from where it ended, and each new reward's body is signed anew with the app's Callback
 * Secret and posted to --to. The feed's cursor survives a lost connection, so no callback is missed
 * or repeated. The bodies of a page of the feed come with one page of the list of callbacks: a key
 * has a limit of reads, and one for each callback would soon use it up. Tests come whole over the
 * stream, which goes on behind its Last-Event-ID. To the server at --url a copy counts neither as
 * an attempt nor as a delivery. */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/event_stream.h"

#include "base/alloc.h"
#include "base/allowance.h"
#include "base/env.h"
#include "base/plain_text.h"
#include "domain/clock.h"
#include "domain/signature.h"
#include "json/reader.h"
#include "json/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RECONNECT_AFTER_S 1
#define ANSWER_SHOWN_BYTES 200
#define SECRET_KEPT_MS (5 * MINUTE_MS)
#define WAIT_MOST_S 300
#define FEED_PAGE 500 /* the server's maximum per page */
/* An account may report 600 times a minute, with all its listeners: one `listen` reports the first
 * hundred, as many as the server keeps, and then half of what is refilled. */
#define REPORT_EVERY_MS 200
#define REPORTS_AT_ONCE 100
static const struct allowance reports = {REPORT_EVERY_MS, REPORTS_AT_ONCE *REPORT_EVERY_MS};

/* An app's Callback Secret. Reading it adds an entry to the audit log, so it is kept for a while: a
 * rotation is noticed that late, and the old secret is live meanwhile. */
struct app_secret {
    struct app_secret *next;
    struct buf app_id, text;
    int64_t until_mono_ms;
};

struct listening {
    struct client_session *live, *server, *target;
    struct event_stream stream;
    struct arena arena;      /* of one event, or one page of the feed */
    struct buf after;        /* the feed's cursor; empty: from its beginning */
    size_t copied;           /* of the unfinished page after `after` */
    int64_t reports_mono_ms; /* when REPORTS_AT_ONCE reports are allowed again */
    long wait_s;             /* until the server is asked again */
    struct app_secret *secrets;
    bool is_away;      /* said already */
    bool is_listening; /* said already */
    bool is_held;      /* printed already: a proxy seems to buffer the stream */
    bool is_refused;   /* printed already; then it ends */
};

/* The result of a request to the server. */
enum asked { ASKED_OK, ASKED_LATER, ASKED_REFUSED };

/* As the server asks; a date, which our server never sends, counts as the minimum. */
static void note_wait(struct listening *l, struct client_session *asked)
{
    struct buf text = {0};
    if (client_answer_header(asked, "Retry-After", &text)) {
        long s = strtol(buf_c(&text), NULL, 10);
        s = s < WAIT_MOST_S ? s : WAIT_MOST_S;
        l->wait_s = s > l->wait_s ? s : l->wait_s;
    }
    buf_free(&text);
}

static enum asked say_why(struct listening *l, struct client_session *asked, int status,
                          const struct json *answer)
{
    bool later = status == 0 || status == 429 || status >= 500;
    struct str detail = str_trim_end(json_member_text(answer, "detail"), '.');
    if (later && status)
        note_wait(l, asked);
    if (!later)
        command_fail(1, "the server refuses: %d %.*s", status, STR_ARG(detail));
    else if (!l->is_away && status == 429)
        command_fail(1, "too many requests (429): %.*s; trying again in %ld s", STR_ARG(detail),
                     l->wait_s);
    else if (!l->is_away && status)
        command_fail(1, "the server does not answer now (%d); trying again", status);
    else if (!l->is_away)
        command_fail(1, "the server does not answer now: %s; trying again", client_failure(asked));
    l->is_away = later;
    return later ? ASKED_LATER : ASKED_REFUSED;
}

static void wait_as_asked(struct listening *l)
{
    sleep((unsigned)l->wait_s);
    l->wait_s = RECONNECT_AFTER_S;
}

static int ask_once(struct listening *l, const char *path, const struct json **ret)
{
    struct buf text = {0};
    struct json *answer = NULL;
    struct str why;
    int status = client_request(l->server, "GET", path, "", STR_NONE, &text);
    struct str kept = arena_take(&l->arena, &text);
    bool readable =
        status && json_parse(&l->arena, kept, &answer, &why) && answer->type == JSON_OBJECT;
    *ret = readable ? answer : NULL;
    return status;
}

/* *ret lives as long as the arena. If the limit is reached, only the same request is tried again:
 * beginning again would use up the little that has come back. */
static enum asked ask(struct listening *l, const char *path, const struct json **ret)
{
    const struct json *answer = NULL;
    int status;
    while ((status = ask_once(l, path, &answer)) == 429) {
        say_why(l, l->server, status, answer);
        wait_as_asked(l);
    }
    if (status != 200)
        return say_why(l, l->server, status, answer);
    if (!answer) {
        command_fail(1, "the answer is not JSON: is --url a postbackd server?");
        return ASKED_REFUSED;
    }
    l->is_away = false;
    *ret = answer;
    return ASKED_OK;
}

static void add_signatures(struct listening *l, struct str id, struct str secret, struct str body)
{
    char signature[WEBHOOK_SIGNATURE_BYTES], at[24];
    int64_t now_s = env_wall_ms(env_real()) / 1000;
    snprintf(at, sizeof at, "%lld", (long long)now_s);
    signature_webhook(secret, id, now_s, body, signature);
    client_add_header(l->target, "webhook-id", id);
    client_add_header(l->target, "webhook-timestamp", str_of(at));
    client_add_header(l->target, "webhook-signature", str_of(signature));
}

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

static void print_line(struct buf *line)
{
    command_say(stdout, "%s", buf_c(line));
    fflush(stdout);
}

static void begin_line(struct buf *line, const char *kind, const struct json *item)
{
    clock_print(line, env_wall_ms(env_real()));
    buf_printf(line, " %s %.*s %.*s of %.*s: ", kind, STR_ARG(json_member_text(item, "RewardType")),
               STR_ARG(json_member_text(item, "RewardId")),
               STR_ARG(json_member_text(item, "AppId")));
}

static bool may_report(struct listening *l)
{
    int64_t now_ms = env_mono_ms(env_real());
    if (allowance_wait(reports, l->reports_mono_ms, now_ms) > 0)
        return false;
    l->reports_mono_ms = allowance_use(reports, l->reports_mono_ms, now_ms);
    return true;
}

/* For the app's list of forwards; if it fails, only the printed line remains. */
static void report(struct listening *l, const struct json *item, int status, int64_t took_ms,
                   struct str shown)
{
    struct buf body = {0}, answer = {0};
    struct json_writer w;
    json_write_to(&w, &body);
    json_object(&w);
    json_key_string(&w, "RewardId", json_member_text(item, "RewardId"));
    if (status)
        json_key_int(&w, "Status", status);
    json_key_int(&w, "DurationMs", took_ms);
    json_key_string(&w, "Detail", shown);
    json_end_object(&w);
    (void)client_request(l->server, "POST", "/api/v1/forwards", "application/json", buf_str(&body),
                         &answer);
    buf_free(&body);
    buf_free(&answer);
}

/* Sends the headers given to client_add_header. */
static void forward(struct listening *l, const char *kind, const struct json *item)
{
    struct buf answer = {0}, plain = {0}, line = {0};
    begin_line(&line, kind, item);
    int64_t began_ms = env_mono_ms(env_real());
    int status = client_request(l->target, "POST", "", "application/json",
                                json_member_text(item, "Body"), &answer);
    int64_t took_ms = env_mono_ms(env_real()) - began_ms;
    plain_text_print(&plain, buf_str(&answer)); /* so that a report can contain it */
    struct str shown = str_utf8_prefix(buf_str(&plain), ANSWER_SHOWN_BYTES);
    if (status)
        buf_printf(&line, "%d", status);
    else
        buf_add_c(&line, "no answer");
    buf_printf(&line, " in %lld ms: %.*s", (long long)took_ms, STR_ARG(shown));
    print_line(&line);
    if (may_report(l))
        report(l, item, status, took_ms, shown);
    buf_free(&answer);
    buf_free(&plain);
    buf_free(&line);
}

static bool is_header_text(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (is_control(text.p[i]))
            return false;
    return text.n > 0;
}

static void forward_test(struct listening *l, struct str data)
{
    struct json *test = NULL;
    struct str why;
    if (!json_parse(&l->arena, data, &test, &why) || test->type != JSON_OBJECT ||
        !json_member_text(test, "Body").p)
        return; /* from a later version */
    const struct json *headers = json_member(test, "Headers");
    struct buf name = {0};
    for (const struct json *h = headers ? headers->first : NULL; h; h = h->next) {
        buf_clear(&name);
        buf_add_str(&name, h->name);
        if (is_header_text(h->name) && is_header_text(h->text))
            client_add_header(l->target, buf_c(&name), h->text);
    }
    buf_free(&name);
    forward(l, "test", test);
}

static void forward_callback(struct listening *l, const struct json *callback, struct str secret)
{
    struct str id = json_member_text(callback, "RewardId"),
               body = json_member_text(callback, "Body");
    if (body.p && is_header_text(id)) {
        add_signatures(l, id, secret, body);
        forward(l, "callback", callback);
        return;
    }
    struct buf line = {0};
    begin_line(&line, "callback", callback);
    buf_add_c(&line, "its body is no longer stored");
    print_line(&line);
    buf_free(&line);
}

static struct app_secret *secret_of(struct listening *l, struct str app_id)
{
    struct app_secret *s = l->secrets;
    while (s && !str_eq(buf_str(&s->app_id), app_id))
        s = s->next;
    if (s)
        return s;
    s = xcalloc(1, sizeof *s);
    buf_add_str(&s->app_id, app_id);
    s->next = l->secrets;
    l->secrets = s;
    return s;
}

static void clear_secret(struct app_secret *s)
{
    if (s->text.n)
        explicit_bzero(s->text.p, s->text.n);
    buf_clear(&s->text);
}

static void free_secrets(struct listening *l)
{
    while (l->secrets) {
        struct app_secret *s = l->secrets;
        l->secrets = s->next;
        clear_secret(s);
        buf_free(&s->app_id);
        buf_free(&s->text);
        free(s);
    }
}

static enum asked read_secret(struct listening *l, struct str app_id, struct str *ret)
{
    const struct json *answer = NULL;
    struct app_secret *s = secret_of(l, app_id);
    int64_t now_ms = env_mono_ms(env_real());
    enum asked asked = ASKED_OK;
    if (!s->text.n || s->until_mono_ms < now_ms) {
        struct buf path = {0};
        buf_add_c(&path, "/api/v1/apps/");
        client_add_escaped(&path, app_id);
        buf_add_c(&path, "/secret");
        asked = ask(l, buf_c(&path), &answer);
        buf_free(&path);
    }
    if (answer) {
        clear_secret(s);
        buf_add_str(&s->text, json_member_text(answer, "CallbackSecret"));
        s->until_mono_ms = now_ms + SECRET_KEPT_MS;
    }
    *ret = buf_str(&s->text);
    return asked;
}

static enum asked read_callback(struct listening *l, struct str reward_id, const struct json **ret)
{
    struct buf path = {0};
    buf_add_c(&path, "/api/v1/callbacks/");
    client_add_escaped(&path, reward_id);
    enum asked asked = ask(l, buf_c(&path), ret);
    buf_free(&path);
    return asked;
}

/* The list of callbacks runs from new to old and shares the feed's cursors: so the list before the
 * end of a page of the feed has that page's callbacks with their bodies, except the last one. */
static enum asked read_bodies(struct listening *l, struct str page_end, size_t count,
                              const struct json **ret)
{
    const struct json *list = NULL;
    struct buf path = {0};
    buf_printf(&path, "/api/v1/callbacks?limit=%zu&after=%.*s", count, STR_ARG(page_end));
    enum asked asked = ask(l, buf_c(&path), &list);
    buf_free(&path);
    *ret = json_member(list, "Items");
    return asked;
}

static const struct json *find_callback(const struct json *items, struct str reward_id)
{
    const struct json *item = items ? items->first : NULL;
    while (item && !str_eq(json_member_text(item, "RewardId"), reward_id))
        item = item->next;
    return item;
}

static enum asked copy(struct listening *l, struct str reward_id, const struct json *bodies)
{
    const struct json *callback = find_callback(bodies, reward_id);
    struct str secret = STR_NONE;
    enum asked asked = ASKED_OK;
    if (!callback)
        asked = read_callback(l, reward_id, &callback);
    if (asked == ASKED_OK)
        asked = read_secret(l, json_member_text(callback, "AppId"), &secret);
    if (asked == ASKED_OK)
        forward_callback(l, callback, secret);
    return asked;
}

/* An unfinished page is read again, and begins with the same rewards. */
static enum asked copy_page(struct listening *l, const struct json *items, size_t count,
                            struct str page_end)
{
    const struct json *bodies = NULL;
    enum asked asked = ASKED_OK;
    size_t at = 0;
    if (count > l->copied + 1 && page_end.p)
        asked = read_bodies(l, page_end, count - l->copied - 1, &bodies);
    for (const struct json *item = items->first; item && asked == ASKED_OK; item = item->next) {
        if (at++ < l->copied)
            continue;
        asked = copy(l, json_member_text(item, "RewardId"), bodies);
        l->copied += asked == ASKED_OK;
    }
    return asked;
}

/* One page of the feed; its rewards are copied only where `copies`. */
static enum asked read_page(struct listening *l, bool copies, bool *ret_more)
{
    const struct json *page = NULL;
    struct buf path = {0};
    buf_printf(&path, "/api/v1/rewards?limit=%d", FEED_PAGE);
    if (l->after.n)
        buf_printf(&path, "&after=%s", buf_c(&l->after));
    enum asked asked = ask(l, buf_c(&path), &page);
    buf_free(&path);
    const struct json *items = asked == ASKED_OK ? json_member(page, "Items") : NULL;
    struct str next = json_member_text(page, "Next");
    size_t count = items ? items->count : 0;
    *ret_more = count == FEED_PAGE;
    if (count && copies)
        asked = copy_page(l, items, count, next);
    if (asked == ASKED_OK && next.p) {
        buf_clear(&l->after);
        buf_add_str(&l->after, next);
        l->copied = 0;
    }
    return asked;
}

/* Finds the present end of the feed: after the newest callback. */
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

/* Reads until a page is not full: the stream reports later rewards once a second. */
static enum asked read_feed(struct listening *l)
{
    bool more = true;
    enum asked asked = ASKED_OK;
    while (more && asked == ASKED_OK) {
        asked = read_page(l, true, &more);
        arena_free(&l->arena);
    }
    return asked;
}

/* Every event of the stream, even a ping, is a reason to read the feed: another node may have
 * accepted something. False: the stream is opened again. */
static bool take_event(void *context, struct str name, struct str data)
{
    struct listening *l = context;
    if (str_is(name, "hello") && !l->is_listening) {
        l->is_listening = true;
        puts("listening - stop with Ctrl-C");
        fflush(stdout);
    }
    if (str_is(name, "test"))
        forward_test(l, data);
    enum asked asked = read_feed(l);
    l->is_refused |= asked == ASKED_REFUSED;
    return asked == ASKED_OK;
}

static bool take_bytes(void *context, struct str bytes)
{
    struct listening *l = context;
    return event_stream_feed(&l->stream, bytes);
}

static void on_silence(void *context)
{
    struct listening *l = context;
    if (!l->is_held)
        command_fail(1,
                     "nothing has come over the live stream for %d s: a proxy in front of the "
                     "server seems to hold it back. Turn the proxy's buffering off for "
                     "/api/v1/live (nginx: proxy_buffering off), or give the server's own address "
                     "as --url",
                     CLIENT_FIRST_BYTE_S);
    l->is_held = true;
}

static void listen_once(struct listening *l)
{
    const struct client_stream stream = {take_bytes, on_silence, l};
    struct buf answer = {0};
    struct json *problem = NULL;
    struct str why;
    event_stream_begin(&l->stream);
    if (l->stream.last_id.n)
        client_add_header(l->live, "Last-Event-ID", buf_str(&l->stream.last_id));
    int status = client_stream(l->live, "/api/v1/live", &stream, &answer);
    bool readable =
        json_parse(&l->arena, buf_str(&answer), &problem, &why) && problem->type == JSON_OBJECT;
    if (status != 200 && !l->is_refused)
        l->is_refused = say_why(l, l->live, status, readable ? problem : NULL) == ASKED_REFUSED;
    arena_free(&l->arena);
    buf_free(&answer);
}

static void listen_until_refused(struct listening *l)
{
    enum asked asked;
    while ((asked = find_end(l)) == ASKED_LATER)
        wait_as_asked(l);
    arena_free(&l->arena);
    l->is_refused = asked == ASKED_REFUSED;
    while (!l->is_refused) {
        listen_once(l);
        if (!l->is_refused)
            wait_as_asked(l);
    }
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
        .live = client_open_server(s, key),
        .server = client_open_server(s, key),
        .target = client_open(to, STR_NONE),
        .wait_s = RECONNECT_AFTER_S,
    };
    client_keep_most(l.target, ANSWER_SHOWN_BYTES + 4); /* and room for a cut character */
    l.stream.event = take_event;
    l.stream.context = &l;
    listen_until_refused(&l);
    client_close(l.live);
    client_close(l.server);
    client_close(l.target);
    arena_free(&l.arena);
    buf_free(&l.after);
    event_stream_free(&l.stream);
    free_secrets(&l);
    return 1;
}
