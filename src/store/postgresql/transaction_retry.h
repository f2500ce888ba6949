/* Runs a transaction until it is done, refused or hopeless. */
#pragma once

#include "store/postgresql/postgresql_store.h"

typedef enum pg_fate (*pg_work)(struct postgresql_store *s, struct pg *pg, void *what);
/* STORE_OK; STORE_REFUSED: the database refused it; STORE_BUSY: the database is down and may_refuse
 * is set, nothing was stored; STORE_FAILED. */
enum store_status pg_try_write(struct postgresql_store *s, struct pg_writer *writer, pg_work work,
                               void *what, bool may_refuse);
enum store_status pg_try_read(struct postgresql_store *s, struct pg *pg, pg_work work, void *what);
/* As pg_connect, for periodic work. Fails at once if the daemon is stopping, its patience
 * (PG_STOP_PATIENCE_MS) is over, and the database is away. */
MUST_CHECK bool pg_store_connect(struct postgresql_store *s, struct pg *pg);
void pg_store_note_away(struct postgresql_store *s, const struct pg *pg, bool away);
/* Commits, and counts the commit. */
enum pg_fate pg_sync_commit(struct postgresql_store *s, struct pg *pg);
/* Keeps the callback for the sink until the commit. After a commit in doubt its lane looks into the
 * database: that commit may have failed, and another node may have done the same under the same
 * number, handed the callback out, and delivered it. */
void pg_writer_owe(struct pg_writer *writer, struct callback *c);
void pg_writer_drop_owed(struct pg_writer *writer);
void pg_writer_hand_over(struct postgresql_store *s, struct pg_writer *writer);

/* Bounds on finding out which part of a group the database refuses. */
#define PG_ISOLATION_TRIES 64
#define PG_ISOLATION_MS 10000
struct pg_isolation {
    int tries;
    int64_t since_mono_ms;
};

static inline bool pg_isolation_goes_on(struct pg_isolation *i)
{
    int64_t now = env_mono_ms(env_real());
    if (i->tries++ == 0)
        i->since_mono_ms = now;
    return i->tries <= PG_ISOLATION_TRIES && now - i->since_mono_ms < PG_ISOLATION_MS;
}
