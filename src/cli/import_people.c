/* NDJSON, one person per line: {"Email", "Role", "PartnerId"?, "Name"?, "UserId"?, "SendMail"?}.
 * All lines are checked first, and nothing is sent if one is wrong. Then each person is invited
 * through the running daemon, so that one place judges and audits everything. An existing person
 * stays unchanged (409), so a second run is harmless, also after a run that was stopped in the
 * middle. Files never have passwords: each person gets a one-time link. */
#include "cli/import_people.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/import_lines.h"
#include "domain/email.h"
#include "people/roles.h"
#include "json/writer.h"

#include <stdlib.h>

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
    struct import_lines lines;
    struct invited *people;
    size_t count, capacity;
    long made, mailed, there, waiting;
};

/* --- the file ----------------------------------------------------------------------------------
 */

static void check_person(struct invited *p, struct problems *faults)
{
    enum role role;
    if (p->role.p && (!role_parse(p->role, &role) || role_is_operators(role) != !p->partner_id.p))
        problem_add(faults, STR("Role"), "invalid", "must be %s",
                    p->partner_id.p ? "owner, developer or analyst"
                                    : "admin or support (or add PartnerId)");
    const char *fault = p->email.p ? email_fault(p->email) : NULL;
    if (fault)
        problem_add(faults, STR("Email"), "invalid", "%s", fault);
}

static void read_members(struct import_lines *lines, const struct json *v, struct problems *faults)
{
    struct people_import *in = CONTAINER_OF(lines, struct people_import, lines);
    struct fields f = {.body = v, .faults = faults};
    struct invited p = {.line = lines->line};
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
    p.email = email_lower(&in->lines.arena, p.email);
    in->people = xgrow(in->people, &in->capacity, in->count + 1, sizeof *in->people);
    in->people[in->count++] = p;
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

/* A person may have only one line per account. */
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
        import_say(&in->lines, b->line, STR("Email"), buf_str(&text));
        buf_free(&text);
    }
    qsort(in->people, in->count, sizeof *in->people, by_line);
}

static bool read_people(struct people_import *in, FILE *f)
{
    bool good = import_read(&in->lines, f, read_members);
    find_repeated(in);
    good = good && in->lines.wrong == 0;
    return good || command_fail(1, "nobody was invited: correct the file first") == 0;
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
    json_key_string_if(&w, "Name", p->name);
    json_key_string_if(&w, "UserId", p->user_id);
    if (p->says_send_mail)
        json_key_bool(&w, "SendMail", p->send_mail);
    json_end_object(&w);
}

static int post(struct people_import *in, const struct invited *p, struct buf *answer)
{
    struct buf path = path_of(p, false), body = {0};
    print_body(&body, p);
    int status = import_post(&in->lines, buf_c(&path), buf_str(&body), answer);
    buf_free(&path);
    buf_free(&body);
    return status;
}

/* False: the link could not be printed. */
static bool print_made(struct people_import *in, const struct invited *p, const struct json *answer)
{
    struct buf line = {0};
    struct json_writer w;
    in->made++;
    if (json_member_is_true(answer, "MailQueued")) {
        in->mailed++;
        return true;
    }
    json_write_to(&w, &line);
    json_object(&w);
    json_key_string(&w, "Email", p->email);
    json_key_string(&w, "PartnerId", p->partner_id);
    json_key_string(&w, "Link", json_member_text(answer, "Link"));
    json_key_string(&w, "LinkExpiresAt", json_member_text(answer, "LinkExpiresAt"));
    json_end_object(&w);
    printf("%.*s\n", STR_ARG(buf_str(&line)));
    bool good = fflush(stdout) == 0 && !ferror(stdout); /* the link is shown once */
    if (!good)
        command_fail(1,
                     "the link of %.*s could not be printed: `postbackd user reset` makes another",
                     STR_ARG(p->email));
    explicit_bzero(line.p, line.n);
    buf_free(&line);
    return good;
}

/* Finds out who has this address: the person in the line, or another one. False: nobody. */
static bool judge_there(struct people_import *in, struct arena *arena, const struct invited *p)
{
    struct buf path = path_of(p, true), answer = {0}, text = {0};
    int status = client_get_patiently(in->lines.client, buf_c(&path), &answer);
    const struct json *object = status == 200 ? import_object(arena, &answer) : NULL;
    const struct json *items = object ? json_member(object, "Items") : NULL;
    const struct json *user = items ? items->first : NULL;
    struct str role = user ? json_member_text(user, "Role") : STR_NONE;
    struct str id = user ? json_member_text(user, "UserId") : STR_NONE;
    if (user && !str_eq(role, p->role)) {
        buf_printf(
            &text,
            "%.*s is there as %.*s; import changes nobody: change the role on the people page",
            STR_ARG(p->email), STR_ARG(role));
        import_say(&in->lines, p->line, STR("Role"), buf_str(&text));
    } else if (user && p->user_id.p && !str_eq(id, p->user_id)) {
        buf_printf(&text, "%.*s is there with the UserId %.*s", STR_ARG(p->email), STR_ARG(id));
        import_say(&in->lines, p->line, STR("UserId"), buf_str(&text));
    } else if (user) {
        in->there++;
        in->waiting += json_member_is_true(user, "Invited");
    }
    buf_free(&path);
    buf_free(&answer);
    buf_free(&text);
    return user != NULL;
}

/* False: the daemon is unavailable, or links cannot be printed, so the rest is not tried. */
static bool invite(struct people_import *in, const struct invited *p)
{
    struct arena arena = {0};
    struct buf answer = {0};
    int status = post(in, p, &answer);
    const struct json *object = import_object(&arena, &answer);
    bool printed = true;
    if (status == 201 && object)
        printed = print_made(in, p, object);
    else if (status != 409 || import_is_full(object) || !judge_there(in, &arena, p))
        import_say_refused(&in->lines, p->line, status,
                           p->partner_id.p ? "there is no such partner" : NULL, &answer, object);
    arena_free(&arena);
    if (answer.n)
        explicit_bzero(answer.p, answer.n);
    buf_free(&answer);
    return printed && import_goes_on(status);
}

int import_people(struct client_session *client, FILE *f)
{
    struct people_import in = {.lines.client = client};
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
                in.made, in.mailed, in.there, in.waiting, in.lines.wrong);
    free(in.people);
    arena_free(&in.lines.arena);
    return good && done == in.count && !in.lines.wrong ? 0 : 1;
}
