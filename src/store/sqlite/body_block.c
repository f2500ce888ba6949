/* Blocks of bodies: see body_block.h. */
#include "store/sqlite/body_block.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

#include "store/packed/numbers.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "sums are stored as in memory");

#define UNPACKED_MOST 255 /* times its packed size: LZ4's own limit */

/* --- writing -----------------------------------------------------------------------------------
 */

void body_packer_free(struct body_packer *p)
{
    buf_free(&p->plain);
    buf_free(&p->packed);
    buf_free(&p->chunk);
    free(p->stream);
    *p = (struct body_packer){0};
}

void body_packer_add(struct body_packer *p, uint64_t id, struct str body)
{
    number_put(&p->plain, id % BODY_BLOCK_IDS);
    number_put(&p->plain, body.n);
    buf_add_str(&p->plain, body);
}

/* Leaves *packed empty if packing gains nothing. */
static void pack(struct body_packer *p)
{
    buf_clear(&p->packed);
    if (!p->stream) {
        p->stream = xmalloc(sizeof(LZ4_stream_t));
        ASSERT(LZ4_initStream(p->stream, sizeof(LZ4_stream_t)) != NULL);
    }
    LZ4_resetStream_fast(p->stream); /* each chunk is read without the others */
    int n = LZ4_compress_fast_continue(p->stream, p->plain.p, buf_reserve(&p->packed, p->plain.n),
                                       (int)p->plain.n, (int)p->plain.n - 1, 1);
    p->packed.n = n > 0 ? (size_t)n : 0;
}

static uint32_t sum_of(struct str bodies)
{
    return hash_crc32c(0, bodies.p, bodies.n);
}

static void put_sum(struct buf *to, struct str bodies)
{
    uint32_t sum = sum_of(bodies);
    buf_add(to, &sum, sizeof sum);
}

struct str body_packer_end(struct body_packer *p)
{
    buf_clear(&p->chunk);
    if (p->plain.n == 0)
        return buf_str(&p->chunk);
    pack(p);
    number_put(&p->chunk, p->plain.n);
    number_put(&p->chunk, p->packed.n);
    put_sum(&p->chunk, buf_str(&p->plain));
    buf_add_str(&p->chunk, buf_str(p->packed.n > 0 ? &p->packed : &p->plain));
    buf_clear(&p->plain);
    return buf_str(&p->chunk);
}

/* --- reading -----------------------------------------------------------------------------------
 */

void body_block_free(struct body_block *b)
{
    buf_free(&b->plain);
}

static bool unpack_chunk(struct number_reader *r, struct buf *to)
{
    uint32_t sum;
    uint64_t n = number_get(r), packed_n = number_get(r);
    struct str sum_bytes = number_get_bytes(r, sizeof sum);
    struct str bytes = number_get_bytes(r, packed_n > 0 ? packed_n : n);
    if (r->bad || n == 0 ||
        (packed_n > 0 && (n / UNPACKED_MOST > packed_n || n > LZ4_MAX_INPUT_SIZE)))
        return false;
    char *room = buf_reserve(to, n);
    if (packed_n == 0)
        memcpy(room, bytes.p, n);
    else if (LZ4_decompress_safe(bytes.p, room, (int)bytes.n, (int)n) != (int)n)
        return false;
    to->n += n;
    memcpy(&sum, sum_bytes.p, sizeof sum);
    return sum == sum_of((struct str){room, n});
}

static bool find_bodies(struct body_block *b)
{
    struct number_reader r = number_reader_of(buf_str(&b->plain));
    while (r.at < r.end && !r.bad) {
        uint64_t low = number_get(&r);
        struct str body = number_get_bytes(&r, number_get(&r));
        if (r.bad || low >= BODY_BLOCK_IDS)
            return false;
        b->of[low] = body;
    }
    return !r.bad;
}

static void forget_bodies(struct body_block *b)
{
    for (size_t i = 0; i < BODY_BLOCK_IDS; i++)
        b->of[i] = STR_NONE;
}

bool body_block_read(struct body_block *b, struct str block)
{
    bool good = true;
    struct number_reader r = number_reader_of(block);
    buf_clear(&b->plain);
    forget_bodies(b);
    while (good && r.at < r.end)
        good = unpack_chunk(&r, &b->plain);
    good = good && find_bodies(b);
    if (!good)
        forget_bodies(b);
    return good;
}

void body_block_say_damaged(uint64_t block, uint32_t segment)
{
    log_error("bodies_damaged", LOG_INT("segment", segment), LOG_INT("block", (int64_t)block),
              LOG_C("fix", "callbacks of this row that wait are not sent: look at the disk, and "
                           "restore the database from a backup"));
}

void body_block_erase(const struct body_block *b, uint64_t id, struct body_packer *ret)
{
    for (uint64_t low = 0; low < BODY_BLOCK_IDS; low++)
        if (low != id % BODY_BLOCK_IDS && b->of[low].p)
            body_packer_add(ret, low, b->of[low]);
}
