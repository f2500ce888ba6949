/* Divides the limit of open files. Without shares, clients without a key that hold connections
 * could take every descriptor, and callbacks would get none (EMFILE). With them, clients first
 * reach the bound of connections, which closes waiting ones (http/room.c). */
#include "daemon/descriptors.h"

#include "base/arithmetic.h"
#include "base/limits.h"
#include "base/log.h"

#define LEAST_PER_LOOP 8

struct descriptor_shares descriptors_share(int64_t limit, size_t loops)
{
    const int64_t in = LIMIT_CONNECTIONS_PER_LOOP, refused = LIMIT_CONNECTIONS_REFUSED_PER_LOOP,
                  out = LIMIT_CONNECTIONS_OUT_PER_LOOP, each = in + refused + out;
    struct descriptor_shares s = {.wanted = LIMIT_DESCRIPTORS_OF_THE_STORE + each * (int64_t)loops};
    limit = int64_min(limit, s.wanted);
    int64_t reserved = int64_min(LIMIT_DESCRIPTORS_OF_THE_STORE, limit / 4);
    int64_t per_loop = (limit - reserved) / (int64_t)loops;
    s.in_per_loop = int64_max(per_loop * (in + refused) / each - refused, LEAST_PER_LOOP);
    s.out_per_loop = int64_max(per_loop * out / each, LEAST_PER_LOOP);
    s.attempts_per_loop =
        int64_max(s.out_per_loop * LIMIT_EXCHANGES_PER_LOOP / out, LEAST_PER_LOOP);
    return s;
}

void descriptors_warn(const struct descriptor_shares *shares, int64_t limit)
{
    if (limit >= shares->wanted)
        return;
    log_warning("few_descriptors", LOG_INT("limit", limit), LOG_INT("wanted", shares->wanted),
                LOG_INT("connections_in_per_loop", shares->in_per_loop),
                LOG_INT("connections_out_per_loop", shares->out_per_loop),
                LOG_C("fix", "raise the hard limit of open files (LimitNOFILE=, ulimit -Hn)"));
}
