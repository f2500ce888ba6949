/* Runs the steps of pg_schema.c. A lock on schema_version until the commit keeps daemons that start
 * at the same time apart. */
#include "store/postgresql/pg_migrate.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"

#include <inttypes.h>

#include "store/postgresql/lone_connection.h"
#include "store/postgresql/pg_schema.h"

bool pg_refuse(struct pg *pg, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_clear(&pg->why);
    pg->sqlstate[0] = '\0'; /* the server has refused nothing */
    buf_vprintf(&pg->why, fmt, ap);
    (void)buf_c(&pg->why);
    va_end(ap);
    pg_rollback(pg);
    return false;
}

/* Checks what the store needs, and that the server does not lose events. */
bool pg_check_server(struct pg *pg)
{
    int at = pg_exec(pg, "SELECT current_setting('server_version_num')::int,"
                         "current_setting('server_encoding'),current_setting('fsync')");
    if (pg_sync(pg) != PG_OK)
        return false;
    const PGresult *r = pg_result(pg, at);
    if (pg_int(r, 0, 0) < 150000)
        return pg_refuse(pg, "PostgreSQL %d is too old: version 15 or newer is needed",
                         (int)(pg_int(r, 0, 0) / 10000));
    if (!str_is(pg_str(r, 0, 1), "UTF8"))
        return pg_refuse(pg, "the database's encoding is %.*s: make one with ENCODING 'UTF8'",
                         STR_ARG(pg_str(r, 0, 1)));
    if (!str_is(pg_str(r, 0, 2), "on"))
        return pg_refuse(pg, "the server runs with fsync=off and would lose what it has"
                             " acknowledged: set it to on");
    return true;
}

/* --- existing steps --------------------------------------------------------------------------- */

struct steps_made {
    bool made[PG_STEPS_MOST + 1];   /* by number, of the steps that this program knows */
    int64_t crc[PG_STEPS_MOST + 1]; /* of the step's statements; -1: not recorded */
    int64_t newest, least;          /* the oldest program that may use this database */
};

static uint32_t crc_of(const struct pg_step *step)
{
    uint32_t crc = 0;
    for (const char *const *sql = step->statements; *sql; sql++)
        crc = hash_crc32c(crc, *sql, strlen(*sql) + 1);
    return crc;
}

/* The column is read as a member of the row, because an early database lacks it. */
static int ask_steps(struct pg *pg)
{
    return pg_exec(pg, "SELECT version,least,coalesce((to_jsonb(v)->>'crc')::bigint,-1)"
                       " FROM schema_version v");
}

static void read_steps(const PGresult *r, struct steps_made *ret)
{
    *ret = (struct steps_made){0};
    for (int i = 0; i < PQntuples(r); i++) {
        int64_t version = pg_int(r, i, 0), least = pg_int(r, i, 1);
        if (version > 0 && version <= PG_STEPS_MOST) {
            ret->made[version] = true;
            ret->crc[version] = pg_int(r, i, 2);
        }
        ret->newest = version > ret->newest ? version : ret->newest;
        ret->least = least > ret->least ? least : ret->least;
    }
}

/* Whether this program can use tables made by these steps. */
static bool is_usable(struct pg *pg, const struct pg_migration *to, const struct steps_made *there)
{
    if (there->least > to->count)
        return pg_refuse(pg,
                         "the database has schema version %" PRId64 " and is for programs that know"
                         " %" PRId64 " at least, this postbackd knows up to %d: use a newer one",
                         there->newest, there->least, to->count);
    for (int number = 1; number <= to->count; number++)
        if (there->made[number] && there->crc[number] != crc_of(&to->steps[number - 1]))
            return pg_refuse(pg,
                             "the database was made by an unreleased postbackd with other tables:"
                             " copy it with that program into a SQLite store, and from there with"
                             " this one into an empty database");
    return true;
}

/* --- running steps ---------------------------------------------------------------------------- */

