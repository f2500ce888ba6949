/* Writes a report as JSON or CSV (RFC 4180), ordered by Day, then ClientId.
 *
 * The store orders clients by their numbers and knows nothing of their names; so the rows of one
 * day are gathered, sorted by ClientId and written when the day is whole. A day has at most as
 * many rows as the account has clients, which bounds the memory.
 *
 * A client that has survey outcomes and no start over a day and the day before it has Active
 * Panelists and ARPDAU that are too low: JSON ends with a warning about it. */
#include "base/alloc.h"
#include "domain/clock.h"
#include "domain/money.h"
#include "reports/report.h"

#include <stdlib.h>

/* client_no -> ClientId, filled on demand; open addressing, power of two. */
struct report_names {
    struct named_client {
        uint32_t client_no; /* 0: free */
        struct str id;
        int32_t started_day; /* the latest day with a survey start */
        bool lacks_starts;
    } * slots;
    size_t capacity, count;
};

static size_t slot_of(const struct report_names *names, uint32_t client_no)
{
    size_t i = (client_no * 2654435761u) & (names->capacity - 1);
    while (names->slots[i].client_no && names->slots[i].client_no != client_no)
        i = (i + 1) & (names->capacity - 1);
    return i;
}

static void names_grow(struct report_names *names)
{
    struct report_names next = {.capacity = names->capacity ? names->capacity * 2 : 64};
    next.slots = xcalloc(next.capacity, sizeof *next.slots);
    for (size_t i = 0; i < names->capacity; i++)
        if (names->slots[i].client_no)
            next.slots[slot_of(&next, names->slots[i].client_no)] = names->slots[i];
    next.count = names->count;
    free(names->slots);
    *names = next;
}

static struct named_client *client_of(struct report_writer *w, uint32_t client_no)
{
    struct report_names *names = w->names;
    if (names->count * 2 >= names->capacity)
        names_grow(names);
    size_t i = slot_of(names, client_no);
    if (!names->slots[i].client_no) {
        struct client *client = directory_client_by_no(w->directory, client_no);
        ASSERT(client); /* clients are never deleted */
        names->slots[i] =
            (struct named_client){client_no, arena_str(w->arena, client->id), INT32_MIN, false};
        names->count++;
        client_unref(client);
    }
    return &names->slots[i];
}

static struct str name_of(struct report_writer *w, uint32_t client_no)
{
    return client_of(w, client_no)->id;
}

static int by_client_id(const void *a, const void *b, void *writer)
{
    const struct report_row *x = a, *y = b;
    return str_cmp(name_of(writer, x->client_no), name_of(writer, y->client_no));
}

static __int128 earnings_of(const struct report_writer *w, const struct report_row *row)
{
    return (w->request.survey ? row->earnings_micros[0] : 0) +
           (w->request.offer ? row->earnings_micros[1] : 0);
}

static int64_t conversions_of(const struct report_writer *w, const struct report_row *row)
{
    return (w->request.survey ? row->conversions[0] : 0) +
           (w->request.offer ? row->conversions[1] : 0);
}

/* The values after Day and ClientId, in the order of the columns. */
static size_t values_of(const struct report_writer *w, const struct report_row *row,
                        struct buf values[3])
{
    switch (w->request.kind) {
    case REPORT_EARNINGS: money_print_wide(&values[0], earnings_of(w, row), 2); return 1;
    case REPORT_ARPDAU:
        money_print_wide(&values[0], earnings_of(w, row), 2);
        buf_add_int(&values[1], row->active_panelists);
        if (row->active_panelists)
            money_print(&values[2], money_divide(earnings_of(w, row), row->active_panelists), 2);
        return 3;
    case REPORT_SURVEY_ATTEMPTS: buf_add_int(&values[0], row->survey_starts); return 1;
    case REPORT_CONVERSIONS: buf_add_int(&values[0], conversions_of(w, row)); return 1;
    case REPORT_ACTIVE_PANELIST: buf_add_int(&values[0], row->active_panelists); return 1;
    }
    UNREACHABLE();
}

static const char *const *columns_of(enum report_kind kind)
{
    static const char *const columns[][4] = {
        [REPORT_EARNINGS] = {"Earnings", NULL},
        [REPORT_ARPDAU] = {"Earnings", "ActivePanelists", "Arpdau", NULL},
        [REPORT_SURVEY_ATTEMPTS] = {"SurveyAttempts", NULL},
        [REPORT_CONVERSIONS] = {"Conversions", NULL},
        [REPORT_ACTIVE_PANELIST] = {"ActivePanelists", NULL},
    };
    return columns[kind];
}

