/* Divides the process's file descriptors, so that connections of clients leave enough for the store
 * and for callbacks. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct descriptor_shares {
    int64_t wanted; /* for all bounds of limits.h together */
    int64_t in_per_loop, out_per_loop, attempts_per_loop;
};

/* limit: RLIMIT_NOFILE. If it is below `wanted`, every bound shrinks by the same factor. */
struct descriptor_shares descriptors_share(int64_t limit, size_t loops);
/* Logs if the limit is below what is wanted. */
void descriptors_warn(const struct descriptor_shares *shares, int64_t limit);
