/* Bundles: the keys and panelists of many closed segments, merged into one run. A look-up searches
 * each bundle, and each segment that is in no bundle. Without bundles, look-ups would become slower
 * with each million events.
 *
 * Bundles have levels. One of level 1 has 8 segments, and one of each further level has four of the
 * level below. While merging keeps up with the events, a look-up thus searches some 8 segments and
 * four bundles of a level at most.
 *
 * A bundle is made in steps. Each step is a transaction between two memtables. First the keys are
 * merged, one slice of the hashes at a time, each with a filter of its keys. Then the same slices
 * are deleted from the tables of what was merged, and at the end these tables are dropped. Look-ups
 * search the old sets until the last slice is merged, and the bundle from that commit on.
 *
 * One bundle is made at a time, and each in the order of its events. `bundle` has a row for each
 * one whose tables exist; its number is greater than those of all that were begun before it. */
#pragma once

#include "base/hash.h"
#include "store/sqlite/sql.h"

#define BUNDLE_NO_FIRST 1000001u /* of the tables keys_N and panelists_N: above all segments */
#define BUNDLE_RUN 1u            /* the only one of a bundle */
#define BUNDLE_LEVELS 6u         /* eight billion events; more have several of the last level */
#define BUNDLE_SEGMENTS 8u       /* of level 1 */
#define BUNDLE_FANIN_BITS 2u     /* 1 << this: how many of a level become one of the next */
#define BUNDLE_SLICE_BITS 5u     /* of level 1 */

static inline uint32_t bundle_segments(unsigned level)
{
    return BUNDLE_SEGMENTS << (BUNDLE_FANIN_BITS * (level - 1));
}

/* A slice has the keys and panelists with the same first bits. On each level the slices have about
 * as many keys, so that a step takes as long. */
static inline unsigned bundle_slice_bits(unsigned level)
{
    return BUNDLE_SLICE_BITS + BUNDLE_FANIN_BITS * (level - 1);
}

static inline unsigned bundle_merge_steps(unsigned level)
{
    return 1u << bundle_slice_bits(level);
}

static inline unsigned bundle_steps(unsigned level)
{
    return 2 * bundle_merge_steps(level);
}

static inline unsigned bundle_slice_of(uint64_t major, unsigned slice_bits)
{
    return (unsigned)(major >> (64 - slice_bits));
}

/* A key as the filter of its slice knows it: without the bits that all keys of the slice share. */
static inline struct key128 bundle_filter_key(struct key128 key, unsigned slice_bits)
{
    return (struct key128){key.hi << slice_bits, key.lo};
}

/* A segment or a bundle that is asked. */
struct bundle_set {
    uint32_t no;
    uint32_t first, segments; /* whose keys it has */
    unsigned slice_bits;      /* 0: a segment */
};

/* All that are asked, in the order of their events. */
sqlite3_stmt *bundle_prepare_sets(struct sql *q, bool newest_first);
bool bundle_next_set(struct sql *q, sqlite3_stmt *s, struct bundle_set *ret);
/* The numbers of all that have tables: also a bundle that is being merged, and sets whose tables
 * are not dropped yet. */
sqlite3_stmt *bundle_prepare_tables(struct sql *q);
/* The bundle that was finished last. False: there is none. */
bool bundle_newest(struct sql *q, struct bundle_set *ret);

/* Does the next step, if one is due. `open_segment` is the last one's number, which is never
 * merged; `known`: the newest bundle's number that all look-ups of keys ask, so that nobody asks
 * what was merged into it. True: a step was done, so there may be more. A failure is the
 * connection's, in a transaction that is open. */
MUST_CHECK bool bundle_step(struct sql *q, uint32_t open_segment, uint32_t known);
/* How many bytes the steps that are left add to the file, until what was merged is deleted; 0: no
 * bundle is due. */
int64_t bundle_bytes_left(struct sql *q, uint32_t open_segment);
/* How many steps must follow each memtable, because so much waits that merging cannot wait for a
 * quiet moment. */
unsigned bundle_urgent_steps(struct sql *q, uint32_t open_segment);
