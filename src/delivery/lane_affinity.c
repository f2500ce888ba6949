/* Lane numbers are small and dense, because app numbers are assigned in order. The table has one
 * byte for each lane, in chunks that are allocated on first use. The outer table covers every
 * 32-bit app number; pages of it that are never touched use no memory. */
#include "delivery/lane_affinity.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdatomic.h>
#include <stdlib.h>

#define CHUNK_BITS 16
#define CHUNKS (((uint64_t)UINT32_MAX + 1) * LANE_KINDS >> CHUNK_BITS)

struct affinity_chunk {
    _Atomic uint8_t owner[1 << CHUNK_BITS]; /* 0: none, else the loop's index + 1 */
};

struct lane_affinity {
    struct affinity_chunk *_Atomic *chunks;
};

struct lane_affinity *lane_affinity_new(void)
{
    struct lane_affinity *affinity = xmalloc(sizeof(*affinity));
    affinity->chunks = xcalloc(CHUNKS, sizeof(*affinity->chunks));
    return affinity;
}

void lane_affinity_free(struct lane_affinity *affinity)
{
    for (uint64_t i = 0; i < CHUNKS; i++)
        free(atomic_load_explicit(&affinity->chunks[i], memory_order_relaxed));
    free(affinity->chunks);
    free(affinity);
}

static _Atomic uint8_t *slot(struct lane_affinity *affinity, lane_no lane)
{
    ASSERT(lane >> CHUNK_BITS < CHUNKS);
    struct affinity_chunk *_Atomic *at = &affinity->chunks[lane >> CHUNK_BITS];
    struct affinity_chunk *chunk = atomic_load_explicit(at, memory_order_acquire);
    if (!chunk) {
        struct affinity_chunk *made = xcalloc(1, sizeof(*made));
        if (atomic_compare_exchange_strong(at, &chunk, made))
            chunk = made;
        else
            free(made); /* another thread was faster: `chunk` is that thread's */
    }
    return &chunk->owner[lane & ((1 << CHUNK_BITS) - 1)];
}

int lane_affinity_get(struct lane_affinity *affinity, lane_no lane)
{
    return (int)atomic_load_explicit(slot(affinity, lane), memory_order_acquire) - 1;
}

int lane_affinity_claim(struct lane_affinity *affinity, lane_no lane, int loop)
{
    ASSERT(loop >= 0 && loop < LANE_AFFINITY_LOOPS_MAX);
    uint8_t found = 0;
    if (atomic_compare_exchange_strong(slot(affinity, lane), &found, (uint8_t)(loop + 1)))
        return loop;
    return (int)found - 1;
}

void lane_affinity_move(struct lane_affinity *affinity, lane_no lane, int loop)
{
    ASSERT(loop >= 0 && loop < LANE_AFFINITY_LOOPS_MAX);
    atomic_store_explicit(slot(affinity, lane), (uint8_t)(loop + 1), memory_order_release);
}
