/* postbackd export WHAT [FILE]: rows of a range of days over the API, so from any store and
 * machine. One page is held in memory. It reads partner by partner, and for each the days in order;
 * the rows of each page are written together with the place after them. In a page the server
 * continues from one day to the next, except for statements. */
#include "api/callback_csv.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/export_file.h"
#include "domain/clock.h"
#include "json/reader.h"
#include "json/writer.h"

#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

struct export_kind {
    const char *name, *path; /* the day, or the range of days, follows */
    bool by_day;
    const char *inner; /* the item's member that has the rows; NULL: items are rows */
    const char *columns[24];
};

static const struct export_kind kinds[] = {
    {"events",
     "/api/v1/events?limit=500",
     false,
     NULL,
     {"EventId", "AppId",      "ClientId",    "PanelistId",       "Type",
      "State",   "Reason",     "Reward",      "RevenueAmount",    "Cap",
      "IsTest",  "Timestamp",  "CreatedAt",   "SessionId",        "Mid",
      "OfferId", "OfferTitle", "OfferGoalId", "OriginalRewardId", "ReasonGiven"}},
    {"rewards",
     "/api/v1/rewards?limit=500",
     false,
     NULL,
     {"RewardId", "AppId", "ClientId", "PanelistId", "RewardType", "State", "Reason", "Reward",
      "RevenueAmount", "IsTest", "Timestamp", "CreatedAt", "OriginalRewardId"}},
    {"attempts",
     "/api/v1/rewards?limit=500&attempts=true",
     false,
     "Attempts",
     {"RewardId", "AppId", "ClientId", "RewardType", "State", "Number", "Manual", "At",
      "DurationMs", "Status", "Class", "Detail"}},
    {"statements",
     "/api/v1/statements?",
     true,
     NULL,
     {"Day", "AppId", "Final", "Count", "Reward", "RevenueAmount", "Digest"}},
};

struct exporting {
    struct client_session *client;
    const struct export_kind *kind;
    struct str app;
    bool csv;
    bool with_partner; /* for an operator: a column has the partner of each row */
    bool of_all_partners;
    bool is_done;
    int32_t first_day, last_day;
    struct export_place place;
    struct export_file file;
    struct buf rows; /* of one page */
};

/* --- rows ------------------------------------------------------------------------------------- */

static void print_field(struct buf *to, const struct json *value)
{
    if (value && value->type == JSON_STRING)
        csv_text(to, value->text);
    else if (value && value->type == JSON_NUMBER)
        buf_add_str(to, value->text);
    else if (value && value->type != JSON_NULL)
        buf_add_c(to, value->type == JSON_TRUE ? "true" : "false");
}

/* A column is a member of the row, or of the item around it. */
static void print_row(struct exporting *x, const struct json *row, const struct json *holder)
{
    struct json_writer w;
    json_write_to(&w, &x->rows);
    if (!x->csv)
        json_object(&w);
    if (x->with_partner && x->csv)
        buf_printf(&x->rows, "%s,", buf_c(&x->place.partner));
    else if (x->with_partner)
        json_key_string(&w, "PartnerId", buf_str(&x->place.partner));
    for (const char *const *name = x->kind->columns; *name; name++) {
        const struct json *value = json_member(row, *name);
        if (!value)
            value = json_member(holder, *name);
        if (x->csv) {
            buf_add_c(&x->rows, name == x->kind->columns ? "" : ",");
            print_field(&x->rows, value);
        } else {
            json_key(&w, *name);
            json_scalar(&w, value);
        }
    }
    if (!x->csv)
        json_end_object(&w);
    buf_add_c(&x->rows, x->csv ? "\r\n" : "\n");
    x->place.rows++;
}

static void print_item(struct exporting *x, const struct json *item, const struct json *page)
{
    if (!x->kind->inner) {
        print_row(x, item, page);
        return;
    }
    const struct json *rows = json_member(item, x->kind->inner);
    for (const struct json *row = rows ? rows->first : NULL; row; row = row->next)
        print_row(x, row, item);
}

static void print_head(struct exporting *x)
{
    buf_add_c(&x->rows, x->with_partner ? "PartnerId," : "");
    for (const char *const *name = x->kind->columns; *name; name++)
        buf_printf(&x->rows, "%s%s", name == x->kind->columns ? "" : ",", *name);
    buf_add_c(&x->rows, "\r\n");
}

