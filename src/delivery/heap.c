/* A binary heap. Each waker stores its place in the heap, so that it can be moved and removed. */
#include "delivery/heap.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

static void put(struct wake_heap *heap, size_t place, struct waker *waker)
{
    heap->items[place - 1] = waker;
    waker->place = place;
}

static void rise(struct wake_heap *heap, struct waker *waker)
{
    size_t place = waker->place;
    while (place > 1) {
        struct waker *parent = heap->items[place / 2 - 1];
        if (parent->at_mono_ms <= waker->at_mono_ms)
            break;
        put(heap, place, parent);
        place /= 2;
    }
    put(heap, place, waker);
}

static void sink(struct wake_heap *heap, struct waker *waker)
{
    size_t place = waker->place;
    while (place * 2 <= heap->count) {
        size_t child = place * 2;
        if (child < heap->count &&
            heap->items[child]->at_mono_ms < heap->items[child - 1]->at_mono_ms)
            child++;
        if (waker->at_mono_ms <= heap->items[child - 1]->at_mono_ms)
            break;
        put(heap, place, heap->items[child - 1]);
        place = child;
    }
    put(heap, place, waker);
}

void wake_heap_set(struct wake_heap *heap, struct waker *waker, int64_t at_mono_ms)
{
    if (waker->place == 0) {
        heap->items = xgrow(heap->items, &heap->capacity, heap->count + 1, sizeof(struct waker *));
        waker->at_mono_ms = at_mono_ms;
        put(heap, ++heap->count, waker);
        rise(heap, waker);
        return;
    }
    waker->at_mono_ms = at_mono_ms;
    rise(heap, waker);
    sink(heap, waker);
}

void wake_heap_clear(struct wake_heap *heap, struct waker *waker)
{
    if (waker->place == 0)
        return;
    ASSERT(heap->items[waker->place - 1] == waker);
    size_t hole = waker->place;
    struct waker *moved = heap->items[heap->count - 1];
    heap->count--;
    waker->place = 0;
    if (moved == waker)
        return;
    put(heap, hole, moved);
    rise(heap, moved);
    sink(heap, moved);
}

int64_t wake_heap_earliest(const struct wake_heap *heap)
{
    return heap->count ? heap->items[0]->at_mono_ms : INT64_MAX;
}

struct waker *wake_heap_pop_due(struct wake_heap *heap, int64_t now_mono_ms)
{
    if (wake_heap_earliest(heap) > now_mono_ms || heap->count == 0)
        return NULL;
    struct waker *waker = heap->items[0];
    wake_heap_clear(heap, waker);
    return waker;
}

void wake_heap_free(struct wake_heap *heap)
{
    free(heap->items);
    *heap = (struct wake_heap){0};
}
