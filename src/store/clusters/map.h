/* Which cluster an account or an app is in, by its number. Reads take no lock, on any thread; a
 * number is set before anything is asked of it. A number that was never set is in the first
 * cluster. */
#pragma once

#include <stdint.h>

struct cluster_map;

struct cluster_map *cluster_map_new(void);
void cluster_map_free(struct cluster_map *map);
void cluster_map_set(struct cluster_map *map, uint32_t no, uint32_t cluster);
uint32_t cluster_map_get(const struct cluster_map *map, uint32_t no);
