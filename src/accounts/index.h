/* A hash table from ids (or hashes of keys) to entries. The hash is keyed: partners choose ids.
 * No locking: the directory's. Internal to accounts/, people/ and operations/. */
#pragma once

#include "base/hash.h"

struct index_slot {
    uint64_t hash;
    struct str id; /* the entry's own memory */
    void *entry;   /* NULL: free */
};

struct index {
    struct hash_secret secret;
    struct index_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t used;
};

void index_free(struct index *ix);
void *index_find(const struct index *ix, struct str id);
/* Returns the entry that was there before under that id, or NULL. */
void *index_put(struct index *ix, struct str id, void *entry);
void *index_remove(struct index *ix, struct str id);
