/* The high half of a key selects the line, the low half seven bits in it. Keys are SipHash values,
 * so their bits need no further hash. */
#include "store/sqlite/filter.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

#define BITS_PER_KEY 24u
#define LINE_BITS 480u
#define PROBES 7
#define PROBE_BITS 9 /* of the key, for each probe */

_Static_assert(sizeof(struct filter_line) == 64, "one cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "filters are stored as they lie");

/* The products do not depend on each other, so the processor computes them side by side. A line of
 * zeros has a sum, too. */
static uint32_t sum_of(const struct filter_line *line)
{
    static const uint64_t factors[] = {
        UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd6e8feb86659fd93), UINT64_C(0xa0761d6478bd642f),
        UINT64_C(0xe7037ed1a0b428db), UINT64_C(0x8ebc6af09c88c6e3), UINT64_C(0x589965cc75374cc3),
        UINT64_C(0x1d8e4e27c47d124f), UINT64_C(0xeb44accab455d165),
    };
    uint64_t words[8], sum = UINT64_C(0x4cf5ad432745937f);
    memcpy(words, line, sizeof words);
    words[7] &= UINT32_MAX; /* without the sum itself */
    for (size_t i = 0; i < 8; i++)
        sum += words[i] * factors[i];
    return (uint32_t)(sum >> 32);
}

void filter_init(struct filter *f, size_t keys)
{
    f->count = keys * BITS_PER_KEY / LINE_BITS + 1;
    f->lines = aligned_alloc(sizeof *f->lines, f->count * sizeof *f->lines);
    ASSERT(f->lines != NULL);
    struct filter_line empty = {0};
    empty.sum = sum_of(&empty);
    for (size_t i = 0; i < f->count; i++)
        f->lines[i] = empty;
}

void filter_free(struct filter *f)
{
    free(f->lines);
    *f = (struct filter){0};
}

struct str filter_bytes(const struct filter *f)
{
    return (struct str){(const char *)f->lines, f->count * sizeof *f->lines};
}

bool filter_view(struct filter *f, struct str bytes)
{
    *f = (struct filter){0};
    if (bytes.n == 0 || bytes.n % sizeof *f->lines != 0)
        return false;
    f->lines = (struct filter_line *)(void *)bytes.p;
    f->count = bytes.n / sizeof *f->lines;
    return true;
}

static struct filter_line *line_of(const struct filter *f, struct key128 key)
{
    return &f->lines[(size_t)(((unsigned __int128)key.hi * f->count) >> 64)];
}

static unsigned bit_of(struct key128 key, int probe)
{
    unsigned part = (unsigned)(key.lo >> (PROBE_BITS * probe)) % (1u << PROBE_BITS);
    return (part * LINE_BITS) >> PROBE_BITS;
}

void filter_add(struct filter *f, struct key128 key)
{
    struct filter_line *line = line_of(f, key);
    for (int i = 0; i < PROBES; i++) {
        unsigned bit = bit_of(key, i);
        line->words[bit / 32] |= UINT32_C(1) << (bit % 32);
    }
    line->sum = sum_of(line);
}

bool filter_may_have(const struct filter *f, struct key128 key)
{
    if (f->count == 0)
        return true;
    const struct filter_line *line = line_of(f, key);
    uint32_t all = 1;
    for (int i = 0; i < PROBES; i++) {
        unsigned bit = bit_of(key, i);
        all &= line->words[bit / 32] >> (bit % 32);
    }
    return all || line->sum != sum_of(line);
}

void filter_prefetch(const struct filter *f, struct key128 key)
{
    if (f->count > 0)
        __builtin_prefetch(line_of(f, key));
}