/* --- pages ------------------------------------------------------------------------------------ */

/* *ret_items is NULL if the answer is not from such a daemon. */
static bool get(struct exporting *x, struct buf *path, struct arena *arena,
                const struct json **ret_page, const struct json **ret_items)
{
    struct buf answer = {0};
    struct json *page = NULL;
    struct str why;
    int status = client_get_patiently(x->client, buf_c(path), &answer);
    if (status == 0) {
        command_fail(1, "the server cannot be reached: %.*s.%s", STR_ARG(buf_str(&answer)),
                     x->file.name ? " The same command goes on where this one ended." : "");
    } else if (status != 200) {
        command_fail(1, "the server refuses: %d %.*s", status, STR_ARG(buf_str(&answer)));
    } else if (json_parse(arena, arena_str(arena, buf_str(&answer)), &page, &why)) {
        *ret_page = page;
        *ret_items = json_member(page, "Items");
    }
    buf_free(&answer);
    if (status == 200 && !*ret_items)
        command_fail(1, "the answer is not a list: is --url a postbackd server?");
    return *ret_items != NULL;
}

static void set_place(struct buf *to, struct str text)
{
    buf_clear(to);
    buf_add_str(to, text);
}

static bool next_partner(struct exporting *x)
{
    struct buf path = {0};
    struct arena arena = {0};
    const struct json *page = NULL, *items = NULL;
    buf_add_c(&path, "/api/v1/partners?limit=1");
    if (x->place.partners_after.n)
        buf_printf(&path, "&after=%s", buf_c(&x->place.partners_after));
    bool good = get(x, &path, &arena, &page, &items);
    if (good) {
        x->is_done = !items->first;
        set_place(&x->place.partner, json_member_text(items->first, "PartnerId"));
        set_place(&x->place.partners_after, json_member_text(page, "Next"));
    }
    arena_free(&arena);
    buf_free(&path);
    return good;
}

/* A range has a Next until its end; a statement is one page of its day. */
static void go_on(struct exporting *x, const struct json *page)
{
    set_place(&x->place.after, json_member_text(page, "Next"));
    if (x->place.after.n || (x->kind->by_day && x->place.day++ < x->last_day))
        return;
    x->place.day = x->first_day;
    if (x->of_all_partners)
        buf_clear(&x->place.partner);
    x->is_done = !x->of_all_partners || !x->place.partners_after.n;
}

static void print_path(struct buf *to, struct exporting *x)
{
    buf_add_c(to, x->kind->path);
    buf_add_c(to, x->kind->by_day ? "day=" : "&startDate=");
    clock_print_day(to, x->place.day);
    if (!x->kind->by_day) {
        buf_add_c(to, "&endDate=");
        clock_print_day(to, x->last_day);
    }
    if (x->place.partner.n)
        buf_printf(to, "&partnerId=%s", buf_c(&x->place.partner));
    if (x->app.p)
        buf_printf(to, "&appId=%.*s", STR_ARG(x->app));
    if (x->place.after.n)
        buf_printf(to, "&after=%s", buf_c(&x->place.after));
}

static bool read_page(struct exporting *x)
{
    struct buf path = {0};
    struct arena arena = {0};
    const struct json *page = NULL, *items = NULL;
    print_path(&path, x);
    bool good = get(x, &path, &arena, &page, &items);
    for (const struct json *item = good ? items->first : NULL; item; item = item->next)
        print_item(x, item, page);
    if (good)
        go_on(x, page);
    if (good && x->rows.n)
        good = export_file_add(&x->file, buf_str(&x->rows), x->is_done ? NULL : &x->place);
    buf_clear(&x->rows);
    arena_free(&arena);
    buf_free(&path);
    return good;
}

static bool export_rows(struct exporting *x)
{
    bool good = true;
    if (x->csv && x->file.bytes == 0)
        print_head(x);
    while (good && !x->is_done) {
        bool asks_partner = x->of_all_partners && !x->place.partner.n;
        good = asks_partner ? next_partner(x) : read_page(x);
    }
    if (good && x->rows.n) /* without partners there is no page: only the line of names */
        good = export_file_add(&x->file, buf_str(&x->rows), &x->place);
    return good && export_file_end(&x->file);
}

