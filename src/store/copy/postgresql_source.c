/* Reads a database from end to end, one short transaction for each chunk, as nobody else writes to
 * it. */
#include "store/copy/postgresql_side.h"

#include "base/alloc.h"

#include <stdlib.h>

#include "store/postgresql/key_page.h"
#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_migrate.h"
#include "store/postgresql/pg_row.h"

struct postgresql_source {
    struct copy_source source;
    struct pg pg;
    struct pg_table table;
    struct copy_position at;
};

static struct postgresql_source *self_of(struct copy_source *s)
{
    return CONTAINER_OF(s, struct postgresql_source, source);
}

/* --- objects, reports, books -------------------------------------------------------------------
 */

static bool read_objects(struct postgresql_source *s, struct copy_chunk *c)
{
    struct pg *pg = &s->pg;
    pg_begin(pg, true);
    args_int(pg_args(pg), PG_INT2, s->at.n[0]);
    args_str(&pg->args, PG_TEXT, (struct str){s->at.id, s->at.id_bytes});
    args_int(&pg->args, PG_INT8, COPY_CHUNK_ROWS);
    int at = pg_query(pg, "SELECT kind,id,document FROM object WHERE (kind,id)>($1,$2)"
                          " ORDER BY kind,id LIMIT $3");
    if (pg_end_read(pg) != PG_OK)
        return false;
    const PGresult *r = pg_result(pg, at);
    c->count = (size_t)PQntuples(r);
    c->objects = arena_alloc(&c->arena, c->count * sizeof *c->objects + 1);
    for (size_t i = 0; i < c->count; i++)
        c->objects[i] = (struct copied_object){(enum object_kind)pg_int(r, (int)i, 0),
                                               arena_str(&c->arena, pg_str(r, (int)i, 1)),
                                               arena_str(&c->arena, pg_str(r, (int)i, 2))};
    return true;
}

static struct report_part read_part(const PGresult *r, int row, int column)
{
    return (struct report_part){
        .events = pg_int(r, row, column),
        .starts = pg_int(r, row, column + 1),
        .outcomes = pg_int(r, row, column + 2),
        .conversions = {pg_int(r, row, column + 3), pg_int(r, row, column + 4)},
        .earnings_micros = {pg_money(r, row, column + 5), pg_money(r, row, column + 6)},
    };
}

static bool read_reports(struct postgresql_source *s, struct copy_chunk *c)
{
    struct pg *pg = &s->pg;
    pg_begin(pg, true);
    args_int(pg_args(pg), PG_INT4, s->at.n[0]);
    args_int(&pg->args, PG_INT4, s->at.n[1]);
    args_int(&pg->args, PG_INT8, s->at.n[2]);
    args_int(&pg->args, PG_INT8, COPY_CHUNK_ROWS);
    int at = pg_query(
        pg, "SELECT account_no,day,client_no,active_live,active_any,live_events,live_starts,"
            "live_outcomes,live_conversions_survey,live_conversions_offer,live_survey_micros::text,"
            "live_offer_micros::text,test_events,test_starts,test_outcomes,test_conversions_survey,"
            "test_conversions_offer,test_survey_micros::text,test_offer_micros::text FROM report"
            " WHERE (account_no,day,client_no)>($1,$2,$3)"
            " ORDER BY account_no,day,client_no LIMIT $4");
    if (pg_end_read(pg) != PG_OK)
        return false;
    const PGresult *r = pg_result(pg, at);
    c->count = (size_t)PQntuples(r);
    c->reports = arena_alloc(&c->arena, c->count * sizeof *c->reports + 1);
    for (size_t i = 0; i < c->count; i++) {
        int row = (int)i;
        c->reports[i] = (struct copied_report){.account_no = (uint32_t)pg_int(r, row, 0),
                                               .day = (int32_t)pg_int(r, row, 1),
                                               .client_no = (uint32_t)pg_int(r, row, 2),
                                               .sums = {.live = read_part(r, row, 5),
                                                        .test = read_part(r, row, 12),
                                                        .active_live = pg_int(r, row, 3),
                                                        .active_any = pg_int(r, row, 4)}};
    }
    return true;
}

