/* Fills a database: one transaction for each chunk, with arrays that a statement unnests, and the
 * position after it. If another copy has moved the position, this one fails. */
#include "store/copy/postgresql_side.h"

#include "base/alloc.h"
#include "domain/clock.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/postgresql/delivery_stats_sql.h"
#include "store/postgresql/partitions.h"
#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_schema.h"
#include "store/postgresql/row_changes.h"

struct postgresql_target {
    struct copy_target target;
    struct pg pg;
    struct pg_partitions partitions;
    struct pg_table table;
    struct attempt_packer packer;
    struct changes changes;
    struct buf position; /* as the database has it */
    char *uri;
};

static struct postgresql_target *self_of(struct copy_target *t)
{
    return CONTAINER_OF(t, struct postgresql_target, target);
}

/* Sends one statement for the rows in the table; none if the table is empty. */
static void send(struct postgresql_target *t, const char *sql)
{
    if (table_rows(&t->table) == 0)
        return;
    args_table(pg_args(&t->pg), &t->table);
    pg_query(&t->pg, sql);
}

/* --- objects, reports, books -------------------------------------------------------------------
 */

static void write_objects(struct postgresql_target *t, const struct copy_chunk *c)
{
    table_begin(&t->table, "stt");
    for (size_t i = 0; i < c->count; i++) {
        column_int(&t->table.columns[0], c->objects[i].kind);
        column_str(&t->table.columns[1], c->objects[i].id);
        column_str(&t->table.columns[2], c->objects[i].document);
    }
    send(t, "INSERT INTO object(kind,id,document) SELECT * FROM unnest($1,$2,$3)");
}

static void write_reports(struct postgresql_target *t, const struct copy_chunk *c)
{
    table_begin(&t->table, "iil"
                           "lllllttlllllttll");
    for (size_t i = 0; i < c->count; i++) {
        const struct copied_report *r = &c->reports[i];
        struct pg_column *to = t->table.columns;
        column_int(to++, r->account_no);
        column_int(to++, r->day);
        column_int(to++, r->client_no);
        for (int k = 0; k < 2; k++) {
            const struct report_part *part = k == 0 ? &r->sums.live : &r->sums.test;
            column_int(to++, part->events);
            column_int(to++, part->starts);
            column_int(to++, part->outcomes);
            column_int(to++, part->conversions[0]);
            column_int(to++, part->conversions[1]);
            column_money(to++, part->earnings_micros[0]);
            column_money(to++, part->earnings_micros[1]);
        }
        column_int(to++, r->sums.active_live);
        column_int(to++, r->sums.active_any);
    }
    send(t, "INSERT INTO report(account_no,day,client_no,live_events,live_starts,live_outcomes,"
            "live_conversions_survey,live_conversions_offer,live_survey_micros,live_offer_micros,"
            "test_events,test_starts,test_outcomes,test_conversions_survey,test_conversions_offer,"
            "test_survey_micros,test_offer_micros,active_live,active_any)"
            " SELECT c1,c2,c3,c4,c5,c6,c7,c8,c9::numeric,c10::numeric,c11,c12,c13,c14,c15,"
            "c16::numeric,c17::numeric,c18,c19 FROM unnest($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,"
            "$13,$14,$15,$16,$17,$18,$19) AS u(c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12,c13,c14,c15,"
            "c16,c17,c18,c19)");
}

static void write_books(struct postgresql_target *t, const struct copy_chunk *c)
{
    table_begin(&t->table, "iilsbsltt");
    for (size_t i = 0; i < c->count; i++) {
        const struct copied_book *b = &c->books[i];
        struct pg_column *to = t->table.columns;
        column_int(to++, b->key.account_no);
        column_int(to++, b->key.day);
        column_int(to++, b->key.app_no);
        column_int(to++, b->key.lane);
        column_int(to++, b->key.is_test);
        column_int(to++, b->state);
        column_int(to++, b->sums.count);
        column_money(to++, b->sums.reward_micros);
        column_money(to++, b->sums.revenue_micros);
    }
    send(t, "INSERT INTO book(account_no,day,app_no,lane,is_test,state,count,reward_micros,"
            "revenue_micros) SELECT a,d,p,l,t,s,n,r::numeric,v::numeric"
            " FROM unnest($1,$2,$3,$4,$5,$6,$7,$8,$9) AS u(a,d,p,l,t,s,n,r,v)");
}

