/* See import_lines.h. */
#include "cli/import_lines.h"

#include "cli/command.h"
#include "cli/line_reader.h"

#include <errno.h>
#include <stdlib.h>

#define LINE_BYTES_MOST 65536
#define LINES_MOST 100000
#define TRIES 60

void import_say(struct import_lines *in, long line, struct str field, struct str detail)
{
    in->wrong += line != in->wrong_line; /* one line, however much is wrong with it */
    in->wrong_line = line;
    command_say(stderr, "line %ld: %.*s%s%.*s", line, STR_ARG(field), field.n ? ": " : "",
                STR_ARG(detail));
}

static void read_line(struct import_lines *in, struct str line,
                      void (*take)(struct import_lines *in, const struct json *v,
                                   struct problems *faults))
{
    struct json *v = NULL;
    struct str why = STR_NONE;
    struct problems faults = {.arena = &in->arena};
    if (line.n > LINE_BYTES_MOST)
        problem_add(&faults, STR(""), "invalid",
                    "is longer than %d bytes: make it by the API or the dashboard",
                    LINE_BYTES_MOST);
    else if (memchr(line.p, '\0', line.n))
        problem_add(&faults, STR(""), "invalid", LINE_HAS_NUL);
    else if (!json_parse(&in->arena, arena_str(&in->arena, line), &v, &why))
        problem_add(&faults, STR(""), "invalid", "is no JSON: %.*s", STR_ARG(why));
    else
        take(in, v, &faults);
    for (const struct problem *p = faults.first; p; p = p->next)
        import_say(in, in->line, p->field, p->detail);
}

bool import_read(struct import_lines *in, FILE *f,
                 void (*take)(struct import_lines *in, const struct json *v,
                              struct problems *faults))
{
    struct buf line = {0};
    long taken = 0;
    while (taken <= LINES_MOST && line_read(f, &line, LINE_BYTES_MOST)) {
        struct str text = line_text(&line, ++in->line);
        while (text.n && char_in(text.p[text.n - 1], " \t\r\n"))
            text.n--;
        if (text.n && ++taken <= LINES_MOST)
            read_line(in, text, take);
    }
    if (line.p)
        explicit_bzero(line.p, line.capacity);
    buf_free(&line);
    if (ferror(f))
        return command_fail(1, "the file cannot be read: %s", strerror(errno)) == 0;
    if (taken > LINES_MOST)
        return command_fail(1, "the file has more than %d lines: split it", LINES_MOST) == 0;
    return in->wrong == 0;
}

int import_post(struct import_lines *in, const char *path, struct str body, struct buf *answer)
{
    return client_request_patiently(in->client, "POST", path, "application/json", body,
                                    (struct client_patience){TRIES, TRIES}, answer);
}

const struct json *import_object(struct arena *arena, const struct buf *answer)
{
    struct json *v = NULL;
    struct str why;
    bool good = answer->n && json_parse(arena, arena_str(arena, buf_str(answer)), &v, &why) &&
                v->type == JSON_OBJECT;
    return good ? v : NULL;
}

void import_say_refused(struct import_lines *in, long line, int status, const char *why_404,
                        const struct buf *answer, const struct json *object)
{
    const struct json *errors = object ? json_member(object, "errors") : NULL;
    struct str detail = object ? json_member_text(object, "detail") : STR_NONE;
    if (errors && errors->first)
        for (const struct json *e = errors->first; e; e = e->next)
            import_say(in, line, json_member_text(e, "Field"), json_member_text(e, "Detail"));
    else if (status == 404 && why_404)
        import_say(in, line, STR("PartnerId"), str_of(why_404));
    else if (status == 0)
        import_say(in, line, STR(""), buf_str(answer));
    else
        import_say(in, line, STR(""), detail.p ? detail : STR("not a postbackd server"));
}

bool import_is_full(const struct json *object)
{
    const struct json *errors = object ? json_member(object, "errors") : NULL;
    return errors && errors->first &&
           str_is(json_member_text(errors->first, "Code"), PROBLEM_TOO_MANY);
}

bool import_goes_on(int status)
{
    return status != 0 && status != 401 && status != 403;
}
