/* Rows of the table `search`: offsets or bits, whichever is shorter. */
#include "store/sqlite/search_set.h"

/* The number of offsets that take as many bytes as the bits. */
#define FEW_BELOW (SEARCH_BLOCK_EVENTS / 16)

void search_block_set(struct search_block *b, unsigned offset, bool is_in)
{
    uint64_t bit = UINT64_C(1) << (offset % 64), *word = &b->words[offset / 64];
    *word = is_in ? *word | bit : *word & ~bit;
}

static size_t offsets_of_bits(const struct search_block *b, uint16_t *ret)
{
    size_t count = 0;
    for (unsigned i = 0; i < SEARCH_BLOCK_WORDS; i++)
        for (uint64_t left = b->words[i]; left != 0; left &= left - 1)
            ret[count++] = (uint16_t)(i * 64 + (unsigned)__builtin_ctzll(left));
    return count;
}

size_t search_block_offsets(struct str row, uint16_t ret[SEARCH_BLOCK_EVENTS])
{
    struct search_block bits;
    if (row.n >= sizeof bits) {
        memcpy(&bits, row.p, sizeof bits);
        return offsets_of_bits(&bits, ret);
    }
    if (row.n > 0)
        memcpy(ret, row.p, row.n);
    return row.n / sizeof *ret;
}

void search_block_read(struct search_block *b, struct str row)
{
    if (row.n >= sizeof *b) {
        memcpy(b, row.p, sizeof *b);
        return;
    }
    uint16_t few[SEARCH_BLOCK_EVENTS];
    size_t count = search_block_offsets(row, few);
    *b = (struct search_block){0};
    for (size_t i = 0; i < count; i++)
        search_block_set(b, few[i] % SEARCH_BLOCK_EVENTS, true);
}

struct str search_block_row(const struct search_block *b, uint16_t few[FEW_BELOW])
{
    size_t count = 0;
    for (unsigned i = 0; i < SEARCH_BLOCK_WORDS; i++)
        count += (size_t)__builtin_popcountll(b->words[i]);
    if (count >= FEW_BELOW)
        return (struct str){(const char *)b, sizeof *b};
    count = offsets_of_bits(b, few);
    return (struct str){(const char *)few, count * sizeof *few};
}
