/* Memory with one lifetime: everything allocated from an arena is freed at once. Not thread-safe;
 * an arena belongs to one request or batch. Under the sanitizers every allocation is a malloc of
 * its own, so that overruns are seen. */
#pragma once

#include "base/check.h"
#include "base/str.h"

struct arena_chunk;
struct buf;

/* Zero-initialised is an empty arena. */
struct arena {
    struct arena_chunk *chunks, *spare;
    char *at;
    size_t left;
    size_t total_bytes;
};

void *arena_alloc(struct arena *a, size_t n) __attribute__((returns_nonnull)); /* 16-aligned */
void *arena_zalloc(struct arena *a, size_t n) __attribute__((returns_nonnull));
/* These three add a NUL, which is not counted. */
struct str arena_str(struct arena *a, struct str s);   /* a copy; absent stays absent */
struct str arena_take(struct arena *a, struct buf *b); /* a copy; frees the buffer */
struct str arena_print(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
void arena_free(struct arena *a);
/* Empties it and keeps its chunks for reuse. */
void arena_reset(struct arena *a);
