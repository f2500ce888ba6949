/* Turns between owners of waiting work, without a list of owners: whose number comes next in the
 * circle behind the owner served last goes first, each with its oldest. So one that has a thousand
 * things waiting delays each other one by one of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether it is a's turn before b's. Of one owner: neither. */
static inline bool turn_is_before(uint32_t served_last, uint32_t a, uint32_t b)
{
    return a - served_last - 1 < b - served_last - 1;
}