/* --- events ----------------------------------------------------------------------------------- */

static bool is_presumed(const struct copied_event *e)
{
    return pg_row_may_presume(&e->event,
                              &(struct row_callback){.life = e->life, .counted = e->counted});
}

static void add_event(struct pg_column *to, const struct copied_event *from)
{
    bool presumed = is_presumed(from);
    struct callback_life life = presumed ? (struct callback_life){0} : from->life;
    struct pg_column *c = rows_add_first(to, &from->event, from->period, &from->life, presumed);
    column_int_or_null(c++, life.manual);
    column_int_or_null(c++, life.place.failed_attempts);
    column_int_or_null(c++, life.place.slot);
    column_int_or_null(c++, life.attempts);
    rows_add_counted(c++, from->life.state, from->counted);
    column_int_or_null(c++, from->erased);
}

static void write_rows(struct postgresql_target *t, const struct copy_chunk *c)
{
    table_begin(&t->table, ROW_FIRST_TYPES "biiisb");
    for (size_t i = 0; i < c->count; i++)
        add_event(t->table.columns, &c->events[i]);
    send(t, "INSERT INTO event(" ROW_FIRST_COLUMNS ",manual,failed_attempts,slot,attempts,counted,"
            "erased)"
            " SELECT * FROM unnest($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,"
            "$18,$19,$20,$21,$22,$23,$24,$25,$26,$27,$28,$29,$30,$31,$32,$33,$34,$35,$36)");
}

static void write_bodies(struct postgresql_target *t, const struct copy_chunk *c)
{
    table_begin(&t->table, "iily");
    for (size_t i = 0; i < c->count; i++) {
        const struct event *e = &c->events[i].event;
        if (!e->body.p)
            continue;
        column_int(&t->table.columns[0], e->account_no);
        column_int(&t->table.columns[1], c->events[i].period);
        column_int(&t->table.columns[2], (int64_t)e->event_no);
        column_str(&t->table.columns[3], text_pack(&t->packer.text, e->body));
    }
    send(t, "INSERT INTO body(account_no,period,event_no,body) SELECT * FROM unnest($1,$2,$3,$4)");
}

static void write_keys(struct postgresql_target *t, const struct copy_chunk *c)
{
    table_begin(&t->table, "iull");
    for (size_t i = 0; i < c->count; i++) {
        const struct event *e = &c->events[i].event;
        column_int(&t->table.columns[0], e->account_no);
        column_key(&t->table.columns[1], e->key);
        column_int(&t->table.columns[2], (int64_t)e->content);
        column_int(&t->table.columns[3], (int64_t)e->event_no);
    }
    send(t, "INSERT INTO event_key SELECT * FROM unnest($1,$2,$3,$4)");
}

static void write_reversals(struct postgresql_target *t, const struct copy_chunk *c)
{
    table_begin(&t->table, "illi");
    for (size_t i = 0; i < c->count; i++) {
        const struct event *e = &c->events[i].event;
        if (e->original_no == 0)
            continue;
        column_int(&t->table.columns[0], e->account_no);
        column_int(&t->table.columns[1], (int64_t)e->original_no);
        column_int(&t->table.columns[2], (int64_t)e->event_no);
        column_int(&t->table.columns[3], c->events[i].period);
    }
    send(t, "INSERT INTO reversal(account_no,original_no,event_no,period)"
            " SELECT * FROM unnest($1,$2,$3,$4)");
}

