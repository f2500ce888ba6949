/* Writes a decided group of events: a statement for each table, two for `event`. */
#include "store/postgresql/intake_write.h"

#include "base/alloc.h"
#include "domain/clock.h"
#include "store/postgresql/handover.h"
#include "store/postgresql/transaction_retry.h"
#include "store/report_sums.h"

#include <stdlib.h>

/* About the order of the key of `waiting`: neighbours share its pages. */
static int by_lane(const void *a, const void *b)
{
    const struct event *x = &(*(struct intake_item *const *)a)->event;
    const struct event *y = &(*(struct intake_item *const *)b)->event;
    lane_no in_x = lane_of(x->app_no, x->lane), in_y = lane_of(y->app_no, y->lane);
    if (x->account_no != y->account_no)
        return x->account_no < y->account_no ? -1 : 1;
    if (in_x != in_y)
        return in_x < in_y ? -1 : 1;
    return (x->event_no > y->event_no) - (x->event_no < y->event_no);
}

static struct intake_item **accepted_by_lane(struct pg_intake *in, size_t *ret_count)
{
    struct intake_item **accepted = arena_alloc(in->arena, in->count * sizeof(void *) + 1);
    *ret_count = 0;
    for (size_t i = 0; i < in->count; i++)
        if (in->items[i].accepted)
            accepted[(*ret_count)++] = &in->items[i];
    if (*ret_count > 0)
        qsort(accepted, *ret_count, sizeof(void *), by_lane);
    return accepted;
}

static void write_events(struct pg_intake *in, bool usual)
{
    struct pg_table *t = &in->writer->table;
    rows_insert_begin(t, usual);
    for (size_t i = 0; i < in->count; i++) {
        const struct intake_item *item = &in->items[i];
        if (item->accepted && row_is_usual(&item->event, &item->life, item->presumed) == usual)
            rows_insert_add(t, &item->event, item->period, &item->life, item->presumed, usual);
    }
    rows_insert_send(in->pg, t, usual);
}

static void write_bodies(struct pg_intake *in)
{
    struct pg_table *t = &in->writer->table;
    table_begin(t, "iily");
    for (size_t i = 0; i < in->count; i++) {
        const struct event *e = &in->items[i].event;
        if (!in->items[i].accepted || e->lane == LANE_NONE)
            continue;
        column_int(&t->columns[0], e->account_no);
        column_int(&t->columns[1], in->items[i].period);
        column_int(&t->columns[2], (int64_t)e->event_no);
        column_str(&t->columns[3], text_pack(&in->writer->packer.text, e->body));
    }
    pg_query_table(in->pg, t, "INSERT INTO body SELECT * FROM unnest($1,$2,$3,$4)");
}

static void write_keys(struct pg_intake *in)
{
    struct intake_key *keys = arena_alloc(in->arena, in->count * sizeof *keys);
    struct pg_table *t = &in->writer->table;
    size_t n = 0;
    for (size_t i = 0; i < in->count; i++) {
        const struct event *e = &in->items[i].event;
        if (in->items[i].accepted)
            keys[n++] = (struct intake_key){e->account_no, e->key, i};
    }
    if (n == 0)
        return;
    qsort(keys, n, sizeof *keys, intake_key_compare);
    table_begin(t, "iull");
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &in->items[keys[i].index].event;
        column_int(&t->columns[0], keys[i].account_no);
        column_key(&t->columns[1], keys[i].key);
        column_int(&t->columns[2], (int64_t)e->content);
        column_int(&t->columns[3], (int64_t)e->event_no);
    }
    pg_query_table(in->pg, t, "INSERT INTO event_key SELECT * FROM unnest($1,$2,$3,$4)");
}

static void write_reversals(struct pg_intake *in)
{
    struct pg_table *t = &in->writer->table;
    table_begin(t, "illi");
    for (size_t i = 0; i < in->count; i++) {
        const struct event *e = &in->items[i].event;
        if (!in->items[i].accepted || e->type != EVENT_OFFER_COMPLETION_REVERSED)
            continue;
        column_int(&t->columns[0], e->account_no);
        column_int(&t->columns[1], (int64_t)e->original_no);
        column_int(&t->columns[2], (int64_t)e->event_no);
        column_int(&t->columns[3], in->items[i].period);
    }
    pg_query_table(in->pg, t, "INSERT INTO reversal SELECT * FROM unnest($1,$2,$3,$4)");
}

