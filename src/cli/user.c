/* postbackd user: the first admin, and people who are locked out, from a shell. It asks the running
 * daemon with the operator's key, so that everything is judged and written down in one place, and
 * no second process touches the store. Who has no key sets one and starts the daemon again. */
#include "cli/client.h"
#include "cli/command.h"
#include "json/reader.h"
#include "json/writer.h"

#include <stdio.h>

struct user_call {
    struct settings *s;
    struct client_session *client;
    struct arena arena;
    struct str email, user_id; /* user_id: found by find_user */
};

/* "/api/v1/users" + rest + "?partnerId=..." + query */
static struct buf path_of(const struct user_call *u, struct str rest, const char *query)
{
    struct buf path = {0};
    struct str partner = settings_text(u->s, OPTION_PARTNER);
    buf_printf(&path, "/api/v1/users%.*s?", STR_ARG(rest));
    if (partner.p) {
        buf_add_c(&path, "partnerId=");
        client_add_escaped(&path, partner);
        buf_add_char(&path, '&');
    }
    buf_add_c(&path, query);
    if (path.p[path.n - 1] == '?' || path.p[path.n - 1] == '&')
        path.n--;
    return path;
}

/* What went wrong, in the daemon's words. */
static int fail(const struct user_call *u, int status, struct str answer, const struct json *object)
{
    struct str detail = json_member_text(object, "detail");
    const struct json *errors = object ? json_member(object, "errors") : NULL;
    if (status == 0)
        return command_fail(1, "%.*s: %.*s", STR_ARG(settings_text(u->s, OPTION_URL)),
                            STR_ARG(answer));
    if (errors && errors->first)
        return command_fail(1, "%.*s: %.*s", STR_ARG(json_member_text(errors->first, "Field")),
                            STR_ARG(json_member_text(errors->first, "Detail")));
    return command_fail(1, "%.*s", STR_ARG(detail.p ? detail : STR("not a postbackd server")));
}

/* 0, or the exit status with its line said. The object is the arena's. */
static int ask(struct user_call *u, const char *method, struct buf path, struct str body,
               const struct json **ret_object)
{
    struct buf answer = {0};
    struct json *object = NULL;
    struct str why;
    int status = client_request(u->client, method, buf_c(&path), "application/json", body, &answer);
    struct str kept = arena_str(&u->arena, buf_str(&answer));
    bool good = status >= 200 && status < 300;
    if (kept.n && status && !json_parse(&u->arena, kept, &object, &why))
        object = NULL;
    good &= status == 204 || object;
    int result = good ? 0 : fail(u, status, kept, object);
    *ret_object = object;
    buf_free(&path);
    if (answer.n)
        explicit_bzero(answer.p, answer.n);
    buf_free(&answer);
    return result;
}

static void print_link(const struct json *object)
{
    command_say(stdout, "%.*s", STR_ARG(json_member_text(object, "Link")));
    command_say(stderr, "Open it once, before %.*s, to set a password.",
                STR_ARG(json_member_text(object, "LinkExpiresAt")));
}

/* --- the verbs -------------------------------------------------------------------------------- */

static int add(struct user_call *u)
{
    struct str role = settings_text(u->s, OPTION_ROLE), name = settings_text(u->s, OPTION_NAME);
    const struct json *object;
    struct buf body = {0};
    struct json_writer w;
    json_write_to(&w, &body);
    json_object(&w);
    json_key_string(&w, "Email", u->email);
    json_key_string(&w, "Role", role);
    json_key_string_if(&w, "Name", name);
    json_end_object(&w);
    int status = ask(u, "POST", path_of(u, STR(""), ""), arena_take(&u->arena, &body), &object);
    if (status == 0)
        print_link(object);
    return status;
}

/* On stderr, so that stdout has people only: whose they are, for the others are not among them. */
static void say_whose(const struct user_call *u, size_t people)
{
    struct str partner = settings_text(u->s, OPTION_PARTNER);
    if (partner.p)
        command_say(stderr, "%zu of the partner %.*s", people, STR_ARG(partner));
    else
        command_say(stderr, "%zu of the operator; --partner PARTNERID lists a partner's", people);
}

static int list(struct user_call *u)
{
    size_t people = 0;
    struct buf query = {0};
    const struct json *object;
    struct str next = STR_NONE;
    do {
        buf_clear(&query);
        buf_add_c(&query, "limit=500");
        if (next.p)
            buf_printf(&query, "&after=%.*s", STR_ARG(next));
        if (ask(u, "GET", path_of(u, STR(""), buf_c(&query)), STR_NONE, &object) != 0) {
            buf_free(&query);
            return 1;
        }
        const struct json *items = json_member(object, "Items");
        people += items ? items->count : 0;
        for (const struct json *i = items ? items->first : NULL; i; i = i->next)
            command_say(stdout, "%-32.*s %-10.*s %-9s %-13s passkeys %-2.*s %.*s",
                        STR_ARG(json_member_text(i, "Email")), STR_ARG(json_member_text(i, "Role")),
                        !json_member_is_true(i, "Enabled")  ? "disabled"
                        : json_member_is_true(i, "Invited") ? "invited"
                                                            : "enabled",
                        json_member_is_true(i, "SecondFactor") ? "second factor" : "",
                        STR_ARG(json_member_text(i, "Passkeys")),
                        STR_ARG(json_member_text(i, "UserId")));
        next = json_member_text(object, "Next");
    } while (next.p);
    buf_free(&query);
    say_whose(u, people);
    return 0;
}

