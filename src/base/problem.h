/* Problems with an input, described so that the sender can correct them. `field` is the wire name
 * (Field of an item, Parameter of a query, option of a command line). */
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

#define PROBLEM_TOO_MANY "too_many" /* the account has reached a limit */

/* A list in the order of finding; all memory is the arena's. */
struct problems {
    struct arena *arena;
    struct problem *first, *last;
    size_t count;
    size_t most;     /* maximum number of entries; 0: LIMIT_PROBLEMS */
    size_t left_out; /* problems beyond `most` */
};

/* Beyond the limits: counts the problem as left out, and cuts its texts. */
void problem_add(struct problems *to, struct str field, const char *code, const char *detail_fmt,
                 ...) PRINTF_LIKE(4, 5);
/* Appends `more` to `to`, as far as there is room; `to` then owns its entries. */
void problems_join(struct problems *to, struct problems *more);
