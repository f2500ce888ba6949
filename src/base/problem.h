/* What is wrong with an input, said so that its sender can mend it.
 * `field` is the wire name (Field of an item, Parameter of a query, option of a command line). */
#pragma once

#include "base/arena.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"

#include <stdbool.h>

struct problem {
    struct str field;
    const char *code; /* a literal from the contract: required, invalid, out_of_range, ... */
    struct str detail;
    struct problem *next;
};

#define PROBLEM_TOO_MANY "too_many" /* the account has as many as it may */

/* A list in the order of finding; all memory is the arena's. */
struct problems {
    struct arena *arena;
    struct problem *first, *last;
    size_t count;
    size_t most;     /* entries that it may have; 0: LIMIT_PROBLEMS */
    size_t left_out; /* found beyond */
};

/* Beyond the limits: counts the problem as left out, and cuts its texts. */
void problem_add(struct problems *to, struct str field, const char *code, const char *detail_fmt,
                 ...) PRINTF_LIKE(4, 5);
/* Puts `more` behind what `to` has, as far as there is room; its entries are then `to`'s. */
void problems_join(struct problems *to, struct problems *more);
