/* Hashes. key128 is keyed (SipHash-2-4, 128 bit): ids come from outside, and whoever could
 * choose colliding ones could make a lookup slow or an event look like a duplicate. */
#pragma once

#include "base/str.h"

#include <stdint.h>

struct key128 {
    uint64_t hi, lo;
};

struct hash_secret {
    uint8_t bytes[16];
};

static inline bool hash_secret_eq(const struct hash_secret *a, const struct hash_secret *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

struct key128 hash_key128(const struct hash_secret *secret, const void *p, size_t n);
uint64_t
hash_fast(const void *p,
          size_t n); /* unkeyed FNV-like mix: in-process tables of trusted or bounded keys */
/* One to one: equal hashes mean equal numbers. */
static inline uint64_t hash_number(uint64_t number)
{
    uint64_t h = number * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}
uint32_t hash_crc32c(uint32_t crc, const void *p, size_t n); /* Castagnoli, as in RFC 3720 */

static inline bool key128_eq(struct key128 a, struct key128 b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

/* Orders as memcmp() of the big-endian bytes. */
static inline int key128_compare(struct key128 a, struct key128 b)
{
    if (a.hi != b.hi)
        return a.hi < b.hi ? -1 : 1;
    return (a.lo > b.lo) - (a.lo < b.lo);
}
