/* See carried.h. */
#include "domain/carried.h"

enum carried_fate carried_judge(const struct carried_sight *sight, int64_t lane_fence,
                                struct carried_word word, uint64_t event_no)
{
    if (word.fence != lane_fence || word.since_mono_ms <= sight->doubt_mono_ms)
        return CARRIED_UNSURE;
    if (event_no > sight->shown_no)
        return CARRIED_OWED;
    return sight->covers ? CARRIED_KNOWN : CARRIED_UNSURE;
}
