/* NDJSON, one person a line: {"Email", "Role", "PartnerId"?, "Name"?, "UserId"?, "SendMail"?}. All
 * lines are judged first, and nothing is sent where one is wrong. Then each is invited through the
 * running daemon, so that everything is judged and written down in one place. Whoever is there
 * already stays as he is: the daemon says so (409), which makes a second run harmless, and one that
 * was stopped in the middle. Passwords are never in files: each person gets a one-time link. */
#include "cli/import_people.h"

#include "accounts/fields.h"
#include "base/alloc.h"
#include "cli/command.h"
#include "domain/email.h"
#include "people/roles.h"
#include "json/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define PEOPLE_MOST 100000
#define LINE_BYTES_MOST 16384
#define TRIES 60

static const struct field_rule rules[] = {
    {"Email", true, false}, {"Role", true, false},   {"PartnerId", true, false},
    {"Name", true, false},  {"UserId", true, false}, {"SendMail", true, false},
};

struct invited {
    long line;
    struct str email, role, partner_id, name, user_id;
    bool send_mail, says_send_mail;
};

struct people_import {
    struct client_session *client;
    struct arena arena;
    struct invited *people;
    size_t count, capacity;
    long line, wrong;
    long made, mailed, there, waiting;
};

static void say(struct people_import *in, long line, struct str field, struct str detail)
{
    in->wrong++;
    fprintf(stderr, "line %ld: %.*s%s%.*s\n", line, STR_ARG(field), field.n ? ": " : "",
            STR_ARG(detail));
}

/* --- the file ----------------------------------------------------------------------------------
 */

static void check_person(struct invited *p, struct problems *faults)
{
    enum role role;
    if (p->role.p && (!role_parse(p->role, &role) || role_is_operators(role) != !p->partner_id.p))
        problem_add(faults, STR("Role"), "invalid", "must be %s",
                    p->partner_id.p ? "owner, developer or analyst"
                                    : "admin or support (or add PartnerId)");
    if (p->email.p && !email_valid(p->email))
        problem_add(faults, STR("Email"), "invalid", "must be an e-mail address");
}

static void read_members(struct people_import *in, const struct json *v, struct problems *faults)
{
    struct fields f = {.body = v, .faults = faults};
    struct invited p = {.line = in->line};
    if (v->type == JSON_OBJECT && json_member(v, "Password")) {
        problem_add(faults, STR("Password"), "invalid",
                    "passwords are not taken from files: each person gets a one-time link to "
                    "choose one");
        return;
    }
    if (!fields_check(&f, rules, ARRAY_LEN(rules)))
        return;
    fields_required(&f, "Email");
    fields_required(&f, "Role");
    fields_text(&f, "Email", 3, EMAIL_BYTES_MAX, &p.email);
    fields_text(&f, "Role", 1, 64, &p.role);
    fields_text(&f, "Name", 1, NAME_BYTES_MAX, &p.name);
    fields_id(&f, "PartnerId", &p.partner_id);
    fields_id(&f, "UserId", &p.user_id);
    fields_bool(&f, "SendMail", &p.send_mail);
    p.says_send_mail = fields_given(&f, "SendMail");
    check_person(&p, faults);
    if (faults->count)
        return;
    p.email = email_lower(&in->arena, p.email);
    in->people = xgrow(in->people, &in->capacity, in->count + 1, sizeof *in->people);
    in->people[in->count++] = p;
}

static void read_line(struct people_import *in, struct str line)
{
    struct json *v = NULL;
    struct str why = STR_NONE;
    struct problems faults = {.arena = &in->arena};
    if (line.n > LINE_BYTES_MOST)
        problem_add(&faults, STR(""), "invalid", "is longer than %d bytes", LINE_BYTES_MOST);
    else if (!json_parse(&in->arena, arena_str(&in->arena, line), &v, &why))
        problem_add(&faults, STR(""), "invalid", "is no JSON: %.*s", STR_ARG(why));
    else
        read_members(in, v, &faults);
    for (const struct problem *p = faults.first; p; p = p->next)
        say(in, in->line, p->field, p->detail);
}

