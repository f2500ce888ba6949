/* The timers of one loop: a 4-ary heap ordered by (time, sequence), so that timers for the same
 * millisecond fire in the order of setting. Pure: `now` is an argument. Entries have their key, so
 * that sifting reads one array and writes a timer only to store its place. */
#pragma once

#include "net/loop.h"

struct timer_entry {
    int64_t at_mono_ms;
    uint64_t sequence;
    struct timer *timer;
};

/* Zero-initialised it is empty. Places count from 1, because 0 means idle in struct timer. */
struct timers {
    struct timer_entry *heap;
    size_t count, capacity;
    uint64_t next_sequence;
};

void timers_set(struct timers *t, struct timer *timer, int64_t at_mono_ms);
void timers_clear(struct timers *t, struct timer *timer); /* idle ones, too */
/* Takes the first timer out if it is due at `now` and was set before sequence `before`. */
struct timer *timers_take_due(struct timers *t, int64_t now_mono_ms, uint64_t before);
/* INT64_MAX: none. */
int64_t timers_next_mono_ms(const struct timers *t);
void timers_free(struct timers *t);
