/* Single changes: objects, resends, erasures; one transaction each. Any node runs them: row locks
 * serialise them, and the change log tells the other nodes (change_log.c). */
#include "store/postgresql/commands.h"

#include "store/postgresql/change_log.h"
#include "store/postgresql/fetch_rows.h"
#include "store/postgresql/handover.h"
#include "store/postgresql/transaction_retry.h"

#include <stdio.h>

/* --- objects ---------------------------------------------------------------------------------- */

static int put_object(struct pg *pg, enum object_kind kind, struct str id, struct str document)
{
    args_int(pg_args(pg), PG_INT2, kind);
    args_str(&pg->args, PG_TEXT, id);
    if (!document.p)
        return pg_query(pg, "DELETE FROM object WHERE kind=$1 AND id=$2 RETURNING 1");
    args_str(&pg->args, PG_TEXT, document);
    return pg_query(pg, "INSERT INTO object VALUES($1,$2,$3) ON CONFLICT(kind,id) DO UPDATE"
                        " SET document=excluded.document");
}

#define PARTS_TO_A_TRIP 10

/* One round trip for every few parts; the last ones go with the statements that follow. */
static enum pg_fate put_parts(struct pg *pg, const struct object_part *parts, size_t count)
{
    enum pg_fate fate = PG_OK;
    for (size_t i = 0; fate == PG_OK && i < count; i++) {
        if (i > 0 && i % PARTS_TO_A_TRIP == 0)
            fate = pg_sync(pg);
        if (fate == PG_OK)
            (void)put_object(pg, parts[i].kind, parts[i].id, parts[i].document);
    }
    return fate;
}

enum pg_fate pg_change_object(struct postgresql_store *s, struct pg *pg, void *object_change)
{
    struct object_change *change = object_change;
    bool made;
    pg_begin(pg, false);
    enum pg_fate fate = change_log_begin(s, pg, change, &made);
    if (fate != PG_OK)
        return fate;
    if (made) /* commits, so that a standby has it, too */
        return pg_sync_commit(s, pg);
    if (s->change_writer.only_looks || change->status == STORE_STALE) {
        pg_rollback(pg);
        return s->change_writer.only_looks ? PG_ABSENT : PG_OK;
    }
    int at = put_object(pg, change->kind, change->id, change->document);
    fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    if (!change->document.p && PQntuples(pg_result(pg, at)) == 0) {
        change->status = STORE_NOT_FOUND;
        pg_rollback(pg);
        return PG_OK;
    }
    fate = put_parts(pg, change->parts, change->part_count);
    if (fate != PG_OK)
        return fate;
    change_log_add(s, pg, change);
    return pg_sync_commit(s, pg);
}

/* --- resend ----------------------------------------------------------------------------------- */

static enum pg_fate end_without(struct pg *pg, struct resend *resend, enum store_status status)
{
    resend->status = status;
    pg_rollback(pg);
    return PG_OK;
}

/* Fetches the original of a reversal; `ret` stays empty for any other event. */
static enum pg_fate fetch_original(struct pg *pg, struct pg_writer *writer,
                                   const struct pg_row *row, struct fetched *ret)
{
    struct fetch_key key = {row->event.account_no, row->event.original_no, FETCH_PERIOD_UNKNOWN};
    *ret = (struct fetched){0};
    if (!row->event.original_no)
        return PG_OK;
    return fetch_rows(pg, &key, 1, FETCH_SHARED, false, &writer->scratch, ret);
}

/* Hands the callback to its lane, at once if the lane is this node's, and stores the parts of the
 * resend. */
static enum pg_fate end_resend(struct postgresql_store *s, struct pg *pg, struct resend *resend,
                               const struct pg_row *row)
{
    struct pg_writer *writer = &s->change_writer;
    bool due = row->callback.life.wait == WAIT_DUE;
    handover_begin(&writer->handover);
    if (due && leases_have(&s->nodes.leases, row->callback.life.lane))
        pg_writer_owe(writer, pg_row_callback(row));
    else if (due)
        handover_callback(&writer->handover, row);
    handover_send(writer);
    resend->status = STORE_OK;
    enum pg_fate fate = put_parts(pg, resend->parts, resend->part_count);
    return fate == PG_OK ? pg_sync_commit(s, pg) : fate;
}

static enum pg_fate resend_row(struct postgresql_store *s, struct pg *pg, struct resend *resend,
                               struct pg_row *row)
{
    struct pg_writer *writer = &s->change_writer;
    struct row_callback now = row->callback;
    struct fetched original;
    enum pg_fate fate = fetch_original(pg, writer, row, &original);
    if (fate != PG_OK)
        return fate;
    life_resend(&now.life, resend->now_ms, original.count ? &original.rows[0].callback.life : NULL);
    now.resend = (struct pending_resend){++now.resend_last_no, resend->now_ms};
    changes_begin(&writer->changes);
    changes_row(&writer->changes, row, &now);
    changes_send(&writer->changes, pg);
    row->callback = now;
    writer->own_no = (int64_t)now.resend_last_no;
    return end_resend(s, pg, resend, row);
}

/* True if an earlier try whose commit was in doubt has stored the resend, or another node has
 * resent the callback since, which does as well. The row is locked, so that try is over. */
static bool is_resent(const struct pg_writer *writer, const struct pg_row *row)
{
    return writer->own_no != 0 && row->callback.resend_last_no >= (uint64_t)writer->own_no;
}

