/* Byte by byte from the least significant one; a byte that is equal in all keys is only counted. */
#include "base/sort.h"

#include <stdbool.h>
#include <string.h>

#define DIGITS 8
#define VALUES 256

int sort_compare_numbers(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int sort_compare_numbers_descending(const void *a, const void *b)
{
    return sort_compare_numbers(b, a);
}

static unsigned digit_of(uint64_t key, int digit)
{
    return (unsigned)(key >> (8 * digit)) & 0xffu;
}

static void spread(const struct sort_item *from, size_t count, struct sort_item *to, int digit,
                   const size_t counts[VALUES])
{
    size_t places[VALUES], place = 0;
    for (int v = 0; v < VALUES; v++) {
        places[v] = place;
        place += counts[v];
    }
    for (size_t i = 0; i < count; i++)
        to[places[digit_of(from[i].key, digit)]++] = from[i];
}

void sort_by_key(struct sort_item *items, size_t count, struct sort_item *scratch)
{
    size_t counts[DIGITS][VALUES];
    struct sort_item *from = items, *to = scratch;
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < count; i++)
        for (int digit = 0; digit < DIGITS; digit++)
            counts[digit][digit_of(items[i].key, digit)]++;
    for (int digit = 0; digit < DIGITS; digit++) {
        bool all_same = count == 0 || counts[digit][digit_of(items[0].key, digit)] == count;
        if (all_same)
            continue;
        spread(from, count, to, digit, counts[digit]);
        struct sort_item *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}
