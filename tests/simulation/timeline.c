/* A binary heap of moments, by time and then by lot. */
#include "timeline.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdbool.h>

static bool is_before(const struct moment *a, const struct moment *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->lot < b->lot;
}

static void put(struct timeline *t, struct moment *m, size_t place)
{
    t->items[place - 1] = m;
    m->place = place;
}

static void rise(struct timeline *t, struct moment *m)
{
    size_t at = m->place;
    while (at > 1 && is_before(m, t->items[at / 2 - 1])) {
        put(t, t->items[at / 2 - 1], at);
        at /= 2;
    }
    put(t, m, at);
}

static void sink(struct timeline *t, struct moment *m)
{
    size_t at = m->place;
    for (size_t child; (child = 2 * at) <= t->count; at = child) {
        if (child < t->count && is_before(t->items[child], t->items[child - 1]))
            child++;
        if (!is_before(t->items[child - 1], m))
            break;
        put(t, t->items[child - 1], at);
    }
    put(t, m, at);
}

void timeline_add(struct timeline *t, struct moment *m, int64_t at_ms, uint64_t lot)
{
    ASSERT(m->place == 0 && m->happen);
    m->at_ms = at_ms;
    m->lot = lot;
    t->items = xgrow(t->items, &t->capacity, t->count + 1, sizeof(struct moment *));
    t->count++;
    put(t, m, t->count);
    rise(t, m);
}

void timeline_remove(struct timeline *t, struct moment *m)
{
    ASSERT(m->place > 0 && m->place <= t->count);
    size_t hole = m->place;
    struct moment *last = t->items[--t->count];
    m->place = 0;
    if (last == m)
        return;
    put(t, last, hole);
    rise(t, last);
    sink(t, last);
}

struct moment *timeline_first(const struct timeline *t)
{
    return t->count ? t->items[0] : NULL;
}
