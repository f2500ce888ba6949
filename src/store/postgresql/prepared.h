/* Prepared statements of a connection, so that the server keeps their plans.
 *
 * For a group of a few events, planning costs the server more than running. But prepared statements
 * belong to a session: behind PgBouncer in transaction mode each transaction may have another one.
 * A connection announces at its begin which server process will answer, and a pooler makes that
 * number up. So statements are prepared only if the announced process answers.
 *
 * A name is made from the statement's text, so an existing name has the same text. If the server
 * refuses a name, nothing of the transaction is stored: it is repeated without prepared statements,
 * and so is everything that the thread does afterwards. PgBouncer 1.21 and newer ends the
 * connection if a name is prepared twice, even after a DEALLOCATE. So each name has a number and is
 * prepared once on a connection.
 *
 * A plan is as good as the statistics at its time, and partitions begin empty: then every index
 * looks equally good. So a statement is prepared again when it has processed as many rows as before
 * its last plan, and in any case after ten seconds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PG_PREPARED_MOST 128
#define PG_PREPARED_NAME_BYTES 32 /* bytes, including the zero */

struct pg_prepared_statement {
    uint64_t hash;         /* of the text */
    uint32_t number;       /* of the last name; counted from 1 */
    uint32_t there;        /* of the name that the server has at this point of the trip; 0: none */
    uint32_t before;       /* of the last name dropped */
    uint32_t known;        /* of the name that the server is known to have; 0: none */
    uint64_t rows;         /* processed so far */
    uint64_t until_rows;   /* prepared again after so many rows, */
    int64_t until_mono_ms; /* or at this time */
};

/* What precedes a statement in the pipeline. */
enum prepare_step { PREPARE_NOT, PREPARE_FIRST, PREPARE_AGAIN };

/* Of one connection; zero-initialised: nothing is known. */
struct pg_prepared {
    /* is_direct: prepared statements work; is_known: this was found out */
    bool is_known, is_direct;
    bool is_refused; /* a name was refused: none are used any more */
    int asked_at;    /* the trip's statement that reads the process number, + 1; 0: none */
    int count;
    struct pg_prepared_statement ones[PG_PREPARED_MOST];
};

static inline bool prepared_is_usable(const struct pg_prepared *prepared)
{
    return prepared->is_direct && !prepared->is_refused;
}
/* The entry of the text. NULL: too many texts. Valid until prepared_forget. */
struct pg_prepared_statement *prepared_find(struct pg_prepared *prepared, const char *sql);
/* Counts a use for so many rows. */
enum prepare_step prepared_use(struct pg_prepared_statement *one, uint64_t rows,
                               int64_t now_mono_ms);
/* Notes the results of DEALLOCATE and Prepare; not called if the trip failed before them. */
void prepared_learn(struct pg_prepared_statement *one, uint32_t number, bool dropped, bool given);
void prepared_name(const struct pg_prepared_statement *one, char ret[PG_PREPARED_NAME_BYTES]);
void prepared_old_name(const struct pg_prepared_statement *one,
                       char ret[PG_PREPARED_NAME_BYTES]); /* the name to drop */
void prepared_forget(struct pg_prepared *prepared);       /* the connection has ended */
/* True if the error is about a prepared statement, or may be: from the server, or from a pooler
 * that ended the connection. */
bool prepared_is_refused(const char *sqlstate);
