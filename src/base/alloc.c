/* The one place that calls malloc. A daemon that has no memory left cannot keep its
 * promises; it must end at once and restart from the journal, so nobody checks for NULL. */
#include "base/alloc.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAPPED_FROM_BYTES (512 * 1024)
#define KEPT_AT_TOP_BYTES (4 * 1024 * 1024)
#define HEAPS 3
#define WORTH_GIVING_BACK_BYTES (8 * 1024 * 1024)
#define LARGE_ARRAY_BYTES (2 * 1024 * 1024)
#define PAGE_BYTES 4096

void alloc_configure(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_AT_TOP_BYTES);
    (void)mallopt(M_ARENA_MAX, HEAPS);
}

void alloc_get_numbers(struct alloc_numbers *ret)
{
    struct mallinfo2 m = mallinfo2();
    ret->used_bytes = (long long)m.uordblks + (long long)m.hblkhd;
    ret->kept_bytes = (long long)m.fordblks;
}

void alloc_tidy(void)
{
    struct alloc_numbers n;
    alloc_get_numbers(&n);
    if (n.kept_bytes >= WORTH_GIVING_BACK_BYTES)
        (void)malloc_trim(KEPT_AT_TOP_BYTES);
}

/* Memory of this size has a mapping of its own, so the pages that its first and last bytes are in
 * belong to it alone. On a system without large pages nothing changes. */
void alloc_prefer_large_pages(void *p, size_t n)
{
    size_t before = (uintptr_t)p % PAGE_BYTES;
    size_t whole = (before + n + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    if (n >= MAPPED_FROM_BYTES)
        (void)madvise((char *)p - before, whole, MADV_HUGEPAGE);
}

static void *checked(void *p, size_t n)
{
    if (!p) {
        fprintf(stderr, "postbackd: out of memory asking for %zu bytes\n", n);
        abort();
    }
    return p;
}

void *xmalloc(size_t n)
{
    return checked(malloc(n ? n : 1), n);
}

void *xcalloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1), size);
}

void *xrealloc(void *p, size_t n)
{
    return checked(realloc(p, n ? n : 1), n);
}

char *xstrdup(const char *s)
{
    return checked(strdup(s), strlen(s));
}

void *xgrow(void *p, size_t *capacity, size_t want, size_t size)
{
    if (p && want <= *capacity)
        return p;
    size_t next = *capacity + *capacity / 2 + 8;
    if (next < want)
        next = want;
    size_t bytes = 0;
    if (__builtin_mul_overflow(next, size, &bytes))
        return checked(NULL, SIZE_MAX);
    p = xrealloc(p, bytes);
    if (bytes >= LARGE_ARRAY_BYTES)
        alloc_prefer_large_pages(p, bytes);
    *capacity = next;
    return p;
}
