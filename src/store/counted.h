/* Which totals include a callback. */
#pragma once

#include "domain/callback_life.h"

/* A total counts a callback once, even if it is resent. Stored: append only. */
#define COUNTED_DELIVERED 1u
#define COUNTED_DEAD 2u
static inline unsigned counted_bit(enum callback_state state)
{
    return state == CALLBACK_DELIVERED ? COUNTED_DELIVERED
           : state == CALLBACK_DEAD    ? COUNTED_DEAD
                                       : 0;
}
