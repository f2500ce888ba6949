/* Memory with one lifetime: everything allocated from an arena goes at once.
 * Not thread-safe; an arena belongs to one request or batch. Under the sanitizers every
 * allocation is a malloc of its own, so that overruns are seen. */
#pragma once

#include "base/str.h"

struct arena_chunk;

/* Zero-initialised is an empty arena. */
struct arena {
    struct arena_chunk *chunks, *spare;
    char *at;
    size_t left;
    size_t total_bytes;
};

void *arena_alloc(struct arena *a, size_t n) __attribute__((returns_nonnull)); /* 16-aligned */
void *arena_zalloc(struct arena *a, size_t n) __attribute__((returns_nonnull));
struct str arena_str(struct arena *a, struct str s); /* a copy; absent stays absent */
void arena_free(struct arena *a);
/* Empties it and keeps the chunks for what comes next. */
void arena_reset(struct arena *a);
