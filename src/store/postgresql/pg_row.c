/* Converts between rows of the table `event` and struct event. ROW_COLUMNS has the order of the
 * columns. */
#include "store/postgresql/pg_row.h"

#include "base/log.h"
#include "domain/clock.h"
#include "store/damage_said.h"
#include "store/postgresql/partitions.h"
#include "store/store_ops.h"

/* The callback of a row that presumes delivery: delivered by the first attempt, or due for it. */
static struct callback_life presumed_life(const struct event *e, bool is_delivered, int64_t due_ms)
{
    struct callback_life life = {.lane = lane_of(e->app_no, e->lane)};
    life.state = is_delivered ? CALLBACK_DELIVERED : CALLBACK_PENDING;
    life.attempts = is_delivered;
    life.wait = is_delivered ? WAIT_NOT : WAIT_DUE;
    life.place.due_ms = is_delivered ? 0 : due_ms;
    return life;
}

void pg_row_read(const PGresult *r, int at, struct pg_row *ret)
{
    int c = 0;
    *ret = (struct pg_row){0};
    struct event *e = &ret->event;
    struct row_callback *s = &ret->callback;
    e->account_no = (uint32_t)pg_int(r, at, c++);
    e->event_no = (uint64_t)pg_int(r, at, c++);
    ret->period = (int32_t)pg_int(r, at, c++);
    e->app_no = (uint32_t)pg_int(r, at, c++);
    e->client_no = (uint32_t)pg_int(r, at, c++);
    e->type = (enum event_type)pg_int(r, at, c++);
    e->lane = (enum lane_kind)pg_int(r, at, c++);
    e->is_test = pg_int(r, at, c++) != 0;
    e->reward_decimals = (uint8_t)pg_int(r, at, c++);
    e->occurred_ms = pg_int(r, at, c++);
    e->accepted_ms = pg_int(r, at, c++);
    e->revenue_micros = pg_int(r, at, c++);
    e->reward_micros = pg_int(r, at, c++);
    e->offer_id = pg_int(r, at, c++);
    e->original_no = (uint64_t)pg_int(r, at, c++);
    e->event_id = pg_str(r, at, c++);
    e->panelist_id = pg_str(r, at, c++);
    e->session_id = pg_str(r, at, c++);
    e->mid = pg_str(r, at, c++);
    e->offer_title = pg_str(r, at, c++);
    e->offer_goal_id = pg_str(r, at, c++);
    e->original_reward_id = pg_str(r, at, c++);
    e->reason = pg_str(r, at, c++);
    e->signature_offset = (uint16_t)pg_int(r, at, c++);
    e->cap = (enum cap_part)pg_int(r, at, c++);
    s->life.lane = lane_of(e->app_no, e->lane);
    ret->presumed = pg_int(r, at, c++) != 0;
    e->state = s->life.state = (enum callback_state)pg_int(r, at, c++);
    e->reason_skipped = s->life.reason = (enum callback_reason)pg_int(r, at, c++);
    s->life.wait = (enum callback_wait)pg_int(r, at, c++);
    s->life.manual = pg_int(r, at, c++) != 0;
    s->life.place.failed_attempts = (int32_t)pg_int(r, at, c++);
    s->life.place.slot = (int32_t)pg_int(r, at, c++);
    s->life.place.due_ms = pg_int(r, at, c++);
    s->life.attempts = (int32_t)pg_int(r, at, c++);
    s->counted = pg_is_null(r, at, c) ? counted_bit(s->life.state) : (unsigned)pg_int(r, at, c);
    c++;
    s->resend_last_no = (uint64_t)pg_int(r, at, c++);
    if (!pg_is_null(r, at, c))
        s->resend = (struct pending_resend){s->resend_last_no, pg_int(r, at, c)};
    c++;
    ret->erased = e->is_erased = pg_int(r, at, c++) != 0;
    ret->packed_body = pg_str(r, at, c);
    int64_t due_ms = s->life.place.due_ms ? s->life.place.due_ms : e->accepted_ms;
    if (ret->presumed)
        s->life = presumed_life(e, e->state == CALLBACK_DELIVERED, due_ms);
}