/* --- accounts --------------------------------------------------------------------------------- */

/* The accounts' last numbers. */
static void write_accounts(struct pg_intake *in)
{
    struct pg_table *t = &in->writer->table;
    table_begin(t, "illi");
    for (size_t i = 0; i < in->account_count; i++) {
        const struct intake_account *a = &in->accounts[i];
        column_int(&t->columns[0], a->account_no);
        column_int(&t->columns[1], (int64_t)a->last_event_no);
        column_int(&t->columns[2], a->last_accepted_ms);
        column_int(&t->columns[3], a->period);
    }
    pg_query_table(in->pg, t,
                   "UPDATE account a SET last_event_no=u.n,last_accepted_ms=u.l,period=u.p"
                   " FROM unnest($1,$2,$3,$4) AS u(a,n,l,p) WHERE a.account_no=u.a"
                   " AND a.last_event_no<u.n");
}

/* The first number of an account in each of its periods. */
static void write_periods(struct pg_intake *in)
{
    struct pg_table *t = &in->writer->table;
    table_begin(t, "ili");
    for (size_t i = 0; i < in->count; i++) {
        const struct intake_item *item = &in->items[i];
        if (!item->begins_period)
            continue;
        column_int(&t->columns[0], item->event.account_no);
        column_int(&t->columns[1], (int64_t)item->event.event_no);
        column_int(&t->columns[2], item->period);
    }
    pg_query_table(in->pg, t, "INSERT INTO account_period SELECT * FROM unnest($1,$2,$3)");
}

/* Which account each app is in; `accepted` is ordered by lane. */
static void write_apps(struct pg_intake *in, struct intake_item *const *accepted, size_t count)
{
    struct pg_table *t = &in->writer->table;
    table_begin(t, "li");
    for (size_t i = 0; i < count; i++) {
        const struct event *e = &accepted[i]->event;
        if (i > 0 && accepted[i - 1]->event.app_no == e->app_no)
            continue;
        column_int(&t->columns[0], e->app_no);
        column_int(&t->columns[1], e->account_no);
    }
    pg_query_table(in->pg, t, "INSERT INTO app SELECT * FROM unnest($1,$2) ON CONFLICT DO NOTHING");
}

/* --- reports ---------------------------------------------------------------------------------- */

struct report_delta {
    uint32_t account_no, client_no;
    int32_t day;
    const struct intake_item *item;
};

static int by_report(const void *a, const void *b)
{
    const struct report_delta *x = a, *y = b;
    if (x->account_no != y->account_no)
        return x->account_no < y->account_no ? -1 : 1;
    if (x->day != y->day)
        return x->day < y->day ? -1 : 1;
    return (x->client_no > y->client_no) - (x->client_no < y->client_no);
}

static struct pg_column *add_part(struct pg_column *c, const struct report_part *part)
{
    column_int(c++, part->events);
    column_int(c++, part->starts);
    column_int(c++, part->outcomes);
    for (int product = 0; product < 2; product++)
        column_int(c++, part->conversions[product]);
    for (int product = 0; product < 2; product++)
        column_money(c++, part->earnings_micros[product]);
    return c;
}

/* One row: the key, then live and test sums, then the panelists. */
static void add_report(struct pg_table *t, const struct report_delta *d, size_t count)
{
    struct report_sums sums = {0};
    for (size_t i = 0; i < count; i++) {
        report_sums_add(&sums, &d[i].item->event);
        sums.active_live += d[i].item->first_live_start;
        sums.active_any += d[i].item->first_start;
    }
    struct pg_column *c = t->columns;
    column_int(c++, d->account_no);
    column_int(c++, d->day);
    column_int(c++, d->client_no);
    c = add_part(c, &sums.live);
    c = add_part(c, &sums.test);
    column_int(c++, sums.active_live);
    column_int(c++, sums.active_any);
}

