/* Reads a SQLite store from end to end. Locks it as a daemon would, and applies its journal first,
 * as a start does.
 *
 * SQLite orders events by account, the copy by period first. So each account has a position up to
 * which it has been read, and for each period every account is read from there. */
#include "store/copy/sides.h"

#include "base/alloc.h"
#include "domain/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/copy/sqlite_log.h"
#include "store/postgresql/partitions.h"
#include "store/sqlite/accepted.h"
#include "store/sqlite/ids.h"
#include "store/sqlite/lookup.h"
#include "store/sqlite/recover.h"
#include "store/sqlite/report_row.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/store_directory.h"
#include "store/store_open.h"

#define NEVER INT32_MAX

struct account_place {
    uint32_t account_no;
    uint64_t next_id;    /* the first event that is not read */
    int32_t next_period; /* the period of next_id; NEVER: there is none */
};

struct sqlite_source {
    struct copy_source source;
    int lock;
    struct event_lookup lookup;
    struct copy_position at;
    struct account_place *accounts;
    size_t account_count, account_capacity, account; /* the index of the one being read */
    sqlite3_stmt *rows, *accepted;
    struct sqlite_log log;
};

static struct sqlite_source *self_of(struct copy_source *s)
{
    return CONTAINER_OF(s, struct sqlite_source, source);
}

/* False: why says what failed. */
static bool done(struct sqlite_source *s)
{
    struct sql *q = &s->lookup.sql;
    if (sql_failed(q) && s->source.why.n == 0)
        buf_printf(&s->source.why, "%s", q->why);
    return s->source.why.n == 0;
}

/* --- objects, reports, books -------------------------------------------------------------------
 */

static void read_objects(struct sqlite_source *s, struct copy_chunk *c)
{
    struct sql *q = &s->lookup.sql;
    const struct copy_position *at = &s->at;
    c->objects = arena_alloc(&c->arena, COPY_CHUNK_ROWS * sizeof *c->objects);
    sqlite3_stmt *rows = sql_prepare(
        q, "SELECT kind,id,document FROM object WHERE (kind,id)>(?,?) ORDER BY kind,id LIMIT ?");
    sql_bind_int(rows, 1, at->n[0]);
    sql_bind_str(rows, 2, (struct str){at->id, at->id_bytes});
    sql_bind_int(rows, 3, COPY_CHUNK_ROWS);
    while (sql_row(q, rows))
        c->objects[c->count++] = (struct copied_object){(enum object_kind)sql_int(rows, 0),
                                                        arena_str(&c->arena, sql_str(rows, 1)),
                                                        arena_str(&c->arena, sql_str(rows, 2))};
    sql_finalize(rows);
}

static void read_reports(struct sqlite_source *s, struct copy_chunk *c)
{
    struct sql *q = &s->lookup.sql;
    c->reports = arena_alloc(&c->arena, COPY_CHUNK_ROWS * sizeof *c->reports);
    sqlite3_stmt *rows =
        sql_prepare(q, "SELECT * FROM report WHERE (account_no,day,client_no)>(?,?,?)"
                       " ORDER BY account_no,day,client_no LIMIT ?");
    for (int i = 0; i < 3; i++)
        sql_bind_int(rows, i + 1, s->at.n[i]);
    sql_bind_int(rows, 4, COPY_CHUNK_ROWS);
    while (sql_row(q, rows)) {
        struct copied_report *r = &c->reports[c->count++];
        *r = (struct copied_report){.account_no = (uint32_t)sql_int(rows, 0),
                                    .day = (int32_t)sql_int(rows, 1),
                                    .client_no = (uint32_t)sql_int(rows, 2)};
        report_sums_read(rows, &r->sums);
    }
    sql_finalize(rows);
}

