/* Running the steps of schema.c.
 *
 * A step that looks at every event notes in `meta`, in each slice's transaction, how far it is:
 *
 *   upgrade_to          the version that it leads to
 *   upgrade_next        the id to go on from
 *   upgrade_events      looked at so far
 *   upgrade_generation  of the memtable applied last, when it began
 *
 * The database has its old version until the last slice. An older program may run on it meanwhile,
 * and change events that have been looked at: the generation tells, and the step begins anew. */
#include "store/sqlite/migrate.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <unistd.h>

#include "store/sqlite/apply.h"

/* SQLite's instructions between two looks at whether to stop: about a millisecond. */
#define OPERATIONS_BETWEEN_LOOKS 20000

struct migration {
    struct sql *sql;
    const struct sqlite_store_options *options;
    struct store_upgrade at;
    struct migration_slice slice;
    bool stopped;
};

/* --- how far it is -----------------------------------------------------------------------------
 */

static int stops(void *migration)
{
    struct migration *m = migration;
    if (!m->stopped && m->at.from > 0 && m->options->upgrade_goes_on)
        m->stopped = !m->options->upgrade_goes_on(m->options->upgrade_context, &m->at);
    return m->stopped;
}

/* Whether the step has begun, and nothing has changed since. */
static bool goes_on(struct migration *m, int64_t *ret_next)
{
    struct sql *q = m->sql;
    if (meta_get_int(q, "upgrade_to", 0) != m->at.step ||
        meta_get_int(q, "upgrade_generation", -1) != meta_get_int(q, "generation", 0))
        return false;
    *ret_next = meta_get_int(q, "upgrade_next", 0);
    m->at.events = meta_get_int(q, "upgrade_events", 0);
    return true;
}

static void note(struct migration *m, int64_t next)
{
    struct sql *q = m->sql;
    meta_set_int(q, "upgrade_to", m->at.step);
    meta_set_int(q, "upgrade_next", next);
    meta_set_int(q, "upgrade_events", m->at.events);
    meta_set_int(q, "upgrade_generation", meta_get_int(q, "generation", 0));
}

/* --- a step ------------------------------------------------------------------------------------
 */

static bool fill_slice(struct migration *m, const struct migration_step *step, int64_t *next)
{
    struct sql *q = m->sql;
    int64_t most = m->options->upgrade_slice ? m->options->upgrade_slice : MIGRATION_SLICE;
    int64_t rows = 0;
    sqlite3_stmt *s = sql_prepare_f(
        q, "SELECT id,%s FROM event NOT INDEXED WHERE id>=? ORDER BY id LIMIT ?", step->columns);
    sql_bind_int(s, 1, *next);
    sql_bind_int(s, 2, most);
    for (; sql_row(q, s); rows++) {
        *next = sql_int(s, 0) + 1;
        step->fill(q, &m->slice, s);
    }
    sql_finalize(s);
    step->fill(q, &m->slice, NULL);
    m->at.events += rows;
    return rows == most;
}

