/*
 * The yardstick of bench/postgresql_ingest.py: a bare libpq loop that inserts the rows that the
 * store inserts for as many events, batch by batch, each durable before the next.
 *
 *     build/bench/bench_ingest_postgresql URI EVENTS [BATCH]
 *
 * URI: a database of a running server, empty or filled by this program before; the tables are made
 * as a daemon makes them. A batch is one trip: BEGIN, a statement per table with binary arrays that
 * it unnests, ON CONFLICT where the store has that, COMMIT. The statements are prepared once, which
 * the store cannot do behind PgBouncer. What it does not do: HTTP, JSON, look-ups of earlier
 * events, fences, numbers from the database. The events are those of bench/load.c: surveys
 * completed, of 100 apps in 10 accounts with random EventIds, whose callbacks wait. Prints the rate
 * and its own CPU.
 */
#include "base/alloc.h"
#include "base/env.h"
#include "domain/acceptance.h"
#include "domain/clock.h"
#include "domain/money.h"
#include "domain/payload.h"
#include "store/packed/packed_text.h"
#include "store/postgresql/partitions.h"
#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_schema.h"
#include "store/postgresql/row_changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define ACCOUNTS 10u
#define APPS 100u
#define BATCH_MOST 4096

enum { ACCOUNT, EVENT, BODY, KEY, REPORT, WAITING, BOOK, TOTAL, STATEMENTS };

#define ADD(column) #column "=t." #column "+excluded." #column

/* types: of table_begin, a letter per column that is unnested. */
static const struct {
    const char *name, *types, *sql;
} statements[STATEMENTS] = {
    [ACCOUNT] = {"account", "illi",
                 "UPDATE account a SET last_event_no=u.n,last_accepted_ms=u.l,period=u.p FROM"
                 " unnest($1,$2,$3,$4) AS u(a,n,l,p) WHERE a.account_no=u.a"},
    [EVENT] = {"event", ROW_USUAL_TYPES,
               "INSERT INTO event(" ROW_USUAL_COLUMNS
               ") SELECT * FROM unnest($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,"
               "$15,$16,$17,$18,$19,$20,$21)"},
    [BODY] = {"body", "iily", "INSERT INTO body SELECT * FROM unnest($1,$2,$3,$4)"},
    [KEY] = {"key", "iull",
             "INSERT INTO event_key SELECT * FROM unnest($1,$2,$3,$4) ON CONFLICT DO NOTHING"},
    [REPORT] = {"report", "iillt",
                "INSERT INTO report AS t SELECT a,d,c,n,0,n,n,0,m::numeric,0,0,0,0,0,0,0,0,0,0"
                " FROM unnest($1,$2,$3,$4,$5) AS u(a,d,c,n,m) ON CONFLICT(account_no,day,client_no)"
                " DO UPDATE SET " ADD(live_events) "," ADD(live_outcomes) "," ADD(
                    live_conversions_survey) "," ADD(live_survey_micros)},
    [WAITING] = {"waiting", "illlilbb",
                 "INSERT INTO waiting SELECT * FROM unnest($1,$2,$3,$4,$5,$6,$7,$8)"},
    [BOOK] = {"book", "iilsbsltt",
              "INSERT INTO book AS t SELECT a,d,p,l,x,s,n,r::numeric,v::numeric FROM"
              " unnest($1,$2,$3,$4,$5,$6,$7,$8,$9) AS u(a,d,p,l,x,s,n,r,v)"
              " ON CONFLICT(account_no,day,app_no,lane,is_test,state) DO UPDATE SET " ADD(
                  count) "," ADD(reward_micros) "," ADD(revenue_micros)},
    [TOTAL] = {"total", "illl",
               "INSERT INTO total AS t SELECT * FROM unnest($1,$2,$3,$4) ON CONFLICT(account_no)"
               " DO UPDATE SET " ADD(pending) "," ADD(delivered) "," ADD(dead)},
};

struct client_sum {
    int64_t events;
    __int128 micros;
};

