/* By how much the wall clock was set forward lately.
 *
 * Such a jump makes everything that waits look older than it is, so rules that give up after a time
 * subtract it. A jump counts for one to one and a quarter windows. The window is the longest time
 * after which anything is given up, so whatever waited during the jump keeps its full time. Then
 * the jump is forgotten: otherwise a clock that is stepped again and again would keep things for
 * ever. A step back cancels no jump. Pure state of one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_LEAD_PARTS 4
#define CLOCK_LEAD_LEAST_MS 1000 /* a clock that is this much ahead has jumped */
struct clock_lead {
    int64_t jumps_ms[CLOCK_LEAD_PARTS + 1]; /* sums, by part of a window: first the latest */
    int64_t part;                           /* number of the latest part */
    int64_t part_ms;                        /* 0: the window is not set yet */
    int64_t wall_less_mono_ms;              /* at the last clock_lead_look */
    bool has_looked;
};
/* Call it first. Jumps added before count for a window from now on. */
void clock_lead_set_window(struct clock_lead *l, int64_t window_ms, int64_t now_mono_ms);
void clock_lead_add(struct clock_lead *l, int64_t jump_ms, int64_t now_mono_ms);
int64_t clock_lead_ms(const struct clock_lead *l, int64_t now_mono_ms);
/* Returns the wall clock's time without such jumps. Finds jumps since the last call and adds them;
 * the first call finds none. */
int64_t clock_lead_look(struct clock_lead *l, int64_t wall_ms, int64_t now_mono_ms);
