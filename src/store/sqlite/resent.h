/* Resends that no outcome has answered yet, by callback. The writer's alone; in memory only. */
#pragma once

#include "domain/callback_life.h"

#include <stddef.h>

struct resent_one {
    struct pending_resend resend;
    uint64_t id; /* of the event; 0: free */
};

/* Zero-initialised is empty; empty costs no memory. */
struct resent {
    struct resent_one *slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
    uint64_t last_no;
};

void resent_add(struct resent *r, uint64_t id, int64_t due_ms);
/* NULL: none. Valid until the next resent_add or resent_remove. */
struct pending_resend *resent_find(const struct resent *r, uint64_t id);
uint64_t resent_no(const struct resent *r, uint64_t id); /* 0: none */
void resent_remove(struct resent *r, const struct pending_resend *found);
void resent_free(struct resent *r);
