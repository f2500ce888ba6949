/* How long bodies are kept. By which clock: domain/retention_clock.h. They are dropped in
 * store/sqlite/purge.c and store/postgresql/pg_keeper.c. */
#pragma once

#include "domain/callback_life.h"
#include "domain/clock.h"

#include <stdbool.h>

/* Bodies are kept for their limit after the final state. Stores drop them many at a time, by the
 * time of acceptance: after the limit and these days, because almost every callback is final by
 * then (its last attempt is at most about 73 h after its acceptance). Only the others need a note
 * of the day on which they became final. */
#define RETENTION_SCHEDULE_DAYS 4

/* True: the callback stops waiting now, so late that its body must be kept by this day, and not by
 * its acceptance. */
static inline bool retention_ends_late(const struct callback_life *before,
                                       const struct callback_life *after, int64_t accepted_ms,
                                       int64_t now_ms)
{
    return before->wait != WAIT_NOT && after->wait == WAIT_NOT &&
           now_ms - accepted_ms > RETENTION_SCHEDULE_DAYS * DAY_MS;
}
