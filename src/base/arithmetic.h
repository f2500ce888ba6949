/* Arithmetic that C lacks. */
#pragma once

#include <stdint.h>

static inline int64_t int64_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t int64_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rounded towards minus infinity, where `/` rounds towards 0; d > 0. */
static inline int64_t floor_div(int64_t n, int64_t d)
{
    return n / d - (n % d < 0);
}
