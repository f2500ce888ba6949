/* A hash map with a node per entry. Entries with equal hashes are distinguished by their ids. */
#include "base/index.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

static uint64_t index_hash(const struct index *ix, struct str id)
{
    return hash_key128(&ix->secret, id.p, id.n).lo;
}

static struct index_node *find_node(const struct index *ix, uint64_t hash, struct str id)
{
    for (struct hash_node *n = hash_map_first(&ix->nodes, hash); n; n = hash_map_next(n)) {
        struct index_node *at = CONTAINER_OF(n, struct index_node, node);
        if (str_eq(at->id, id))
            return at;
    }
    return NULL;
}

void *index_find(const struct index *ix, struct str id)
{
    if (!id.p || ix->nodes.count == 0)
        return NULL;
    struct index_node *at = find_node(ix, index_hash(ix, id), id);
    return at ? at->entry : NULL;
}

void *index_put(struct index *ix, struct str id, void *entry)
{
    ASSERT(entry != NULL && id.p != NULL);
    uint64_t hash = index_hash(ix, id);
    struct index_node *at = find_node(ix, hash, id);
    void *before = at ? at->entry : NULL;
    if (!at) {
        at = xmalloc(sizeof *at);
        hash_map_add(&ix->nodes, &at->node, hash);
    }
    at->id = id;
    at->entry = entry;
    return before;
}

void *index_remove(struct index *ix, struct str id)
{
    if (!id.p)
        return NULL;
    struct index_node *at = find_node(ix, index_hash(ix, id), id);
    if (!at)
        return NULL;
    void *before = at->entry;
    hash_map_remove(&ix->nodes, &at->node);
    free(at);
    return before;
}

struct index_node *index_after(const struct index *ix, const struct index_node *at)
{
    struct hash_node *n = hash_map_after(&ix->nodes, at ? &at->node : NULL);
    return n ? CONTAINER_OF(n, struct index_node, node) : NULL;
}

static void free_node(void *context, struct hash_node *node)
{
    (void)context;
    free(CONTAINER_OF(node, struct index_node, node));
}

void index_free(struct index *ix)
{
    hash_map_visit(&ix->nodes, free_node, NULL);
    hash_map_free(&ix->nodes);
}
