/* postbackd import [events|people|apps] FILE. Events are those of a network that moves in: posts
 * NDJSON from a file (or standard input, "-") in batches to the running daemon with deliver=false:
 * they count in reports, and no callbacks are sent. A second run changes nothing: EventIds are
 * remembered for ever. */
#include "base/limits.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/import_apps.h"
#include "cli/import_people.h"
#include "cli/line_reader.h"
#include "json/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LINES_PER_BATCH 5000
#define BYTES_PER_BATCH (4 << 20)
#define LINE_BYTES_MOST (LIMIT_REQUEST_BODY_BYTES - 1) /* and its end of line */
#define TRIES 30

struct importing {
    struct client_session *client;
    struct buf batch;
    long line;                     /* of the file */
    long lines;                    /* in the batch */
    long line_of[LINES_PER_BATCH]; /* each one's place in the file */
    long accepted, duplicates, rejected;
};

static int64_t number_of(const struct json *object, const char *name)
{
    const struct json *m = json_member(object, name);
    return m && m->type == JSON_NUMBER ? strtoll(m->text.p, NULL, 10) : 0;
}

static void print_rejected(const struct importing *in, const struct json *item)
{
    const struct json *errors = json_member(item, "Errors");
    int64_t index = number_of(item, "Index");
    long line = index >= 0 && index < in->lines ? in->line_of[index] : in->line_of[0];
    for (const struct json *e = errors ? errors->first : NULL; e; e = e->next) {
        const struct json *field = json_member(e, "Field"), *detail = json_member(e, "Detail");
        struct str name = field ? field->text : STR_NONE;
        command_say(stderr, "line %ld: %.*s%s%.*s", line, STR_ARG(name), name.n ? ": " : "",
                    STR_ARG(detail ? detail->text : STR_NONE));
    }
}

static bool read_answer(struct importing *in, struct str answer)
{
    struct arena arena = {0};
    struct json *object = NULL;
    struct str why;
    bool good = json_parse(&arena, answer, &object, &why) && object->type == JSON_OBJECT;
    if (good) {
        in->accepted += number_of(object, "Accepted");
        in->duplicates += number_of(object, "Duplicates");
        const struct json *rejected = json_member(object, "Rejected");
        for (const struct json *r = rejected ? rejected->first : NULL; r; r = r->next) {
            in->rejected++;
            print_rejected(in, r);
        }
    }
    arena_free(&arena);
    return good;
}

/* Posts the batch; waits and tries again while the daemon is busy or restarting. */
static bool post(struct importing *in)
{
    if (!in->lines)
        return true;
    struct buf answer = {0}, said = {0};
    int status = client_request_patiently(in->client, "POST", "/api/v1/events?deliver=false",
                                          "application/x-ndjson", buf_str(&in->batch),
                                          (struct client_patience){TRIES, TRIES}, &answer);
    bool good = status == 202 && read_answer(in, buf_str(&answer));
    if (status == 202 && !good)
        command_fail(1, "lines %ld to %ld: not a postbackd server", in->line_of[0],
                     in->line_of[in->lines - 1]);
    if (status != 202) {
        client_print_answer(&said, status, &answer);
        command_fail(1, "lines %ld to %ld were not taken: %s", in->line_of[0],
                     in->line_of[in->lines - 1], buf_c(&said));
    }
    buf_free(&answer);
    buf_free(&said);
    buf_clear(&in->batch);
    in->lines = 0;
    return good;
}

static bool is_blank(struct str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (!char_in(line.p[i], " \t\r"))
            return false;
    return true;
}

/* Rejects a line that the daemon would not even read. */
static bool can_be_sent(struct importing *in, struct str line)
{
    bool too_long = line.n > LINE_BYTES_MOST, has_nul = memchr(line.p, '\0', line.n) != NULL;
    if (too_long)
        command_say(stderr,
                    "line %ld: is longer than %d bytes, which the server does not take: write each "
                    "event on a line of its own",
                    in->line, LINE_BYTES_MOST);
    else if (has_nul)
        command_say(stderr, "line %ld: " LINE_HAS_NUL, in->line);
    in->rejected += too_long || has_nul;
    return !too_long && !has_nul;
}

static bool read_lines(struct importing *in, FILE *f)
{
    struct buf line = {0};
    bool good = true;
    while (good && line_read(f, &line, LINE_BYTES_MOST)) {
        struct str text = line_text(&line, ++in->line);
        if (!can_be_sent(in, text) || is_blank(text))
            continue;
        if (in->lines && in->batch.n + text.n > BYTES_PER_BATCH)
            good = post(in);
        in->line_of[in->lines] = in->line;
        buf_add_str(&in->batch, text);
        buf_add_char(&in->batch, '\n');
        if (++in->lines == LINES_PER_BATCH)
            good = good && post(in);
    }
    good = good && post(in);
    if (good && ferror(f))
        good = command_fail(1, "the file cannot be read: %s", strerror(errno)) == 0;
    buf_free(&line);
    return good;
}

static int import_events(struct client_session *client, FILE *f)
{
    struct importing in = {.client = client};
    bool good = read_lines(&in, f);
    printf("%ld accepted, %ld duplicates, %ld rejected\n", in.accepted, in.duplicates, in.rejected);
    buf_free(&in.batch);
    return good && !in.rejected ? 0 : 1;
}

int command_import(struct settings *s)
{
    bool of_apps = s->operand_count == 2 && str_is(s->operands[0], "apps");
    bool of_people = s->operand_count == 2 && str_is(s->operands[0], "people");
    bool of_events = s->operand_count == 2 && str_is(s->operands[0], "events");
    if (s->operand_count != 1 && !of_apps && !of_people && !of_events)
        return command_fail(EXIT_USAGE,
                            "import needs one FILE of NDJSON events, or - for standard input; "
                            "import people FILE takes people, import apps FILE apps.");
    if (!settings_text(s, OPTION_OPERATOR_KEY).p)
        return command_fail(
            EXIT_USAGE,
            "import needs POSTBACKD_OPERATOR_KEY in the environment: the running server's.");
    const char *path = s->operands[s->operand_count - 1].p;
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!f)
        return command_fail(1, "%s cannot be read: %s", path, strerror(errno));
    struct client_session *client = client_open_server(s, settings_text(s, OPTION_OPERATOR_KEY));
    int status = of_apps     ? import_apps(client, f)
                 : of_people ? import_people(client, f)
                             : import_events(client, f);
    client_close(client);
    if (f != stdin)
        fclose(f);
    return status;
}