static void run_step(struct migration *m, const struct migration_step *step)
{
    struct sql *q = m->sql;
    int64_t next = 0;
    bool begun = step->fill && goes_on(m, &next), more;
    do {
        sql_exec(q, "BEGIN IMMEDIATE");
        if (!begun && step->fill)
            sql_exec(q, step->undo);
        if (!begun)
            sql_exec(q, step->text);
        begun = true;
        more = step->fill && fill_slice(m, step, &next);
        if (more) {
            note(m, next);
        } else {
            if (step->fill)
                sql_exec(q, "DELETE FROM meta WHERE name LIKE 'upgrade^_%' ESCAPE '^'");
            sql_exec_f(q, "PRAGMA user_version=%d", m->at.step);
        }
        sql_exec(q, "COMMIT");
        /* Whether or not it can be done now: at worst the WAL grows. */
        if (more && !sql_failed(q))
            (void)sqlite3_wal_checkpoint_v2(q->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    } while (more && !sql_failed(q) && !stops(m));
}

/* --- all of them -------------------------------------------------------------------------------
 */

static void run_steps(struct migration *m)
{
    struct sql *q = m->sql;
    if (m->at.from > 0)
        m->at.of = meta_get_int(q, "events_accepted", 0);
    /* What an index of millions is sorted in goes to a file. */
    sql_exec(q, "PRAGMA temp_store=FILE");
    sqlite3_progress_handler(q->db, OPERATIONS_BETWEEN_LOOKS, stops, m);
    for (m->at.step = m->at.from + 1; m->at.step <= m->at.to; m->at.step++) {
        m->at.events = 0;
        if (stops(m) || sql_failed(q))
            break;
        run_step(m, &migration_steps[m->at.step - 1]);
    }
    sqlite3_progress_handler(q->db, 0, NULL, NULL);
    sql_exec(q, "PRAGMA temp_store=MEMORY");
    books_free(&m->slice.books);
}

bool migrate(struct sql *q, const struct sqlite_store_options *options, char **ret_why)
{
    struct migration m = {.sql = q, .options = options, .at.to = SCHEMA_VERSION};
    m.at.from = (int)sql_get_int(q, "PRAGMA user_version", -1);
    struct buf why = {0};
    if (!sql_failed(q) && m.at.from > m.at.to) {
        buf_printf(&why,
                   "postbackd.db has schema version %d, this postbackd knows up to %d:"
                   " use the newer program that made it",
                   m.at.from, m.at.to);
    } else {
        if (!sql_failed(q) && m.at.from < m.at.to)
            run_steps(&m);
        if (m.stopped)
            buf_printf(&why,
                       "stopped while the store was brought from version %d to %d:"
                       " the next start goes on with it",
                       m.at.from, m.at.to);
        else if (sql_failed(q))
            buf_printf(&why, "%s", q->why);
    }
    bool good = why.n == 0;
    if (!good)
        *ret_why = xstrdup(buf_c(&why));
    buf_free(&why);
    return good;
}

/* --- looking -----------------------------------------------------------------------------------
 */

int sqlite_store_version_known(void)
{
    return SCHEMA_VERSION;
}

bool sqlite_store_version(const char *directory, int *ret_version, char **ret_why)
{
    struct buf path = {0};
    buf_printf(&path, "%s/postbackd.db", directory);
    struct sql q = {0};
    *ret_version = 0;
    bool there = access(buf_c(&path), F_OK) == 0;
    bool good = !there || sql_open(&q, buf_c(&path), NULL, false, ret_why);
    if (good && there) {
        *ret_version = (int)sql_get_int(&q, "PRAGMA user_version", -1);
        good = !sql_failed(&q);
        if (!good)
            *ret_why = xstrdup(q.why);
    }
    sql_close(&q);
    buf_free(&path);
    return good;
}

/* --- fillings ----------------------------------------------------------------------------------
 */

/* Into the ledger as it is kept today: should its table change in a later step, this one needs the
 * statement of before. */
void fill_book(struct sql *q, struct migration_slice *slice, sqlite3_stmt *row)
{
    if (row) {
        struct event e = {
            .account_no = account_of_id((uint64_t)sql_int(row, 0)),
            .app_no = (uint32_t)sql_int(row, 1),
            .lane = (enum lane_kind)sql_int(row, 2),
            .is_test = sql_int(row, 3) != 0,
            .occurred_ms = sql_int(row, 5),
            .reward_micros = sql_int(row, 6),
            .revenue_micros = sql_int(row, 7),
        };
        int64_t state = sql_int(row, 4);
        if (state >= 0 && state < BOOK_STATES) /* else it is in no ledger */
            books_owe(&slice->books, &e, (enum callback_state)state);
        return;
    }
    sqlite3_stmt *add = books_prepare(q);
    books_write(q, add, &slice->books);
    sql_finalize(add);
    books_clear(&slice->books);
}
