/* postbackd reconcile --day D FILE: compares a partner's own records with the daemon's rewards of
 * that day. Reads the feed page by page and looks up each reward in the records; unmatched records
 * are no rewards of the day. */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/records.h"
#include "domain/clock.h"
#include "domain/money.h"
#include "json/reader.h"
#include "json/writer.h"

#include <errno.h>
#include <stdlib.h>

#define NOT_COMPARED 2 /* exit status: neither equal nor different */

struct reconciling {
    struct client_session *client;
    struct records records;
    struct str day, partner;
    bool fetch; /* missing rewards go to stdout as NDJSON */
    FILE *said; /* the stream of the findings: stdout, or stderr with `fetch` */
    long rewards, missing, doubled, different, unknown;
};

/* Prints a reward of the feed as one line: its members are texts, numbers, booleans and nulls. */
static void print_reward(const struct json *reward)
{
    struct buf line = {0};
    struct json_writer w;
    json_write_to(&w, &line);
    json_object(&w);
    for (const struct json *m = reward->first; m; m = m->next) {
        json_key_str(&w, m->name);
        json_scalar(&w, m);
    }
    json_end_object(&w);
    buf_add_char(&line, '\n');
    fwrite(line.p, 1, line.n, stdout);
    buf_free(&line);
}

static void say_different(struct reconciling *r, const char *name, struct str id, int64_t theirs,
                          struct str ours)
{
    struct buf text = {0};
    money_print(&text, theirs, 2);
    command_say(r->said, "different: %.*s: %s is %.*s, recorded as %s", STR_ARG(id), name,
                STR_ARG(ours), buf_c(&text));
    buf_free(&text);
}

/* False: the answer is not from such a daemon. */
static bool compare(struct reconciling *r, const struct json *reward)
{
    struct str id = json_member_text(reward, "RewardId"),
               amount = json_member_text(reward, "Reward"),
               revenue = json_member_text(reward, "RevenueAmount");
    int64_t reward_micros, revenue_micros;
    if (!id.p || money_parse(amount, &reward_micros) != MONEY_OK ||
        money_parse(revenue, &revenue_micros) != MONEY_OK)
        return false;
    bool counts = !json_member_is_true(reward, "IsTest");
    struct input_record *found = records_find(&r->records, id),
                        *end = r->records.items + r->records.count;
    r->rewards += counts;
    for (struct input_record *at = found; at && at < end && str_eq(at->reward_id, id); at++)
        at->matched = true;
    if (!counts)
        return true;
    if (!found) {
        r->missing++;
        command_say(r->said, "missing: %.*s: Reward %.*s, RevenueAmount %.*s", STR_ARG(id),
                    STR_ARG(amount), STR_ARG(revenue));
        if (r->fetch)
            print_reward(reward);
        return true;
    }
    bool other_reward = found->reward_micros != reward_micros;
    bool other_revenue = found->has_revenue && found->revenue_micros != revenue_micros;
    if (other_reward)
        say_different(r, "Reward", id, found->reward_micros, amount);
    if (other_revenue)
        say_different(r, "RevenueAmount", id, found->revenue_micros, revenue);
    r->different += other_reward || other_revenue;
    return true;
}

static void say_doubled(struct reconciling *r)
{
    struct input_record *items = r->records.items;
    for (size_t i = 1; i < r->records.count; i++) {
        if (!str_eq(items[i].reward_id, items[i - 1].reward_id))
            continue;
        r->doubled++;
        command_say(r->said, "doubled: %.*s: recorded on line %ld and again on line %ld",
                    STR_ARG(items[i].reward_id), items[i - 1].line, items[i].line);
    }
}

static void say_unknown(struct reconciling *r)
{
    for (size_t i = 0; i < r->records.count; i++) {
        const struct input_record *at = &r->records.items[i];
        if (at->matched)
            continue;
        r->unknown++;
        command_say(r->said, "unknown: %.*s: recorded on line %ld, but no reward of %.*s",
                    STR_ARG(at->reward_id), at->line, STR_ARG(r->day));
    }
}

static bool get(struct reconciling *r, const char *path, struct buf *answer)
{
    int status = client_get_patiently(r->client, path, answer);
    if (status != 200) {
        struct buf said = {0};
        client_print_answer(&said, status, answer);
        command_fail(NOT_COMPARED, "the rewards of the day cannot be read: %s", buf_c(&said));
        buf_free(&said);
    }
    return status == 200;
}

