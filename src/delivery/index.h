/* An intrusive hash table that grows and never shrinks below its smallest size: finds lanes,
 * destinations and health records. The caller gives the hash and compares. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct index_node {
    uint64_t hash;
    struct index_node *next;
};

/* Zero-initialised is empty. */
struct index {
    struct index_node **buckets;
    size_t capacity; /* a power of two */
    size_t count;
};

void index_add(struct index *index, struct index_node *node, uint64_t hash);
void index_remove(struct index *index, struct index_node *node); /* must be in it */
/* Nodes of that hash, one after the other; NULL: no further one. */
struct index_node *index_first(const struct index *index, uint64_t hash);
struct index_node *index_next(const struct index_node *node);
/* Calls visit with each node; visit may remove (and free) the node it is given. */
void index_visit(struct index *index, void (*visit)(void *context, struct index_node *node),
                 void *context);
void index_free(struct index *index); /* the table, not the nodes */
