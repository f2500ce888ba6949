/* Intrusive doubly linked lists: an element is in a list or in none, and leaves it in O(1). */
#pragma once

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>

struct link {
    struct link *previous, *next; /* both NULL: in no list */
};

struct list {
    struct link *first, *last;
    size_t count;
};

static inline void list_push(struct list *list, struct link *link)
{
    ASSERT(!link->previous && !link->next && list->first != link);
    link->previous = list->last;
    if (list->last)
        list->last->next = link;
    else
        list->first = link;
    list->last = link;
    list->count++;
}

static inline void list_remove(struct list *list, struct link *link)
{
    ASSERT(list->count > 0);
    if (link->previous)
        link->previous->next = link->next;
    else
        list->first = link->next;
    if (link->next)
        link->next->previous = link->previous;
    else
        list->last = link->previous;
    *link = (struct link){0};
    list->count--;
}

/* The link is in this list or in none. */
static inline bool list_contains(const struct list *list, const struct link *link)
{
    return link->previous || list->first == link;
}

static inline struct link *list_pop(struct list *list)
{
    struct link *link = list->first;
    /* The analyzer cannot know that what was popped and freed is not the first any more. */
    if (link)
        list_remove(list, link); // NOLINT(clang-analyzer-unix.Malloc)
    return link;
}
