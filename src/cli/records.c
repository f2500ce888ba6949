/* Reads both forms of file into one kind of record. */
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
    struct str *ret_why;
    struct buf text, record;                      /* the last line; the record so far */
    long lines;                                   /* lines read */
    long line;                                    /* first line of the record */
    bool has_begun, is_csv;                       /* from the first line that is not blank */
    bool is_open;                                 /* the record ends within quotes */
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
        good = json_member_is_true(object, "IsTest") ||
               add(in, text_member(object, "RewardId"), text_member(object, "Reward"),
                   text_member(object, "RevenueAmount"));
    }
    arena_free(&arena);
    return good;
}

/* --- CSV -------------------------------------------------------------------------------------- */

#define COLUMNS_MAX 256

/* Old spreadsheets end lines with CR alone. Such a file is one long first line: as a header it
 * would silently lose all records, and every reward of the day would seem missing. */
static bool fail_at_cr(struct records_reader *in)
{
    return fail(in, "a carriage return within a line: save the file with LF or CRLF line ends.");
}

/* Splits a complete record into fields, unquoting in place. */
static bool cut_fields(struct records_reader *in, char *record, struct str *fields, int *ret_count)
{
    char *p = record;
    int count = 0;
    for (;;) {
        if (count == COLUMNS_MAX)
            return fail(in, "more than %d columns.", COLUMNS_MAX);
        char *out = p, *start = p;
        bool quoted = *p == '"';
        for (p += quoted; *p && (quoted || *p != ','); p++) {
            if (!quoted && *p == '\r')
                return fail_at_cr(in);
            if (quoted && *p == '"' && *++p != '"') {
                if (*p == '\r')
                    return fail_at_cr(in);
                if (*p && *p != ',')
                    return fail(in, "text behind a closing quote.");
                break;
            }
            *out++ = *p;
        }
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

static bool read_csv_record(struct records_reader *in, char *record)
{
    struct str fields[COLUMNS_MAX];
    int count = 0;
    if (!cut_fields(in, record, fields, &count))
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

/* True if a quoted field continues after this line; is_open: one did after the line before. */
static bool has_open_quote(struct str line, bool is_open)
{
    bool may_toggle = true; /* at a field's begin, or after a quote that "" would escape */
    for (size_t i = 0; i < line.n; i++) {
        bool is_quote = line.p[i] == '"' && (is_open || may_toggle);
        is_open ^= is_quote;
        may_toggle = is_quote || line.p[i] == ',';
    }
    return is_open;
}

static void append_line(struct records_reader *in)
{
    struct str line = str_trim_end(line_text(&in->text, ++in->lines), '\r');
    struct str trimmed = str_trim(line);
    if (!in->has_begun && trimmed.n) {
        in->has_begun = true;
        in->is_csv = trimmed.p[0] != '{';
    }
    if (in->is_open)
        buf_add_char(&in->record, '\n');
    buf_add_str(&in->record, line);
    in->is_open = in->is_csv && has_open_quote(line, in->is_open);
}

/* Reads a line; in CSV several, if a quoted field contains line ends (RFC 4180). */
static bool read_record(struct records_reader *in, FILE *f)
{
    buf_clear(&in->record);
    in->is_open = false;
    in->line = in->lines + 1;
    do {
        if (!line_read(f, &in->text, LINE_BYTES_MOST))
            break;
        append_line(in);
    } while (in->is_open && in->record.n <= LINE_BYTES_MOST);
    return in->lines >= in->line;
}

static bool add_record(struct records_reader *in)
{
    struct buf *record = &in->record;
    (void)buf_c(record);
    struct str text = str_trim(buf_str(record));
    if (!text.n)
        return true;
    if (memchr(record->p, '\0', record->n))
        return fail(in, LINE_HAS_NUL ".");
    if (record->n > LINE_BYTES_MOST)
        return fail(in, "is longer than %d bytes: write each record on a line of its own.",
                    LINE_BYTES_MOST);
    if (in->is_open)
        return fail(in, "a quote is not closed.");
    return in->is_csv ? read_csv_record(in, record->p) : read_json_line(in, text);
}

bool records_read(struct records *r, FILE *f, struct str *ret_why)
{
    struct records_reader in = {.r = r, .ret_why = ret_why};
    bool good = true;
    while (good && read_record(&in, f))
        good = add_record(&in);
    in.line = 0;
    if (good && ferror(f))
        good = fail(&in, "the file cannot be read: %s", strerror(errno));
    else if (good && !in.has_begun) /* a failed writer is more likely than a day without rewards */
        good = fail(&in, "the file is empty. If you recorded nothing that day, write the header "
                         "line of a CSV file: RewardId,Reward");
    buf_free(&in.text);
    buf_free(&in.record);
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
