/* What delivery says of lanes, handed to those who tell partners. */
#pragma once

#include "delivery/delivery.h"
#include "operations/operations.h"

/* On a loop; does not block. */
void told_lane(struct operations *operations, const struct lane_notice *notice);