struct loop {
    struct text_packer packer;
    PGconn *connection;
    struct pg pg; /* makes the tables and reads where the numbers go on; then closed */
    struct hash_secret secret;
    struct app_terms terms[APPS];
    uint64_t last_event_no[ACCOUNTS + 1];
    struct client_sum sums[APPS];
    struct books books;
    struct pg_table tables[STATEMENTS];
    struct pg_args args;
    struct rng rng;
};

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "bench_ingest_postgresql: %s\n", why);
    exit(1);
}

/* --- before the loop -------------------------------------------------------------------------- */

static void take_numbers(struct loop *l, int64_t now_ms)
{
    struct hash_secret fresh;
    struct pg_partitions partitions = {0};
    struct pg_identity made;
    char *why = NULL;
    env_random(env_real(), fresh.bytes, sizeof fresh.bytes);
    if (!pg_schema_open(&l->pg, &(struct pg_schema_wants){.fresh = &fresh}, &made, &why))
        give_up(why);
    l->secret = made.secret;
    if (pg_partition_make(&l->pg, &partitions, PARTITION_PERIOD,
                          pg_period_of_day(clock_day(now_ms))) != PG_OK)
        give_up(buf_c(&l->pg.why));
    pg_partitions_free(&partitions);
    pg_begin(&l->pg, false);
    pg_exec_f(&l->pg,
              "INSERT INTO account SELECT i,0,0,%d FROM generate_series(1,%u) i"
              " ON CONFLICT DO NOTHING",
              pg_period_of_day(clock_day(now_ms)), ACCOUNTS);
    pg_exec(&l->pg, "INSERT INTO account_period SELECT account_no,1,period FROM account"
                    " ON CONFLICT DO NOTHING");
    int at = pg_exec(&l->pg, "SELECT account_no,last_event_no FROM account");
    pg_commit(&l->pg);
    if (pg_sync(&l->pg) != PG_OK)
        give_up(buf_c(&l->pg.why));
    const PGresult *r = pg_result(&l->pg, at);
    for (int i = 0; i < PQntuples(r); i++)
        l->last_event_no[pg_int(r, i, 0)] = (uint64_t)pg_int(r, i, 1);
}

static void prepare(struct loop *l, const char *uri)
{
    l->connection = PQconnectdb(uri);
    for (int i = 0; i < STATEMENTS; i++) {
        Oid types[PG_ARGS_MOST];
        table_begin(&l->tables[i], statements[i].types);
        args_clear(&l->args);
        args_table(&l->args, &l->tables[i]);
        for (int k = 0; k < l->args.count; k++)
            types[k] = l->args.args[k].type;
        PGresult *r =
            PQprepare(l->connection, statements[i].name, statements[i].sql, l->args.count, types);
        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            give_up(PQerrorMessage(l->connection));
        PQclear(r);
    }
    if (!PQenterPipelineMode(l->connection))
        give_up(PQerrorMessage(l->connection));
}

static void make_terms(struct loop *l)
{
    for (uint32_t i = 0; i < APPS; i++)
        l->terms[i] = (struct app_terms){
            .account_no = 1 + i % ACCOUNTS,
            .app_no = 1 + i,
            .currency_micros = 100 * MICROS_PER_UNIT,
            .reward_decimals = 2,
            .has_url = {false, true, true, true},
        };
}

/* --- one event -------------------------------------------------------------------------------- */

struct texts {
    char event_id[27], panelist_id[40], session_id[40], client_id[16];
};