void pg_row_take(const struct outcome *o, int32_t period, struct pg_row *ret)
{
    struct event e = {
        .account_no = o->account_no,
        .event_no = o->event_no,
        .app_no = lane_app_no(o->lane),
        .lane = lane_kind_of(o->lane),
        .type = o->presumed.type,
        .is_test = o->presumed.is_test,
        .occurred_ms = o->presumed.occurred_ms,
        .accepted_ms = o->presumed.accepted_ms,
        .revenue_micros = o->presumed.revenue_micros,
        .reward_micros = o->presumed.reward_micros,
        .event_id = o->presumed.event_id,
        .state = CALLBACK_PENDING,
    };
    *ret = (struct pg_row){.event = e, .period = period, .presumed = true, .taken = true};
    ret->callback.life = presumed_life(&e, false, o->presumed.due_ms);
}

void pg_row_deliver_presumed(struct pg_row *row)
{
    row->event.state = CALLBACK_DELIVERED;
    row->callback.life = presumed_life(&row->event, true, 0);
    row->callback.counted = counted_bit(CALLBACK_DELIVERED);
}

static bool is_same_life(const struct callback_life *a, const struct callback_life *b)
{
    return a->state == b->state && a->reason == b->reason && a->wait == b->wait &&
           a->manual == b->manual && a->attempts == b->attempts &&
           a->place.failed_attempts == b->place.failed_attempts && a->place.slot == b->place.slot &&
           a->place.due_ms == b->place.due_ms;
}

bool pg_row_may_presume(const struct event *e, const struct row_callback *now)
{
    bool is_delivered = now->life.state == CALLBACK_DELIVERED;
    struct callback_life presumed = presumed_life(e, is_delivered, now->life.place.due_ms);
    return is_same_life(&now->life, &presumed) && now->resend_last_no == 0 && now->resend.no == 0 &&
           now->counted == counted_bit(now->life.state);
}

struct callback *pg_callback_new(const struct event *e, const struct callback_life *life,
                                 bool presumed)
{
    struct callback *c = callback_new(e, life);
    c->presumed_due_ms = presumed ? life->place.due_ms : 0;
    return c;
}

struct callback *pg_row_callback(const struct pg_row *row)
{
    struct callback *c = pg_callback_new(&row->event, &row->callback.life, row->presumed);
    c->resend_no = row->callback.resend.no;
    return c;
}

static struct damage_said bodies_said, attempts_said;

static void say_damaged(struct damage_said *said, const char *what, const struct event *e)
{
    if (!damage_say_now(said))
        return;
    log_error(what, LOG_INT("account", e->account_no), LOG_INT("event", (int64_t)e->event_no),
              LOG_C("fix", "a row of the database is damaged: look at its disk, and restore it from"
                           " a backup"));
}

bool pg_row_keep(struct pg_row *row, struct arena *arena)
{
    struct str packed = row->packed_body;
    bool good = !packed.p || text_unpack(packed, arena, &row->event.body);
    if (!good)
        say_damaged(&bodies_said, "body_damaged", &row->event);
    row->packed_body = STR_NONE;
    event_keep(&row->event, arena);
    return good;
}

bool pg_attempt_read(const PGresult *r, int at, int column, const struct event *e,
                     struct arena *arena, struct attempt *ret)
{
    int c = column;
    struct attempt a = {0};
    a.number = (int32_t)pg_int(r, at, c++);
    a.manual = pg_int(r, at, c++) != 0;
    a.at_ms = pg_int(r, at, c++);
    a.duration_ms = (int32_t)pg_int(r, at, c++);
    a.status = (int32_t)pg_int(r, at, c++);
    int64_t class = pg_int(r, at, c++);
    bool is_class = class >= 0 && class < ATTEMPT_CLASSES;
    a.class = is_class ? (enum attempt_class) class : ATTEMPT_OK;
    a.url = pg_str(r, at, c++);
    a.detail = pg_str(r, at, c++);
    attempt_keep(&a, arena);
    struct attempt_facts facts = {e->event_id, e->occurred_ms};
    bool good = attempt_texts_read(pg_str(r, at, c), &facts, arena, &a) && is_class;
    if (!good)
        say_damaged(&attempts_said, "attempt_damaged", e);
    *ret = a;
    return good;
}