static bool read_books(struct postgresql_source *s, struct copy_chunk *c)
{
    struct pg *pg = &s->pg;
    pg_begin(pg, true);
    args_int(pg_args(pg), PG_INT4, s->at.n[0]);
    args_int(&pg->args, PG_INT4, s->at.n[1]);
    args_int(&pg->args, PG_INT8, s->at.n[2]);
    args_int(&pg->args, PG_INT2, s->at.n[3]);
    args_int(&pg->args, PG_BOOL, s->at.n[4]);
    args_int(&pg->args, PG_INT2, s->at.n[5]);
    args_int(&pg->args, PG_INT8, COPY_CHUNK_ROWS);
    int at =
        pg_query(pg, "SELECT account_no,day,app_no,lane,is_test,state,count,reward_micros::text,"
                     "revenue_micros::text FROM book"
                     " WHERE (account_no,day,app_no,lane,is_test,state)>($1,$2,$3,$4,$5,$6)"
                     " ORDER BY account_no,day,app_no,lane,is_test,state LIMIT $7");
    if (pg_end_read(pg) != PG_OK)
        return false;
    const PGresult *r = pg_result(pg, at);
    c->count = (size_t)PQntuples(r);
    c->books = arena_alloc(&c->arena, c->count * sizeof *c->books + 1);
    for (size_t i = 0; i < c->count; i++) {
        int row = (int)i;
        c->books[i] = (struct copied_book){
            .key = {.account_no = (uint32_t)pg_int(r, row, 0),
                    .day = (int32_t)pg_int(r, row, 1),
                    .app_no = (uint32_t)pg_int(r, row, 2),
                    .lane = (enum lane_kind)pg_int(r, row, 3),
                    .is_test = pg_int(r, row, 4) != 0},
            .state = (int)pg_int(r, row, 5),
            .sums = {.count = pg_int(r, row, 6),
                     .reward_micros = pg_money(r, row, 7),
                     .revenue_micros = pg_money(r, row, 8)},
        };
    }
    return true;
}

/* --- events ----------------------------------------------------------------------------------- */

/* False: the row's body is damaged. */
static bool take_row(const PGresult *r, int at, struct copy_chunk *c)
{
    struct pg_row row;
    struct copied_event *to = &c->events[c->count++];
    pg_row_read(r, at, &row);
    bool good = pg_row_keep(&row, &c->arena);
    *to = (struct copied_event){
        .event = row.event,
        .period = row.period,
        .life = row.callback.life,
        .erased = row.erased,
        .final_late_day = (int32_t)pg_int(r, at, PQnfields(r) - 1),
        .counted = row.callback.counted,
    };
    return good;
}

/* Goes on in the period, or in the next one that exists. *ret_at: the statement; -1: none is
 * left. */
static bool ask_rows(struct postgresql_source *s, int *ret_at)
{
    struct pg *pg = &s->pg;
    args_int(pg_args(pg), PG_INT4, s->at.n[0]);
    args_int(&pg->args, PG_INT4, s->at.n[1]);
    args_int(&pg->args, PG_INT8, s->at.n[2]);
    args_int(&pg->args, PG_INT8, COPY_CHUNK_ROWS);
    *ret_at = pg_query(
        pg,
        "SELECT " ROW_WITH_BODY ",w.final_day FROM (SELECT * FROM event WHERE period=$1"
        " AND (account_no,period,event_no)>($2,$1,$3) ORDER BY account_no,event_no LIMIT $4) AS e"
        " LEFT JOIN LATERAL (SELECT body FROM body WHERE account_no=e.account_no AND"
        " event_no=e.event_no AND period=$1 OFFSET 0) AS b ON true"
        " LEFT JOIN final_late w ON w.account_no=e.account_no AND w.period=$1"
        " ORDER BY e.account_no,e.event_no");
    return pg_sync(pg) == PG_OK;
}

static bool next_period(struct postgresql_source *s, bool *ret_more)
{
    struct pg *pg = &s->pg;
    args_int(pg_args(pg), PG_INT4, s->at.n[0]);
    int at = pg_query(pg, "SELECT min(period) FROM account_period WHERE period>$1");
    if (pg_sync(pg) != PG_OK)
        return false;
    *ret_more = !pg_is_null(pg_result(pg, at), 0, 0);
    if (*ret_more)
        s->at =
            (struct copy_position){.section = COPY_EVENTS, .n = {pg_int(pg_result(pg, at), 0, 0)}};
    return true;
}

