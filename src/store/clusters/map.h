/* Which cluster has what, by number (an account's, an app's): read on any thread without a lock,
 * written before anything is asked of that number. What was never written is in the first. */
#pragma once

#include <stdint.h>

struct cluster_map;

struct cluster_map *cluster_map_new(void);
void cluster_map_free(struct cluster_map *map);
void cluster_map_set(struct cluster_map *map, uint32_t no, uint32_t cluster);
uint32_t cluster_map_get(const struct cluster_map *map, uint32_t no);