static int by_person(const void *a, const void *b)
{
    const struct invited *x = a, *y = b;
    int order = str_cmp(x->partner_id, y->partner_id);
    if (order == 0)
        order = str_cmp(x->email, y->email);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int by_line(const void *a, const void *b)
{
    const struct invited *x = a, *y = b;
    return (x->line > y->line) - (x->line < y->line);
}

/* One line for each person of an account. */
static void find_repeated(struct people_import *in)
{
    if (in->count == 0)
        return;
    qsort(in->people, in->count, sizeof *in->people, by_person);
    for (size_t i = 1; i < in->count; i++) {
        const struct invited *a = &in->people[i - 1], *b = &in->people[i];
        struct buf text = {0};
        if (!str_eq(a->email, b->email) || !str_eq(a->partner_id, b->partner_id))
            continue;
        buf_printf(&text, "%.*s is on line %ld already", STR_ARG(b->email), a->line);
        say(in, b->line, STR("Email"), buf_str(&text));
        buf_free(&text);
    }
    qsort(in->people, in->count, sizeof *in->people, by_line);
}

static bool read_people(struct people_import *in, FILE *f)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    while (in->count < PEOPLE_MOST + 1 && (n = getline(&line, &capacity, f)) > 0) {
        struct str text = {line, (size_t)n};
        in->line++;
        while (text.n && strchr(" \t\r\n", text.p[text.n - 1]))
            text.n--;
        if (text.n)
            read_line(in, text);
    }
    free(line);
    if (ferror(f))
        return command_fail(1, "the file cannot be read: %s", strerror(errno)) == 0;
    if (in->count > PEOPLE_MOST)
        return command_fail(1, "the file has more than %d people: split it", PEOPLE_MOST) == 0;
    find_repeated(in);
    return in->wrong == 0 || command_fail(1, "nobody was invited: correct the file first") == 0;
}

/* --- the daemon --------------------------------------------------------------------------------
 */

static struct buf path_of(const struct invited *p, bool to_find)
{
    struct buf path = {0};
    buf_add_c(&path, "/api/v1/users");
    if (p->partner_id.p) {
        buf_add_c(&path, "?partnerId=");
        client_add_escaped(&path, p->partner_id);
    }
    if (to_find) {
        buf_add_c(&path, p->partner_id.p ? "&email=" : "?email=");
        client_add_escaped(&path, p->email);
    }
    return path;
}

static void print_body(struct buf *to, const struct invited *p)
{
    struct json_writer w;
    json_write_to(&w, to);
    json_object(&w);
    json_key_string(&w, "Email", p->email);
    json_key_string(&w, "Role", p->role);
    if (p->name.p)
        json_key_string(&w, "Name", p->name);
    if (p->user_id.p)
        json_key_string(&w, "UserId", p->user_id);
    if (p->says_send_mail)
        json_key_bool(&w, "SendMail", p->send_mail);
    json_end_object(&w);
}

/* Until the daemon is back and the account may change something again. */
static int post(struct people_import *in, const struct invited *p, struct buf *answer)
{
    struct buf path = path_of(p, false), body = {0};
    int status = 0;
    print_body(&body, p);
    for (int tries = 1; tries <= TRIES; tries++) {
        status = client_request(in->client, "POST", buf_c(&path), "application/json",
                                buf_str(&body), answer);
        if ((status != 0 && status != 429 && status != 503) || tries == TRIES)
            break;
        sleep(1);
    }
    buf_free(&path);
    buf_free(&body);
    return status;
}

static bool is_true(const struct json *object, const char *name)
{
    const struct json *m = json_member(object, name);
    return m && m->type == JSON_TRUE;
}

/* An object of the arena; NULL: it is none. */
static const struct json *parse(struct arena *arena, const struct buf *answer)
{
    struct json *v = NULL;
    struct str why;
    bool good = answer->n && json_parse(arena, arena_str(arena, buf_str(answer)), &v, &why) &&
                v->type == JSON_OBJECT;
    return good ? v : NULL;
}

