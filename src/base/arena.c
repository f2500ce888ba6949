/* Chunked bump allocation. Chunks are linked newest first and freed together. */
#include "base/arena.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_PLAIN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define ARENA_PLAIN 1
#endif
#endif
#ifndef ARENA_PLAIN
#define ARENA_PLAIN 0
#endif

#define CHUNK_BYTES 16384u
/* An arena that has grown large takes large chunks, which the allocator maps and, at the end,
 * gives back to the system whole (alloc_configure). */
#define LARGE_BYTES (64 * CHUNK_BYTES)
#define LARGE_PAGES_FROM_BYTES (4 * LARGE_BYTES) /* adjacent mappings share a large page */

struct arena_chunk {
    struct arena_chunk *next;
    size_t bytes; /* after this struct; 16-aligned like it */
};

static char *chunk_new(struct arena *a, size_t n)
{
    struct arena_chunk *c = xmalloc(sizeof *c + n);
    c->bytes = n;
    c->next = a->chunks;
    a->chunks = c;
    return (char *)(c + 1);
}

void *arena_alloc(struct arena *a, size_t n)
{
    ASSERT(n < SIZE_MAX / 2);
    n = n > 0 ? (n + 15) & ~(size_t)15 : 16; /* 0 bytes get an address of their own, too */
    a->total_bytes += n;
    if (ARENA_PLAIN || n > CHUNK_BYTES / 4)
        return chunk_new(a, n);
    if (n > a->left && a->spare) {
        struct arena_chunk *c = a->spare;
        a->spare = c->next;
        c->next = a->chunks;
        a->chunks = c;
        a->at = (char *)(c + 1);
        a->left = c->bytes;
    } else if (n > a->left) {
        a->left = a->total_bytes < LARGE_BYTES ? CHUNK_BYTES : LARGE_BYTES;
        a->at = chunk_new(a, a->left);
        if (a->total_bytes >= LARGE_PAGES_FROM_BYTES)
            alloc_prefer_large_pages(a->at, a->left);
    }
    char *p = a->at;
    a->at += n;
    a->left -= n;
    return p;
}

void *arena_zalloc(struct arena *a, size_t n)
{
    return memset(arena_alloc(a, n), 0, n);
}

struct str arena_str(struct arena *a, struct str s)
{
    if (!s.p)
        return STR_NONE;
    char *p = arena_alloc(a, s.n + 1);
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return (struct str){p, s.n};
}

struct str arena_take(struct arena *a, struct buf *b)
{
    struct str s = arena_str(a, buf_str(b));
    buf_free(b);
    return s;
}

struct str arena_print(struct arena *a, const char *fmt, ...)
{
    struct buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    return arena_take(a, &b);
}

static void free_chunks(struct arena_chunk *c)
{
    while (c) {
        struct arena_chunk *next = c->next;
        free(c);
        c = next;
    }
}

void arena_free(struct arena *a)
{
    free_chunks(a->chunks);
    free_chunks(a->spare);
    *a = (struct arena){0};
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *spare = a->spare, *next;
    for (struct arena_chunk *c = a->chunks; c; c = next) {
        next = c->next;
        if (ARENA_PLAIN || c->bytes < CHUNK_BYTES) {
            free(c);
        } else {
            c->next = spare;
            spare = c;
        }
    }
    *a = (struct arena){.spare = spare};
}
