/* Resends that no outcome has answered yet, by callback. Only the writer uses it; in memory
 * only.
 *
 * The way of a resend: life_resend (domain/callback_life.h) makes the callback due, handout.c hands
 * it to its lane, and lane_offer (delivery/lane.c) decides when it is attempted. */
#pragma once

#include "base/hash_map.h"
#include "domain/callback_life.h"

/* Zero-initialised it is empty; an empty one takes no memory. */
struct pending_resends {
    struct hash_map by_id; /* by hash_number of the id */
    uint64_t last_no;
};

void pending_resends_add(struct pending_resends *r, uint64_t id, int64_t due_ms);
/* May be NULL. Valid until pending_resends_remove. */
struct pending_resend *pending_resends_find(const struct pending_resends *r, uint64_t id);
uint64_t pending_resends_no(const struct pending_resends *r, uint64_t id); /* 0: none */
void pending_resends_remove(struct pending_resends *r, struct pending_resend *found);
void pending_resends_free(struct pending_resends *r);
