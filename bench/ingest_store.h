/* The parts of bench/ingest_store.c: generated events, and the plain SQLite loop. */
#pragma once

#include "base/alloc.h"
#include "base/buf.h"
#include "domain/acceptance.h"
#include "domain/clock.h"
#include "domain/money.h"
#include "domain/payload.h"
#include "store/store_open.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH 256

struct generated {
    char event_id[27], panelist_id[17], client_id[16];
};

void generate_prepare(void);
/* The n-th event; the texts are in *to. */
struct candidate generate(size_t n, const struct hash_secret *secret, struct generated *to);
int64_t mono_ns(void);
void remove_tree(const char *path);

/* Nanoseconds and CPU time for `events` after `preloaded`. */
int64_t bare_sqlite(const char *directory, size_t events, size_t preloaded, int64_t (*cpu_us)(void),
                    int64_t *ret_cpu_us);
