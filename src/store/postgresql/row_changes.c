/* Rows that more than one transaction may change are locked in one order, so that nodes do not
 * deadlock: accounts, then events by (account, number), then their rows of `waiting` (outcomes.c
 * says where not), then counts of attempts, then books by key, then totals, then periods of
 * `final_late`. A table without changes costs no statement. */
#include "store/postgresql/row_changes.h"

#include "base/alloc.h"
#include "store/postgresql/delivery_stats_sql.h"
#include "store/postgresql/partitions.h"

#include <stdlib.h>

void changes_begin(struct changes *ch)
{
    books_clear(&ch->books);
    delivery_stats_rows_clear(&ch->stats);
    ch->row_count = ch->total_count = ch->final_late_count = 0;
    table_begin(&ch->dropped, "illl");
    table_begin(&ch->waiting, "illlilbb");
}

void changes_free(struct changes *ch)
{
    books_free(&ch->books);
    delivery_stats_rows_free(&ch->stats);
    free(ch->rows);
    free(ch->totals);
    free(ch->final_late);
    table_free(&ch->dropped);
    table_free(&ch->waiting);
    table_free(&ch->scratch);
    *ch = (struct changes){0};
}

/* --- waiting callbacks ------------------------------------------------------------------------ */

static int64_t waiting_lane(const struct event *e, enum callback_wait wait)
{
    int64_t lane = (int64_t)lane_of(e->app_no, e->lane);
    return wait == WAIT_HELD ? -lane : lane;
}

void changes_wait(struct changes *ch, const struct event *e, int32_t period,
                  const struct callback_life *s, bool presumed)
{
    struct pg_column *c = ch->waiting.columns;
    column_int(c++, e->account_no);
    column_int(c++, waiting_lane(e, s->wait));
    column_int(c++, s->place.due_ms);
    column_int(c++, (int64_t)e->event_no);
    column_int(c++, period);
    column_int(c++, e->accepted_ms);
    column_int(c++, s->state == CALLBACK_PENDING);
    column_int(c++, presumed);
}

static void stop_waiting(struct changes *ch, const struct event *e, const struct callback_life *s)
{
    struct pg_column *c = ch->dropped.columns;
    column_int(c++, e->account_no);
    column_int(c++, waiting_lane(e, s->wait));
    column_int(c++, s->place.due_ms);
    column_int(c++, (int64_t)e->event_no);
}

