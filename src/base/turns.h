/* Turns between owners of waiting work, without a list of owners. The owner whose number follows
 * that of the owner served last is served next, with its oldest work; after the highest number the
 * lowest one follows. So an owner with a thousand waiting items delays another owner by only one of
 * them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* True if owner a is served before owner b. False if they are the same. */
static inline bool turn_is_before(uint32_t served_last, uint32_t a, uint32_t b)
{
    return a - served_last - 1 < b - served_last - 1;
}