static void read_books(struct sqlite_source *s, struct copy_chunk *c)
{
    struct sql *q = &s->lookup.sql;
    c->books = arena_alloc(&c->arena, COPY_CHUNK_ROWS * sizeof *c->books);
    sqlite3_stmt *rows = sql_prepare(
        q, "SELECT account_no,day,app_no,lane,is_test,state,count,reward_high,reward_low,"
           "revenue_high,revenue_low FROM book"
           " WHERE (account_no,day,app_no,lane,is_test,state)>(?,?,?,?,?,?)"
           " ORDER BY account_no,day,app_no,lane,is_test,state LIMIT ?");
    for (int i = 0; i < 6; i++)
        sql_bind_int(rows, i + 1, s->at.n[i]);
    sql_bind_int(rows, 7, COPY_CHUNK_ROWS);
    while (sql_row(q, rows))
        c->books[c->count++] = (struct copied_book){
            .key = {.account_no = (uint32_t)sql_int(rows, 0),
                    .day = (int32_t)sql_int(rows, 1),
                    .app_no = (uint32_t)sql_int(rows, 2),
                    .lane = (enum lane_kind)sql_int(rows, 3),
                    .is_test = sql_int(rows, 4) != 0},
            .state = (int)sql_int(rows, 5),
            .sums = {.count = sql_int(rows, 6),
                     .reward_micros = money_read(rows, 7),
                     .revenue_micros = money_read(rows, 9)},
        };
    sql_finalize(rows);
}

/* --- the position in each account ------------------------------------------------------------ */

static int32_t period_of(int64_t accepted_ms)
{
    return pg_period_of_day(clock_day(accepted_ms));
}

static void look_ahead(struct sqlite_source *s, struct account_place *a)
{
    struct sql *q = &s->lookup.sql;
    a->next_period = NEVER;
    sql_bind_int(s->accepted, 1, (int64_t)a->next_id);
    if (a->next_id > event_id_of(a->account_no, EVENT_NO_LAST) || !sql_row(q, s->accepted))
        return;
    a->next_period = period_of(sql_int(s->accepted, 0));
    sql_reset(s->accepted);
}

/* The account's first event of that period or a later one. */
static uint64_t first_since(struct sqlite_source *s, uint32_t account_no, int32_t period)
{
    int64_t from_ms = (int64_t)period * PG_PERIOD_DAYS * DAY_MS;
    struct range range = accepted_between(&s->lookup.sql, account_no, from_ms, INT64_MAX);
    return range.first <= range.last ? range.first : event_id_of(account_no, EVENT_NO_LAST) + 1;
}

static void list_accounts(struct sqlite_source *s)
{
    struct sql *q = &s->lookup.sql;
    sqlite3_stmt *next = sql_prepare(q, "SELECT id FROM event WHERE id>=? ORDER BY id LIMIT 1");
    uint64_t from = 0;
    for (;;) {
        sql_bind_int(next, 1, (int64_t)from);
        if (!sql_row(q, next))
            break;
        uint64_t id = (uint64_t)sql_int(next, 0);
        sql_reset(next);
        s->accounts =
            xgrow(s->accounts, &s->account_capacity, s->account_count + 1, sizeof *s->accounts);
        s->accounts[s->account_count++] = (struct account_place){.account_no = account_of_id(id)};
        from = ((uint64_t)account_of_id(id) + 1) << EVENT_NO_BITS;
    }
    sql_finalize(next);
}

static void seek_events(struct sqlite_source *s)
{
    int32_t period = (int32_t)s->at.n[0];
    uint32_t account_no = (uint32_t)s->at.n[1];
    bool begin = account_no == 0; /* accounts begin at 1: nothing has been read */
    if (s->account_count == 0)
        list_accounts(s);
    for (size_t i = 0; i < s->account_count; i++) {
        struct account_place *a = &s->accounts[i];
        if (begin)
            a->next_id = event_id_of(a->account_no, 1);
        else if (a->account_no == account_no)
            a->next_id = event_id_of(account_no, (uint64_t)s->at.n[2]) + 1;
        else
            a->next_id = first_since(s, a->account_no, period + (a->account_no < account_no));
        look_ahead(s, a);
    }
    s->account = 0;
    while (!begin && s->account < s->account_count &&
           s->accounts[s->account].account_no < account_no)
        s->account++;
    if (begin)
        s->at.n[0] = INT32_MIN;
}

