/* The look-ups for a group of events. They run after the accounts' rows are locked, in the same
 * trip: any other transaction that accepts events of these accounts has committed by then, or
 * waits. */
#include "store/postgresql/intake_lookups.h"

#include "domain/acceptance.h"
#include "domain/clock.h"
#include "store/postgresql/key_page.h"

#include <stdlib.h>

/* Intake refuses events from more than minutes in the future. So an event that occurred on a day
 * was accepted from shortly before that day on, and is in the periods from this one on, whatever
 * the clocks did, because an account's period never goes back. */
#define AHEAD_DAYS 2

static void ask_accounts(struct pg_intake *in)
{
    struct pg_table t = {0};
    table_begin(&t, "i");
    for (size_t i = 0; i < in->account_count; i++)
        column_int(&t.columns[0], in->accounts[i].account_no);
    pg_query_table(in->pg, &t,
                   "INSERT INTO account SELECT a,0,0,-2147483648"
                   " FROM unnest($1) AS u(a) ORDER BY a ON CONFLICT DO NOTHING");
    args_table(pg_args(in->pg), &t);
    in->at_accounts =
        pg_query_prepared(in->pg, "SELECT account_no,last_event_no,last_accepted_ms,period"
                                  " FROM account WHERE account_no=ANY($1)"
                                  " ORDER BY account_no FOR UPDATE");
    table_free(&t);
}

/* Each item's key and its original's: the lowest bit of the index says which of the two. */
static void ask_keys(struct pg_intake *in)
{
    struct intake_key *keys = arena_alloc(in->arena, 2 * in->count * sizeof *keys);
    struct pg_table t = {0};
    size_t n = 0;
    for (size_t i = 0; i < in->count; i++) {
        const struct candidate *c = in->items[i].c;
        uint32_t account_no = c->terms->account_no;
        keys[n++] = (struct intake_key){account_no, c->key, i * 2};
        if (acceptance_needs_original(c))
            keys[n++] = (struct intake_key){
                account_no,
                event_key(&in->s->identity.secret, account_no, c->original_reward_id),
                i * 2 + 1,
            };
    }
    qsort(keys, n, sizeof *keys, intake_key_compare);
    table_begin(&t, "liu");
    for (size_t i = 0; i < n; i++) {
        column_int(&t.columns[0], (int64_t)keys[i].index);
        column_int(&t.columns[1], keys[i].account_no);
        column_key(&t.columns[2], keys[i].key);
    }
    args_table(pg_args(in->pg), &t);
    in->at_keys = pg_query_prepared(
        in->pg, "SELECT u.i,k.content,k.event_no," PERIOD_OF_EVENT(
                    "u.a", "k.event_no") " FROM unnest($1,$2,$3) AS u(i,a,k) CROSS JOIN "
                                         "LATERAL " FIND_KEY("u.a", "u.k") " k");
    table_free(&t);
}

static int32_t first_period(int32_t first_day)
{
    return pg_period_of_day(first_day - AHEAD_DAYS);
}

static bool is_same_question(const struct candidate *a, const struct candidate *b)
{
    if (a->terms->account_no != b->terms->account_no || !str_eq(a->panelist_id, b->panelist_id))
        return false;
    if (a->type == EVENT_SURVEY_STARTED && b->type == EVENT_SURVEY_STARTED)
        return a->client_no == b->client_no &&
               clock_day(a->occurred_ms) == clock_day(b->occurred_ms);
    return acceptance_needs_payments(a) && acceptance_needs_payments(b) &&
           a->terms->app_no == b->terms->app_no;
}

/* Thousands of items of one panelist share one look-up: otherwise each would read the rows of all
 * the others. */
static bool is_asked_already(struct pg_intake *in, size_t index)
{
    struct intake_item *item = &in->items[index];
    uint64_t hash = pg_intake_panelist_hash(item->c->terms->account_no, item->c->panelist_id);
    for (size_t at = pg_intake_first(&in->by_question, hash); at && !item->same_question;
         at = in->items[at - 1].next_question)
        if (is_same_question(in->items[at - 1].c, item->c))
            item->same_question = at;
    if (!item->same_question)
        pg_intake_chain(&in->by_question, hash, index, &item->next_question);
    return item->same_question != 0;
}