enum pg_fate pg_resend(struct postgresql_store *s, struct pg *pg, void *what)
{
    struct resend *resend = what;
    struct fetched rows;
    struct fetch_key key;
    bool found;
    if (resend->event_id.n > LIMIT_EVENT_ID_BYTES) {
        resend->status = STORE_NOT_FOUND;
        return PG_OK;
    }
    pg_begin(pg, false);
    enum pg_fate fate = pg_find_key(s, pg, resend->account_no, resend->event_id, &key, &found);
    if (fate != PG_OK)
        return fate;
    if (!found)
        return end_without(pg, resend, STORE_NOT_FOUND);
    fate = fetch_rows(pg, &key, 1, FETCH_FOR_UPDATE, true, &s->change_writer.scratch, &rows);
    if (fate != PG_OK)
        return fate;
    struct pg_row *row = rows.count == 1 ? &rows.rows[0] : NULL;
    if (row && is_resent(&s->change_writer, row))
        return end_resend(s, pg, resend, row);
    if (s->change_writer.only_looks) {
        pg_rollback(pg);
        return PG_ABSENT;
    }
    if (!row)
        return end_without(pg, resend, STORE_NOT_FOUND);
    enum resend_verdict verdict =
        life_judge_resend(&row->event, row->callback.life.state, resend->only_states);
    if (verdict != RESEND_ACCEPTED)
        return end_without(pg, resend, resend_status(verdict));
    return resend_row(s, pg, resend, row);
}

/* --- erasing a panelist ----------------------------------------------------------------------- */

/* The panelist's waiting callbacks have nothing left to send. */
static void stop_waiting(struct changes *ch, const PGresult *r)
{
    changes_begin(ch);
    for (int i = 0; i < PQntuples(r); i++) {
        struct pg_row row;
        pg_row_read(r, i, &row);
        struct row_callback now = row.callback;
        life_erase(&now.life);
        changes_row(ch, &row, &now);
    }
}

/* Renames the events first: this waits for outcomes under way, so that their attempts are visible
 * afterwards. An outcome that holds only its row of `waiting` is waited for at that row. */
static int rename_events(struct pg *pg, const struct erase *erase, struct str replacement)
{
    args_int(pg_args(pg), PG_INT4, erase->account_no);
    /* keeps new events of the panelist out until the commit */
    pg_query(pg, "SELECT 1 FROM account WHERE account_no=$1 FOR UPDATE");
    args_str(&pg->args, PG_TEXT, erase->panelist_id);
    args_str(&pg->args, PG_TEXT, replacement);
    int at = pg_query(pg, "UPDATE event e SET panelist_id=$3,session_id=NULL,mid=NULL,"
                          "signature_offset=NULL,erased=true WHERE " ROW_OF_PANELIST("$1", "$2"));
    args_int(pg_args(pg), PG_INT4, erase->account_no);
    args_str(&pg->args, PG_TEXT, replacement);
    pg_query(pg,
             "SELECT 1 FROM event e JOIN waiting w ON " ROW_FIRST_ATTEMPT
             " WHERE " ROW_OF_PANELIST("$1", "$2") " AND e.state=" ROW_PRESUMED " FOR UPDATE OF w");
    return at;
}

static void erase_texts(struct pg *pg, const struct erase *erase, struct str replacement)
{
    args_int(pg_args(pg), PG_INT4, erase->account_no);
    args_str(&pg->args, PG_TEXT, replacement);
#define THEIRS " WHERE " ROW_OF_PANELIST("$1", "$2")
    pg_query(pg, "DELETE FROM body b USING event e" THEIRS " AND b.account_no=$1"
                 " AND b.event_no=e.event_no AND b.period=e.period");
    pg_query_f(pg,
               "UPDATE attempt a SET texts=NULL,"
               "detail=CASE WHEN 1<<class&%u<>0 THEN NULL ELSE detail END"
               " FROM event e" THEIRS " AND a.account_no=$1 AND a.event_no=e.event_no",
               ATTEMPT_DETAILS_ERASED);
#undef THEIRS
    /* last: nodes that poll for hand-overs wait for this lock */
    args_int(pg_args(pg), PG_INT4, erase->account_no);
    pg_query(pg,
             "UPDATE handover SET callbacks=NULL WHERE account_no=$1 AND callbacks IS NOT NULL");
}

enum pg_fate pg_erase(struct postgresql_store *s, struct pg *pg, void *what)
{
    struct erase *erase = what;
    struct pg_writer *writer = &s->change_writer;
    char text[ERASED_NAME_BYTES];
    struct str replacement = erased_name(s->env, text);
    if (writer->only_looks) /* committed or not: a repeated erasure finds nothing left */
        return PG_ABSENT;
    pg_begin(pg, false);
    int renamed = rename_events(pg, erase, replacement);
    args_int(pg_args(pg), PG_INT4, erase->account_no);
    args_str(&pg->args, PG_TEXT, replacement);
    int waiting = pg_query(pg, "SELECT " ROW_WITHOUT_BODY " FROM event e WHERE " ROW_OF_PANELIST(
                                   "$1", "$2") " AND (e.wait<>0 OR e.state=" ROW_PRESUMED
                                               " AND " ROW_WAITS ")");
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    int64_t erased = pg_affected(pg_result(pg, renamed));
    if (!writer->unknown || erased > 0)
        erase->erased = erased;
    stop_waiting(&writer->changes, pg_result(pg, waiting));
    changes_send(&writer->changes, pg);
    erase_texts(pg, erase, replacement);
    fate = put_parts(pg, erase->parts, erase->part_count);
    if (fate == PG_OK)
        change_log_add_erasure(s, pg, erase->account_no);
    return fate == PG_OK ? pg_sync_commit(s, pg) : fate;
}
