/* Runs the steps of schema.c. */
#include "store/sqlite/sqlite_migrate.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <unistd.h>

#include "store/sqlite/schema.h"
#include "store/store_open.h"

bool migrate_is_known(struct sql *q, int made, int known, char **ret_why)
{
    int64_t application = sql_get_int(q, "PRAGMA application_id", 0);
    if (made > known)
        *ret_why = xprintf("postbackd.db has schema version %d, this postbackd knows up to %d:"
                           " use the newer program that made it",
                           made, known);
    else if (made < 0)
        *ret_why = xprintf("postbackd.db has schema version %d, which no postbackd writes: it is"
                           " another program's, or damaged: move it away",
                           made);
    else if (made > 0 && application != SCHEMA_APPLICATION_ID)
        *ret_why = xprintf("postbackd.db has application_id %lld, not %d: it is another program's,"
                           " or an unreleased postbackd's: move it away",
                           (long long)application, SCHEMA_APPLICATION_ID);
    else
        return true;
    return false;
}

bool migrate(struct sql *q, const struct migration *to, char **ret_why)
{
    int made = (int)sql_get_int(q, "PRAGMA user_version", -1);
    if (!sql_failed(q) && !migrate_is_known(q, made, to->count, ret_why))
        return false;
    for (int version = made + 1; version <= to->count && !sql_failed(q); version++) {
        sql_exec(q, "BEGIN IMMEDIATE");
        sql_exec(q, to->steps[version - 1]);
        sql_exec_f(q, "PRAGMA user_version=%d", version);
        sql_exec(q, "COMMIT");
    }
    if (sql_failed(q))
        *ret_why = xstrdup(q->why);
    return !sql_failed(q);
}

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
        else
            good = migrate_is_known(&q, *ret_version, SCHEMA_VERSION, ret_why);
    }
    sql_close(&q);
    buf_free(&path);
    return good;
}
