/* Allocation that does not fail: out of memory ends the process with one line.
 * Any thread. Free with free(). */
#pragma once

#include <stddef.h>

/* Once, before threads: what is large is mapped by itself and goes back to the system when freed
 * (glibc would raise that bound by itself and keep what a burst has left), and the few threads
 * that allocate share few heaps. */
void alloc_configure(void);

/* Bytes that are allocated, and that the allocator has from the system without a use for them. */
struct alloc_numbers {
    long long used_bytes, kept_bytes;
};
void alloc_get_numbers(struct alloc_numbers *ret);
/* Gives what has no use back to the system, where it is much. Takes the heaps' locks for some
 * milliseconds: not more often than every few seconds. */
void alloc_tidy(void);

/* Memory that is large and looked up at random, as the memtables are: pages of 2 MiB, where the
 * system has them, spare it most walks of the page table. A hint; smaller memory is left alone. */
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
