/* Random traffic from a seed, made so that ids meet again: duplicates, conflicts, reversals. */
#pragma once

#include "world.h"

struct traffic {
    struct rng rng;
    int ids;              /* how many different EventIds there are */
    char text[32][8][40]; /* what the items of the current batch borrow */
};

#define TRAFFIC_BATCH_MAX 32

/* At most TRAFFIC_BATCH_MAX items; they are valid until the next call. */
void traffic_batch(struct traffic *t, struct candidate *ret_items, size_t count, int64_t now_ms);
/* An id that may have been used. */
void traffic_id(struct traffic *t, char ret[40]);
uint32_t traffic_app(struct traffic *t);
