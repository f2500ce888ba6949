/* Numbers of variable length, as packed rows have them: base 128, least significant first, the high
 * bit means that more follow (LEB128); numbers that may be negative as 2n or -2n-1. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

void number_put(struct buf *to, uint64_t v);
void number_put_signed(struct buf *to, int64_t v);

/* After a read beyond the end `bad` stays set, and everything reads as 0 or as empty. */
struct number_reader {
    const unsigned char *at, *end;
    bool bad;
};

struct number_reader number_reader_of(struct str bytes);
uint64_t number_get(struct number_reader *r);
int64_t number_get_signed(struct number_reader *r);
/* The next n bytes, borrowed. */
struct str number_get_bytes(struct number_reader *r, uint64_t n);
