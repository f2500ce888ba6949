/* Lane numbers are small and dense, because app numbers are assigned in order. The table has one
 * byte for each lane, in chunks that are allocated on first use. The outer table covers every
 * 32-bit app number; pages of it that are never touched use no memory. */
#include "delivery/owners.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdatomic.h>
#include <stdlib.h>

#define CHUNK_BITS 16
#define CHUNKS (((uint64_t)UINT32_MAX + 1) * LANE_KINDS >> CHUNK_BITS)

struct affinity_chunk {
    _Atomic uint8_t owner[1 << CHUNK_BITS]; /* 0: none, else the loop's index + 1 */
};

struct owners {
    struct affinity_chunk *_Atomic *chunks;
};

struct owners *owners_new(void)
{
    struct owners *owners = xmalloc(sizeof(*owners));
    owners->chunks = xcalloc(CHUNKS, sizeof(*owners->chunks));
    return owners;
}

void owners_free(struct owners *owners)
{
    for (uint64_t i = 0; i < CHUNKS; i++)
        free(atomic_load_explicit(&owners->chunks[i], memory_order_relaxed));
    free(owners->chunks);
    free(owners);
}

static _Atomic uint8_t *slot(struct owners *owners, lane_no lane)
{
    ASSERT(lane >> CHUNK_BITS < CHUNKS);
    struct affinity_chunk *_Atomic *at = &owners->chunks[lane >> CHUNK_BITS];
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

int owners_get(struct owners *owners, lane_no lane)
{
    return (int)atomic_load_explicit(slot(owners, lane), memory_order_acquire) - 1;
}

int owners_claim(struct owners *owners, lane_no lane, int loop)
{
    ASSERT(loop >= 0 && loop < OWNERS_LOOPS_MAX);
    uint8_t found = 0;
    if (atomic_compare_exchange_strong(slot(owners, lane), &found, (uint8_t)(loop + 1)))
        return loop;
    return (int)found - 1;
}

void owners_give(struct owners *owners, lane_no lane, int loop)
{
    ASSERT(loop >= 0 && loop < OWNERS_LOOPS_MAX);
    atomic_store_explicit(slot(owners, lane), (uint8_t)(loop + 1), memory_order_release);
}
