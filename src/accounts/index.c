/* Open addressing with linear probing, at most half full; removal closes the gap by moving later
 * slots back, so there are no tombstones. */
#include "accounts/index.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

static uint64_t index_hash(const struct index *ix, struct str id)
{
    return hash_key128(&ix->secret, id.p, id.n).lo;
}

/* The slot that holds the id, or the free one where it belongs. */
static struct index_slot *probe(const struct index *ix, uint64_t hash, struct str id)
{
    size_t mask = ix->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct index_slot *slot = &ix->slots[i];
        if (!slot->entry || (slot->hash == hash && str_eq(slot->id, id)))
            return slot;
    }
}

static void grow(struct index *ix)
{
    struct index_slot *old = ix->slots;
    size_t old_capacity = ix->capacity;
    ix->capacity = old_capacity ? old_capacity * 2 : 64;
    ix->slots = xcalloc(ix->capacity, sizeof *ix->slots);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].entry)
            *probe(ix, old[i].hash, old[i].id) = old[i];
    free(old);
}

void index_free(struct index *ix)
{
    free(ix->slots);
    ix->slots = NULL;
    ix->capacity = ix->used = 0;
}

void *index_find(const struct index *ix, struct str id)
{
    if (!ix->capacity || !id.p)
        return NULL;
    return probe(ix, index_hash(ix, id), id)->entry;
}

void *index_put(struct index *ix, struct str id, void *entry)
{
    ASSERT(entry != NULL && id.p != NULL);
    if (2 * (ix->used + 1) > ix->capacity)
        grow(ix);
    uint64_t hash = index_hash(ix, id);
    struct index_slot *slot = probe(ix, hash, id);
    void *before = slot->entry;
    *slot = (struct index_slot){hash, id, entry};
    ix->used += before == NULL;
    return before;
}

void *index_remove(struct index *ix, struct str id)
{
    if (!ix->capacity || !id.p)
        return NULL;
    struct index_slot *gap = probe(ix, index_hash(ix, id), id);
    void *before = gap->entry;
    if (!before)
        return NULL;
    size_t mask = ix->capacity - 1;
    size_t at = (size_t)(gap - ix->slots);
    for (size_t i = (at + 1) & mask; ix->slots[i].entry; i = (i + 1) & mask) {
        /* May move back only if its home is not behind the gap. */
        size_t home = ix->slots[i].hash & mask;
        if (((i - home) & mask) < ((i - at) & mask))
            continue;
        ix->slots[at] = ix->slots[i];
        at = i;
    }
    ix->slots[at] = (struct index_slot){0};
    ix->used--;
    return before;
}
