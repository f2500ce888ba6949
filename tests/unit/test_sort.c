/*
 * Sorting by a number: ascending, stable, whatever the bytes that differ.
 */
#include "base/alloc.h"
#include "base/check.h"
#include "base/env.h"
#include "base/sort.h"
#include "check.h"

#include <stdlib.h>

static void check_sorted(struct sort_item *items, size_t count)
{
    struct sort_item *scratch = xmalloc((count + 1) * sizeof *scratch);
    uint64_t keys = 0, values = 0;
    for (size_t i = 0; i < count; i++) {
        items[i].value = i;
        keys += items[i].key;
    }
    sort_by_key(items, count, scratch);
    for (size_t i = 0; i < count; i++) {
        keys -= items[i].key;
        values += items[i].value;
        if (i == 0)
            continue;
        CHECK(items[i - 1].key <= items[i].key);
        CHECK(items[i - 1].key != items[i].key || items[i - 1].value < items[i].value);
    }
    CHECK_EQ_UINT(keys, 0);
    CHECK_EQ_UINT(values, count < 2 ? 0 : count * (count - 1) / 2);
    free(scratch);
}

static void sorts_keys_that_differ_in_any_bytes(void)
{
    static const uint64_t masks[] = {
        0, 1, 0xff, 0xff00, UINT64_C(0xff) << 56, UINT64_C(0xf0000000000000f0), UINT64_MAX};
    struct rng rng;
    rng_seed(&rng, 7);
    for (size_t m = 0; m < ARRAY_LEN(masks); m++) {
        struct sort_item items[1000];
        for (size_t i = 0; i < ARRAY_LEN(items); i++)
            items[i] = (struct sort_item){.key = rng_next(&rng) & masks[m]};
        check_sorted(items, ARRAY_LEN(items));
    }
}

static void sorts_few(void)
{
    struct sort_item items[3] = {{.key = 3}, {.key = UINT64_MAX}, {.key = 2}};
    check_sorted(items, 0);
    check_sorted(items, 1);
    check_sorted(items, 3);
    CHECK_EQ_UINT(items[0].key, 2);
    CHECK_EQ_UINT(items[0].value, 2);
}

int main(void)
{
    RUN(sorts_keys_that_differ_in_any_bytes);
    RUN(sorts_few);
    return check_done("sort");
}