void changes_note_final_late(struct changes *ch, uint32_t account_no, int32_t period,
                             int32_t final_day)
{
    for (size_t i = 0; i < ch->final_late_count; i++) {
        struct changed_final_late *at = &ch->final_late[i];
        if (at->account_no == account_no && at->period == period) {
            at->final_day = at->final_day > final_day ? at->final_day : final_day;
            return;
        }
    }
    ch->final_late = xgrow(ch->final_late, &ch->final_late_capacity, ch->final_late_count + 1,
                           sizeof *ch->final_late);
    ch->final_late[ch->final_late_count++] =
        (struct changed_final_late){account_no, period, final_day};
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct changed_total *total_of(struct changes *ch, uint32_t account_no)
{
    size_t at = 0;
    while (at < ch->total_count && ch->totals[at].account_no != account_no)
        at++;
    if (at == ch->total_count) {
        ch->totals =
            xgrow(ch->totals, &ch->total_capacity, ch->total_count + 1, sizeof *ch->totals);
        ch->totals[ch->total_count++] = (struct changed_total){.account_no = account_no};
    }
    return &ch->totals[at];
}

void changes_pending(struct changes *ch, uint32_t account_no, int64_t more)
{
    total_of(ch, account_no)->pending += more;
}

void changes_count_final(struct changes *ch, uint32_t account_no, struct row_callback *now)
{
    unsigned bit = counted_bit(now->life.state) & ~now->counted;
    if (!bit)
        return;
    struct changed_total *total = total_of(ch, account_no);
    now->counted |= bit;
    *(bit == COUNTED_DELIVERED ? &total->delivered : &total->dead) += 1;
}

void changes_row(struct changes *ch, const struct pg_row *row, const struct row_callback *now)
{
    const struct event *e = &row->event;
    const struct row_callback *was = &row->callback;
    if (was->life.state != now->life.state) {
        struct book_key key = book_key_of(e);
        books_move(&ch->books, &key, e->reward_micros, e->revenue_micros, was->life.state,
                   now->life.state);
        changes_pending(ch, e->account_no,
                        (now->life.state == CALLBACK_PENDING) -
                            (was->life.state == CALLBACK_PENDING));
    }
    /* a row of `waiting` with `presumed` must go once the event's row presumes delivery no more */
    bool same = !row->presumed && was->life.wait == now->life.wait &&
                was->life.place.due_ms == now->life.place.due_ms &&
                (was->life.state == CALLBACK_PENDING) == (now->life.state == CALLBACK_PENDING);
    if (!same && !row->taken && was->life.wait != WAIT_NOT)
        stop_waiting(ch, e, &was->life);
    if (!same && now->life.wait != WAIT_NOT)
        changes_wait(ch, e, row->period, &now->life, false);
    if (row->presumed && now->life.state == CALLBACK_DELIVERED && pg_row_may_presume(e, now))
        return;
    ch->rows = xgrow(ch->rows, &ch->row_capacity, ch->row_count + 1, sizeof *ch->rows);
    ch->rows[ch->row_count++] = (struct changed_row){
        .account_no = e->account_no,
        .event_no = e->event_no,
        .period = row->period,
        .callback = *now,
    };
}

/* --- sending ---------------------------------------------------------------------------------- */

static int by_period(const void *a, const void *b)
{
    const struct changed_row *x = a, *y = b;
    if (x->period != y->period)
        return x->period < y->period ? -1 : 1;
    if (x->account_no != y->account_no)
        return x->account_no < y->account_no ? -1 : 1;
    return (x->event_no > y->event_no) - (x->event_no < y->event_no);
}

static void add_row(struct pg_table *t, const struct changed_row *row)
{
    const struct row_callback *s = &row->callback;
    struct pg_column *c = t->columns;
    column_int(c++, row->account_no);
    column_int(c++, row->period);
    column_int(c++, (int64_t)row->event_no);
    column_int(c++, s->life.state);
    column_int_or_null(c++, s->life.reason);
    column_int_or_null(c++, s->life.wait);
    column_int_or_null(c++, s->life.manual);
    column_int_or_null(c++, s->life.place.failed_attempts);
    column_int_or_null(c++, s->life.place.slot);
    column_int_or_null(c++, s->life.place.due_ms);
    column_int_or_null(c++, s->life.attempts);
    rows_add_counted(c++, s->life.state, s->counted);
    column_int_or_null(c++, (int64_t)s->resend_last_no);
    column_int_or_null(c++, s->resend.no ? s->resend.due_ms : 0);
}

/* One statement for each period, on its partition by name. The period is joined like the rest of
 * the key: with a condition `period=` and a number the planner could expect few rows while the
 * partition has no statistics, and would then read all of them for each changed row. */
static void send_rows(struct changes *ch, struct pg *pg)
{
    if (ch->row_count)
        qsort(ch->rows, ch->row_count, sizeof *ch->rows, by_period);
    for (size_t at = 0; at < ch->row_count;) {
        int32_t period = ch->rows[at].period;
        table_begin(&ch->scratch, "iilsssbiilisll");
        for (; at < ch->row_count && ch->rows[at].period == period; at++)
            add_row(&ch->scratch, &ch->rows[at]);
        args_table(pg_args(pg), &ch->scratch);
        pg_query_prepared_f(
            pg,
            "UPDATE event_%d e SET state=u.state,reason=u.reason,wait=u.wait,"
            "manual=u.manual,failed_attempts=u.failed,slot=u.slot,due_ms=u.due,"
            "attempts=u.attempts,counted=u.counted,resend_no=u.resend_no,"
            "resend_due_ms=u.resend_due"
            " FROM unnest($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14) AS u(account_no,"
            "period,event_no,state,reason,wait,manual,failed,slot,due,attempts,counted,resend_no,"
            "resend_due) WHERE e.account_no=u.account_no AND e.period=u.period"
            " AND e.event_no=u.event_no",
            period + PG_PARTITION_NAME);
    }
}

static void send_waiting(struct changes *ch, struct pg *pg)
{
    pg_query_table(pg, &ch->dropped,
                   "DELETE FROM waiting w USING unnest($1,$2,$3,$4) AS u(a,l,d,n)"
                   " WHERE w.account_no=u.a AND w.lane=u.l AND w.due_ms=u.d AND w.event_no=u.n");
    pg_query_table(pg, &ch->waiting,
                   "INSERT INTO waiting SELECT * FROM unnest($1,$2,$3,$4,$5,$6,$7,$8)");
}

static void add_book(struct pg_table *t, const struct book *book, int state)
{
    const struct statement_sums *sums = &book->sums[state];
    struct pg_column *c = t->columns;
    if (sums->count == 0 && sums->reward_micros == 0 && sums->revenue_micros == 0)
        return;
    column_int(c++, book->key.account_no);
    column_int(c++, book->key.day);
    column_int(c++, book->key.app_no);
    column_int(c++, book->key.lane);
    column_int(c++, book->key.is_test);
    column_int(c++, state);
    column_int(c++, sums->count);
    column_money(c++, sums->reward_micros);
    column_money(c++, sums->revenue_micros);
}

static void send_books(struct changes *ch, struct pg *pg)
{
    table_begin(&ch->scratch, "iilsbsltt");
    books_sort(&ch->books);
    for (size_t i = 0; i < ch->books.count; i++)
        for (int state = 0; state < BOOK_STATES; state++)
            add_book(&ch->scratch, &ch->books.items[i], state);
    pg_query_table(pg, &ch->scratch,
                   "INSERT INTO book AS b SELECT a,d,p,l,t,s,n,r::numeric,v::numeric"
                   " FROM unnest($1,$2,$3,$4,$5,$6,$7,$8,$9) AS u(a,d,p,l,t,s,n,r,v)"
                   " ON CONFLICT(account_no,day,app_no,lane,is_test,state) DO UPDATE SET"
                   " count=b.count+excluded.count,"
                   "reward_micros=b.reward_micros+excluded.reward_micros,"
                   "revenue_micros=b.revenue_micros+excluded.revenue_micros");
}

static int by_account(const void *a, const void *b)
{
    const struct changed_total *x = a, *y = b;
    return (x->account_no > y->account_no) - (x->account_no < y->account_no);
}

static void send_totals(struct changes *ch, struct pg *pg)
{
    if (ch->total_count == 0)
        return;
    qsort(ch->totals, ch->total_count, sizeof *ch->totals, by_account);
    table_begin(&ch->scratch, "illl");
    for (size_t i = 0; i < ch->total_count; i++) {
        column_int(&ch->scratch.columns[0], ch->totals[i].account_no);
        column_int(&ch->scratch.columns[1], ch->totals[i].pending);
        column_int(&ch->scratch.columns[2], ch->totals[i].delivered);
        column_int(&ch->scratch.columns[3], ch->totals[i].dead);
        ch->added.pending += ch->totals[i].pending;
        ch->added.delivered += ch->totals[i].delivered;
        ch->added.dead += ch->totals[i].dead;
    }
    pg_query_table(pg, &ch->scratch,
                   "INSERT INTO total AS t SELECT * FROM unnest($1,$2,$3,$4)"
                   " ON CONFLICT(account_no) DO UPDATE SET pending=t.pending+excluded.pending,"
                   "delivered=t.delivered+excluded.delivered,"
                   "dead=t.dead+excluded.dead");
}

static int by_account_and_period(const void *a, const void *b)
{
    const struct changed_final_late *x = a, *y = b;
    if (x->account_no != y->account_no)
        return x->account_no < y->account_no ? -1 : 1;
    return (x->period > y->period) - (x->period < y->period);
}

static void send_final_late(struct changes *ch, struct pg *pg)
{
    if (ch->final_late_count == 0)
        return;
    qsort(ch->final_late, ch->final_late_count, sizeof *ch->final_late, by_account_and_period);
    table_begin(&ch->scratch, "iii");
    for (size_t i = 0; i < ch->final_late_count; i++) {
        column_int(&ch->scratch.columns[0], ch->final_late[i].account_no);
        column_int(&ch->scratch.columns[1], ch->final_late[i].period);
        column_int(&ch->scratch.columns[2], ch->final_late[i].final_day);
    }
    pg_query_table(pg, &ch->scratch,
                   "INSERT INTO final_late AS w SELECT * FROM unnest($1,$2,$3)"
                   " ON CONFLICT(account_no,period) DO UPDATE SET"
                   " final_day=excluded.final_day WHERE w.final_day<excluded.final_day");
}

void changes_send(struct changes *ch, struct pg *pg)
{
    send_rows(ch, pg);
    send_waiting(ch, pg);
    pg_add_delivery_stats(pg, &ch->scratch, &ch->stats);
    send_books(ch, pg);
    send_totals(ch, pg);
    send_final_late(ch, pg);
}
