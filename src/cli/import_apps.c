/* NDJSON, one app per line: {"PartnerId", "PartnerName"?, "AppId", ...}. The rest is a body of POST
 * /api/v1/partners/{PartnerId}/apps, with the CallbackSecret that its receiver has. The ids are
 * checked first, and nothing is sent if one is wrong; the running daemon, which knows all settings,
 * checks those line by line. An existing app stays as it is (409), so a second run is harmless,
 * also after a run that was stopped in the middle. */
#include "cli/import_apps.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/import_lines.h"
#include "json/writer.h"

#include <stdlib.h>

struct moved_app {
    long line;
    struct str partner_id, partner_name, id;
    const struct json *given;
};

struct apps_import {
    struct import_lines lines;
    struct moved_app *apps;
    size_t count, capacity;
    long partners_made, made, there;
};

/* --- the file ----------------------------------------------------------------------------------
 */

static void read_members(struct import_lines *lines, const struct json *v, struct problems *faults)
{
    struct apps_import *in = CONTAINER_OF(lines, struct apps_import, lines);
    struct fields f = {.body = v, .faults = faults};
    struct moved_app a = {.line = lines->line, .given = v};
    if (v->type != JSON_OBJECT) {
        problem_add(faults, STR(""), "invalid", "must be a JSON object");
        return;
    }
    fields_required(&f, "PartnerId");
    fields_required(&f, "AppId");
    fields_id(&f, "PartnerId", &a.partner_id);
    fields_text(&f, "PartnerName", 1, NAME_BYTES_MAX, &a.partner_name);
    fields_id(&f, "AppId", &a.id);
    if (faults->count)
        return;
    in->apps = xgrow(in->apps, &in->capacity, in->count + 1, sizeof *in->apps);
    in->apps[in->count++] = a;
}

static int by_id(const void *a, const void *b)
{
    const struct moved_app *x = *(struct moved_app *const *)a, *y = *(struct moved_app *const *)b;
    int order = str_cmp(x->id, y->id);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static void find_repeated(struct apps_import *in)
{
    struct moved_app **order = xcalloc(in->count + 1, sizeof(struct moved_app *));
    for (size_t i = 0; i < in->count; i++)
        order[i] = &in->apps[i];
    qsort(order, in->count, sizeof *order, by_id);
    for (size_t i = 1; i < in->count; i++) {
        struct buf text = {0};
        if (!str_eq(order[i]->id, order[i - 1]->id))
            continue;
        buf_printf(&text, "%.*s is on line %ld already", STR_ARG(order[i]->id), order[i - 1]->line);
        import_say(&in->lines, order[i]->line, STR("AppId"), buf_str(&text));
        buf_free(&text);
    }
    free(order);
}

static bool read_apps(struct apps_import *in, FILE *f)
{
    bool good = import_read(&in->lines, f, read_members);
    find_repeated(in);
    good = good && in->lines.wrong == 0;
    return good || command_fail(1, "nothing was made: correct the file first") == 0;
}

/* --- the daemon --------------------------------------------------------------------------------
 */

/* Prints the line without the partner's members. */
static void print_body(struct buf *to, const struct moved_app *a)
{
    struct json_writer w;
    json_write_to(&w, to);
    json_object(&w);
    for (const struct json *m = a->given->first; m; m = m->next) {
        if (str_is(m->name, "PartnerId") || str_is(m->name, "PartnerName"))
            continue;
        json_key_str(&w, m->name);
        if (m->type == JSON_ARRAY || m->type == JSON_OBJECT)
            json_raw(&w, m->text);
        else
            json_scalar(&w, m);
    }
    json_end_object(&w);
}

/* Creates the line's partner. Returns the status; 409: it exists. */
static int make_partner(struct apps_import *in, const struct moved_app *a, struct buf *answer)
{
    struct buf body = {0};
    struct json_writer w;
    json_write_to(&w, &body);
    json_object(&w);
    json_key_string(&w, "PartnerId", a->partner_id);
    json_key_string(&w, "Name", a->partner_name);
    json_end_object(&w);
    int status = import_post(&in->lines, "/api/v1/partners", buf_str(&body), answer);
    in->partners_made += status == 201;
    buf_free(&body);
    return status;
}

static int make_app(struct apps_import *in, const struct moved_app *a, struct buf *answer)
{
    struct buf path = {0}, body = {0};
    buf_printf(&path, "/api/v1/partners/%.*s/apps", STR_ARG(a->partner_id));
    print_body(&body, a);
    int status = import_post(&in->lines, buf_c(&path), buf_str(&body), answer);
    explicit_bzero(body.p, body.n);
    buf_free(&path);
    buf_free(&body);
    return status;
}

/* True if the partner has this app. An AppId is unique, so another partner may have it: 404. */
static bool is_there(struct apps_import *in, const struct moved_app *a)
{
    struct buf path = {0}, answer = {0};
    buf_printf(&path, "/api/v1/apps/%.*s?partnerId=%.*s", STR_ARG(a->id), STR_ARG(a->partner_id));
    bool has = client_get_patiently(in->lines.client, buf_c(&path), &answer) == 200;
    buf_free(&path);
    buf_free(&answer);
    return has;
}

/* False: the daemon is unavailable, so the rest is not tried. */
static bool make(struct apps_import *in, const struct moved_app *a)
{
    struct arena arena = {0};
    struct buf answer = {0};
    int status = a->partner_name.p ? make_partner(in, a, &answer) : 201;
    bool is_of_partner = status != 201 && status != 409;
    if (!is_of_partner)
        status = make_app(in, a, &answer);
    const struct json *object = import_object(&arena, &answer);
    if (!is_of_partner && status == 201 && object)
        in->made++;
    else if (!is_of_partner && status == 409 && !import_is_full(object) && is_there(in, a))
        in->there++;
    else
        import_say_refused(&in->lines, a->line, status,
                           "there is no such partner: PartnerName makes one", &answer, object);
    arena_free(&arena);
    if (answer.n)
        explicit_bzero(answer.p, answer.n); /* it shows the secret */
    buf_free(&answer);
    return import_goes_on(status);
}

int import_apps(struct client_session *client, FILE *f)
{
    struct apps_import in = {.lines.client = client};
    bool good = read_apps(&in, f);
    size_t done = 0;
    while (good && done < in.count && make(&in, &in.apps[done]))
        done++;
    if (good && done < in.count)
        command_fail(1, "stopped at line %ld: run it again to go on", in.apps[done].line);
    if (good)
        fprintf(stderr, "%ld apps made (and %ld partners), %ld there already, %ld rejected\n",
                in.made, in.partners_made, in.there, in.lines.wrong);
    free(in.apps);
    arena_free(&in.lines.arena);
    return good && !in.lines.wrong ? 0 : 1;
}
