/* Allocation that does not fail: out of memory ends the process with one line.
 * Any thread. Free with free(). */
#pragma once

#include <stddef.h>

/* Call it once, before threads start. Large allocations are mapped separately, so that free() gives
 * them back to the system (glibc would raise that threshold by itself, and keep the memory of a
 * burst). The few threads that allocate share a few heaps. */
void alloc_configure(void);

/* Bytes in use, and bytes that the allocator keeps although they are free. */
struct alloc_numbers {
    long long used_bytes, kept_bytes;
};
void alloc_get_numbers(struct alloc_numbers *ret);
/* Gives free memory back to the system if there is much of it. Holds the heaps' locks for some
 * milliseconds: call it at most every few seconds. */
void alloc_tidy(void);

/* For large memory with random access, such as memtables: 2 MiB pages, if the system has them,
 * avoid most walks of the page table. A hint; smaller memory is left alone. */
void alloc_prefer_large_pages(void *p, size_t n);

void *xmalloc(size_t n) __attribute__((returns_nonnull, malloc, alloc_size(1)));
void *xcalloc(size_t count, size_t size) __attribute__((returns_nonnull, malloc));
void *xrealloc(void *p, size_t n) __attribute__((returns_nonnull, alloc_size(2)));
char *xstrdup(const char *s) __attribute__((returns_nonnull, malloc));

/* Grows an array geometrically: makes room for `want` elements of `size` bytes. */
void *xgrow(void *p, size_t *capacity, size_t want, size_t size) __attribute__((returns_nonnull));

/* A pointer to a new, uninitialised element at the end of an array. An assignment to it must not
 * use the array or the count: whether these are changed before is undefined. */
#define ARRAY_PUSH(items, count, capacity)                                                         \
    ((items) = xgrow((items), &(capacity), (count) + 1, sizeof *(items)), &(items)[(count)++])
