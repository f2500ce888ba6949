/* Allocation that does not fail: out of memory ends the process with one line.
 * Any thread. Free with free(). */
#pragma once

#include <stddef.h>

/* Once, before threads: what is large is mapped by itself and goes back to the system when freed
 * (glibc would raise that bound by itself and keep what a burst has left), and the few threads
 * that allocate share few heaps. */
void alloc_configure(void);

void *xmalloc(size_t n) __attribute__((returns_nonnull, malloc, alloc_size(1)));
void *xcalloc(size_t count, size_t size) __attribute__((returns_nonnull, malloc));
void *xrealloc(void *p, size_t n) __attribute__((returns_nonnull, alloc_size(2)));
char *xstrdup(const char *s) __attribute__((returns_nonnull, malloc));

/* Grows an array geometrically: makes room for `want` elements of `size` bytes. */
void *xgrow(void *p, size_t *capacity, size_t want, size_t size) __attribute__((returns_nonnull));
