/* Statements that a connection has given names, so that the server keeps their plans.
 *
 * Planning costs the server more than carrying out does, where a group has a few events. But names
 * are a session's: behind PgBouncer in transaction mode each transaction may have another one. Who
 * answers tells: a server says at the connection's begin which process will, and a pooler makes
 * that number up. So names are given where the process that answers is the one that was announced.
 * They are made of the texts, so a name that is there already means the same. Should one be refused
 * all the same, nothing of its transaction is stored: it is done again without names, as whatever
 * that thread does from then on. A server refuses the statement, and so do most poolers; PgBouncer
 * 1.21 and newer, which keeps names itself, ends the connection when one is given twice, though it
 * was dropped in between. So a name is never given twice on a connection: each has a number, too.
 *
 * A plan is as good as what was known of its tables then, and partitions begin empty: any index of
 * such a one looks as good as any other. So a plan is made anew when it was used for as many rows
 * as those before it together, which are in the tables by then, and in any case after ten seconds:
 * so it comes from a look at tables of about the size that they have. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PG_KEPT_MOST 128
#define PG_KEPT_NAME 32 /* bytes, with the zero */

struct pg_kept_one {
    uint64_t hash;         /* of the text */
    uint32_t number;       /* of the name given last: they are counted from 1 */
    uint32_t there;        /* of the one that the server has by then in the trip; 0: none */
    uint32_t before;       /* of the one dropped last */
    uint32_t known;        /* of the one that it has for sure; 0: none */
    uint64_t rows;         /* that it was used for so far */
    uint64_t until_rows;   /* it is given anew when they are more, */
    int64_t until_mono_ms; /* or then */
};

/* What is put in before a statement. */
enum kept_step { KEPT_USE, KEPT_GIVE, KEPT_GIVE_ANEW };

/* Of one connection; zero-initialised: nothing is known of it. */
struct pg_kept {
    bool is_known, is_direct; /* whether names hold; is_known: it was asked */
    bool is_refused;          /* they did not, after all: for ever */
    int asked_at;             /* which statement of the trip asks for the process, + 1; 0: none */
    int count;
    struct pg_kept_one ones[PG_KEPT_MOST];
};

static inline bool kept_holds(const struct pg_kept *kept)
{
    return kept->is_direct && !kept->is_refused;
}
/* That of the text; NULL: too many have names. Valid until kept_forget. */
struct pg_kept_one *kept_find(struct pg_kept *kept, const char *sql);
/* Counts a use for so many rows. */
enum kept_step kept_use(struct pg_kept_one *one, uint64_t rows, int64_t now_mono_ms);
/* What became of what was put in for that name: a trip that fails before it does neither. */
void kept_learn(struct pg_kept_one *one, uint32_t number, bool dropped, bool given);
void kept_name(const struct pg_kept_one *one, char ret[PG_KEPT_NAME]);
void kept_name_before(const struct pg_kept_one *one, char ret[PG_KEPT_NAME]); /* the one dropped */
void kept_forget(struct pg_kept *kept); /* the connection is over */
/* Whether a statement was refused because of its name, or may have been: by the server, or by a
 * pooler that ended the connection. */
bool kept_is_about_names(const char *sqlstate);
