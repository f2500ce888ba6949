/* Resends that no outcome has answered yet, by callback. Only the writer uses it; in memory
 * only. */
#pragma once

#include "base/hash_map.h"
#include "domain/callback_life.h"

/* Zero-initialised it is empty; an empty one takes no memory. */
struct resent {
    struct hash_map resends; /* by hash_number of the event's id */
    uint64_t last_no;
};

void resent_add(struct resent *r, uint64_t id, int64_t due_ms);
/* May be NULL. Valid until resent_remove. */
struct pending_resend *resent_find(const struct resent *r, uint64_t id);
uint64_t resent_no(const struct resent *r, uint64_t id); /* 0: none */
void resent_remove(struct resent *r, struct pending_resend *found);
void resent_free(struct resent *r);
