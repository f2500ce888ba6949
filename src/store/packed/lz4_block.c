/* Packs and unpacks LZ4 blocks: see lz4_block.h. */
#include "store/packed/lz4_block.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "sums are stored as in memory");

#define UNPACKED_MOST 255 /* times its packed size: LZ4's own limit */

void lz4_packer_free(struct lz4_packer *p)
{
    free(p->stream);
    p->stream = NULL;
}

bool lz4_block_pack(struct lz4_packer *p, struct str text, struct str dictionary, struct buf *to)
{
    if (text.n == 0 || text.n > LZ4_MAX_INPUT_SIZE)
        return false;
    if (!p->stream) {
        p->stream = xmalloc(sizeof(LZ4_stream_t));
        ASSERT(LZ4_initStream(p->stream, sizeof(LZ4_stream_t)) != NULL);
    }
    if (dictionary.p)
        LZ4_loadDict(p->stream, dictionary.p, (int)dictionary.n);
    else
        LZ4_resetStream_fast(p->stream);
    int n = LZ4_compress_fast_continue(p->stream, text.p, buf_reserve(to, text.n), (int)text.n,
                                       (int)text.n - 1, 1);
    to->n += n > 0 ? (size_t)n : 0;
    return n > 0;
}

bool lz4_block_may_hold(struct str block, uint64_t n)
{
    return n <= LZ4_MAX_INPUT_SIZE && n / UNPACKED_MOST <= block.n;
}

bool lz4_block_unpack(struct str block, struct str dictionary, char *to, uint64_t n)
{
    return LZ4_decompress_safe_usingDict(block.p, to, (int)block.n, (int)n, dictionary.p,
                                         (int)dictionary.n) == (int)n;
}

void lz4_sum_add(struct buf *to, struct str text)
{
    uint32_t sum = hash_crc32c(0, text.p, text.n);
    buf_add(to, &sum, sizeof sum);
}

bool lz4_sum_is_of(struct str sum, struct str text)
{
    uint32_t stored;
    ASSERT(sum.n == sizeof stored);
    memcpy(&stored, sum.p, sizeof stored);
    return stored == hash_crc32c(0, text.p, text.n);
}
