/* Two forms of file, one kind of record. */
#include "cli/records.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/command.h"
#include "cli/line_reader.h"
#include "domain/money.h"
#include "json/reader.h"

#include <errno.h>
#include <stdlib.h>

#define LINE_BYTES_MOST 65536

struct records_reader {
    struct records *r;
    long line;
    struct str *ret_why;
    int id_column, reward_column, revenue_column; /* CSV; -1: none */
};

static bool fail(struct records_reader *in, const char *fmt, ...) PRINTF_LIKE(2, 3);

static bool fail(struct records_reader *in, const char *fmt, ...)
{
    struct buf text = {0};
    if (in->line > 0)
        buf_printf(&text, "line %ld: ", in->line);
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    *in->ret_why = arena_take(&in->r->arena, &text);
    return false;
}

static bool read_amount(struct records_reader *in, const char *name, struct str text, int64_t *ret)
{
    if (money_parse(text, ret) == MONEY_OK)
        return true;
    return fail(in, "%s is not an amount of at most 6 fractional digits: %.*s", name,
                STR_ARG(text));
}

/* Absent: not given. */
static bool add(struct records_reader *in, struct str id, struct str reward, struct str revenue)
{
    struct input_record record = {.line = in->line, .has_revenue = revenue.p != NULL};
    if (!id.n)
        return fail(in, "RewardId is missing.");
    if (!reward.p)
        return fail(in, "Reward is missing.");
    if (!read_amount(in, "Reward", reward, &record.reward_micros) ||
        (revenue.p && !read_amount(in, "RevenueAmount", revenue, &record.revenue_micros)))
        return false;
    struct records *r = in->r;
    record.reward_id = arena_str(&r->arena, id);
    r->items = xgrow(r->items, &r->capacity, r->count + 1, sizeof *r->items);
    r->items[r->count++] = record;
    return true;
}

/* --- NDJSON ----------------------------------------------------------------------------------- */

static struct str text_member(const struct json *object, const char *name)
{
    const struct json *m = json_member(object, name);
    return m && (m->type == JSON_STRING || m->type == JSON_NUMBER) ? m->text : STR_NONE;
}

static bool read_json_line(struct records_reader *in, struct str line)
{
    struct arena arena = {0};
    struct json *object = NULL;
    struct str why;
    bool good = json_parse(&arena, line, &object, &why);
    if (!good) {
        (void)fail(in, "no valid JSON: %.*s", STR_ARG(why));
    } else {
        const struct json *test = json_member(object, "IsTest");
        good = (test && test->type == JSON_TRUE) ||
               add(in, text_member(object, "RewardId"), text_member(object, "Reward"),
                   text_member(object, "RevenueAmount"));
    }
    arena_free(&arena);
    return good;
}

/* --- CSV -------------------------------------------------------------------------------------- */

#define COLUMNS_MAX 256

/* Cuts a line into fields, unquoting in place. A field with a line break in it is refused: no
 * RewardId and no amount has one. */
static bool cut_fields(struct records_reader *in, char *line, struct str *fields, int *ret_count)
{
    char *p = line;
    int count = 0;
    for (;;) {
        if (count == COLUMNS_MAX)
            return fail(in, "more than %d columns.", COLUMNS_MAX);
        char *out = p, *start = p;
        bool quoted = *p == '"';
        for (p += quoted; *p && (quoted || *p != ','); p++) {
            if (quoted && *p == '"' && *++p != '"') {
                quoted = false;
                if (*p && *p != ',')
                    return fail(in, "text behind a closing quote.");
                break;
            }
            *out++ = *p;
        }
        if (quoted)
            return fail(in, "a quote is not closed on its line.");
        fields[count++] = (struct str){start, (size_t)(out - start)};
        if (!*p)
            break;
        p++;
    }
    *ret_count = count;
    return true;
}

static bool read_csv_header(struct records_reader *in, const struct str *fields, int count)
{
    struct {
        const char *name;
        int *column;
    } known[] = {{"RewardId", &in->id_column},
                 {"Reward", &in->reward_column},
                 {"RevenueAmount", &in->revenue_column}};
    in->id_column = in->reward_column = in->revenue_column = -1;
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(known); k++) {
            if (!str_is(str_trim(fields[i]), known[k].name))
                continue;
            if (*known[k].column >= 0)
                return fail(in, "the column %s is given twice; give it once.", known[k].name);
            *known[k].column = i;
        }
    }
    if (in->id_column >= 0 && in->reward_column >= 0)
        return true;
    return fail(in, "the first line of a CSV file must name the columns RewardId and Reward "
                    "(RevenueAmount may be another).");
}

static struct str column(const struct str *fields, int count, int at)
{
    struct str field = at >= 0 && at < count ? str_trim(fields[at]) : STR_NONE;
    return field.n ? field : STR_NONE;
}

static bool read_csv_line(struct records_reader *in, char *line)
{
    struct str fields[COLUMNS_MAX];
    int count = 0;
    if (!cut_fields(in, line, fields, &count))
        return false;
    if (in->id_column == in->reward_column) /* not known yet */
        return read_csv_header(in, fields, count);
    return add(in, column(fields, count, in->id_column), column(fields, count, in->reward_column),
               column(fields, count, in->revenue_column));
}

/* --- both ------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct input_record *x = a, *y = b;
    int order = str_cmp(x->reward_id, y->reward_id);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

bool records_read(struct records *r, FILE *f, struct str *ret_why)
{
    struct records_reader in = {.r = r, .ret_why = ret_why};
    struct buf line = {0};
    bool good = true, csv = false, first = true;
    while (good && line_read(f, &line, LINE_BYTES_MOST)) {
        in.line++;
        (void)buf_c(&line);
        if (line.n > LINE_BYTES_MOST || memchr(line.p, '\0', line.n)) {
            good =
                line.n > LINE_BYTES_MOST
                    ? fail(&in, "is longer than %d bytes: write each record on a line of its own.",
                           LINE_BYTES_MOST)
                    : fail(&in, LINE_HAS_NUL ".");
            break;
        }
        while (line.n > 0 && line.p[line.n - 1] == '\r')
            line.p[--line.n] = '\0';
        struct str text = str_trim(buf_str(&line));
        if (!text.n)
            continue;
        char *from = line.p;
        if (first && str_has_prefix(text, "\xef\xbb\xbf"))
            from += 3; /* the mark that spreadsheets put before UTF-8 */
        if (first)
            csv = *from != '{';
        first = false;
        good = csv ? read_csv_line(&in, from) : read_json_line(&in, text);
    }
    if (good && ferror(f)) {
        in.line = 0;
        good = fail(&in, "the file cannot be read: %s", strerror(errno));
    }
    buf_free(&line);
    if (r->count)
        qsort(r->items, r->count, sizeof *r->items, by_id);
    return good;
}

struct input_record *records_find(const struct records *r, struct str reward_id)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (str_cmp(r->items[middle].reward_id, reward_id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < r->count && str_eq(r->items[low].reward_id, reward_id);
    return found ? &r->items[low] : NULL;
}

void records_free(struct records *r)
{
    free(r->items);
    arena_free(&r->arena);
    *r = (struct records){0};
}