/* --- the command ------------------------------------------------------------------------------ */

static bool read_day(struct settings *s, enum option_id id, int32_t *ret)
{
    struct str text = settings_text(s, id);
    return text.p && clock_parse_day(text, ret);
}

static const struct export_kind *find_kind(struct settings *s)
{
    for (size_t i = 0; s->operand_count && i < ARRAY_LEN(kinds); i++)
        if (str_is(s->operands[0], kinds[i].name))
            return &kinds[i];
    return NULL;
}

/* What is wrong with the arguments; NULL: nothing. */
static const char *judge(struct settings *s, struct exporting *x)
{
    struct str format = settings_text(s, OPTION_FORMAT), partner = settings_text(s, OPTION_PARTNER);
    bool has_key = settings_text(s, OPTION_API_KEY).p;
    x->kind = find_kind(s);
    x->csv = str_is(format, "csv");
    x->app = settings_text(s, OPTION_APP);
    x->with_partner = !has_key;
    x->of_all_partners = !has_key && !partner.p;
    buf_add_str(&x->place.partner, partner);
    if (!x->kind)
        return "export needs what to export: events, rewards, attempts or statements.";
    if (!read_day(s, OPTION_START_DATE, &x->first_day))
        return "export needs --start-date YYYY-MM-DD, the first day, in UTC.";
    if (!read_day(s, OPTION_END_DATE, &x->last_day) || x->last_day < x->first_day)
        return "export needs --end-date YYYY-MM-DD, the last day, not before --start-date.";
    if (!x->csv && !str_is(format, "ndjson"))
        return "--format is ndjson or csv.";
    if (!has_key && !settings_text(s, OPTION_OPERATOR_KEY).p)
        return "export needs a key in the environment: POSTBACKD_API_KEY, a partner's, or "
               "POSTBACKD_OPERATOR_KEY.";
    if (partner.p && !client_is_id(partner))
        return "--partner is not a PartnerId.";
    if (x->app.p && !client_is_id(x->app))
        return "--app is not an AppId.";
    if (x->app.p && x->of_all_partners)
        return "with POSTBACKD_OPERATOR_KEY, --app needs --partner.";
    return NULL;
}

static struct str text_of(struct settings *s, enum option_id id)
{
    struct str text = settings_text(s, id);
    return text.p ? text : STR("");
}

/* A partner's key determines whose rows they are; an operator's key does not. */
static void print_key_hash(struct buf *to, struct str key)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    if (!key.n)
        return;
    crypto_hash_sha256(hash, (const unsigned char *)key.p, key.n);
    buf_add_char(to, ' ');
    buf_add_hex(to, hash, 8);
}

/* Prints everything that determines the output. */
static void print_identity(struct buf *to, struct settings *s, const struct exporting *x)
{
    static const enum option_id of[] = {OPTION_FORMAT,   OPTION_URL,     OPTION_START_DATE,
                                        OPTION_END_DATE, OPTION_PARTNER, OPTION_APP};
    buf_add_c(to, x->kind->name);
    for (size_t i = 0; i < ARRAY_LEN(of); i++)
        buf_printf(to, " %.*s", STR_ARG(text_of(s, of[i])));
    buf_add_c(to, x->with_partner ? " true" : " false");
    print_key_hash(to, text_of(s, OPTION_API_KEY));
}

int command_export(struct settings *s)
{
    struct exporting x = {0};
    struct buf identity = {0};
    const char *wrong = judge(s, &x);
    if (wrong) {
        buf_free(&x.place.partner);
        return command_fail(EXIT_USAGE, "%s", wrong);
    }
    const char *name =
        s->operand_count > 1 && !str_is(s->operands[1], "-") ? s->operands[1].p : NULL;
    x.place.day = x.first_day;
    print_identity(&identity, s, &x);
    x.client = client_open_server(
        s, settings_text(s, x.with_partner ? OPTION_OPERATOR_KEY : OPTION_API_KEY));
    bool good = export_file_open(&x.file, name, buf_str(&identity), &x.place) && export_rows(&x);
    if (good)
        fprintf(stderr, "%lld rows\n", (long long)x.place.rows);
    client_close(x.client);
    export_file_close(&x.file);
    export_place_free(&x.place);
    buf_free(&x.rows);
    buf_free(&identity);
    return good ? 0 : 1;
}
