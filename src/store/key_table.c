/* Open addressing with linear probing. */
#include "store/key_table.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_LEAST 64

static const void *item(const struct key_table_type *type, const void *items, size_t index)
{
    return (const char *)items + index * type->item_bytes;
}

/* The slot of the key, or the free one where it belongs. */
static size_t slot_of(const struct key_table *t, const struct key_table_type *type,
                      const void *items, const void *key)
{
    size_t mask = t->slot_count - 1, at = (size_t)type->hash(key) & mask;
    while (t->slots[at] && !type->same(item(type, items, t->slots[at] - 1), key))
        at = (at + 1) & mask;
    return at;
}

static void make_room(struct key_table *t, const struct key_table_type *type, const void *items)
{
    if ((t->count + 1) * 2 <= t->slot_count)
        return;
    t->slot_count = t->slot_count ? t->slot_count * 2 : SLOTS_LEAST;
    free(t->slots);
    t->slots = xcalloc(t->slot_count, sizeof *t->slots);
    for (size_t i = 0; i < t->count; i++)
        t->slots[slot_of(t, type, items, item(type, items, i))] = (uint32_t)(i + 1);
}

size_t key_table_find(const struct key_table *t, const struct key_table_type *type,
                      const void *items, const void *key)
{
    uint32_t found = t->count > 0 ? t->slots[slot_of(t, type, items, key)] : 0;
    return found ? found - 1 : SIZE_MAX;
}

size_t key_table_add(struct key_table *t, const struct key_table_type *type, const void *items,
                     const void *key, bool *ret_is_new)
{
    ASSERT(t->count < UINT32_MAX);
    make_room(t, type, items);
    uint32_t *slot = &t->slots[slot_of(t, type, items, key)];
    *ret_is_new = *slot == 0;
    if (*ret_is_new)
        *slot = (uint32_t)++t->count;
    return *slot - 1;
}

void key_table_clear(struct key_table *t)
{
    t->count = 0;
    if (t->slots)
        memset(t->slots, 0, t->slot_count * sizeof *t->slots);
}

void key_table_free(struct key_table *t)
{
    free(t->slots);
    *t = (struct key_table){0};
}
