/* What a server error means for the transaction that it ended. Only errors that are known to pass,
 * and errors of the connection, are distinguished. Any other error is a refusal and ends just the
 * transaction. */
#pragma once

#include <stdbool.h>

enum pg_fate {
    PG_OK,      /* every statement succeeded */
    PG_NOT_NOW, /* refused for a reason that passes: rolled back */
    PG_LOST,    /* the connection broke: rolled back, or committed if a COMMIT was under way */
    PG_REFUSED, /* refused for another reason: rolled back */
    PG_ABSENT,  /* not from the server: an earlier commit in doubt did not happen
                   (transaction_retry.c) */
};

#define SQLSTATE_BYTES 6 /* including the zero */

enum pg_fate sqlstate_fate(const char *sqlstate);
/* A write found the disk full. */
bool sqlstate_is_disk_full(const char *sqlstate);
/* A row has no partition, or a CHECK of somebody's refuses it. */
bool sqlstate_lacks_partition(const char *sqlstate);
/* The statement's values were refused, and would be again. */
bool sqlstate_is_of_data(const char *sqlstate);
/* An internal error, of the server or a proxy: the next try should use another connection. */
bool sqlstate_is_internal(const char *sqlstate);
