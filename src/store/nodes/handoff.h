/* Decides whether a callback that a thread of the store hands over is still pending. Pure
 * functions.
 *
 * A callback may be on its way to its lane while another thread tells of an erasure. So each one
 * carries the time before it was read or written: a callback from before the last erasure that is
 * known here is looked up again.
 *
 * A node that accepts an event for a lane of another node writes the callback into the row that
 * announces it (store/postgresql/handover.h). Before the row arrives, the lane's node may have got
 * the callback from a page, and may have delivered it, or from a resend. The callback is pending,
 * without a look at the database, if all of this holds:
 * - no other node, and no earlier incarnation of this lane, has held it: the shard's fence on
 *   arrival is the lane's, and the lane was made before the row was written;
 * - no panelist has been erased since (as above);
 * - no page and no resend has shown a number as high.
 *
 * An account's event numbers become visible in order, so a page that has read the lane from start
 * to end has shown everything up to its highest number: a callback up to that number is known. In
 * any other case the lane looks into the database. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether another node has handed the callback out is not known: the lane looks. */
#define HANDOFF_FENCE_UNKNOWN (-1)

/* Of the callback. */
struct handoff_stamp {
    int64_t fence;         /* of its shard when the row arrived; 0: no other node handed it over */
    int64_t since_mono_ms; /* it was read or written after this; 0: the store is not shared */
};

/* Of the lane. */
struct handoff_watermark {
    int64_t made_mono_ms;   /* when the lane was made */
    uint64_t shown_no : 63; /* the highest number that a page or a resend has shown */
    bool covers : 1;        /* a complete page has shown everything up to shown_no */
};

enum handoff_fate {
    HANDOFF_OWED,
    HANDOFF_KNOWN,  /* a page has shown it: nothing to do */
    HANDOFF_UNSURE, /* the lane has to look into the database */
};

/* erased_mono_ms: what was read before may be erased; 0: nothing was erased. */
enum handoff_fate handoff_judge(const struct handoff_watermark *watermark, int64_t erased_mono_ms,
                                int64_t lane_fence, struct handoff_stamp stamp, uint64_t event_no);