static bool write_attempts(struct postgresql_target *t, const struct copy_chunk *c)
{
    table_begin(&t->table, ATTEMPT_TYPES);
    for (size_t i = 0; i < c->count; i++) {
        const struct copied_event *e = &c->events[i];
        for (size_t k = 0; k < e->log_count; k++) {
            const struct attempt *a = &e->log[k];
            pg_attempt_put(t->table.columns, &e->event, a, &t->packer);
        }
    }
    return pg_add_attempts_again(&t->pg, &t->table, &t->changes.stats) == PG_OK;
}

/* For each run of one account, by event number: the account's state after its last event. */
static void write_accounts(struct postgresql_target *t, const struct copy_chunk *c)
{
    table_begin(&t->table, "illil");
    for (size_t i = 0; i < c->count; i++) {
        const struct event *e = &c->events[i].event;
        if (i + 1 < c->count && c->events[i + 1].event.account_no == e->account_no)
            continue;
        size_t first = i;
        while (first > 0 && c->events[first - 1].event.account_no == e->account_no)
            first--;
        column_int(&t->table.columns[0], e->account_no);
        column_int(&t->table.columns[1], (int64_t)e->event_no);
        column_int(&t->table.columns[2], e->accepted_ms);
        column_int(&t->table.columns[3], c->events[i].period);
        column_int(&t->table.columns[4], (int64_t)c->events[first].event.event_no);
    }
    send(t, "INSERT INTO account AS o(account_no,last_event_no,last_accepted_ms,period)"
            " SELECT a,n,ms,p FROM unnest($1,$2,$3,$4,$5) AS u(a,n,ms,p,f)"
            " ON CONFLICT(account_no) DO UPDATE SET last_event_no=excluded.last_event_no,"
            "last_accepted_ms=excluded.last_accepted_ms,period=excluded.period");
    send(t, "INSERT INTO account_period(account_no,first_event_no,period)"
            " SELECT a,f,p FROM unnest($1,$2,$3,$4,$5) AS u(a,n,ms,p,f) WHERE NOT EXISTS(SELECT"
            " FROM account_period q WHERE q.account_no=u.a AND q.period=u.p)");
    table_begin(&t->table, "li");
    for (size_t i = 0; i < c->count; i++) {
        const struct event *e = &c->events[i].event;
        if (i > 0 && c->events[i - 1].event.app_no == e->app_no)
            continue;
        column_int(&t->table.columns[0], e->app_no);
        column_int(&t->table.columns[1], e->account_no);
    }
    send(t, "INSERT INTO app(app_no,account_no) SELECT DISTINCT p,a FROM unnest($1,$2) AS u(p,a)"
            " ON CONFLICT DO NOTHING");
}

/* Writes the waiting callbacks, the totals, and until when bodies are kept. */
static void write_waiting_and_totals(struct postgresql_target *t, const struct copy_chunk *c)
{
    struct changes *ch = &t->changes;
    for (size_t i = 0; i < c->count; i++) {
        const struct copied_event *e = &c->events[i];
        struct row_callback delivered = {.life.state = CALLBACK_DELIVERED};
        struct row_callback dead = {.life.state = CALLBACK_DEAD};
        if (e->life.wait != WAIT_NOT)
            changes_wait(ch, &e->event, e->period, &e->life, is_presumed(e));
        if (e->event.body.p && e->final_late_day != 0)
            changes_note_final_late(ch, e->event.account_no, e->period, e->final_late_day);
        if (e->life.state == CALLBACK_PENDING)
            changes_pending(ch, e->event.account_no, 1);
        if (e->counted & COUNTED_DELIVERED)
            changes_count_final(ch, e->event.account_no, &delivered);
        if (e->counted & COUNTED_DEAD)
            changes_count_final(ch, e->event.account_no, &dead);
    }
    changes_send(ch, &t->pg);
}

static bool write_events(struct postgresql_target *t, const struct copy_chunk *c)
{
    changes_begin(&t->changes);
    write_accounts(t, c);
    write_rows(t, c);
    write_bodies(t, c);
    write_keys(t, c);
    write_reversals(t, c);
    if (!write_attempts(t, c))
        return false;
    write_waiting_and_totals(t, c);
    return true;
}

