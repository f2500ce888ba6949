/* Finds the items of an array by a hash of their keys. The array is the caller's, and each item
 * begins with its key; the table holds the items' indexes. It has at least twice as many slots as
 * items, and a slot that is taken leads to the next one. No item is removed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeros: empty. */
struct key_table {
    uint32_t *slots; /* index + 1 of an item; 0: free */
    size_t slot_count;
    size_t count; /* of items */
};

/* What the array holds. `hash` and `same` get keys. */
struct key_table_type {
    size_t item_bytes;
    uint64_t (*hash)(const void *key);
    bool (*same)(const void *a, const void *b);
};

/* An array with more room than this is freed when it is emptied for reuse. */
#define KEY_TABLE_KEPT 1024

/* The item's index; SIZE_MAX: there is none. */
size_t key_table_find(const struct key_table *table, const struct key_table_type *type,
                      const void *items, const void *key);
/* The same, but adds the key if it is new. The caller then appends an item with this key to the
 * array, before the next call. */
size_t key_table_add(struct key_table *table, const struct key_table_type *type, const void *items,
                     const void *key, bool *ret_is_new);
void key_table_clear(struct key_table *table); /* keeps the slots */
void key_table_free(struct key_table *table);