/* clang-format off */
#define ADD(column) #column "=r." #column "+excluded." #column
static const char report_upsert[] =
    "INSERT INTO report AS r SELECT c1,c2,c3,c4,c5,c6,c7,c8,c9::numeric,c10::numeric,c11,c12,c13,"
    "c14,c15,c16::numeric,c17::numeric,c18,c19 FROM unnest($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,"
    "$13,$14,$15,$16,$17,$18,$19) AS u(c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12,c13,c14,c15,c16,c17,"
    "c18,c19) ON CONFLICT(account_no,day,client_no) DO UPDATE SET "
    ADD(live_events) "," ADD(live_starts) "," ADD(live_outcomes) ","
    ADD(live_conversions_survey) "," ADD(live_conversions_offer) ","
    ADD(live_survey_micros) "," ADD(live_offer_micros) ","
    ADD(test_events) "," ADD(test_starts) "," ADD(test_outcomes) ","
    ADD(test_conversions_survey) "," ADD(test_conversions_offer) ","
    ADD(test_survey_micros) "," ADD(test_offer_micros) ","
    ADD(active_live) "," ADD(active_any);
#undef ADD
/* clang-format on */

static void write_reports(struct pg_intake *in)
{
    struct report_delta *d = arena_alloc(in->arena, in->count * sizeof *d);
    size_t n = 0;
    for (size_t i = 0; i < in->count; i++) {
        const struct event *e = &in->items[i].event;
        if (in->items[i].accepted)
            d[n++] = (struct report_delta){e->account_no, e->client_no, clock_day(e->occurred_ms),
                                           &in->items[i]};
    }
    if (n == 0)
        return;
    qsort(d, n, sizeof *d, by_report);
    table_begin(&in->writer->table, "iil"
                                    "lllllttlllllttll");
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && by_report(&d[first], &d[end]) == 0; end++)
            ;
        add_report(&in->writer->table, d + first, end - first);
    }
    pg_query_table(in->pg, &in->writer->table, report_upsert);
}

/* --- callbacks -------------------------------------------------------------------------------- */

/* Hands callbacks, ordered by lane, over to the nodes of their lanes. */
static void hand_over(struct pg_intake *in, const struct event **events, size_t count)
{
    struct pg_table *t = &in->writer->handover;
    handover_begin(t);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && events[end]->app_no == events[first]->app_no &&
                              events[end]->lane == events[first]->lane;
             end++)
            ;
        handover_events(t, events + first, end - first);
    }
    handover_send(in->writer);
}

static void write_callbacks(struct pg_intake *in, struct intake_item *const *accepted, size_t count)
{
    struct changes *ch = &in->writer->changes;
    const struct event **elsewhere = arena_alloc(in->arena, in->count * sizeof(struct event *));
    size_t elsewhere_count = 0;
    changes_begin(ch);
    for (size_t i = 0; i < count; i++) {
        struct intake_item *item = accepted[i];
        const struct event *e = &item->event;
        ch->added.accepted++;
        books_owe(&ch->books, e, e->state);
        if (item->life.wait == WAIT_NOT)
            continue;
        changes_wait(ch, e, item->period, &item->life, item->presumed);
        changes_pending(ch, e->account_no, 1);
        if (item->life.wait != WAIT_DUE)
            continue;
        if (leases_have(&in->s->nodes.leases, lane_of(e->app_no, e->lane)))
            pg_writer_owe(in->writer, pg_callback_new(e, &item->life, item->presumed));
        else
            elsewhere[elsewhere_count++] = e;
    }
    changes_send(ch, in->pg);
    hand_over(in, elsewhere, elsewhere_count);
}

void pg_intake_write(struct pg_intake *in)
{
    size_t count;
    struct intake_item **accepted = accepted_by_lane(in, &count);
    write_accounts(in);
    write_periods(in);
    write_apps(in, accepted, count);
    write_events(in, true);
    write_events(in, false);
    write_bodies(in);
    write_keys(in);
    write_reversals(in);
    write_reports(in);
    write_callbacks(in, accepted, count);
}
