/* Drops old data. */
#pragma once

#include "store/sqlite/apply.h"
#include "store/sqlite/view.h"

/* Purges by the retention clock, and moves that clock. False: old bodies may be needed by
 * resends that are not applied yet. Call it again soon; no resend is accepted until then. */
MUST_CHECK bool purge_run(struct apply *a, struct view *v, const struct store_retention *keep,
                          struct retention_clock *clock, int64_t wall_ms, int64_t mono_ms);