/* ClientIds are [A-Za-z0-9_-]: neither JSON nor CSV has anything to escape in them. */
static void write_row(struct report_writer *w, struct buf *to, const struct report_row *row)
{
    struct buf values[3] = {0};
    size_t count = values_of(w, row, values);
    const char *const *columns = columns_of(w->request.kind);
    struct str id = name_of(w, row->client_no);
    if (w->request.csv) {
        clock_print_day(to, row->day);
        buf_printf(to, ",%.*s", STR_ARG(id));
        for (size_t i = 0; i < count; i++)
            buf_printf(to, ",%.*s", STR_ARG(buf_str(&values[i])));
        buf_add_c(to, "\r\n");
    } else {
        buf_add_c(to, w->any_row ? ",\n{\"Day\":\"" : "\n{\"Day\":\"");
        clock_print_day(to, row->day);
        buf_printf(to, "\",\"ClientId\":\"%.*s\"", STR_ARG(id));
        for (size_t i = 0; i < count; i++) {
            struct str value = values[i].n ? buf_str(&values[i]) : STR("null");
            buf_printf(to, ",\"%s\":%.*s", columns[i], STR_ARG(value));
        }
        buf_add_char(to, '}');
    }
    w->any_row = true;
    for (size_t i = 0; i < count; i++)
        buf_free(&values[i]);
}

/* The day before the first one is unknown: so the first day counts by itself once it is over. */
static void look_for_starts(struct report_writer *w, const struct report_row *row)
{
    struct named_client *client = client_of(w, row->client_no);
    bool is_known = row->day > w->request.first_day || row->day < w->today;
    if (row->survey_starts > 0)
        client->started_day = row->day;
    else if (row->survey_outcomes > 0 && is_known && client->started_day < row->day - 1)
        client->lacks_starts = true;
}

static int by_id(const void *a, const void *b)
{
    const struct named_client *const *x = a, *const *y = b;
    return str_cmp((*x)->id, (*y)->id);
}

static void write_warnings(struct report_writer *w, struct buf *to)
{
    struct report_names *names = w->names;
    const struct named_client **found = xmalloc((names->count + 1) * sizeof(struct named_client *));
    size_t count = 0;
    for (size_t i = 0; i < names->capacity; i++)
        if (names->slots[i].client_no && names->slots[i].lacks_starts)
            found[count++] = &names->slots[i];
    if (count > 0)
        qsort(found, count, sizeof(struct named_client *), by_id);
    for (size_t i = 0; i < count; i++)
        buf_printf(to,
                   "%s\n{\"ClientId\":\"%.*s\",\"Code\":\"survey_starts_missing\",\"Detail\":\""
                   "Results of surveys were reported for a day or more, and no start of one: Active"
                   " Panelists and ARPDAU are too low. Every start must be reported.\"}",
                   i > 0 ? "," : ",\n \"Warnings\":[", STR_ARG(found[i]->id));
    if (count > 0)
        buf_add_char(to, ']');
    free(found);
}

static void write_day(struct report_writer *w, struct buf *to)
{
    if (w->day_count)
        qsort_r(w->day_rows, w->day_count, sizeof *w->day_rows, by_client_id, w);
    for (size_t i = 0; i < w->day_count; i++) {
        write_row(w, to, &w->day_rows[i]);
        look_for_starts(w, &w->day_rows[i]);
    }
    w->day_count = 0;
}

void report_begin(struct report_writer *w, struct buf *to, int64_t generated_ms)
{
    w->names = xcalloc(1, sizeof *w->names);
    w->today = clock_day(generated_ms);
    const char *const *columns = columns_of(w->request.kind);
    if (w->request.csv) {
        buf_add_c(to, "Day,ClientId");
        for (; *columns; columns++)
            buf_printf(to, ",%s", *columns);
        buf_add_c(to, "\r\n");
        return;
    }
    buf_printf(to, "{\"Report\":\"%s\",\"StartDate\":\"", report_kind_name(w->request.kind));
    clock_print_day(to, w->request.first_day);
    buf_add_c(to, "\",\"EndDate\":\"");
    clock_print_day(to, w->request.last_day);
    buf_add_c(to, "\",\"GeneratedAt\":\"");
    clock_print(to, generated_ms);
    buf_add_c(to, "\",\n \"Rows\":[");
}

void report_rows(struct report_writer *w, struct buf *to, const struct report_row *rows,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (w->day_count && w->day_rows[0].day != rows[i].day)
            write_day(w, to);
        w->day_rows = xgrow(w->day_rows, &w->day_capacity, w->day_count + 1, sizeof *w->day_rows);
        w->day_rows[w->day_count++] = rows[i];
    }
}

void report_end(struct report_writer *w, struct buf *to)
{
    write_day(w, to);
    if (w->request.csv)
        return;
    buf_add_char(to, ']');
    write_warnings(w, to);
    buf_add_c(to, "}\n");
}

void report_writer_free(struct report_writer *w)
{
    if (w->names)
        free(w->names->slots);
    free(w->names);
    free(w->day_rows);
    w->names = NULL;
    w->day_rows = NULL;
}