static void print_made(struct people_import *in, const struct invited *p, const struct json *answer)
{
    struct buf line = {0};
    struct json_writer w;
    in->made++;
    if (is_true(answer, "MailQueued")) {
        in->mailed++;
        return;
    }
    json_write_to(&w, &line);
    json_object(&w);
    json_key_string(&w, "Email", p->email);
    json_key_string(&w, "PartnerId", p->partner_id);
    json_key_string(&w, "Link", json_member_text(answer, "Link"));
    json_key_string(&w, "LinkExpiresAt", json_member_text(answer, "LinkExpiresAt"));
    json_end_object(&w);
    printf("%.*s\n", STR_ARG(buf_str(&line)));
    fflush(stdout); /* the link is shown once */
    explicit_bzero(line.p, line.n);
    buf_free(&line);
}

/* In the daemon's words. */
static void say_refused(struct people_import *in, const struct invited *p, int status,
                        const struct buf *answer, const struct json *object)
{
    const struct json *errors = object ? json_member(object, "errors") : NULL;
    struct str detail = object ? json_member_text(object, "detail") : STR_NONE;
    if (errors && errors->first)
        for (const struct json *e = errors->first; e; e = e->next)
            say(in, p->line, json_member_text(e, "Field"), json_member_text(e, "Detail"));
    else if (status == 404 && p->partner_id.p)
        say(in, p->line, STR("PartnerId"), STR("there is no such partner"));
    else if (status == 0)
        say(in, p->line, STR(""), buf_str(answer));
    else
        say(in, p->line, STR(""), detail.p ? detail : STR("not a postbackd server"));
}

/* Who has this address already: as the line says, or somebody else's. False: nobody has it. */
static bool judge_there(struct people_import *in, struct arena *arena, const struct invited *p)
{
    struct buf path = path_of(p, true), answer = {0}, text = {0};
    int status = client_get_patiently(in->client, buf_c(&path), &answer);
    const struct json *object = status == 200 ? parse(arena, &answer) : NULL;
    const struct json *items = object ? json_member(object, "Items") : NULL;
    const struct json *user = items ? items->first : NULL;
    struct str role = user ? json_member_text(user, "Role") : STR_NONE;
    struct str id = user ? json_member_text(user, "UserId") : STR_NONE;
    if (user && !str_eq(role, p->role)) {
        buf_printf(
            &text,
            "%.*s is there as %.*s; import changes nobody: change the role on the people page",
            STR_ARG(p->email), STR_ARG(role));
        say(in, p->line, STR("Role"), buf_str(&text));
    } else if (user && p->user_id.p && !str_eq(id, p->user_id)) {
        buf_printf(&text, "%.*s is there with the UserId %.*s", STR_ARG(p->email), STR_ARG(id));
        say(in, p->line, STR("UserId"), buf_str(&text));
    } else if (user) {
        in->there++;
        in->waiting += is_true(user, "Invited");
    }
    buf_free(&path);
    buf_free(&answer);
    buf_free(&text);
    return user != NULL;
}

/* False: the daemon is away, so the rest is not tried. */
static bool invite(struct people_import *in, const struct invited *p)
{
    struct arena arena = {0};
    struct buf answer = {0};
    int status = post(in, p, &answer);
    const struct json *object = parse(&arena, &answer);
    if (status == 201 && object)
        print_made(in, p, object);
    else if (status != 409 || !judge_there(in, &arena, p))
        say_refused(in, p, status, &answer, object);
    arena_free(&arena);
    if (answer.n)
        explicit_bzero(answer.p, answer.n);
    buf_free(&answer);
    return status != 0 && status != 401 && status != 403;
}

int import_people(struct client_session *client, FILE *f)
{
    struct people_import in = {.client = client};
    bool good = read_people(&in, f);
    size_t done = 0;
    while (good && done < in.count && invite(&in, &in.people[done]))
        done++;
    if (good && done < in.count)
        command_fail(1, "stopped at line %ld: run it again to go on", in.people[done].line);
    if (good)
        fprintf(stderr,
                "%ld invited (%ld by e-mail), %ld there already (%ld still invited), %ld "
                "rejected\n",
                in.made, in.mailed, in.there, in.waiting, in.wrong);
    free(in.people);
    arena_free(&in.arena);
    return good && !in.wrong ? 0 : 1;
}
