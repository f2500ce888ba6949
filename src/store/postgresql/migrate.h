/* Bringing a database up to date, while daemons use it: expand, then contract.
 *
 * A step that expands adds what older programs do not know of and are not disturbed by. A start
 * makes all that are missing, so that the nodes of one cluster are replaced one after the other,
 * and go on beside each other on the same tables. A step that contracts takes away what newer
 * programs no longer use; it is made by `postbackd migrate` alone, once the last older node is
 * gone. Each step that was made notes in schema_version the oldest program that it leaves room for,
 * by the newest step that such a program knows of: so a program tells by itself whether it may run
 * on a database that is newer than it is. */
#pragma once

#include "store/postgresql/connection.h"
#include "store/store_open.h"

enum pg_step_kind { PG_EXPAND, PG_CONTRACT };

/* Released steps are never edited; a change is a new step. */
struct pg_step {
    const char *what; /* for a person: what it makes or takes away */
    enum pg_step_kind kind;
    int least;                     /* the oldest program that goes on working behind it */
    const char *const *statements; /* up to NULL */
};

/* All steps that a program knows; step i + 1 is at i. */
struct pg_migration {
    const struct pg_step *steps;
    int count;
};

#define PG_STEPS_MOST 64

/* Whether the server can be used at all. False: pg->why is a sentence. */
MUST_CHECK bool pg_check_server(struct pg *pg);
/* Makes what is missing, in order and in one transaction: steps up to that kind. False: one of them
 * failed and nothing was made, or the database is for newer programs; pg->why is a sentence. */
MUST_CHECK bool pg_migrate(struct pg *pg, const struct pg_migration *to, enum pg_step_kind most);

/* Sets pg->why, rolls back; false. */
bool pg_refuse(struct pg *pg, const char *fmt, ...) PRINTF_LIKE(2, 3);
