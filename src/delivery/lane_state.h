/* The state of an endpoint as people see it. If several states apply, the one furthest down in this
 * enum is shown, except that a suspended lane is shown as suspended even if its host is down.
 * docs/state.md has the transitions. */
#pragma once

enum lane_state {
    LANE_STATE_OPEN,
    LANE_STATE_PAUSED,    /* the receiver asked for it: Retry-After */
    LANE_STATE_SUSPENDED, /* its own receiver fails */
    LANE_STATE_HOST_DOWN, /* its host cannot be reached by any lane */
    LANE_STATE_DISABLED,  /* by a 410 */
    LANE_STATE_NOT_CONFIGURED,
    LANE_STATE_APP_DISABLED,
};
#define LANE_STATES 7

const char *lane_state_name(enum lane_state state); /* "host_down" */