static void generate(struct loop *l, int64_t now_ms, struct texts *to, struct event *ret)
{
    unsigned long long a = rng_next(&l->rng), b = rng_next(&l->rng);
    uint32_t at = (uint32_t)(b % APPS);
    snprintf(to->event_id, sizeof to->event_id, "%016llx%010llx", a, b & 0xffffffffffu);
    snprintf(to->panelist_id, sizeof to->panelist_id, "%lld000-%llu", (long long)now_ms,
             a % 100000);
    snprintf(to->session_id, sizeof to->session_id, "session-%llx", a >> 20);
    snprintf(to->client_id, sizeof to->client_id, "bench_%u", at);
    struct candidate c = {
        .terms = &l->terms[at],
        .client_no = 1 + at,
        .integration = INTEGRATION_SDK,
        .type = EVENT_SURVEY_COMPLETED,
        .deliver = true,
        .has_revenue = true,
        .revenue_micros = (int64_t)(10 + a % 90) * 10000,
        .occurred_ms = now_ms,
        .event_id = str_of(to->event_id),
        .client_id = str_of(to->client_id),
        .panelist_id = str_of(to->panelist_id),
        .session_id = str_of(to->session_id),
        .content = b,
    };
    c.key = event_key(&l->secret, c.terms->account_no, c.event_id);
    uint64_t *last_event_no = &l->last_event_no[c.terms->account_no];
    struct acceptance_facts facts = {.received_ms = now_ms, .last_event_no = *last_event_no};
    struct verdict v = acceptance_decide(&c, &facts, ret);
    ASSERT(v.kind == VERDICT_ACCEPTED && ret->state == CALLBACK_PENDING);
    *last_event_no = ret->event_no;
}

static void add_event(struct loop *l, const struct event *e, int32_t period)
{
    struct callback_life life = life_accept(e, NULL);
    rows_insert_add(&l->tables[EVENT], e, period, &life, true, true);
    struct pg_column *c = l->tables[BODY].columns;
    column_int(&c[0], e->account_no);
    column_int(&c[1], period);
    column_int(&c[2], (int64_t)e->event_no);
    column_str(&c[3], text_pack(&l->packer, e->body));
    c = l->tables[KEY].columns;
    column_int(&c[0], e->account_no);
    column_key(&c[1], e->key);
    column_int(&c[2], (int64_t)e->content);
    column_int(&c[3], (int64_t)e->event_no);
    c = l->tables[WAITING].columns;
    column_int(&c[0], e->account_no);
    column_int(&c[1], (int64_t)lane_of(e->app_no, e->lane));
    column_int(&c[2], e->due_ms);
    column_int(&c[3], (int64_t)e->event_no);
    column_int(&c[4], period);
    column_int(&c[5], e->accepted_ms);
    column_int(&c[6], true);
    column_int(&c[7], true);
    l->sums[e->client_no - 1].events++;
    l->sums[e->client_no - 1].micros += e->revenue_micros;
    books_owe(&l->books, e, e->state);
}

/* --- one batch -------------------------------------------------------------------------------- */

static void add_accounts(struct loop *l, int64_t now_ms, int64_t day, const int64_t more[])
{
    for (uint32_t i = 1; i <= ACCOUNTS; i++) {
        if (more[i] == 0)
            continue;
        struct pg_column *c = l->tables[ACCOUNT].columns;
        column_int(&c[0], i);
        column_int(&c[1], (int64_t)l->last_event_no[i]);
        column_int(&c[2], now_ms);
        column_int(&c[3], pg_period_of_day((int32_t)day));
        c = l->tables[TOTAL].columns;
        column_int(&c[0], i);
        column_int(&c[1], more[i]);
        column_int(&c[2], 0);
        column_int(&c[3], 0);
    }
}

static void add_sums(struct loop *l, int64_t day)
{
    for (uint32_t i = 0; i < APPS; i++) {
        struct pg_column *c = l->tables[REPORT].columns;
        if (l->sums[i].events == 0)
            continue;
        column_int(&c[0], l->terms[i].account_no);
        column_int(&c[1], day);
        column_int(&c[2], 1 + i);
        column_int(&c[3], l->sums[i].events);
        column_money(&c[4], l->sums[i].micros);
        l->sums[i] = (struct client_sum){0};
    }
    books_sort(&l->books);
    for (size_t i = 0; i < l->books.count; i++) {
        const struct book *b = &l->books.items[i];
        static const int states[] = {BOOK_OWED, CALLBACK_PENDING};
        for (size_t k = 0; k < ARRAY_LEN(states); k++) {
            struct pg_column *c = l->tables[BOOK].columns;
            column_int(c++, b->key.account_no);
            column_int(c++, b->key.day);
            column_int(c++, b->key.app_no);
            column_int(c++, b->key.lane);
            column_int(c++, b->key.is_test);
            column_int(c++, states[k]);
            column_int(c++, b->sums[states[k]].count);
            column_money(c++, b->sums[states[k]].reward_micros);
            column_money(c++, b->sums[states[k]].revenue_micros);
        }
    }
}