/* Outside of the chunk's transaction, because making a partition ends the transaction. */
static bool make_partitions(struct postgresql_target *t, const struct copy_chunk *c)
{
    enum pg_fate fate = PG_OK;
    if (c->section == COPY_EVENTS && c->count > 0)
        fate = pg_partition_make(&t->pg, &t->partitions, PARTITION_PERIOD, c->events[0].period);
    for (size_t i = 0; c->section == COPY_EVENTS && i < c->count; i++)
        for (size_t k = 0; fate == PG_OK && k < c->events[i].log_count; k++)
            fate = pg_partition_make(&t->pg, &t->partitions, PARTITION_WEEK,
                                     pg_week_of_day(clock_day(c->events[i].log[k].at_ms)));
    return fate == PG_OK;
}

/* --- the position ----------------------------------------------------------------------------- */

static void put_meta(struct pg *pg, const char *name, struct str value)
{
    args_str(pg_args(pg), PG_TEXT, str_of(name));
    args_str(&pg->args, PG_BYTEA, value);
    pg_query(pg, "INSERT INTO meta(name,value) VALUES($1,$2) ON CONFLICT(name) DO UPDATE"
                 " SET value=excluded.value");
}

/* The statement; its one row must be 1. */
static int move_position(struct postgresql_target *t, const struct copy_position *to,
                         struct buf *ret_text)
{
    copy_position_print(to, ret_text);
    args_str(pg_args(&t->pg), PG_BYTEA, buf_str(ret_text));
    args_str(&t->pg.args, PG_BYTEA, buf_str(&t->position));
    return pg_query(&t->pg, "WITH u AS (UPDATE meta SET value=$1 WHERE name='" PG_META_COPY_POSITION
                            "' AND value=$2 RETURNING 1) SELECT count(*) FROM u");
}

static bool write_chunk(struct copy_target *target, struct copy_chunk *c)
{
    struct postgresql_target *t = self_of(target);
    struct copy_position to = c->end;
    struct buf position = {0};
    bool good = true;
    if (c->count == 0)
        to = (struct copy_position){.section = c->section + 1};
    if (!make_partitions(t, c))
        return pg_side_failed(&t->pg, &t->target.why);
    pg_begin(&t->pg, false);
    switch (c->section) {
    case COPY_OBJECTS: write_objects(t, c); break;
    case COPY_EVENTS: good = write_events(t, c); break;
    case COPY_REPORTS: write_reports(t, c); break;
    case COPY_BOOKS: write_books(t, c); break;
    case COPY_SECTION_END: UNREACHABLE();
    }
    if (!good)
        return pg_side_failed(&t->pg, &t->target.why);
    int moved = move_position(t, &to, &position);
    good = pg_sync(&t->pg) == PG_OK;
    if (good && pg_int(pg_result(&t->pg, moved), 0, 0) != 1)
        good = pg_refuse(&t->pg, "another copy into this database is running");
    if (good) {
        pg_commit(&t->pg);
        good = pg_sync(&t->pg) == PG_OK;
    }
    buf_free(&t->position);
    t->position = position;
    target->at = to;
    return good || pg_side_failed(&t->pg, &t->target.why);
}

/* --- life ------------------------------------------------------------------------------------- */

/* Without statistics the planner would take the tables for empty. If it fails here, autovacuum does
 * it within about a minute. */
static void analyze(struct postgresql_target *t)
{
    static const char *const tables[] = {"account",   "account_period", "event",   "body",
                                         "event_key", "attempt",        "waiting", "report",
                                         "book",      "delivery_stats", "object"};
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        if (!pg_connect(&t->pg))
            return;
        pg_begin(&t->pg, false);
        pg_take_long(&t->pg);
        pg_exec_f(&t->pg, "ANALYZE %s", tables[i]);
        pg_commit(&t->pg);
        (void)!pg_sync(&t->pg);
    }
}

static struct copy_source *reread(struct copy_target *target, char **ret_why)
{
    struct postgresql_target *t = self_of(target);
    analyze(t);
    return copy_postgresql_read_back(t->uri, ret_why);
}

