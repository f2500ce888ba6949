/* Decides whether a callback that another node hands over is still pending. Pure functions.
 *
 * A node that accepts an event for a lane of another node writes the callback into the row that
 * announces it (store/postgresql/handover.h). Before the row arrives, the lane's node may have got
 * the callback from a page, and may have delivered it, or from a resend. The callback is pending,
 * without a look at the database, if all of this holds:
 * - no other node, and no earlier incarnation of this lane, has held it: the shard's fence on
 *   arrival is the lane's, and the lane was made before the row was written;
 * - no panelist has been erased since;
 * - no page and no resend has shown a number as high.
 *
 * An account's event numbers become visible in order, so a page that has read the lane from start
 * to end has shown everything up to its highest number: a callback up to that number is known. In
 * any other case the lane looks into the database. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of the callback. */
struct handoff_stamp {
    int64_t fence;         /* of its shard when the row arrived */
    int64_t since_mono_ms; /* the row was written after this; 0: the callback was not handed over */
};

/* Of the lane. */
struct handoff_watermark {
    int64_t trusted_since_mono_ms; /* when the lane was made, or of the last erasure */
    uint64_t shown_no : 63;        /* the highest number that a page or a resend has shown */
    bool covers : 1;               /* a complete page has shown everything up to shown_no */
};

enum handoff_fate {
    HANDOFF_OWED,
    HANDOFF_KNOWN,  /* a page has shown it: nothing to do */
    HANDOFF_UNSURE, /* the lane has to look into the database */
};

enum handoff_fate handoff_judge(const struct handoff_watermark *watermark, int64_t lane_fence,
                                struct handoff_stamp stamp, uint64_t event_no);
