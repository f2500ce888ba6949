/* Numbers are assigned consecutively, so the map has a byte for each, in chunks that are made when
 * first needed. */
#include "store/clusters/map.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdatomic.h>
#include <stdlib.h>

#define CHUNK_BITS 16

struct map_chunk {
    _Atomic uint8_t cluster[1 << CHUNK_BITS];
};

struct cluster_map {
    struct map_chunk *_Atomic chunks[1 << (32 - CHUNK_BITS)];
};

struct cluster_map *cluster_map_new(void)
{
    return xcalloc(1, sizeof(struct cluster_map));
}

void cluster_map_free(struct cluster_map *map)
{
    for (size_t i = 0; i < 1 << (32 - CHUNK_BITS); i++)
        free(atomic_load_explicit(&map->chunks[i], memory_order_relaxed));
    free(map);
}

/* Called by one thread at a time: the one that changes the directory. */
void cluster_map_set(struct cluster_map *map, uint32_t no, uint32_t cluster)
{
    ASSERT(cluster <= UINT8_MAX);
    struct map_chunk *chunk = atomic_load(&map->chunks[no >> CHUNK_BITS]);
    if (!chunk && cluster == 0)
        return;
    if (!chunk) {
        chunk = xcalloc(1, sizeof *chunk);
        atomic_store(&map->chunks[no >> CHUNK_BITS], chunk);
    }
    atomic_store(&chunk->cluster[no & ((1 << CHUNK_BITS) - 1)], (uint8_t)cluster);
}

uint32_t cluster_map_get(const struct cluster_map *map, uint32_t no)
{
    const struct map_chunk *chunk =
        atomic_load_explicit(&map->chunks[no >> CHUNK_BITS], memory_order_acquire);
    return chunk ? atomic_load_explicit(&chunk->cluster[no & ((1 << CHUNK_BITS) - 1)],
                                        memory_order_acquire)
                 : 0;
}