static bool read_rows(struct postgresql_source *s, struct copy_chunk *c)
{
    bool more = true;
    while (more) {
        int at;
        if (!ask_rows(s, &at))
            return false;
        const PGresult *r = pg_result(&s->pg, at);
        c->events = arena_alloc(&c->arena, (size_t)PQntuples(r) * sizeof *c->events + 1);
        for (int i = 0; i < PQntuples(r); i++)
            if (!take_row(r, i, c))
                return pg_refuse(&s->pg, "the store is damaged: the body of a callback cannot be"
                                         " read, as the line before says");
        if (c->count > 0)
            return true;
        if (!next_period(s, &more))
            return false;
    }
    return true;
}

static struct copied_event *find_event(struct copy_chunk *c, uint32_t account_no, uint64_t event_no)
{
    size_t first = 0, end = c->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        const struct event *e = &c->events[middle].event;
        if (e->account_no == account_no && e->event_no == event_no)
            return &c->events[middle];
        if (e->account_no < account_no || (e->account_no == account_no && e->event_no < event_no))
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

static int ask_keys(struct postgresql_source *s, struct copy_chunk *c)
{
    table_begin(&s->table, "liu");
    for (size_t i = 0; i < c->count; i++) {
        struct event *e = &c->events[i].event;
        e->key = event_key(&s->source.secret, e->account_no, e->event_id);
        column_int(&s->table.columns[0], (int64_t)i);
        column_int(&s->table.columns[1], e->account_no);
        column_key(&s->table.columns[2], e->key);
    }
    args_table(pg_args(&s->pg), &s->table);
    return pg_query(&s->pg, "SELECT u.i,k.content,k.event_no FROM unnest($1,$2,$3) AS u(i,a,k)"
                            " CROSS JOIN LATERAL " FIND_KEY("u.a", "u.k") " k");
}

/* By runs of consecutive events of one account in the chunk. */
static int ask_attempts(struct postgresql_source *s, const struct copy_chunk *c)
{
    table_begin(&s->table, "ill");
    for (size_t first = 0, end; first < c->count; first = end) {
        const struct event *e = &c->events[first].event;
        for (end = first + 1; end < c->count && c->events[end].event.account_no == e->account_no;)
            end++;
        column_int(&s->table.columns[0], e->account_no);
        column_int(&s->table.columns[1], (int64_t)e->event_no);
        column_int(&s->table.columns[2], (int64_t)c->events[end - 1].event.event_no);
    }
    args_table(pg_args(&s->pg), &s->table);
    return pg_query(&s->pg, "SELECT account_no,event_no," ATTEMPT_COLUMNS
                            " FROM unnest($1,$2,$3) AS u(a,f,l) CROSS JOIN LATERAL (SELECT * FROM"
                            " attempt WHERE account_no=u.a AND event_no>=u.f AND event_no<=u.l"
                            " OFFSET 0) AS t");
}

static bool take_keys(struct postgresql_source *s, struct copy_chunk *c, const PGresult *r)
{
    size_t found = 0;
    for (int i = 0; i < PQntuples(r); i++) {
        struct event *e = &c->events[pg_int(r, i, 0)].event;
        e->content = (uint64_t)pg_int(r, i, 1);
        found += e->event_no == (uint64_t)pg_int(r, i, 2);
    }
    return found == c->count || pg_refuse(&s->pg, "the store is damaged: an event has no key of its"
                                                  " own");
}

/* False: one is damaged. */
static bool take_attempts(struct copy_chunk *c, const PGresult *r)
{
    for (int i = 0; i < PQntuples(r); i++) {
        struct copied_event *e =
            find_event(c, (uint32_t)pg_int(r, i, 0), (uint64_t)pg_int(r, i, 1));
        if (e)
            e->log_count++;
    }
    for (size_t i = 0; i < c->count; i++) {
        c->events[i].log =
            arena_alloc(&c->arena, c->events[i].log_count * sizeof *c->events[i].log + 1);
        c->events[i].log_count = 0;
    }
    for (int i = 0; i < PQntuples(r); i++) {
        struct copied_event *e =
            find_event(c, (uint32_t)pg_int(r, i, 0), (uint64_t)pg_int(r, i, 1));
        if (e && !pg_attempt_read(r, i, 2, &e->event, &c->arena, &e->log[e->log_count++]))
            return false;
    }
    for (size_t i = 0; i < c->count; i++)
        copied_event_sort_log(&c->events[i]);
    return true;
}

static bool read_events(struct postgresql_source *s, struct copy_chunk *c)
{
    struct pg *pg = &s->pg;
    pg_begin(pg, true);
    if (!read_rows(s, c))
        return false;
    if (c->count == 0)
        return pg_end_read(pg) == PG_OK;
    int keys = ask_keys(s, c), attempts = ask_attempts(s, c);
    if (pg_end_read(pg) != PG_OK || !take_keys(s, c, pg_result(pg, keys)))
        return false;
    return take_attempts(c, pg_result(pg, attempts)) ||
           pg_refuse(pg,
                     "the store is damaged: an attempt of a callback cannot be read, as the line"
                     " before says");
}

/* --- the side --------------------------------------------------------------------------------- */

static bool seek(struct copy_source *source, const struct copy_position *at)
{
    struct postgresql_source *s = self_of(source);
    s->at = *at;
    if (at->section == COPY_EVENTS && at->n[1] == 0)
        s->at.n[0] = INT32_MIN; /* before the first possible period */
    return true;
}

static bool read_chunk(struct copy_source *source, struct copy_chunk *c)
{
    struct postgresql_source *s = self_of(source);
    bool good = false;
    copy_chunk_begin(c, &s->at);
    switch (s->at.section) {
    case COPY_OBJECTS: good = read_objects(s, c); break;
    case COPY_EVENTS: good = read_events(s, c); break;
    case COPY_REPORTS: good = read_reports(s, c); break;
    case COPY_BOOKS: good = read_books(s, c); break;
    case COPY_SECTION_END: UNREACHABLE();
    }
    if (!good)
        return pg_side_failed(&s->pg, &s->source.why);
    copy_chunk_end(c, &s->at);
    s->at = c->end;
    return true;
}

static bool mark(struct copy_source *source, struct buf *to)
{
    struct postgresql_source *s = self_of(source);
    return pg_side_mark(&s->pg, to) || pg_side_failed(&s->pg, &s->source.why);
}

static void close_source(struct copy_source *source)
{
    struct postgresql_source *s = self_of(source);
    pg_close(&s->pg);
    table_free(&s->table);
    buf_free(&s->source.why);
    free(s);
}

static const struct copy_source_ops ops = {seek, read_chunk, mark, close_source};

static bool read_facts(struct postgresql_source *s)
{
    struct pg *pg = &s->pg;
    struct str secret;
    pg_begin(pg, true);
    int at = pg_exec(pg, "SELECT coalesce(sum(last_event_no),0)::bigint FROM account");
    if (pg_end_read(pg) != PG_OK)
        return false;
    s->source.events = pg_int(pg_result(pg, at), 0, 0);
    if (!pg_side_meta(pg, "hash_secret", &secret))
        return false;
    if (secret.n != sizeof s->source.secret.bytes)
        return pg_refuse(pg, "the key of the hashes in table meta is missing or damaged");
    memcpy(s->source.secret.bytes, secret.p, secret.n);
    return true;
}

static struct copy_source *open_as(const char *uri, enum pg_side_use use, char **ret_why)
{
    struct postgresql_source *s = xcalloc(1, sizeof *s);
    s->source.ops = &ops;
    pg_init(&s->pg, uri);
    if (pg_side_open(&s->pg, use, ret_why)) {
        if (read_facts(s))
            return &s->source;
        *ret_why = xstrdup(buf_c(&s->pg.why));
    }
    close_source(&s->source);
    return NULL;
}

struct copy_source *copy_postgresql_source(const char *uri, char **ret_why)
{
    return open_as(uri, SIDE_SOURCE, ret_why);
}

struct copy_source *copy_postgresql_read_back(const char *uri, char **ret_why)
{
    return open_as(uri, SIDE_READ_BACK, ret_why);
}
