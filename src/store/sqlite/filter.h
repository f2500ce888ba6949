/* A blocked Bloom filter over 128-bit keys: a key's bits are in one line, as long as a cache line.
 * It answers "surely not" or "perhaps". At 24 bits per key about one look-up in six
 * thousand is a false positive, which searches SQLite and finds nothing.
 *
 * A line ends with a sum of its bits. Filters are read from files again and again
 * (filter_memory.h), and a lost bit would take a known key for a new one, whose event would be paid
 * twice. So a line whose sum is wrong answers "perhaps". */
#pragma once

#include "base/hash.h"

struct filter_line {
    uint32_t words[15];
    uint32_t sum;
};

struct filter {
    struct filter_line *lines;
    size_t count; /* of lines; 0: there is no filter, so every key is there perhaps */
};

/* An empty filter on the heap, for filter_free. */
void filter_init(struct filter *f, size_t keys);
void filter_free(struct filter *f);
/* The stored form: the lines as in memory (little-endian machines only). */
struct str filter_bytes(const struct filter *f);
/* A filter that borrows the bytes of a stored one, which begin at a multiple of 64; it is only read
 * and not freed. False: the length is no filter's. */
bool filter_view(struct filter *f, struct str bytes);

void filter_add(struct filter *f, struct key128 key);
bool filter_may_have(const struct filter *f, struct key128 key);
/* Lets the processor load the key's line while something else is done. */
void filter_prefetch(const struct filter *f, struct key128 key);
