/* The high half of a key selects the block, the low half six bits in it. Keys are SipHash values,
 * so their bits need no further hash. */
#include "store/sqlite/filter.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#define BITS_PER_KEY 12u
#define BLOCK_BITS 512u
#define PROBES 6

_Static_assert(sizeof(struct filter_block) * 8 == BLOCK_BITS, "one cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "filters are stored as they lie");

static void filter_allocate(struct filter *f, size_t count)
{
    f->count = count;
    f->blocks = aligned_alloc(sizeof *f->blocks, count * sizeof *f->blocks);
    ASSERT(f->blocks != NULL);
}

void filter_init(struct filter *f, size_t keys)
{
    filter_allocate(f, keys * BITS_PER_KEY / BLOCK_BITS + 1);
    memset(f->blocks, 0, f->count * sizeof *f->blocks);
}

bool filter_load(struct filter *f, struct str bytes)
{
    if (bytes.n == 0 || bytes.n % sizeof *f->blocks != 0)
        return false;
    filter_allocate(f, bytes.n / sizeof *f->blocks);
    memcpy(f->blocks, bytes.p, bytes.n);
    return true;
}

struct str filter_bytes(const struct filter *f)
{
    return (struct str){(const char *)f->blocks, f->count * sizeof *f->blocks};
}

void filter_free(struct filter *f)
{
    free(f->blocks);
    *f = (struct filter){0};
}

static struct filter_block *block_of(const struct filter *f, struct key128 key)
{
    return &f->blocks[(size_t)(((unsigned __int128)key.hi * f->count) >> 64)];
}

void filter_add(struct filter *f, struct key128 key)
{
    struct filter_block *block = block_of(f, key);
    for (int i = 0; i < PROBES; i++) {
        unsigned bit = (unsigned)(key.lo >> (9 * i)) % BLOCK_BITS;
        block->words[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
}

bool filter_may_have(const struct filter *f, struct key128 key)
{
    const struct filter_block *block = block_of(f, key);
    uint64_t all = 1;
    for (int i = 0; i < PROBES; i++) {
        unsigned bit = (unsigned)(key.lo >> (9 * i)) % BLOCK_BITS;
        all &= block->words[bit / 64] >> (bit % 64);
    }
    return all;
}
