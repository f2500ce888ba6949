/* What an error of the server says of the transaction that it ended. Only what is known to pass, or
 * to be about the connection, is told apart: anything else is refused, which ends nothing but the
 * transaction. */
#pragma once

#include <stdbool.h>

enum pg_fate {
    PG_FINE,    /* every statement was carried out */
    PG_NOT_NOW, /* refused for reasons that pass: rolled back */
    PG_LOST,    /* the connection broke: rolled back, or committed if a COMMIT was under way */
    PG_REFUSED, /* refused, and nobody knows for how long: rolled back */
    PG_ABSENT,  /* not the server's: an earlier commit in doubt did not happen (trying.c) */
};

#define SQLSTATE_BYTES 6 /* with the zero */

enum pg_fate sqlstate_fate(const char *sqlstate);
/* A write found no room. */
bool sqlstate_is_disk_full(const char *sqlstate);
/* The very values of the statement were refused: the same ones always are. */
bool sqlstate_is_of_data(const char *sqlstate);
/* An internal error, the server's or that of whatever stands before it: better asked for on another
 * connection. */
bool sqlstate_is_internal(const char *sqlstate);