/* The first item of those that need the same payments looks up the payments of all. */
static void join_questions(struct pg_intake *in)
{
    for (size_t i = 0; i < in->count; i++) {
        struct intake_item *item = &in->items[i];
        int64_t at_ms = item->c->occurred_ms;
        if (!acceptance_needs_payments(item->c))
            continue;
        if (!is_asked_already(in, i)) {
            item->paid_after_ms = at_ms - DAY_MS;
            item->paid_before_ms = at_ms + DAY_MS;
            continue;
        }
        struct intake_item *first = &in->items[item->same_question - 1];
        if (at_ms - DAY_MS < first->paid_after_ms)
            first->paid_after_ms = at_ms - DAY_MS;
        if (at_ms + DAY_MS > first->paid_before_ms)
            first->paid_before_ms = at_ms + DAY_MS;
    }
}

static void ask_payments(struct pg_intake *in)
{
    struct pg_table t = {0};
    int64_t first_ms = INT64_MAX;
    join_questions(in);
    table_begin(&t, "liitll");
    for (size_t i = 0; i < in->count; i++) {
        const struct intake_item *item = &in->items[i];
        const struct candidate *c = item->c;
        if (!acceptance_needs_payments(c) || item->same_question)
            continue;
        first_ms = item->paid_after_ms < first_ms ? item->paid_after_ms : first_ms;
        column_int(&t.columns[0], (int64_t)i);
        column_int(&t.columns[1], c->terms->account_no);
        column_int(&t.columns[2], c->terms->app_no);
        column_str(&t.columns[3], c->panelist_id);
        column_int(&t.columns[4], item->paid_after_ms);
        column_int(&t.columns[5], item->paid_before_ms);
    }
    if (table_rows(&t) > 0) {
        args_table(pg_args(in->pg), &t);
        args_int(&in->pg->args, PG_INT4, first_period(clock_day(first_ms)));
        in->at_payments = pg_query_prepared_f(
            in->pg,
            "SELECT u.i,e.occurred_ms FROM unnest($1,$2,$3,$4,$5,$6) AS u(i,a,app,p,f,t)"
            " JOIN event e ON e.period>=$7 AND e.account_no=u.a AND e.app_no=u.app"
            " AND " PG_PANELIST_HASH("e.panelist_id", "e.app_no") "=" PG_PANELIST_HASH(
                "u.p", "u.app") " AND e.panelist_id=u.p AND e.cap=%d AND e.occurred_ms>u.f"
                                " AND e.occurred_ms<u.t ORDER BY 1,2",
            CAP_COUNTED);
    }
    table_free(&t);
}

static void ask_starts(struct pg_intake *in)
{
    struct pg_table t = {0};
    int32_t first_day = INT32_MAX;
    table_begin(&t, "liilt");
    for (size_t i = 0; i < in->count; i++) {
        const struct candidate *c = in->items[i].c;
        if (c->type != EVENT_SURVEY_STARTED || is_asked_already(in, i))
            continue;
        int32_t day = clock_day(c->occurred_ms);
        first_day = day < first_day ? day : first_day;
        column_int(&t.columns[0], (int64_t)i);
        column_int(&t.columns[1], c->terms->account_no);
        column_int(&t.columns[2], day);
        column_int(&t.columns[3], c->client_no);
        column_str(&t.columns[4], c->panelist_id);
    }
    if (table_rows(&t) > 0) {
        args_table(pg_args(in->pg), &t);
        args_int(&in->pg->args, PG_INT4, first_period(first_day));
#define STARTED                                                                                    \
    "EXISTS(SELECT FROM event e WHERE e.period>=$6 AND " ROW_OF_PANELIST(                          \
        "u.a", "u.p") " AND -e.day=-u.d AND e.type=%d AND e.client_no=u.c AND "
        in->at_starts =
            pg_query_prepared_f(in->pg,
                                "SELECT u.i,x.live,NOT x.live AND " STARTED "e.is_test)"
                                " FROM unnest($1,$2,$3,$4,$5) AS u(i,a,d,c,p)"
                                " CROSS JOIN LATERAL (SELECT " STARTED "NOT e.is_test) AS live) x",
                                EVENT_SURVEY_STARTED, EVENT_SURVEY_STARTED);
#undef STARTED
    }
    table_free(&t);
}

void pg_intake_ask(struct pg_intake *in)
{
    in->at_payments = in->at_starts = -1;
    ask_accounts(in);
    ask_keys(in);
    ask_payments(in);
    ask_starts(in);
}

/* --- results ---------------------------------------------------------------------------------- */

