/* A partition is made as a separate table and then attached: unlike CREATE TABLE ... PARTITION OF,
 * this does not lock out readers and writers of the partitioned table. */
#include "store/postgresql/partitions.h"

#include "base/alloc.h"
#include "base/arithmetic.h"
#include "domain/clock.h"
#include "store/postgresql/pg_migrate.h"

#include <inttypes.h>
#include <stdlib.h>

int32_t pg_period_of_day(int32_t day)
{
    return (int32_t)floor_div(day, PG_PERIOD_DAYS);
}

int32_t pg_week_of_day(int32_t day)
{
    return (int32_t)floor_div(day, PG_WEEK_DAYS);
}

void pg_partitions_free(struct pg_partitions *p)
{
    free(p->known[PARTITION_PERIOD].numbers);
    free(p->known[PARTITION_WEEK].numbers);
    *p = (struct pg_partitions){0};
}

/* The tables that have partitions of a kind. Partitions of bodies and attempts may have been
 * dropped. */
static const struct {
    enum pg_partition kind;
    const char *table;
} partitioned[] = {
    {PARTITION_PERIOD, "event"},
    {PARTITION_PERIOD, "body"},
    {PARTITION_WEEK, "attempt"},
};

static void make_one(struct pg *pg, size_t which, int32_t number)
{
    const char *table = partitioned[which].table;
    pg_exec_f(pg, "CREATE TABLE %s_%d (LIKE %s INCLUDING ALL)", table, number + PG_PARTITION_NAME,
              table);
    pg_exec_f(pg, "ALTER TABLE %s ATTACH PARTITION %s_%d FOR VALUES FROM (%d) TO (%d)", table,
              table, number + PG_PARTITION_NAME, number, number + 1);
}

/* One node at a time: a second one finds them made. */
static enum pg_fate make_missing(struct pg *pg, enum pg_partition kind, int32_t number)
{
    int at[ARRAY_LEN(partitioned)];
    bool missing[ARRAY_LEN(partitioned)];
    pg_begin(pg, false);
    pg_exec(pg, "SELECT value FROM meta WHERE name='hash_secret' FOR UPDATE");
    for (size_t i = 0; i < ARRAY_LEN(partitioned); i++)
        at[i] = pg_exec_f(pg, "SELECT to_regclass('%s_%d') IS NULL", partitioned[i].table,
                          number + PG_PARTITION_NAME);
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    for (size_t i = 0; i < ARRAY_LEN(partitioned); i++)
        missing[i] = partitioned[i].kind == kind && pg_int(pg_result(pg, at[i]), 0, 0);
    for (size_t i = 0; i < ARRAY_LEN(partitioned); i++)
        if (missing[i])
            make_one(pg, i, number);
    pg_commit(pg);
    return pg_sync(pg);
}

enum pg_fate pg_partition_make(struct pg *pg, struct pg_partitions *p, enum pg_partition kind,
                               int32_t number)
{
    for (size_t i = 0; i < p->known[kind].count; i++)
        if (p->known[kind].numbers[i] == number)
            return PG_OK;
    enum pg_fate fate = make_missing(pg, kind, number);
    if (fate != PG_OK)
        return fate;
    p->known[kind].numbers = xgrow(p->known[kind].numbers, &p->known[kind].capacity,
                                   p->known[kind].count + 1, sizeof *p->known[kind].numbers);
    p->known[kind].numbers[p->known[kind].count++] = number;
    return PG_OK;
}

#define DROP_MOST 8 /* in one transaction; further ones wait for the next time */

/* False: not the name of a partition. */
static bool read_number(struct str name, const char *table, int32_t *ret)
{
    size_t at = strlen(table) + 1;
    uint64_t n;
    if (name.n <= at || name.n > at + 7 ||
        !str_parse_uint((struct str){name.p + at, name.n - at}, INT32_MAX, &n))
        return false;
    *ret = (int32_t)n - PG_PARTITION_NAME;
    return true;
}

static int ask_partitions(struct pg *pg, const char *table)
{
    return pg_exec_f(pg,
                     "SELECT c.relname::text,c.oid::regclass::text FROM pg_inherits i"
                     " JOIN pg_class c ON c.oid=i.inhrelid WHERE i.inhparent='%s'::regclass"
                     " AND c.relkind='r' ORDER BY c.relname",
                     table);
}

bool pg_partitions_match(struct pg *pg, struct pg *other, struct pg_partitions *known)
{
    enum pg_fate fate = PG_OK;
    for (size_t i = 0; fate == PG_OK && i < ARRAY_LEN(partitioned); i++) {
        int at = ask_partitions(other, partitioned[i].table);
        int32_t number;
        if (pg_sync(other) != PG_OK)
            return pg_refuse(pg, "%s", buf_c(&other->why));
        const PGresult *r = pg_result(other, at);
        for (int row = 0; fate == PG_OK && row < PQntuples(r); row++)
            if (read_number(pg_str(r, row, 0), partitioned[i].table, &number))
                fate = pg_partition_make(pg, known, partitioned[i].kind, number);
    }
    return fate == PG_OK;
}

