/* Counts how many different callbacks in a row a lane's URL has answered with 410. A single 410 may
 * be about one removed user, so only GONE_RUN_DISABLES of them disable the lane. */
#pragma once

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

#define GONE_RUN_DISABLES 5

struct gone_run {
    uint64_t event_nos[GONE_RUN_DISABLES];
    int32_t count;
};

/* Adds a callback that was answered 410; a callback counts once. True: the run is complete. */
bool gone_run_add(struct gone_run *run, uint64_t event_no);
/* An attempt ended in any other way. */
void gone_run_end(struct gone_run *run);
