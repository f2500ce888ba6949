/* Decides when answers of 410 disable a lane (an endpoint): after GONE_RUN_DISABLES different
 * callbacks in a row. A single 410 may be about one removed user. delivery/dispatcher_attempt.c
 * (judge_gone) asks, and has the lane disabled. */
#pragma once

#include "base/check.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define GONE_RUN_DISABLES 5
/* For sentences about it. */
#define GONE_RUN_TEXT NUMBER_AS_TEXT(GONE_RUN_DISABLES) " callbacks in a row"

struct gone_run {
    uint64_t event_nos[GONE_RUN_DISABLES];
    int32_t count;
};

/* Adds a callback that was answered 410; a callback counts once. True: the run is complete. */
bool gone_run_add(struct gone_run *run, uint64_t event_no);
/* An attempt ended in any other way. */
void gone_run_end(struct gone_run *run);