/* True if the number is in the first column. */
static bool has_number(const PGresult *numbers, int32_t number)
{
    for (int i = 0; i < PQntuples(numbers); i++)
        if (pg_int(numbers, i, 0) == number)
            return true;
    return false;
}

/* Lists partitions below `first`, separated by commas, but those in `kept` (NULL: none); empty:
 * none. Returns the number of the last one. The names are parsed here, because SQL may evaluate a
 * cast before the join, on any table's name. */
static int32_t list_below(const PGresult *r, const char *table, int32_t first, const PGresult *kept,
                          struct buf *ret)
{
    int32_t last = INT32_MIN;
    ret->n = 0;
    for (int i = 0, count = 0; i < PQntuples(r) && count < DROP_MOST; i++) {
        int32_t number;
        if (!read_number(pg_str(r, i, 0), table, &number) || number >= first ||
            (kept && has_number(kept, number)))
            continue;
        buf_printf(ret, "%s%.*s", count++ ? "," : "", STR_ARG(pg_str(r, i, 1)));
        last = number;
    }
    return last;
}

/* The periods whose bodies are needed: a callback of them waits, or became final late on that day
 * or later. One statement, so that an outcome between the two, which no longer waits and is noted
 * in the same commit, is seen by one of them. */
static int ask_needed(struct pg *pg, int32_t final_from_day)
{
    return pg_exec_f(pg,
                     "SELECT period FROM waiting UNION"
                     " SELECT period FROM final_late WHERE final_day>=%d",
                     final_from_day);
}

static void begin_drop(struct pg *pg)
{
    pg_begin(pg, false);
    /* other users of the table queue behind this lock, which waits for readers: not for long */
    pg_exec(pg, "SELECT set_config('lock_timeout','500',true)");
}

static enum pg_fate end_drop(struct pg *pg, enum pg_fate fate, struct buf *names)
{
    if (fate == PG_OK) {
        pg_commit(pg);
        fate = pg_sync(pg);
    }
    buf_free(names);
    return fate;
}

/* What is needed is read twice: first without the lock, so that nobody waits while all is needed. A
 * resend that is not committed yet may have read a body: locking waits for it, and reading
 * afterwards sees it. */
enum pg_fate pg_bodies_drop(struct pg *pg, int32_t first, int32_t final_from_day)
{
    struct buf names = {0};
    enum pg_fate fate = PG_OK;
    begin_drop(pg);
    for (int look = 0; fate == PG_OK && (look == 0 || (look == 1 && names.n > 0)); look++) {
        if (look == 1) /* the parent, because everybody locks it before its partitions */
            pg_exec(pg, "LOCK TABLE ONLY body IN ACCESS EXCLUSIVE MODE");
        int needed = ask_needed(pg, final_from_day), at = ask_partitions(pg, "body");
        fate = pg_sync(pg);
        if (fate == PG_OK)
            (void)list_below(pg_result(pg, at), "body", first, pg_result(pg, needed), &names);
    }
    if (fate == PG_OK && names.n > 0) {
        pg_exec_f(pg, "DROP TABLE %s", buf_c(&names));
        pg_exec_f(pg, "DELETE FROM final_late WHERE to_regclass('body_'||(period+%d)) IS NULL",
                  PG_PARTITION_NAME);
    }
    return end_drop(pg, fate, &names);
}

/* Attempts of callbacks that are not final are kept: those up to this week move to attempt_kept.
 * Attempts that moved there earlier move on to the week `now` once their callback is final, and go
 * with that week: when their limit has passed once more. */
static void keep_attempts(struct pg *pg, int32_t last, int32_t now)
{
    pg_exec_f(pg,
              "UPDATE attempt k SET week=%d WHERE week<%d AND NOT EXISTS(SELECT FROM waiting w"
              " WHERE w.pending AND w.account_no=k.account_no AND w.event_no=k.event_no)",
              now, -PG_PARTITION_NAME);
    pg_exec_f(pg,
              "INSERT INTO attempt_kept SELECT a.account_no,a.event_no,%d,number,at_ms,a.lane,"
              "manual,duration_ms,status,class,url,detail,texts"
              " FROM waiting w JOIN attempt a ON a.account_no=w.account_no"
              " AND a.event_no=w.event_no AND a.week BETWEEN %d AND %d"
              " WHERE w.pending AND w.accepted_ms<%" PRId64 " ON CONFLICT DO NOTHING",
              -PG_PARTITION_NAME - 1, -PG_PARTITION_NAME, last, (last + 1) * PG_WEEK_DAYS * DAY_MS);
}

enum pg_fate pg_attempts_drop(struct pg *pg, int32_t first, int32_t now)
{
    struct buf names = {0};
    begin_drop(pg);
    int at = ask_partitions(pg, "attempt");
    enum pg_fate fate = pg_sync(pg);
    int32_t last =
        fate == PG_OK ? list_below(pg_result(pg, at), "attempt", first, NULL, &names) : 0;
    if (names.n > 0) {
        keep_attempts(pg, last, now);
        pg_exec_f(pg, "DROP TABLE %s", buf_c(&names));
    }
    return end_drop(pg, fate, &names);
}