/* Goes to the next account with events in the period, or else to the next period. False: everything
 * has been read. */
static bool next_place(struct sqlite_source *s)
{
    for (;;) {
        int32_t least = NEVER;
        for (; s->account < s->account_count; s->account++)
            if (s->accounts[s->account].next_period <= s->at.n[0])
                return true;
        for (size_t i = 0; i < s->account_count; i++)
            if (s->accounts[i].next_period < least)
                least = s->accounts[i].next_period;
        if (least == NEVER)
            return false;
        s->account = 0;
        s->at.n[0] = least;
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static bool take_row(struct sqlite_source *s, sqlite3_stmt *rows, const struct event_row *row,
                     struct copy_chunk *c)
{
    struct copied_event *to = &c->events[c->count++];
    struct event *e = &to->event;
    struct key_found found;
    *to = (struct copied_event){
        .event = row->event,
        .period = (int32_t)s->at.n[0],
        .life = row->life,
        .erased = row->segment == 0,
        .counted = (unsigned)sql_int(rows, ROW_COUNTED_COLUMN),
        .final_late_day = (int32_t)sql_int(rows, ROW_COLUMN_COUNT),
    };
    event_keep(e, &c->arena);
    e->body = lookup_body(&s->lookup, row->id, row->segment, &c->arena);
    if (s->lookup.damaged_block != 0) {
        buf_printf(&s->source.why,
                   "the store is damaged: the bodies near event %.*s cannot be read: restore it "
                   "from a backup first",
                   STR_ARG(e->event_id));
        return false;
    }
    e->key = event_key(&s->source.secret, e->account_no, e->event_id);
    if (!lookup_key(&s->lookup, e->key, &found) || found.id != row->id) {
        if (!sql_failed(&s->lookup.sql))
            buf_printf(&s->source.why, "the store is damaged: event %.*s has no key of its own",
                       STR_ARG(e->event_id));
        return false;
    }
    e->content = found.content;
    return true;
}

/* Reads the account's events in the period, as far as the chunk has room. */
static void read_account(struct sqlite_source *s, struct copy_chunk *c)
{
    struct sql *q = &s->lookup.sql;
    struct account_place *a = &s->accounts[s->account];
    sql_bind_int(s->rows, 1, (int64_t)a->next_id);
    sql_bind_int(s->rows, 2, (int64_t)event_id_of(a->account_no, EVENT_NO_LAST));
    a->next_period = NEVER;
    while (sql_row(q, s->rows)) {
        struct event_row row;
        row_read(s->rows, &row);
        int32_t period = period_of(row.event.accepted_ms);
        if (period > s->at.n[0] || c->count == COPY_CHUNK_ROWS) {
            a->next_period = period;
            break;
        }
        if (!take_row(s, s->rows, &row, c))
            break;
        a->next_id = row.id + 1;
    }
    sql_reset(s->rows);
}

static void read_events(struct sqlite_source *s, struct copy_chunk *c)
{
    c->events = arena_alloc(&c->arena, COPY_CHUNK_ROWS * sizeof *c->events);
    if (!next_place(s))
        return;
    int64_t period = s->at.n[0];
    do
        read_account(s, c);
    while (done(s) && c->count < COPY_CHUNK_ROWS && next_place(s) && s->at.n[0] == period);
    s->at.n[0] = period;
    for (size_t i = 0; i < c->count; i++)
        c->events[i].period = (int32_t)period;
    sqlite_log_read(&s->log, &s->lookup.sql, c);
}

/* --- the side --------------------------------------------------------------------------------- */

static bool seek(struct copy_source *source, const struct copy_position *at)
{
    struct sqlite_source *s = self_of(source);
    s->at = *at;
    if (at->section == COPY_EVENTS)
        seek_events(s);
    return done(s);
}

static bool read_chunk(struct copy_source *source, struct copy_chunk *c)
{
    struct sqlite_source *s = self_of(source);
    copy_chunk_begin(c, &s->at);
    switch (s->at.section) {
    case COPY_OBJECTS: read_objects(s, c); break;
    case COPY_EVENTS: read_events(s, c); break;
    case COPY_REPORTS: read_reports(s, c); break;
    case COPY_BOOKS: read_books(s, c); break;
    case COPY_SECTION_END: UNREACHABLE();
    }
    copy_chunk_end(c, &s->at);
    s->at = c->end;
    return done(s);
}

static bool mark(struct copy_source *source, struct buf *to)
{
    struct sqlite_source *s = self_of(source);
    struct sql *q = &s->lookup.sql;
    buf_printf(to, "generation %" PRId64, meta_get_int(q, "generation", 0));
    return done(s);
}

static void close_source(struct copy_source *source)
{
    struct sqlite_source *s = self_of(source);
    lookup_close(&s->lookup);
    sqlite_log_free(&s->log);
    free(s->accounts);
    buf_free(&s->source.why);
    if (s->lock >= 0)
        close(s->lock);
    free(s);
}

static const struct copy_source_ops ops = {seek, read_chunk, mark, close_source};

static bool open_reading(struct sqlite_source *s, const char *database, char **ret_why)
{
    if (!lookup_open(&s->lookup, database, NULL, ret_why))
        return false;
    struct sql *q = &s->lookup.sql;
    meta_get_secret(q, &s->source.secret);
    s->source.events = meta_get_int(q, "events_accepted", 0);
    s->rows = sql_prepare(q, "SELECT " ROW_COLUMNS ",(SELECT final_day FROM final_late"
                             " WHERE final_late.segment=event.segment)"
                             " FROM event WHERE id>=? AND id<=? ORDER BY id");
    s->accepted = sql_prepare(q, "SELECT accepted_ms FROM event WHERE id=?");
    sqlite_log_open(&s->log, q);
    if (!sql_failed(q))
        return true;
    *ret_why = xprintf("%s: %s", database, q->why);
    return false;
}

struct copy_source *copy_sqlite_source_of_file(const char *database, char **ret_why)
{
    struct sqlite_source *s = xcalloc(1, sizeof *s);
    s->source.ops = &ops;
    s->lock = -1;
    if (open_reading(s, database, ret_why))
        return &s->source;
    close_source(&s->source);
    return NULL;
}

/* Applies the groups that are only in the journal to the database. */
static bool settle(const char *directory, const char *database, char **ret_why)
{
    struct apply apply = {0};
    struct view view = {0};
    char *journal = xprintf("%s/journal", directory);
    bool good = sql_open(&apply.sql, database, NULL, true, ret_why);
    if (good) {
        schema_configure(&apply.sql, true, SCHEMA_CACHE_KIB_WRITER);
        /* A backup or a copy that no daemon has opened has no journal yet. */
        bool none = access(journal, F_OK) != 0 && meta_get_position(&apply.sql).segment == 0;
        good = none || recover_tail(&apply, &view, disk_real(), database, journal, ret_why);
    }
    view_close(&view);
    apply_close(&apply);
    free(journal);
    return good;
}

static bool is_of_this_version(const char *directory, char **ret_why)
{
    int version;
    if (!sqlite_store_version(directory, &version, ret_why))
        return false;
    if (version == SCHEMA_VERSION)
        return true;
    if (version == 0)
        *ret_why = xprintf("there is no store in %s", directory);
    else
        *ret_why = xprintf("the store in %s has schema version %d, not %d: bring it up to date with"
                           " `postbackd migrate` first",
                           directory, version, SCHEMA_VERSION);
    return false;
}

struct copy_source *copy_sqlite_source(const char *directory, char **ret_why)
{
    int lock = -1;
    if (!is_of_this_version(directory, ret_why) ||
        !store_directory_lock(disk_real(), directory, &lock, ret_why))
        return NULL;
    char *database = xprintf("%s/postbackd.db", directory);
    struct copy_source *source = NULL;
    if (settle(directory, database, ret_why))
        source = copy_sqlite_source_of_file(database, ret_why);
    if (source)
        self_of(source)->lock = lock;
    else
        close(lock);
    free(database);
    return source;
}
