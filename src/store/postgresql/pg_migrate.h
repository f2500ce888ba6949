/* Migrates a database while daemons use it: expand, then contract.
 *
 * An expand step adds what older programs ignore. A start runs all missing expand steps, so the
 * nodes of an installation can be replaced one after the other and share the tables meanwhile. A
 * contract step removes what newer programs no longer use; only `postbackd migrate` runs it, after
 * the last older node has gone. Each step records in schema_version the oldest program that may
 * still use the database, named by the newest step that such a program knows. So an older program
 * can tell whether it may run on a newer database. */
#pragma once

#include "store/postgresql/connection.h"
#include "store/store_open.h"

enum pg_step_kind { PG_EXPAND, PG_CONTRACT };

/* Released steps are never edited; a change is a new step. schema_version has a checksum of the
 * statements of each, so a database of an unreleased program whose steps were others is noticed. */
struct pg_step {
    const char *what; /* what it makes or removes, for people */
    enum pg_step_kind kind;
    int least;                     /* the oldest program that works after it */
    const char *const *statements; /* ends with NULL */
};

/* All steps that a program knows; step i + 1 is at i. */
struct pg_migration {
    const struct pg_step *steps;
    int count;
};

#define PG_STEPS_MOST 64

/* Checks that the server can be used. False: pg->why is a sentence. */
MUST_CHECK bool pg_check_server(struct pg *pg);
/* Whether this program can use the database's tables, if there are any. False: pg->why is a
 * sentence. */
MUST_CHECK bool pg_check_steps(struct pg *pg, const struct pg_migration *to);
/* Runs the missing steps up to that kind, in order and in one transaction. False: a step failed and
 * nothing was changed, or the database is for newer programs; pg->why is a sentence. */
MUST_CHECK bool pg_migrate(struct pg *pg, const struct pg_migration *to, enum pg_step_kind most);

/* Sets pg->why, rolls back, returns false. */
bool pg_refuse(struct pg *pg, const char *fmt, ...) PRINTF_LIKE(2, 3);