static int find_user(struct user_call *u)
{
    const struct json *object;
    struct buf query = {0};
    buf_add_c(&query, "email=");
    client_add_escaped(&query, u->email);
    int status = ask(u, "GET", path_of(u, STR(""), buf_c(&query)), STR_NONE, &object);
    const struct json *items = object ? json_member(object, "Items") : NULL;
    buf_free(&query);
    if (status)
        return status;
    u->user_id = items && items->first ? json_member_text(items->first, "UserId") : STR_NONE;
    if (u->user_id.p)
        return 0;
    return command_fail(1, "there is no %.*s among %s%.*s", STR_ARG(u->email),
                        settings_text(u->s, OPTION_PARTNER).p ? "the people of "
                                                              : "the operator's people; --partner "
                                                                "means a partner's",
                        STR_ARG(settings_text(u->s, OPTION_PARTNER)));
}

static int about(struct user_call *u, const char *method, const char *rest, struct str body,
                 const struct json **ret_object)
{
    int status = find_user(u);
    if (status)
        return status;
    struct buf path = {0};
    buf_printf(&path, "/%.*s%s", STR_ARG(u->user_id), rest);
    struct str kept = arena_take(&u->arena, &path);
    return ask(u, method, path_of(u, kept, ""), body, ret_object);
}

static int reset(struct user_call *u)
{
    const struct json *object;
    int status = about(u, "POST", "/link", STR_NONE, &object);
    if (status == 0)
        print_link(object);
    return status;
}

static int enable(struct user_call *u)
{
    const struct json *object;
    return about(u, "PATCH", "", STR("{\"Enabled\":true}"), &object);
}

static int disable(struct user_call *u)
{
    const struct json *object;
    return about(u, "PATCH", "", STR("{\"Enabled\":false}"), &object);
}

static int remove_user(struct user_call *u)
{
    const struct json *object;
    return about(u, "DELETE", "", STR_NONE, &object);
}

static int drop_factor(struct user_call *u)
{
    const struct json *object;
    return about(u, "DELETE", "/second-factor", STR_NONE, &object);
}

static int unlink_user(struct user_call *u)
{
    const struct json *object;
    return about(u, "DELETE", "/identity", STR_NONE, &object);
}

struct verb {
    const char *name;
    bool takes_email, takes_role;
    int (*run)(struct user_call *u);
};

static const struct verb verbs[] = {
    {"add", true, true, add},
    {"list", false, false, list},
    {"reset", true, false, reset},
    {"reset-second-factor", true, false, drop_factor},
    {"unlink", true, false, unlink_user},
    {"disable", true, false, disable},
    {"enable", true, false, enable},
    {"remove", true, false, remove_user},
};

static const struct verb *verb_of(const struct settings *s)
{
    for (size_t i = 0; i < ARRAY_LEN(verbs) && s->operand_count; i++)
        if (str_is(s->operands[0], verbs[i].name))
            return &verbs[i];
    return NULL;
}

int command_user(struct settings *s)
{
    const struct verb *verb = verb_of(s);
    if (!verb)
        return command_fail(EXIT_USAGE, "user needs one of add, list, reset, reset-second-factor, "
                                        "unlink, disable, enable and remove.");
    if (s->operand_count != (verb->takes_email ? 2u : 1u))
        return command_fail(EXIT_USAGE,
                            verb->takes_email ? "user %s needs an EMAIL."
                                              : "user %s takes options only.",
                            verb->name);
    if (verb->takes_role && !settings_text(s, OPTION_ROLE).p)
        return command_fail(EXIT_USAGE,
                            "user %s needs --role: admin or support; owner, developer "
                            "or analyst with --partner.",
                            verb->name);
    if (!settings_text(s, OPTION_OPERATOR_KEY).p)
        return command_fail(
            EXIT_USAGE,
            "user needs POSTBACKD_OPERATOR_KEY in the environment: the running server's.");
    struct user_call u = {
        .s = s,
        .client = client_open_server(s, settings_text(s, OPTION_OPERATOR_KEY)),
        .email = verb->takes_email ? s->operands[1] : STR_NONE,
    };
    int status = verb->run(&u);
    client_close(u.client);
    arena_free(&u.arena);
    return status;
}