static bool finish(struct copy_target *target)
{
    struct postgresql_target *t = self_of(target);
    pg_begin(&t->pg, false);
    pg_exec(&t->pg,
            "DELETE FROM meta WHERE name IN('" PG_META_COPY_POSITION "','" PG_META_COPY_MARK "')");
    pg_commit(&t->pg);
    return pg_sync(&t->pg) == PG_OK || pg_side_failed(&t->pg, &t->target.why);
}

static void close_target(struct copy_target *target)
{
    struct postgresql_target *t = self_of(target);
    pg_close(&t->pg);
    pg_partitions_free(&t->partitions);
    changes_free(&t->changes);
    table_free(&t->table);
    attempt_packer_free(&t->packer);
    buf_free(&t->position);
    buf_free(&t->target.why);
    free(t->uri);
    free(t);
}

static const struct copy_target_ops ops = {write_chunk, reread, finish, close_target};

/* Marks an empty database as the target of this copy. */
static bool begin(struct postgresql_target *t, const struct copy_source *from, struct str mark)
{
    struct pg *pg = &t->pg;
    pg_begin(pg, false);
    int at = pg_exec(pg, "SELECT EXISTS(SELECT FROM account) OR EXISTS(SELECT FROM object)");
    if (pg_sync(pg) != PG_OK)
        return false;
    if (pg_int(pg_result(pg, at), 0, 0))
        return pg_refuse(pg, "the database has a store in it already: copy into an empty one");
    t->target.at = (struct copy_position){.section = COPY_OBJECTS};
    copy_position_print(&t->target.at, &t->position);
    put_meta(pg, "hash_secret",
             (struct str){(const char *)from->secret.bytes, sizeof from->secret.bytes});
    put_meta(pg, PG_META_COPY_MARK, mark);
    put_meta(pg, PG_META_COPY_POSITION, buf_str(&t->position));
    pg_commit(pg);
    return pg_sync(pg) == PG_OK;
}

static bool go_on(struct postgresql_target *t, const struct copy_source *from, struct str mark)
{
    struct str value;
    if (!pg_side_meta(&t->pg, "hash_secret", &value))
        return false;
    if (value.n != sizeof from->secret.bytes || memcmp(value.p, from->secret.bytes, value.n) != 0)
        return pg_refuse(&t->pg, "the database has a part of a copy of another store: empty it");
    if (!pg_side_meta(&t->pg, PG_META_COPY_MARK, &value))
        return false;
    if (!str_eq(value, mark))
        return pg_refuse(&t->pg, "the source has been in use since this copy began: empty the"
                                 " target, and begin anew");
    if (!copy_position_parse(buf_str(&t->position), &t->target.at))
        return pg_refuse(&t->pg, "the copy was begun by another version: empty the target");
    pg_begin(&t->pg, true);
    int at = pg_exec(&t->pg, "SELECT coalesce(sum(last_event_no),0)::bigint FROM account");
    if (pg_end_read(&t->pg) != PG_OK)
        return false;
    t->target.events_before = pg_int(pg_result(&t->pg, at), 0, 0);
    t->target.went_on = true;
    return true;
}

static bool open_target(struct postgresql_target *t, const struct copy_source *from,
                        struct str mark)
{
    struct str position;
    if (!pg_side_meta(&t->pg, PG_META_COPY_POSITION, &position))
        return false;
    if (!position.p)
        return begin(t, from, mark);
    buf_add_str(&t->position, position);
    return go_on(t, from, mark);
}

struct copy_target *copy_postgresql_target(const char *uri, const struct copy_source *from,
                                           struct str mark, char **ret_why)
{
    struct postgresql_target *t = xcalloc(1, sizeof *t);
    t->target.ops = &ops;
    t->uri = xstrdup(uri);
    pg_init(&t->pg, t->uri);
    if (pg_side_open(&t->pg, SIDE_TARGET, ret_why)) {
        if (open_target(t, from, mark))
            return &t->target;
        *ret_why = xstrdup(buf_c(&t->pg.why));
    }
    close_target(&t->target);
    return NULL;
}