static void send_statement(struct loop *l, int which)
{
    const char *values[PG_ARGS_MOST];
    int lengths[PG_ARGS_MOST], formats[PG_ARGS_MOST];
    args_clear(&l->args);
    args_table(&l->args, &l->tables[which]);
    for (int i = 0; i < l->args.count; i++) {
        values[i] = l->args.bytes.p + l->args.args[i].at;
        lengths[i] = l->args.args[i].length;
        formats[i] = 1;
    }
    if (!PQsendQueryPrepared(l->connection, statements[which].name, l->args.count, values, lengths,
                             formats, 1))
        give_up(PQerrorMessage(l->connection));
}

static void send_text(struct loop *l, const char *sql)
{
    if (!PQsendQueryParams(l->connection, sql, 0, NULL, NULL, NULL, NULL, 1))
        give_up(PQerrorMessage(l->connection));
}

/* Until the answer to the sync: the batch is durable. */
static void commit(struct loop *l)
{
    send_text(l, "BEGIN");
    for (int i = 0; i < STATEMENTS; i++)
        send_statement(l, i);
    send_text(l, "COMMIT");
    if (!PQpipelineSync(l->connection))
        give_up(PQerrorMessage(l->connection));
    for (bool over = false; !over;) {
        PGresult *r = PQgetResult(l->connection);
        ExecStatusType status = PQresultStatus(r);
        if (r && status != PGRES_COMMAND_OK && status != PGRES_PIPELINE_SYNC)
            give_up(PQresultErrorMessage(r));
        over = r && status == PGRES_PIPELINE_SYNC;
        PQclear(r);
    }
}

static void take_batch(struct loop *l, size_t count)
{
    int64_t now_ms = env_wall_ms(env_real()), more[ACCOUNTS + 1] = {0};
    int32_t day = clock_day(now_ms);
    struct buf body = {0};
    for (int i = 0; i < STATEMENTS; i++)
        table_begin(&l->tables[i], statements[i].types);
    books_clear(&l->books);
    for (size_t i = 0; i < count; i++) {
        struct texts texts;
        struct event e;
        generate(l, now_ms, &texts, &e);
        struct payload_options o = {.client_id = str_of(texts.client_id),
                                    .integration = INTEGRATION_SDK};
        buf_clear(&body);
        e.signature_offset = payload_print(&body, &e, &o);
        e.body = buf_str(&body);
        add_event(l, &e, pg_period_of_day(day));
        more[e.account_no]++;
    }
    add_accounts(l, now_ms, day, more);
    add_sums(l, day);
    commit(l);
    buf_free(&body);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: bench_ingest_postgresql URI EVENTS [BATCH]\n");
        return 2;
    }
    size_t events = strtoul(argv[2], NULL, 10), batch = 256;
    if (argc > 3)
        batch = strtoul(argv[3], NULL, 10);
    if (batch == 0 || batch > BATCH_MOST)
        give_up("a batch has 1 to 4096 events");
    struct loop *l = xcalloc(1, sizeof *l);
    uint64_t seed;
    env_random(env_real(), &seed, sizeof seed);
    rng_seed(&l->rng, seed);
    pg_init(&l->pg, argv[1]);
    take_numbers(l, env_wall_ms(env_real()));
    pg_close(&l->pg);
    make_terms(l);
    prepare(l, argv[1]);
    int64_t begin_ms = env_mono_ms(env_real());
    for (size_t at = 0; at < events; at += batch)
        take_batch(l, events - at < batch ? events - at : batch);
    double seconds = (double)(env_mono_ms(env_real()) - begin_ms) / 1000;
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    double cpu_us = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
                    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    printf("{\"events\": %zu, \"seconds\": %.3f, \"cpu_us_per_event\": %.2f}\n", events, seconds,
           cpu_us / (double)events);
    PQfinish(l->connection);
    books_free(&l->books);
    for (int i = 0; i < STATEMENTS; i++)
        table_free(&l->tables[i]);
    args_free(&l->args);
    free(l);
    return 0;
}
