/* Open addressing with linear probing; removal shifts back, so there are no tombstones. */
#include "store/sqlite/resent.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#define CAPACITY_FIRST 64

static size_t home(const struct resent *r, uint64_t id)
{
    uint64_t h = id * 0x9e3779b97f4a7c15u;
    return (size_t)(h ^ (h >> 32)) & (r->capacity - 1);
}

static struct resent_one *slot_of(const struct resent *r, uint64_t id)
{
    size_t i = home(r, id);
    while (r->slots[i].id != 0 && r->slots[i].id != id)
        i = (i + 1) & (r->capacity - 1);
    return &r->slots[i];
}

static void grow(struct resent *r)
{
    struct resent old = *r;
    r->capacity = old.capacity ? old.capacity * 2 : CAPACITY_FIRST;
    r->slots = xcalloc(r->capacity, sizeof *r->slots);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].id != 0)
            *slot_of(r, old.slots[i].id) = old.slots[i];
    free(old.slots);
}

void resent_add(struct resent *r, uint64_t id, int64_t due_ms)
{
    ASSERT(id != 0);
    if ((r->count + 1) * 2 > r->capacity)
        grow(r);
    struct resent_one *at = slot_of(r, id);
    r->count += at->id == 0;
    *at = (struct resent_one){{++r->last_no, due_ms}, id};
}

struct pending_resend *resent_find(const struct resent *r, uint64_t id)
{
    struct resent_one *at = r->count > 0 ? slot_of(r, id) : NULL;
    return at && at->id != 0 ? &at->resend : NULL;
}

uint64_t resent_no(const struct resent *r, uint64_t id)
{
    const struct pending_resend *resend = resent_find(r, id);
    return resend ? resend->no : 0;
}

void resent_remove(struct resent *r, const struct pending_resend *found)
{
    const struct resent_one *at = CONTAINER_OF(found, const struct resent_one, resend);
    size_t mask = r->capacity - 1, hole = (size_t)(at - r->slots);
    for (size_t i = (hole + 1) & mask; r->slots[i].id != 0; i = (i + 1) & mask) {
        if (((i - home(r, r->slots[i].id)) & mask) >= ((i - hole) & mask)) {
            r->slots[hole] = r->slots[i];
            hole = i;
        }
    }
    r->slots[hole] = (struct resent_one){0};
    r->count--;
    if (r->count == 0) {
        free(r->slots);
        r->slots = NULL;
        r->capacity = 0;
    }
}

void resent_free(struct resent *r)
{
    free(r->slots);
    *r = (struct resent){0};
}