/* Reads one page; empties `after` after the last one. */
static bool read_page(struct reconciling *r, struct buf *after)
{
    struct buf path = {0}, answer = {0};
    struct arena arena = {0};
    buf_printf(&path, "/api/v1/rewards?limit=500&day=%.*s", STR_ARG(r->day));
    if (r->partner.p)
        buf_printf(&path, "&partnerId=%.*s", STR_ARG(r->partner));
    if (after->n)
        buf_printf(&path, "&after=%s", buf_c(after));
    struct json *object = NULL;
    struct str why;
    bool good = get(r, buf_c(&path), &answer);
    if (good) {
        good = json_parse(&arena, buf_str(&answer), &object, &why);
        const struct json *items = good ? json_member(object, "Items") : NULL;
        struct str next = good ? json_member_text(object, "Next") : STR_NONE;
        good = items && next.p;
        for (const struct json *i = good ? items->first : NULL; good && i; i = i->next)
            good = compare(r, i);
        buf_clear(after);
        if (good && items->count > 0)
            buf_add_str(after, next);
        if (!good)
            command_fail(NOT_COMPARED, "the answer is not a page of rewards: is this postbackd?");
    }
    arena_free(&arena);
    buf_free(&path);
    buf_free(&answer);
    return good;
}

static int reconcile(struct reconciling *r)
{
    struct buf after = {0};
    bool good;
    do
        good = read_page(r, &after);
    while (good && after.n);
    buf_free(&after);
    if (!good)
        return NOT_COMPARED;
    say_doubled(r);
    say_unknown(r);
    command_say(
        r->said,
        "%.*s: %ld rewards, %zu records: %ld missing, %ld doubled, %ld different, %ld unknown",
        STR_ARG(r->day), r->rewards, r->records.count, r->missing, r->doubled, r->different,
        r->unknown);
    return r->missing || r->doubled || r->different || r->unknown ? 1 : 0;
}

/* What is wrong with the arguments; NULL: nothing. */
static const char *judge(struct settings *s)
{
    struct str day = settings_text(s, OPTION_DAY), partner = settings_text(s, OPTION_PARTNER);
    int32_t number;
    if (s->operand_count != 1)
        return "reconcile needs one FILE of records, or - for standard input.";
    if (!day.p)
        return "reconcile needs --day YYYY-MM-DD, the UTC day to compare.";
    if (!clock_parse_day(day, &number))
        return "--day is not a day of the calendar, written as YYYY-MM-DD.";
    if (!settings_text(s, OPTION_API_KEY).p && !settings_text(s, OPTION_OPERATOR_KEY).p)
        return "reconcile needs a key in the environment: POSTBACKD_API_KEY, a partner's with the "
               "scope callbacks:read, or POSTBACKD_OPERATOR_KEY with --partner.";
    if (!settings_text(s, OPTION_API_KEY).p && !partner.p)
        return "with POSTBACKD_OPERATOR_KEY, --partner must say whose rewards are meant.";
    if (partner.p && !client_is_id(partner))
        return "--partner is not a PartnerId.";
    return NULL;
}

int command_reconcile(struct settings *s)
{
    const char *wrong = judge(s);
    if (wrong)
        return command_fail(EXIT_USAGE, "%s", wrong);
    const char *path = s->operands[0].p;
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!f)
        return command_fail(NOT_COMPARED, "%s cannot be read: %s", path, strerror(errno));
    struct str key = settings_text(s, OPTION_API_KEY), why;
    struct reconciling r = {
        .day = settings_text(s, OPTION_DAY),
        .partner = settings_text(s, OPTION_PARTNER),
        .fetch = str_is(settings_text(s, OPTION_FETCH_MISSING), "true"),
        .client = client_open_server(s, key.p ? key : settings_text(s, OPTION_OPERATOR_KEY)),
    };
    r.said = r.fetch ? stderr : stdout;
    int status = records_read(&r.records, f, &why)
                     ? reconcile(&r)
                     : command_fail(NOT_COMPARED, "%s: %.*s", path, STR_ARG(why));
    if (f != stdin)
        fclose(f);
    client_close(r.client);
    records_free(&r.records);
    return status;
}
