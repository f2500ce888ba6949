/* How a lane goes on when a fault of this machine keeps its attempts from being made
 * (domain/local_fault.h). Such an attempt does not count, so only this spacing keeps the lane from
 * trying again at once, for ever. Pure state; times are monotonic.
 *
 * With no other attempt under way the lane waits, then makes one attempt at a time. Attempts that
 * are under way mostly have connections already: the lane goes on with as many as those. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lane_backoff {
    bool is_on;
    int32_t most; /* attempts at a time, at least one */
    int64_t until_mono_ms;
};

/* True if the lane already waits for a time in the future. */
bool backoff_waits(const struct lane_backoff *b, int64_t now_mono_ms);
/* An attempt was not made; in_flight others are under way. A backoff that waits keeps its time. */
void backoff_begin(struct lane_backoff *b, int32_t in_flight, int64_t until_mono_ms,
                   int64_t now_mono_ms);
/* An attempt that began then was made: ends the backoff if it has waited long enough by then. */
void backoff_end(struct lane_backoff *b, int64_t began_mono_ms);
int64_t backoff_next_mono_ms(const struct lane_backoff *b, int32_t in_flight); /* 0: at any time */
int32_t backoff_allowance(const struct lane_backoff *b, int32_t allowance);