static void read_accounts(struct pg_intake *in)
{
    const PGresult *r = pg_result(in->pg, in->at_accounts);
    ASSERT((size_t)PQntuples(r) == in->account_count); /* both are ordered by number */
    for (size_t i = 0; i < in->account_count; i++) {
        struct intake_account *a = &in->accounts[i];
        ASSERT(a->account_no == (uint32_t)pg_int(r, (int)i, 0));
        a->last_event_no = (uint64_t)pg_int(r, (int)i, 1);
        a->last_accepted_ms = pg_int(r, (int)i, 2);
        a->period = (int32_t)pg_int(r, (int)i, 3);
    }
}

/* The rows are ordered by item, then time. */
static void read_payments(struct pg_intake *in, const PGresult *r)
{
    size_t n = (size_t)PQntuples(r);
    int64_t *at_ms = arena_alloc(in->arena, n * sizeof *at_ms + 1);
    for (size_t i = 0; i < n; i++) {
        struct payments *paid = &in->items[pg_int(r, (int)i, 0)].paid;
        at_ms[i] = pg_int(r, (int)i, 1);
        if (paid->count++ == 0)
            paid->at_ms = &at_ms[i];
    }
}

void pg_intake_read(struct pg_intake *in)
{
    read_accounts(in);
    const PGresult *r = pg_result(in->pg, in->at_keys);
    for (int i = 0; i < PQntuples(r); i++) {
        int64_t which = pg_int(r, i, 0);
        struct intake_item *item = &in->items[which / 2];
        *(which % 2 ? &item->original : &item->key) = (struct found_key){
            .found = true,
            .content = (uint64_t)pg_int(r, i, 1),
            .event_no = (uint64_t)pg_int(r, i, 2),
            .period = (int32_t)pg_int(r, i, 3),
        };
    }
    if (in->at_payments >= 0)
        read_payments(in, pg_result(in->pg, in->at_payments));
    if (in->at_starts >= 0) {
        r = pg_result(in->pg, in->at_starts);
        for (int i = 0; i < PQntuples(r); i++) {
            struct intake_item *item = &in->items[pg_int(r, i, 0)];
            item->started_live = pg_int(r, i, 1) != 0;
            item->started_test = pg_int(r, i, 2) != 0;
        }
    }
    for (size_t i = 0; i < in->count; i++) {
        struct intake_item *item = &in->items[i];
        if (!item->same_question)
            continue;
        const struct intake_item *first = &in->items[item->same_question - 1];
        item->started_live = first->started_live;
        item->started_test = first->started_test;
        item->paid = first->paid;
    }
}

static enum pg_fate find_reversed(struct pg_intake *in)
{
    struct pg_table t = {0};
    table_begin(&t, "il");
    for (size_t i = 0; i < in->originals.count; i++) {
        column_int(&t.columns[0], in->originals.rows[i].event.account_no);
        column_int(&t.columns[1], (int64_t)in->originals.rows[i].event.event_no);
    }
    args_table(pg_args(in->pg), &t);
    table_free(&t);
    int at =
        pg_query_prepared(in->pg, "SELECT u.i FROM unnest($1,$2) WITH ORDINALITY AS u(a,n,i)"
                                  " JOIN reversal r ON r.account_no=u.a AND r.original_no=u.n");
    enum pg_fate fate = pg_sync(in->pg);
    for (int i = 0; fate == PG_OK && i < PQntuples(pg_result(in->pg, at)); i++)
        in->reversed[pg_int(pg_result(in->pg, at), i, 0) - 1] = true;
    return fate;
}

enum pg_fate pg_intake_fetch_originals(struct pg_intake *in)
{
    struct fetch_key *keys = arena_alloc(in->arena, in->count * sizeof *keys);
    size_t n = 0;
    for (size_t i = 0; i < in->count; i++) {
        const struct intake_item *item = &in->items[i];
        if (item->original.found && !item->key.found)
            keys[n++] = (struct fetch_key){item->c->terms->account_no, item->original.event_no,
                                           item->original.period};
    }
    enum pg_fate fate = fetch_rows(in->pg, keys, n, FETCH_SHARED, false, in->arena, &in->originals);
    if (fate != PG_OK || in->originals.count == 0)
        return fate;
    in->reversed = arena_zalloc(in->arena, in->originals.count * sizeof *in->reversed);
    return find_reversed(in);
}
