/* Timers of lanes and destinations: one min-heap for each loop. The heap's entries are embedded in
 * the lanes and destinations. So a million waiting lanes need only one timer of the loop. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The type of the struct around a waker. */
enum waker_kind { WAKER_LANE, WAKER_DESTINATION };

struct waker {
    int64_t at_mono_ms;
    size_t place; /* 1-based; 0: not in the heap */
    enum waker_kind kind;
};

/* All zeros: empty. */
struct wake_heap {
    struct waker **items;
    size_t count, capacity;
};

void wake_heap_set(struct wake_heap *heap, struct waker *waker, int64_t at_mono_ms); /* or moves */
void wake_heap_clear(struct wake_heap *heap, struct waker *waker);
int64_t wake_heap_earliest(const struct wake_heap *heap); /* INT64_MAX: none */
/* NULL: none is due */
struct waker *wake_heap_pop_due(struct wake_heap *heap, int64_t now_mono_ms);
void wake_heap_free(struct wake_heap *heap);
