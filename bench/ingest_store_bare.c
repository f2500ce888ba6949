/* The yardstick of bench/ingest_store.c: the same events, decided by the same rules, inserted by
 * a plain loop into the same tables; and the generator of events that both use. Bodies alone have
 * a table of their own, one row each: the store packs those of neighbours, which a loop that
 * commits each batch has not together. */
#include "ingest_store.h"

#include "domain/clock.h"
#include "store/sqlite/event_row.h"
#include "store/sqlite/schema.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#define ACCOUNTS 100u
#define CLIENTS 5u
#define PANELISTS 100000u

static struct app_terms terms[ACCOUNTS];

int64_t mono_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void remove_tree(const char *path)
{
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        struct buf child = {0};
        buf_printf(&child, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && unlink(buf_c(&child)) != 0)
            remove_tree(buf_c(&child));
        buf_free(&child);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

void generate_prepare(void)
{
    for (uint32_t i = 0; i < ACCOUNTS; i++)
        terms[i] = (struct app_terms){
            .account_no = i + 1,
            .app_no = i + 1,
            .currency_micros = 100 * MICROS_PER_UNIT,
            .disqualification_reward_micros = 50000,
            .disqualification_cap = 6,
            .reward_decimals = 2,
            .has_url = {false, true, true, true},
        };
}

struct candidate generate(size_t n, const struct hash_secret *secret, struct generated *to)
{
    static const enum event_type types[] = {EVENT_SURVEY_STARTED,      EVENT_SURVEY_COMPLETED,
                                            EVENT_SURVEY_COMPLETED,    EVENT_OFFER_CLICKED,
                                            EVENT_SURVEY_DISQUALIFIED, EVENT_OFFER_COMPLETED,
                                            EVENT_SURVEY_COMPLETED,    EVENT_SURVEY_STARTED};
    struct rng rng;
    rng_seed(&rng, n + 1);
    snprintf(to->event_id, sizeof to->event_id, "%016llx%010llx",
             (unsigned long long)rng_next(&rng), (unsigned long long)rng_next(&rng) >> 24);
    snprintf(to->panelist_id, sizeof to->panelist_id, "panelist-%06llu",
             (unsigned long long)rng_below(&rng, PANELISTS));
    const struct app_terms *app = &terms[rng_below(&rng, ACCOUNTS)];
    uint32_t client_no = app->app_no * CLIENTS + (uint32_t)rng_below(&rng, CLIENTS);
    snprintf(to->client_id, sizeof to->client_id, "client-%u", client_no);
    struct candidate c = {
        .terms = app,
        .client_no = client_no,
        .integration = INTEGRATION_SDK,
        .type = types[rng_below(&rng, ARRAY_LEN(types))],
        .deliver = true,
        .occurred_ms = env_wall_ms(env_real()),
        .event_id = str_of(to->event_id),
        .client_id = str_of(to->client_id),
        .panelist_id = str_of(to->panelist_id),
        .session_id = STR("session-0123456789abcdef"),
    };
    if (c.type == EVENT_SURVEY_COMPLETED || c.type == EVENT_OFFER_COMPLETED) {
        c.has_revenue = true;
        c.revenue_micros = (int64_t)rng_below(&rng, 5000000);
    }
    if (event_type_is_offer(c.type)) {
        c.offer_id = 12345;
        c.offer_title = STR("Reach level 10 in the game of games");
    }
    c.key = event_key(secret, app->account_no, c.event_id);
    c.content = n;
    return c;
}

/* --- the loop -----------------------------------------------------------------------------------
 */

struct bare {
    struct sql sql;
    struct hash_secret secret;
    sqlite3_stmt *add_key, *add_event, *add_body, *add_panelist, *add_due, *add_active, *add_report;
    uint64_t event_no[ACCOUNTS + 1];
    struct buf body;
    struct {
        int64_t events, starts, conversions, revenue, active;
    } sums[ACCOUNTS * CLIENTS + CLIENTS]; /* by client, of the batch */
};

#define ROW_INSERT                                                                                 \
    "INSERT INTO event(" ROW_COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?," \
    "?,?,?,?,?,?,?,?)"

