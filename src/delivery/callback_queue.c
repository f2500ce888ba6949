/* Retries are a binary heap in an array that is freed when empty, because most lanes have none.
 * Removal from the middle searches linearly: only a resend of a waiting callback needs it. */
#include "delivery/callback_queue.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

void callback_queue_push(struct callback_queue *q, struct callback *c)
{
    CHECK_MAGIC(c, CALLBACK_MAGIC);
    c->next = NULL;
    if (q->last)
        q->last->next = c;
    else
        q->first = c;
    q->last = c;
    q->count++;
}

struct callback *callback_queue_pop(struct callback_queue *q)
{
    struct callback *c = q->first;
    if (!c)
        return NULL;
    q->first = c->next;
    if (!q->first)
        q->last = NULL;
    c->next = NULL;
    q->count--;
    return c;
}

static void rise(struct retries *r, uint32_t i)
{
    struct retry moving = r->items[i];
    while (i > 0 && r->items[(i - 1) / 2].due_mono_ms > moving.due_mono_ms) {
        r->items[i] = r->items[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    r->items[i] = moving;
}

static void sink(struct retries *r, uint32_t i)
{
    struct retry moving = r->items[i];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= r->count)
            break;
        if (child + 1 < r->count && r->items[child + 1].due_mono_ms < r->items[child].due_mono_ms)
            child++;
        if (r->items[child].due_mono_ms >= moving.due_mono_ms)
            break;
        r->items[i] = r->items[child];
        i = child;
    }
    r->items[i] = moving;
}

void retries_add(struct retries *r, struct callback *c, int64_t due_mono_ms)
{
    CHECK_MAGIC(c, CALLBACK_MAGIC);
    if (r->count == r->capacity) {
        r->capacity = r->capacity ? r->capacity * 2 : 4;
        r->items = xrealloc(r->items, r->capacity * sizeof(struct retry));
    }
    r->items[r->count] = (struct retry){due_mono_ms, c};
    rise(r, r->count++);
}

int64_t retries_earliest(const struct retries *r)
{
    return r->count ? r->items[0].due_mono_ms : INT64_MAX;
}

static void remove_at(struct retries *r, uint32_t i)
{
    r->count--;
    if (i < r->count) {
        r->items[i] = r->items[r->count];
        rise(r, i);
        sink(r, i);
    }
    if (r->count == 0) {
        free(r->items);
        *r = (struct retries){0};
    }
}

struct callback *retries_pop(struct retries *r)
{
    if (r->count == 0)
        return NULL;
    struct callback *c = r->items[0].callback;
    remove_at(r, 0);
    return c;
}

void retries_remove(struct retries *r, const struct callback *c)
{
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->items[i].callback == c) {
            remove_at(r, i);
            return;
        }
    }
    UNREACHABLE();
}
