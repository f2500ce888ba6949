/* How many callbacks wait in an app's lanes, and since when.
 *
 * The oldest of a lane is searched among the account's oldest callbacks, which have an index. A
 * lane without any among them, because another lane's are much older, is scanned whole. An index by
 * lane would find it at once, but cost a tenth of the server's work for an event. */
#include "store/postgresql/waiting.h"

#define OLDEST_OF_ACCOUNT 1000

static int ask_counts(struct pg *pg, const struct lane_waiting *w)
{
    args_int(pg_args(pg), PG_INT4, w->account_no);
    args_int(&pg->args, PG_INT8, w->app_no);
    return pg_query_f(pg,
                      "SELECT lane,sum(count)::bigint FROM book WHERE account_no=$1"
                      " AND app_no=$2 AND state=%d GROUP BY lane",
                      CALLBACK_PENDING);
}

/* `lane`: see waiting_lane. */
static int ask_oldest(struct pg *pg, const struct lane_waiting *w)
{
    args_int(pg_args(pg), PG_INT4, w->account_no);
    args_int(&pg->args, PG_INT8, w->app_no);
    return pg_query_f(pg,
                      "SELECT DISTINCT ON(kind) kind,accepted_ms FROM"
                      " (SELECT abs(lane)/%d AS app_no,abs(lane)%%%d AS kind,accepted_ms,event_no"
                      " FROM waiting WHERE account_no=$1 AND pending ORDER BY accepted_ms"
                      " LIMIT %d) oldest WHERE app_no=$2 ORDER BY kind,event_no",
                      LANE_KINDS, LANE_KINDS, OLDEST_OF_ACCOUNT);
}

static enum pg_fate look_through(struct pg *pg, struct lane_waiting *w, enum lane_kind kind)
{
    args_int(pg_args(pg), PG_INT4, w->account_no);
    args_int(&pg->args, PG_INT8, (int64_t)lane_of(w->app_no, kind));
    int at = pg_query(pg, "SELECT accepted_ms FROM waiting WHERE account_no=$1"
                          " AND lane IN($2,-$2) AND pending ORDER BY event_no LIMIT 1");
    enum pg_fate fate = pg_sync(pg);
    if (fate == PG_OK && PQntuples(pg_result(pg, at)) > 0)
        w->oldest_accepted_ms[kind] = pg_int(pg_result(pg, at), 0, 0);
    return fate;
}

static void read_by_kind(const PGresult *r, int64_t by_kind[LANE_KINDS])
{
    for (int i = 0; i < PQntuples(r); i++)
        by_kind[pg_int(r, i, 0)] = pg_int(r, i, 1);
}

enum pg_fate pg_read_waiting(struct postgresql_store *s, struct pg *pg, void *lane_waiting)
{
    (void)s;
    struct lane_waiting *w = lane_waiting;
    pg_begin_snapshot(pg);
    int counts = ask_counts(pg, w), oldest = ask_oldest(pg, w);
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    read_by_kind(pg_result(pg, counts), w->count);
    read_by_kind(pg_result(pg, oldest), w->oldest_accepted_ms);
    for (int kind = LANE_NONE + 1; fate == PG_OK && kind < LANE_KINDS; kind++)
        if (w->count[kind] > 0 && w->oldest_accepted_ms[kind] == 0)
            fate = look_through(pg, w, (enum lane_kind)kind);
    return fate == PG_OK ? pg_end_read(pg) : fate;
}
