/* Names of the states of a lane. */
#include "delivery/lane_state.h"

#include "base/check.h"

const char *lane_state_name(enum lane_state state)
{
    static const char *const names[LANE_STATES] = {
        [LANE_STATE_OPEN] = "open",
        [LANE_STATE_PAUSED] = "paused",
        [LANE_STATE_SUSPENDED] = "suspended",
        [LANE_STATE_HOST_DOWN] = "host_down",
        [LANE_STATE_DISABLED] = "disabled",
        [LANE_STATE_NOT_CONFIGURED] = "not_configured",
        [LANE_STATE_APP_DISABLED] = "app_disabled",
    };
    ASSERT((unsigned)state < LANE_STATES);
    return names[state];
}
