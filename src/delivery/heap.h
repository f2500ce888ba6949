/* Who has to be looked at again, and when: one min-heap per loop, embedded in lanes and
 * destinations, so that a million waiting lanes need one timer of the loop. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct waker {
    int64_t at_mono_ms;
    size_t place; /* 1-based; 0: not in the heap */
    uint8_t kind; /* the owner's: what the waker is embedded in */
};

/* Zero-initialised is empty. */
struct wake_heap {
    struct waker **items;
    size_t count, capacity;
};

void wake_heap_set(struct wake_heap *heap, struct waker *waker, int64_t at_mono_ms); /* or moves */
void wake_heap_clear(struct wake_heap *heap, struct waker *waker);
int64_t wake_heap_earliest(const struct wake_heap *heap);                     /* INT64_MAX: none */
struct waker *wake_heap_pop_due(struct wake_heap *heap, int64_t now_mono_ms); /* NULL: none due */
void wake_heap_free(struct wake_heap *heap);