static void bare_open(struct bare *b, const char *directory)
{
    char *why = NULL;
    struct buf path = {0};
    buf_printf(&path, "%s/bare.db", directory);
    ASSERT(sql_open(&b->sql, buf_c(&path), NULL, true, &why));
    buf_free(&path);
    struct sql *q = &b->sql;
    schema_configure(q, true, 1500000);
    ASSERT(migrate(q, &schema_migration, &why));
    sql_exec(q, "PRAGMA synchronous=FULL");
    sql_exec(q, "PRAGMA wal_autocheckpoint=100000");
    int64_t day = clock_day(env_wall_ms(env_real()));
    /* Keys and panelists a row each, as a plain loop would have them. */
    sql_exec(q, "CREATE TABLE key_1(hi INT, lo INT, content INT, id INT,"
                " PRIMARY KEY(hi, lo)) WITHOUT ROWID");
    sql_exec(q, "CREATE TABLE panelist_1(hash INT, id INT, PRIMARY KEY(hash, id)) WITHOUT ROWID");
    schema_create_segment(q, 1);
    schema_create_active_day(q, day);
    b->add_key = sql_prepare(q, "INSERT OR IGNORE INTO key_1 VALUES(?,?,?,?)");
    b->add_event = sql_prepare(q, ROW_INSERT);
    sql_exec(q, "CREATE TABLE body(id INTEGER PRIMARY KEY, body BLOB NOT NULL)");
    b->add_body = sql_prepare(q, "INSERT INTO body VALUES(?,?)");
    b->add_panelist = sql_prepare(q, "INSERT OR IGNORE INTO panelist_1 VALUES(?,?)");
    b->add_due = sql_prepare(q, "INSERT INTO due VALUES(?,?,?)");
    b->add_active =
        sql_prepare_f(q, "INSERT OR IGNORE INTO \"active_%lld\" VALUES(?,?,?,1)", (long long)day);
    b->add_report = sql_prepare(
        q, "INSERT INTO report VALUES(?1,?2,?3,?4,?5,?6,0,0,?7,0,0,0,0,0,0,0,0,0,0,?8,?8,0,0)"
           " ON CONFLICT DO UPDATE SET live_events=live_events+?4,live_starts=live_starts+?5,"
           "live_conversions_survey=live_conversions_survey+?6,live_survey_low=live_survey_low+?7,"
           "active_live=active_live+?8,active_any=active_any+?8");
    ASSERT(!sql_failed(q));
}

static void row_bind(sqlite3_stmt *s, const struct event *e, uint32_t segment,
                     const struct callback_life *life, unsigned counted)
{
    int at = 1;
    sql_bind_int(s, at++, (int64_t)event_id_of(e->account_no, e->event_no));
    sql_bind_int(s, at++, e->app_no);
    sql_bind_int(s, at++, e->client_no);
    sql_bind_int(s, at++, e->type);
    sql_bind_int(s, at++, e->lane);
    sql_bind_int(s, at++, e->is_test);
    sql_bind_int(s, at++, e->reward_decimals);
    sql_bind_int(s, at++, e->occurred_ms);
    sql_bind_int(s, at++, e->accepted_ms - e->occurred_ms);
    sql_bind_int(s, at++, e->revenue_micros);
    sql_bind_int(s, at++, e->reward_micros);
    sql_bind_int(s, at++, e->offer_id);
    sql_bind_int(s, at++, (int64_t)e->original_no);
    sql_bind_str(s, at++, e->event_id);
    sql_bind_str(s, at++, e->panelist_id);
    sql_bind_str(s, at++, e->session_id);
    sql_bind_str(s, at++, e->mid);
    sql_bind_str(s, at++, e->offer_title);
    sql_bind_str(s, at++, e->offer_goal_id);
    sql_bind_str(s, at++, e->original_reward_id);
    sql_bind_str(s, at++, e->reason);
    sql_bind_int(s, at++, e->signature_offset);
    sql_bind_int(s, at++, e->cap);
    sql_bind_int(s, at++, segment);
    sql_bind_int(s, at++, life->state);
    sql_bind_int(s, at++, life->reason);
    sql_bind_int(s, at++, life->wait);
    sql_bind_int(s, at++, life->manual);
    sql_bind_int(s, at++, life->place.failed_attempts);
    sql_bind_int(s, at++, life->place.slot);
    sql_bind_int(s, at++, life->place.due_ms);
    sql_bind_int(s, at++, life->attempts > 0 ? life->attempts : 0);
    sql_bind_int(s, at++, counted);
}

