/* Bundles: the keys and panelists of 16 closed segments, merged into one run. A look-up searches
 * each bundle, and each segment that is in no bundle. Without bundles, look-ups would become slower
 * with each million events.
 *
 * A bundle is made in steps. Each step is a transaction between two memtables. First the keys are
 * merged, one slice of the hashes at a time, each with a filter of its keys. Then the segments' own
 * tables are dropped, one segment at a time. Look-ups search the segments until the last slice is
 * merged, and the bundle from that commit on. Segments are bundled in order, so bundle n has the
 * segments from 16n+1 on. */
#pragma once

#include "base/hash.h"
#include "store/sqlite/sql.h"

#define BUNDLE_SEGMENTS 16u
#define BUNDLE_SLICE_BITS 6 /* a slice: the keys and panelists with the same first bits */
#define BUNDLE_SLICES (1u << BUNDLE_SLICE_BITS)
#define BUNDLE_STEPS (BUNDLE_SLICES + BUNDLE_SEGMENTS)
#define BUNDLE_NO_FIRST 1000001u /* of the tables keys_N and panelists_N: above all segments */
#define BUNDLE_RUN 1u            /* the only one of a bundle */

static inline unsigned bundle_slice_of(uint64_t major)
{
    return (unsigned)(major >> (64 - BUNDLE_SLICE_BITS));
}

/* A key as the filter of its slice knows it: without the bits that all keys of the slice share. */
static inline struct key128 bundle_filter_key(struct key128 key)
{
    return (struct key128){key.hi << BUNDLE_SLICE_BITS, key.lo};
}

/* How many bundles are asked instead of their segments. */
uint32_t bundle_count(struct sql *q);

/* The numbers of all segments and bundles that are asked, in the order of their events. */
sqlite3_stmt *bundle_prepare_sets(struct sql *q, bool newest_first);
/* The numbers of all that have tables: also a bundle that is being merged, and segments whose
 * tables are not dropped yet. */
sqlite3_stmt *bundle_prepare_tables(struct sql *q);

/* Does the next step, if one is due. `open_segment` is the last one's number, which is never
 * merged; `known`: how many bundles all look-ups of keys know, so that nobody asks their segments.
 * True: a step was done, so there may be more. A failure is the connection's, in a transaction that
 * is open. */
MUST_CHECK bool bundle_step(struct sql *q, uint32_t open_segment, uint32_t known);
/* How many bytes the steps that are left add to the file, until the segments' tables are dropped;
 * 0: no bundle is due. */
int64_t bundle_bytes_left(struct sql *q, uint32_t open_segment);
/* Whether so many segments wait that merging must not wait for a quiet moment. */
bool bundle_is_urgent(struct sql *q, uint32_t open_segment);
