/* The sets of keys that are asked whether an event is known: the bundles, and the segments that are
 * in none (bundle.h), each with its filters. Of one reading connection and its thread. A failure is
 * the connection's (sql.h). */
#pragma once

#include "store/sqlite/filter.h"
#include "store/sqlite/filter_memory.h"
#include "store/sqlite/run.h"
#include "store/sqlite/sql.h"

struct key_set {
    uint32_t no;             /* run.h */
    uint32_t first;          /* segment whose keys it has */
    unsigned slice_bits;     /* bundle.h; 0: a segment, whose filter is one slice */
    struct filter *filters;  /* one for each slice */
    unsigned loaded;         /* of them; a set that is asked has all */
    struct filter_memory in; /* what they borrow from; the open segment's filter is its own */
    sqlite3_stmt *find;      /* prepared when it is first needed */
};

struct key_sets {
    struct sql *sql;
    const char *database; /* its path, borrowed */
    bool is_loaded;
    struct key_set *items; /* in the order of their events */
    size_t count, capacity;
    struct key_set next;    /* a bundle whose filters are being loaded; no 0: none */
    uint32_t newest_bundle; /* of those that are asked: their segments can go; 0: none */
};

void key_sets_init(struct key_sets *k, struct sql *sql, const char *database);
/* Before the connection is closed. */
void key_sets_free(struct key_sets *k);

/* Loads all filters, and fills the open segment's from its keys, unless that is done. The first
 * question does it too, but it may read many megabytes. */
void key_sets_load(struct key_sets *k);
/* The open segment's filter, to which the keys that are in the database now are added. A segment
 * that is new begins here. Also loads some of a finished bundle's filters, and asks the bundle
 * instead of its segments once it has all. */
struct filter *key_sets_open_segment(struct key_sets *k, uint32_t segment);

bool key_sets_find(struct key_sets *k, struct key128 key, struct key_record *ret);
/* Before a key is asked for, while something else is done. */
void key_sets_prefetch(const struct key_sets *k, struct key128 key);

/* Of all filters; of them, in ordinary memory. */
size_t key_sets_filter_bytes(const struct key_sets *k, size_t *ret_ordinary);

/* Adds all keys of a segment to a filter. */
void key_sets_fill_filter(struct sql *q, uint32_t segment, struct filter *filter);