static void bare_event(struct bare *b, const struct candidate *c)
{
    struct sql *q = &b->sql;
    struct event e;
    uint64_t *last_event_no = &b->event_no[c->terms->account_no];
    struct acceptance_facts facts = {.received_ms = c->occurred_ms,
                                     .last_event_no = *last_event_no};
    struct verdict v = acceptance_decide(c, &facts, &e);
    ASSERT(v.kind == VERDICT_ACCEPTED);
    *last_event_no = e.event_no;
    int64_t id = (int64_t)event_id_of(e.account_no, e.event_no);
    sql_bind_int(b->add_key, 1, (int64_t)e.key.hi);
    sql_bind_int(b->add_key, 2, (int64_t)e.key.lo);
    sql_bind_int(b->add_key, 3, (int64_t)e.content);
    sql_bind_int(b->add_key, 4, id);
    sql_run(q, b->add_key);
    ASSERT(sqlite3_changes(q->db) == 1);
    struct callback_life life = {.lane = lane_of(e.app_no, e.lane), .state = e.state};
    row_bind(b->add_event, &e, 1, &life, 0);
    sql_run(q, b->add_event);
    struct key128 panelist = panelist_key(&b->secret, e.account_no, e.panelist_id);
    sql_bind_int(b->add_panelist, 1, (int64_t)panelist.hi);
    sql_bind_int(b->add_panelist, 2, id);
    sql_run(q, b->add_panelist);
    if (e.lane != LANE_NONE) {
        payload_fix(&e, c, &b->body);
        sql_bind_int(b->add_body, 1, id);
        sql_bind_blob(b->add_body, 2, e.body);
        sql_run(q, b->add_body);
        sql_bind_int(b->add_due, 1, (int64_t)life.lane);
        sql_bind_int(b->add_due, 2, e.accepted_ms);
        sql_bind_int(b->add_due, 3, id);
        sql_run(q, b->add_due);
    }
    b->sums[e.client_no].events++;
    b->sums[e.client_no].revenue += e.revenue_micros;
    b->sums[e.client_no].conversions += e.reward_micros > 0 && e.revenue_micros > 0;
    if (e.type != EVENT_SURVEY_STARTED)
        return;
    b->sums[e.client_no].starts++;
    sql_bind_int(b->add_active, 1, e.client_no);
    sql_bind_int(b->add_active, 2, (int64_t)panelist.hi);
    sql_bind_int(b->add_active, 3, (int64_t)panelist.lo);
    sql_run(q, b->add_active);
    b->sums[e.client_no].active += sqlite3_changes(q->db);
}

static void bare_reports(struct bare *b, int64_t day)
{
    for (uint32_t client_no = 0; client_no < ARRAY_LEN(b->sums); client_no++) {
        if (b->sums[client_no].events == 0)
            continue;
        sql_bind_int(b->add_report, 1, client_no / CLIENTS);
        sql_bind_int(b->add_report, 2, day);
        sql_bind_int(b->add_report, 3, client_no);
        sql_bind_int(b->add_report, 4, b->sums[client_no].events);
        sql_bind_int(b->add_report, 5, b->sums[client_no].starts);
        sql_bind_int(b->add_report, 6, b->sums[client_no].conversions);
        sql_bind_int(b->add_report, 7, b->sums[client_no].revenue);
        sql_bind_int(b->add_report, 8, b->sums[client_no].active);
        sql_run(&b->sql, b->add_report);
    }
    memset(b->sums, 0, sizeof b->sums);
}

static void bare_ingest(struct bare *b, size_t from, size_t events)
{
    int64_t day = clock_day(env_wall_ms(env_real()));
    for (size_t at = 0; at < events; at += BATCH) {
        sql_exec(&b->sql, "BEGIN IMMEDIATE");
        for (size_t i = 0; i < BATCH; i++) {
            struct generated texts;
            struct candidate c = generate(from + at + i, &b->secret, &texts);
            bare_event(b, &c);
        }
        bare_reports(b, day);
        sql_exec(&b->sql, "COMMIT");
        ASSERT(!sql_failed(&b->sql));
    }
}

int64_t bare_sqlite(const char *directory, size_t events, size_t preloaded, int64_t (*cpu_us)(void),
                    int64_t *ret_cpu_us)
{
    struct bare *b = xcalloc(1, sizeof *b);
    bare_open(b, directory);
    bare_ingest(b, 0, preloaded);
    int64_t start_ns = mono_ns(), start_cpu = cpu_us();
    bare_ingest(b, preloaded, events);
    int64_t ns = mono_ns() - start_ns;
    *ret_cpu_us = cpu_us() - start_cpu;
    buf_free(&b->body);
    sql_close(&b->sql);
    free(b);
    return ns;
}
