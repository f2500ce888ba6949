/* Checksums of pages: see page_sum.h. */
#include "store/sqlite/page_sum.h"

#include "base/hash.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "sums are stored as they lie");

struct page_sum {
    uint32_t number, crc;
};
_Static_assert(sizeof(struct page_sum) == PAGE_SUM_BYTES, "no padding");

#define SUMMED_BYTES (PAGE_BYTES - PAGE_SUM_BYTES)

static struct page_sum sum_of(const char *page, uint32_t number)
{
    uint32_t crc = hash_crc32c(0, page, SUMMED_BYTES);
    return (struct page_sum){number, hash_crc32c(crc, &number, sizeof number)};
}

void page_seal(char *page, uint32_t number)
{
    struct page_sum sum = sum_of(page, number);
    memcpy(page + SUMMED_BYTES, &sum, sizeof sum);
}

static bool is_zeros(const char *page)
{
    return page[0] == 0 && memcmp(page, page + 1, PAGE_BYTES - 1) == 0;
}

bool page_is_whole(const char *page, uint32_t number)
{
    struct page_sum sum = sum_of(page, number);
    return memcmp(page + SUMMED_BYTES, &sum, sizeof sum) == 0 || is_zeros(page);
}
