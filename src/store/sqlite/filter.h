/* A blocked Bloom filter over 128-bit keys: a key's bits are in one cache line. It answers "surely
 * not" or "perhaps". At 12 bits per key about one look-up in a hundred is a false positive, which
 * searches SQLite and finds nothing. */
#pragma once

#include "base/hash.h"

struct filter_block {
    uint64_t words[8];
};

struct filter {
    struct filter_block *blocks;
    size_t count; /* of blocks */
};

void filter_init(struct filter *f, size_t keys);
/* The stored form: the blocks as in memory (little-endian machines only). False: not a filter. */
bool filter_load(struct filter *f, struct str bytes);
struct str filter_bytes(const struct filter *f);
void filter_free(struct filter *f);
void filter_add(struct filter *f, struct key128 key);
bool filter_may_have(const struct filter *f, struct key128 key);
