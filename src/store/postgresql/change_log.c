/* See change_log.h. The log has which object changed. Its document is read with the log, so it may
 * be of a later change, which is then reported twice. */
#include "store/postgresql/change_log.h"

#include <stdio.h>

#define CHANGE_LOG_ROWS 500
#define LOG_ERASURE 0 /* not a kind of object; the id is the account's number */

/* The kinds that changes of accounts and people are judged by. */
#define JUDGED_KINDS "1,2,3,4,8,9,13"
_Static_assert(OBJECT_PARTNER == 1 && OBJECT_APP == 2 && OBJECT_CLIENT == 3 && OBJECT_KEY == 4 &&
                   OBJECT_USER == 8 && OBJECT_SESSION == 9 && OBJECT_IDEMPOTENCY_KEY == 13,
               "JUDGED_KINDS");

/* True if the change goes into the log: audit entries do not. */
static bool is_logged(const struct object_change *change)
{
    bool logged = change->kind != OBJECT_AUDIT;
    for (size_t i = 0; i < change->part_count; i++)
        logged |= change->parts[i].kind != OBJECT_AUDIT;
    return logged;
}

static int ask_stale(struct postgresql_store *s, struct pg *pg, const struct object_change *change)
{
    args_int(pg_args(pg), PG_INT8, atomic_load(&s->revision_known));
    args_int(&pg->args, PG_INT8, (int64_t)s->nodes.member.self);
    args_int(&pg->args, PG_INT2, change->kind);
    args_str(&pg->args, PG_TEXT, change->id);
    return pg_query(pg, "SELECT EXISTS(SELECT FROM object_log WHERE revision>$1 AND node<>$2"
                        " AND (kind IN(" JUDGED_KINDS ") OR (kind=$3 AND id=$4)))");
}

/* Runs after the log is locked, so a try in doubt is over. If that try was not committed, another
 * node may have its revision by now. */
static int ask_made(struct postgresql_store *s, struct pg *pg)
{
    args_int(pg_args(pg), PG_INT8, s->change_writer.own_no);
    args_int(&pg->args, PG_INT8, (int64_t)s->nodes.member.self);
    return pg_query(pg, "SELECT EXISTS(SELECT FROM object_log WHERE revision=$1 AND node=$2)");
}

/* A change that does not go into the log locks it, too. So an earlier try whose commit is in doubt
 * has ended before this one looks for it. If it is found, the lock makes the server write WAL, so
 * that this commit waits for a standby. */
static enum pg_fate begin_unlogged(struct postgresql_store *s, struct pg *pg,
                                   const struct object_change *change, bool *ret_made)
{
    pg_exec(pg, "SELECT 1 FROM revision WHERE name='object' FOR NO KEY UPDATE");
    if (!s->change_writer.unknown)
        return PG_OK;
    args_int(pg_args(pg), PG_INT2, change->kind);
    args_str(&pg->args, PG_TEXT, change->id);
    int at = pg_query(pg, "SELECT EXISTS(SELECT FROM object WHERE kind=$1 AND id=$2)");
    enum pg_fate fate = pg_sync(pg);
    *ret_made = fate == PG_OK && pg_int(pg_result(pg, at), 0, 0);
    return fate;
}

enum pg_fate change_log_begin(struct postgresql_store *s, struct pg *pg,
                              struct object_change *change, bool *ret_made)
{
    change->status = STORE_OK;
    change->revision = 0;
    *ret_made = false;
    if (!is_logged(change))
        return begin_unlogged(s, pg, change, ret_made);
    int revision = pg_exec(
        pg, "UPDATE revision SET revision=revision+1 WHERE name='object' RETURNING revision");
    int made = ask_made(s, pg), stale = ask_stale(s, pg, change);
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    *ret_made = pg_int(pg_result(pg, made), 0, 0) != 0;
    change->revision = *ret_made ? s->change_writer.own_no : pg_int(pg_result(pg, revision), 0, 0);
    if (!*ret_made && change->judged && pg_int(pg_result(pg, stale), 0, 0))
        change->status = STORE_STALE;
    s->change_writer.own_no = change->revision;
    return PG_OK;
}

static void send_log(struct postgresql_store *s, struct pg *pg, const struct pg_table *t)
{
    args_table(pg_args(pg), t);
    args_int(&pg->args, PG_INT8, (int64_t)s->nodes.member.self);
    pg_query(pg, "INSERT INTO object_log(revision,number,kind,id,node)"
                 " SELECT r.revision,u.number,u.kind,u.id,$4 FROM revision r,"
                 "unnest($1,$2,$3) AS u(number,kind,id) WHERE r.name='object'");
}

