/* Exact decimal money: signed 64-bit millionths of a USD or an IAC. Never a float.
 * Contract, section 2. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define MICROS_PER_UNIT INT64_C(1000000)
#define MONEY_MAX_REVENUE_MICROS (1000000 * MICROS_PER_UNIT)
#define MONEY_MAX_REWARD_MICROS (1000000000 * MICROS_PER_UNIT)
#define MONEY_MAX_CURRENCY_MICROS (1000000 * MICROS_PER_UNIT)

enum money_parse { MONEY_OK, MONEY_INVALID, MONEY_TOO_FINE, MONEY_TOO_LARGE };

/* Parses a JSON number (RFC 8259, section 6), with exponents, exactly. MONEY_TOO_FINE: more than 6
 * fractional digits that are not zero; MONEY_TOO_LARGE: beyond int64 millionths. */
MUST_CHECK enum money_parse money_parse(struct str text, int64_t *ret_micros);

/* Prints with at least min_digits fractional digits (0..6) and no further trailing zeros. */
void money_print(struct buf *to, int64_t micros, int min_digits);

/* revenue x currency, rounded half away from zero to `decimals` digits. False: beyond
 * MONEY_MAX_REWARD_MICROS. */
MUST_CHECK bool money_reward(int64_t revenue_micros, int64_t currency_micros, int decimals,
                             int64_t *ret_reward_micros);

/* sum / count rounded half away from zero to 6 digits; count > 0. Saturates at 64 bits (9.2 million
 * million USD for each panelist). */
int64_t money_divide(__int128 sum_micros, int64_t count);
void money_print_wide(struct buf *to, __int128 micros, int min_digits);
