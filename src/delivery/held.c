/* Open addressing with linear probing; removal shifts back, so there are no tombstones. */
#include "delivery/held.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#define CAPACITY_FIRST 16

static uint32_t home(const struct held *held, uint64_t event_no)
{
    /* Event numbers are dense: a multiplicative mix spreads them. */
    return (uint32_t)((event_no * 0x9e3779b97f4a7c15u) >> 32) & (held->capacity - 1);
}

static uint32_t slot_of(const struct held *held, uint64_t event_no)
{
    uint32_t i = home(held, event_no);
    while (held->slots[i].event_no != 0 && held->slots[i].event_no != event_no)
        i = (i + 1) & (held->capacity - 1);
    return i;
}

struct held_entry *held_find(const struct held *held, uint64_t event_no)
{
    ASSERT(event_no != 0);
    if (held->count == 0)
        return NULL;
    struct held_entry *e = &held->slots[slot_of(held, event_no)];
    return e->event_no ? e : NULL;
}

static void resize(struct held *held, uint32_t capacity)
{
    struct held old = *held;
    held->slots = xcalloc(capacity, sizeof(struct held_entry));
    held->capacity = capacity;
    for (uint32_t i = 0; i < old.capacity; i++)
        if (old.slots[i].event_no)
            held->slots[slot_of(held, old.slots[i].event_no)] = old.slots[i];
    free(old.slots);
}

struct held_entry *held_add(struct held *held, uint64_t event_no)
{
    ASSERT(held_find(held, event_no) == NULL);
    if (held->capacity == 0)
        resize(held, CAPACITY_FIRST);
    else if (held->count * 2 >= held->capacity)
        resize(held, held->capacity * 2);
    struct held_entry *e = &held->slots[slot_of(held, event_no)];
    *e = (struct held_entry){.event_no = event_no};
    held->count++;
    return e;
}

void held_remove(struct held *held, uint64_t event_no)
{
    ASSERT(held_find(held, event_no) != NULL);
    uint32_t mask = held->capacity - 1;
    uint32_t hole = slot_of(held, event_no);
    for (uint32_t i = (hole + 1) & mask; held->slots[i].event_no; i = (i + 1) & mask) {
        uint32_t distance_home = (i - home(held, held->slots[i].event_no)) & mask;
        if (distance_home >= ((i - hole) & mask)) {
            held->slots[hole] = held->slots[i];
            hole = i;
        }
    }
    held->slots[hole] = (struct held_entry){0};
    held->count--;
    if (held->count == 0 && held->capacity > CAPACITY_FIRST)
        held_free(held);
}

void held_free(struct held *held)
{
    free(held->slots);
    *held = (struct held){0};
}
