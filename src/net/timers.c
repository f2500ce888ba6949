/* Invariants: heap[i] is not later than its children 4i-2 .. 4i+1 (places from 1), and
 * heap[p - 1].timer->heap_place == p. Four children per node halve the depth of a binary heap,
 * and a node's children share one or two cache lines. */
#include "net/timers.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

static bool entry_before(const struct timer_entry *a, const struct timer_entry *b)
{
    if (a->at_mono_ms != b->at_mono_ms)
        return a->at_mono_ms < b->at_mono_ms;
    return a->sequence < b->sequence;
}

static void put(struct timers *t, size_t place, struct timer_entry e)
{
    t->heap[place - 1] = e;
    e.timer->heap_place = place;
}

static size_t parent_of(size_t place)
{
    return (place - 2) / 4 + 1;
}

static void sift_up(struct timers *t, size_t place, struct timer_entry e)
{
    while (place > 1) {
        size_t parent = parent_of(place);
        if (!entry_before(&e, &t->heap[parent - 1]))
            break;
        put(t, place, t->heap[parent - 1]);
        place = parent;
    }
    put(t, place, e);
}

static void sift_down(struct timers *t, size_t place, struct timer_entry e)
{
    for (;;) {
        size_t first = 4 * place - 2, best = 0;
        const struct timer_entry *best_entry = &e;
        for (size_t child = first; child < first + 4 && child <= t->count; child++) {
            if (entry_before(&t->heap[child - 1], best_entry)) {
                best = child;
                best_entry = &t->heap[child - 1];
            }
        }
        if (best == 0)
            break;
        put(t, place, t->heap[best - 1]);
        place = best;
    }
    put(t, place, e);
}

/* Puts e at a place whose entry is removed or outdated. */
static void settle(struct timers *t, size_t place, struct timer_entry e)
{
    if (place > 1 && entry_before(&e, &t->heap[parent_of(place) - 1]))
        sift_up(t, place, e);
    else
        sift_down(t, place, e);
}

void timers_set(struct timers *t, struct timer *timer, int64_t at_mono_ms)
{
    ASSERT(timer->fire);
    timer->at_mono_ms = at_mono_ms;
    timer->sequence = t->next_sequence++;
    struct timer_entry e = {at_mono_ms, timer->sequence, timer};
    if (timer->heap_place) {
        ASSERT(timer->heap_place <= t->count && t->heap[timer->heap_place - 1].timer == timer);
        settle(t, timer->heap_place, e);
        return;
    }
    t->heap = xgrow(t->heap, &t->capacity, t->count + 1, sizeof *t->heap);
    t->count++;
    sift_up(t, t->count, e);
}

void timers_clear(struct timers *t, struct timer *timer)
{
    size_t place = timer->heap_place;
    if (!place)
        return;
    ASSERT(place <= t->count && t->heap[place - 1].timer == timer);
    timer->heap_place = 0;
    struct timer_entry last = t->heap[--t->count];
    if (last.timer != timer)
        settle(t, place, last);
}

struct timer *timers_take_due(struct timers *t, int64_t now_mono_ms, uint64_t before)
{
    if (t->count == 0)
        return NULL;
    const struct timer_entry *first = &t->heap[0];
    if (first->at_mono_ms > now_mono_ms || first->sequence >= before)
        return NULL;
    struct timer *timer = first->timer;
    timers_clear(t, timer);
    return timer;
}

int64_t timers_next_mono_ms(const struct timers *t)
{
    return t->count ? t->heap[0].at_mono_ms : INT64_MAX;
}

void timers_free(struct timers *t)
{
    free(t->heap);
    *t = (struct timers){0};
}