void pg_attempt_put(struct pg_column *columns, const struct event *e, const struct attempt *a,
                    struct attempt_packer *packer)
{
    struct pg_column *c = columns;
    struct attempt_facts facts = {e->event_id, e->occurred_ms};
    column_int(c++, e->account_no);
    column_int(c++, (int64_t)e->event_no);
    column_int(c++, pg_week_of_day(clock_day(a->at_ms)));
    column_int(c++, a->number);
    column_int(c++, a->at_ms);
    column_int(c++, (int64_t)lane_of(e->app_no, e->lane));
    column_int(c++, a->manual);
    column_int(c++, a->duration_ms);
    column_int(c++, a->status);
    column_int(c++, a->class);
    column_str(c++, a->url);
    column_str(c++, a->detail);
    column_str(c, attempt_texts_pack(packer, a, &facts));
}

void pg_row_show(struct pg_row *row, struct arena *arena, struct callback_row *ret)
{
    (void)!pg_row_keep(row, arena); /* a damaged body is absent; the rest is shown */
    *ret = callback_row_of(&row->event, &row->callback.life);
}

/* --- new rows --------------------------------------------------------------------------------- */

static struct pg_column *add_usual(struct pg_column *c, const struct event *e, int32_t period,
                                   const struct callback_life *life, bool presumed)
{
    bool is_due_at_acceptance = presumed && life->place.due_ms == e->accepted_ms;
    column_int(c++, e->account_no);
    column_int(c++, (int64_t)e->event_no);
    column_int(c++, period);
    column_int(c++, e->app_no);
    column_int(c++, e->client_no);
    column_int(c++, e->type);
    column_int(c++, e->lane);
    column_int(c++, e->is_test);
    column_int(c++, e->reward_decimals);
    column_int(c++, e->occurred_ms);
    column_int(c++, e->accepted_ms);
    column_int(c++, clock_day(e->occurred_ms));
    column_int(c++, e->revenue_micros);
    column_int(c++, e->reward_micros);
    column_str(c++, e->event_id);
    column_str(c++, e->panelist_id);
    column_str(c++, e->session_id);
    column_str(c++, e->mid);
    column_int_or_null(c++, e->signature_offset);
    column_int(c++, presumed ? ROW_STATE_PRESUMED : (int64_t)e->state);
    column_int_or_null(c++, is_due_at_acceptance ? 0 : life->place.due_ms);
    return c;
}

struct pg_column *rows_add_first(struct pg_column *c, const struct event *e, int32_t period,
                                 const struct callback_life *life, bool presumed)
{
    c = add_usual(c, e, period, life, presumed);
    column_int_or_null(c++, e->offer_id);
    column_int_or_null(c++, (int64_t)e->original_no);
    column_str(c++, e->offer_title);
    column_str(c++, e->offer_goal_id);
    column_str(c++, e->original_reward_id);
    column_str(c++, e->reason);
    column_int_or_null(c++, e->cap);
    column_int_or_null(c++, e->reason_skipped);
    column_int_or_null(c++, presumed ? WAIT_NOT : life->wait);
    return c;
}

void rows_add_counted(struct pg_column *c, enum callback_state state, unsigned counted)
{
    if (counted == counted_bit(state))
        column_null(c);
    else
        column_int(c, counted);
}

bool row_is_usual(const struct event *e, const struct callback_life *life, bool presumed)
{
    return (presumed || life->wait == WAIT_NOT) && !e->offer_id && !e->original_no &&
           !e->offer_title.p && !e->offer_goal_id.p && !e->original_reward_id.p && !e->reason.p &&
           !e->cap && !e->reason_skipped;
}

void rows_insert_begin(struct pg_table *t, bool usual)
{
    table_begin(t, usual ? ROW_USUAL_TYPES : ROW_FIRST_TYPES);
}

void rows_insert_add(struct pg_table *t, const struct event *e, int32_t period,
                     const struct callback_life *life, bool presumed, bool usual)
{
    struct pg_column *c = usual ? add_usual(t->columns, e, period, life, presumed)
                                : rows_add_first(t->columns, e, period, life, presumed);
    ASSERT(c == t->columns + t->count);
}

#define UNNEST_21                                                                                  \
    "unnest($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21"
void rows_insert_send(struct pg *pg, const struct pg_table *t, bool usual)
{
    pg_query_table(pg, t,
                   usual ? "INSERT INTO event(" ROW_USUAL_COLUMNS ") SELECT * FROM " UNNEST_21 ")"
                         : "INSERT INTO event(" ROW_FIRST_COLUMNS ") SELECT * FROM " UNNEST_21
                           ",$22,$23,$24,$25,$26,$27,$28,$29,$30)");
}
#undef UNNEST_21