static void add(struct pg_table *t, enum object_kind kind, struct str id)
{
    if (kind == OBJECT_AUDIT)
        return;
    column_int(&t->columns[0], table_rows(t));
    column_int(&t->columns[1], kind);
    column_str(&t->columns[2], id);
}

void change_log_add(struct postgresql_store *s, struct pg *pg, const struct object_change *change)
{
    struct pg_table *t = &s->change_writer.table;
    if (!is_logged(change))
        return;
    table_begin(t, "ist");
    add(t, change->kind, change->id);
    for (size_t i = 0; i < change->part_count; i++)
        add(t, change->parts[i].kind, change->parts[i].id);
    send_log(s, pg, t);
}

void change_log_add_erasure(struct postgresql_store *s, struct pg *pg, uint32_t account_no)
{
    struct pg_table *t = &s->change_writer.table;
    char id[16];
    snprintf(id, sizeof id, "%u", account_no);
    pg_exec(pg, "UPDATE revision SET revision=revision+1 WHERE name='object'");
    table_begin(t, "ist");
    column_int(&t->columns[0], 0);
    column_int(&t->columns[1], LOG_ERASURE);
    column_str(&t->columns[2], str_of(id));
    send_log(s, pg, t);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void tell_erasure(struct pg_nodes *n, struct str id)
{
    uint64_t account_no;
    if (str_parse_uint(id, UINT32_MAX, &account_no)) /* as change_log_add_erasure() writes it */
        pg_nodes_tell_erased(n, (uint32_t)account_no, env_mono_ms(env_real()));
}

enum pg_fate change_log_read_erasures(struct pg_nodes *n)
{
    struct pg *pg = &n->pg;
    pg_begin(pg, true);
    args_int(pg_args(pg), PG_INT8, n->erasures_known);
    args_int(&pg->args, PG_INT8, (int64_t)n->member.self);
    int at = pg_query_prepared_f(pg,
                                 "SELECT r.revision,l.id FROM revision r LEFT JOIN object_log l"
                                 " ON l.revision>$1 AND l.node<>$2 AND l.kind=%d"
                                 " WHERE r.name='object'",
                                 LOG_ERASURE);
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(pg, at);
    for (int i = 0; i < PQntuples(r); i++)
        if (!pg_is_null(r, i, 1))
            tell_erasure(n, pg_str(r, i, 1));
    n->erasures_known = pg_int(r, 0, 0);
    return PG_OK;
}

/* Returns a revision whole or leaves it for the next read. The result is the last revision that was
 * read. */
static int64_t read_rows(struct object_feed *feed, const PGresult *r, int64_t last)
{
    int n = PQntuples(r);
    feed->more = n == CHANGE_LOG_ROWS;
    if (feed->more)
        last = pg_int(r, n - 1, 0) - 1;
    feed->rows = arena_alloc(&feed->arena, (size_t)n * sizeof *feed->rows + 1);
    feed->count = 0;
    for (int i = 0; i < n && pg_int(r, i, 0) <= last; i++)
        feed->rows[feed->count++] = (struct object_part){
            .kind = (enum object_kind)pg_int(r, i, 1),
            .id = arena_str(&feed->arena, pg_str(r, i, 2)),
            .document = arena_str(&feed->arena, pg_str(r, i, 3)),
        };
    return last;
}

enum pg_fate pg_read_change_log(struct postgresql_store *s, struct pg *pg, void *object_feed)
{
    struct object_feed *feed = object_feed;
    int64_t known = atomic_load(&s->revision_known);
    atomic_store(&s->revision_applied, known); /* whoever asks has applied the last answer */
    pg_begin_snapshot(pg);
    int at = pg_exec(pg, "SELECT revision FROM revision WHERE name='object'");
    args_int(pg_args(pg), PG_INT8, known);
    args_int(&pg->args, PG_INT8, (int64_t)s->nodes.member.self);
    int rows = pg_query_f(pg,
                          "SELECT l.revision,l.kind,l.id,o.document FROM object_log l"
                          " LEFT JOIN object o ON o.kind=l.kind AND o.id=l.id WHERE l.revision>$1"
                          " AND l.node<>$2 AND l.kind<>%d ORDER BY l.revision,l.number LIMIT %d",
                          LOG_ERASURE, CHANGE_LOG_ROWS);
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_OK)
        return fate;
    arena_free(&feed->arena);
    feed->revision = read_rows(feed, pg_result(pg, rows), pg_int(pg_result(pg, at), 0, 0));
    atomic_store(&s->revision_known, feed->revision);
    if (feed->count == 0)
        atomic_store(&s->revision_applied, feed->revision);
    return PG_OK;
}