static bool try_lock_steps(struct pg *pg, struct steps_made *ret)
{
    pg_begin(pg, false);
    pg_exec(pg, "CREATE TABLE IF NOT EXISTS schema_version(version int PRIMARY KEY,"
                " made_at timestamptz NOT NULL DEFAULT now(), least int NOT NULL DEFAULT 1,"
                " crc bigint)");
    pg_exec(pg, "LOCK TABLE schema_version IN SHARE ROW EXCLUSIVE MODE");
    int at = ask_steps(pg);
    if (pg_sync(pg) != PG_OK)
        return false;
    read_steps(pg_result(pg, at), ret);
    return true;
}

/* IF NOT EXISTS does not see a table that another program is just creating: it waits for that
 * transaction and then fails because the name is taken. The second try finds the table. */
static bool lock_steps(struct pg *pg, struct steps_made *ret)
{
    bool locked = try_lock_steps(pg, ret);
    return locked || try_lock_steps(pg, ret);
}

static bool make_step(struct pg *pg, const struct pg_step *step, int number)
{
    for (const char *const *sql = step->statements; *sql; sql++)
        pg_exec(pg, *sql);
    pg_exec_f(pg, "INSERT INTO schema_version(version,least,crc) VALUES(%d,%d,%u)", number,
              step->least, crc_of(step));
    return pg_sync(pg) == PG_OK;
}

bool pg_migrate(struct pg *pg, const struct pg_migration *to, enum pg_step_kind most)
{
    ASSERT(to->count <= PG_STEPS_MOST);
    struct steps_made there;
    int last = 0;
    if (!lock_steps(pg, &there) || !is_usable(pg, to, &there))
        return false;
    if (!there.newest)
        most = PG_CONTRACT; /* an empty database: no older program uses it */
    if (most == PG_CONTRACT)
        pg_take_long(pg);
    for (int number = 1; number <= to->count; number++) {
        if (there.made[number] || to->steps[number - 1].kind > most)
            continue;
        if (!make_step(pg, &to->steps[number - 1], number))
            return false;
        last = number;
    }
    pg_commit(pg);
    if (pg_sync(pg) != PG_OK)
        return false;
    if (last && there.newest)
        log_info("schema_migrated", LOG_INT("from", there.newest), LOG_INT("to", last));
    return true;
}

/* --- postbackd migrate ------------------------------------------------------------------------ */

/* Changes nothing: does not create the table of versions either. */
static bool look_at_steps(struct pg *pg, struct steps_made *ret)
{
    *ret = (struct steps_made){0};
    pg_begin(pg, true);
    int at = pg_exec(pg, "SELECT to_regclass('schema_version') IS NOT NULL");
    if (pg_sync(pg) != PG_OK)
        return false;
    if (!pg_int(pg_result(pg, at), 0, 0)) {
        pg_rollback(pg);
        return true;
    }
    at = ask_steps(pg);
    if (pg_end_read(pg) != PG_OK)
        return false;
    read_steps(pg_result(pg, at), ret);
    return true;
}

bool pg_check_steps(struct pg *pg, const struct pg_migration *to)
{
    struct steps_made there;
    return look_at_steps(pg, &there) && is_usable(pg, to, &there);
}

bool postgresql_store_migrate(const char *uri, bool only_look, store_step_visitor visit,
                              void *context, char **ret_why)
{
    const struct pg_migration *to = &pg_schema_migration;
    struct lone_connection c;
    struct steps_made before;
    lone_init(&c, uri);
    bool good = lone_connect(&c, NULL) && pg_check_server(&c.pg) && look_at_steps(&c.pg, &before) &&
                is_usable(&c.pg, to, &before) && (only_look || pg_migrate(&c.pg, to, PG_CONTRACT));
    for (int i = 1; good && i <= to->count; i++)
        visit(context, &(struct store_step){.version = i,
                                            .what = to->steps[i - 1].what,
                                            .contracts = to->steps[i - 1].kind == PG_CONTRACT,
                                            .was_made = before.made[i]});
    if (!good)
        *ret_why = xstrdup(buf_c(&c.pg.why));
    lone_close(&c);
    return good;
}
