/* The simulator of many nodes publishes by this function, too, and its lanes ask the same leases:
 * so it proves the gate that production uses. */
#include "store/leases.h"

#include <string.h>

void leases_publish(struct leases *l, const struct member *m, struct leases_published *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < SHARDS; i++) {
        const struct shard_hold *hold = &m->holds[i];
        int64_t fence = hold->state == SHARD_HELD ? hold->fence : 0;
        if (atomic_exchange(&l->fence[i], fence) == fence)
            continue;
        ret->any_fence_changed = true;
        ret->gained[i] = fence != 0;
    }
    ret->until_before_mono_ms = atomic_exchange(&l->until_mono_ms, member_may_start_until(m));
}
