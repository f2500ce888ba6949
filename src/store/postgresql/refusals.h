/* How often the database refused a statement for a reason that is not known to pass: for the log,
 * metrics and the probes. Shared by the store's threads. */
#pragma once

#include "store/postgresql/sqlstate.h"

#include <stdatomic.h>
#include <stdint.h>

struct pg_refusals {
    atomic_llong count;        /* since the start */
    atomic_llong last_mono_ms; /* 0: never */
    atomic_llong last;         /* SQLSTATE, its characters as a number */
    atomic_llong log_mono_ms;  /* when one was last logged */
};

/* Counts a refusal; logs at most one a second. */
void refusals_note(struct pg_refusals *r, const char *sqlstate, const char *why);
/* The last SQLSTATE, and how long ago it was in ms; -1: there was none. */
int64_t refusals_last(struct pg_refusals *r, char ret_sqlstate[SQLSTATE_BYTES]);
