/* See handoff.h. */
#include "store/nodes/handoff.h"

enum handoff_fate handoff_judge(const struct handoff_watermark *watermark, int64_t erased_mono_ms,
                                int64_t lane_fence, struct handoff_stamp stamp, uint64_t event_no)
{
    if (stamp.since_mono_ms <= erased_mono_ms)
        return HANDOFF_UNSURE;
    if (stamp.fence == 0)
        return HANDOFF_OWED;
    if (stamp.fence != lane_fence || stamp.since_mono_ms <= watermark->made_mono_ms)
        return HANDOFF_UNSURE;
    if (event_no > watermark->shown_no)
        return HANDOFF_OWED;
    return watermark->covers ? HANDOFF_KNOWN : HANDOFF_UNSURE;
}
