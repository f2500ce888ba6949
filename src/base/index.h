/* Entries by id (or by the bytes of a number or hash), in a hash_map of its own nodes, so that an
 * entry can be in several. The hash is keyed: partners choose ids. No locking. */
#pragma once

#include "base/hash.h"
#include "base/hash_map.h"

struct index_node {
    struct hash_node node;
    struct str id; /* the entry's own memory */
    void *entry;
};

struct index {
    struct hash_secret secret;
    struct hash_map nodes;
};

void index_free(struct index *ix);
void *index_find(const struct index *ix, struct str id);
/* Returns the entry that was there before under that id, or NULL. */
void *index_put(struct index *ix, struct str id, void *entry);
void *index_remove(struct index *ix, struct str id);
/* Iterates over all entries, in no order: the entry after `at`; NULL begins and ends. */
struct index_node *index_after(const struct index *ix, const struct index_node *at);
