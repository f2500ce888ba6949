/* How many different callbacks in a row a lane's URL has answered with 410. One removed user is no
 * removed endpoint, so the lane is disabled only by GONE_RUN_DISABLES of them. */
#pragma once

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

#define GONE_RUN_DISABLES 5

struct gone_run {
    uint64_t event_nos[GONE_RUN_DISABLES];
    int32_t count;
};

/* Another callback was answered 410; one that is in the row already adds nothing. True: the row is
 * long enough. */
bool gone_run_add(struct gone_run *run, uint64_t event_no);
/* A try ended in any other way. */
void gone_run_end(struct gone_run *run);
