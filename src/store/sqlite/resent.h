/* Resends that no outcome has answered yet, by callback. The writer's alone; in memory only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resent_one {
    uint64_t id; /* of the event; 0: free */
    uint64_t no; /* of its latest resend */
    int64_t due_ms;
};

/* Zero-initialised is empty; empty costs no memory. */
struct resent {
    struct resent_one *slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
    uint64_t last_no;
};

void resent_add(struct resent *r, uint64_t id, int64_t due_ms);
uint64_t resent_no(const struct resent *r, uint64_t id); /* 0: none */
/* An outcome that knew of the resends up to `no`. False: nothing is left to answer, and it is
 * forgotten. True: a later one was accepted meanwhile, due at *ret_due_ms. */
bool resent_answer(struct resent *r, uint64_t id, uint64_t no, int64_t *ret_due_ms);
void resent_free(struct resent *r);
