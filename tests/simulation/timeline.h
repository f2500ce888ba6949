/* Virtual time: what happens, and when. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* Something that happens at a virtual moment; embedded in whatever it is about. What happens at
 * the same moment comes in an order drawn by lot. */
struct moment {
    int64_t at_ms; /* monotonic */
    uint64_t lot;
    size_t place; /* 1-based in the timeline; 0: not in it */
    void (*happen)(struct moment *m);
};

struct timeline {
    struct moment **items;
    size_t count, capacity;
};

void timeline_add(struct timeline *t, struct moment *m, int64_t at_ms, uint64_t lot);
void timeline_remove(struct timeline *t, struct moment *m);
struct moment *timeline_first(const struct timeline *t); /* NULL: none */
