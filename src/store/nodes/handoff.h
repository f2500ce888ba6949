/* Whether a callback that another process carries here is still owed. Pure.
 *
 * Who takes an event in whose lane another node has writes its callback into the row that tells of
 * it (store/postgresql/handover.h). The row is heard of later, and meanwhile the lane's own node
 * may have been given that callback otherwise: by a page, which may have come of anything, or by a
 * resend. It is owed, without a look at the database, where none of that can have been:
 *
 *   - the shard had the lane's fence when the row was heard of, and the lane was made before the
 *     row was written: so nobody else has had the lane since, nor this lane a life before;
 *   - nothing was erased since;
 *   - nothing that a page or a resend has shown has so high a number.
 *
 * Numbers of an account become visible in their order. So a page that has shown the lane from its
 * start to its end has shown all up to the highest that was shown till then: what is carried of
 * those is known already. Anything else is unsure, and the lane looks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* With the callback. */
struct handoff_stamp {
    int64_t fence;         /* of its shard, when the row was heard of */
    int64_t since_mono_ms; /* the row was written behind that; 0: it was not carried */
};

/* With the lane. */
struct handoff_watermark {
    int64_t trusted_since_mono_ms; /* it was made then, or something was erased */
    uint64_t shown_no : 63;        /* the highest number that a page or a resend has shown */
    bool covers : 1;               /* and a whole page has shown everything up to it */
};

enum handoff_fate {
    HANDOFF_OWED,
    HANDOFF_KNOWN,  /* shown before: nothing to do */
    HANDOFF_UNSURE, /* the lane has to look */
};

enum handoff_fate handoff_judge(const struct handoff_watermark *watermark, int64_t lane_fence,
                                struct handoff_stamp stamp, uint64_t event_no);
