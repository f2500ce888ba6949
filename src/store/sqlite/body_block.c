/* Blocks of bodies: see body_block.h. */
#include "store/sqlite/body_block.h"

#include "base/log.h"
#include "store/packed/numbers.h"

#include <string.h>

/* --- writing -----------------------------------------------------------------------------------
 */

void body_packer_free(struct body_packer *p)
{
    buf_free(&p->plain);
    buf_free(&p->packed);
    buf_free(&p->chunk);
    lz4_packer_free(&p->lz4);
    *p = (struct body_packer){0};
}

void body_packer_add(struct body_packer *p, uint64_t id, struct str body)
{
    number_put(&p->plain, id % BODY_BLOCK_IDS);
    number_put(&p->plain, body.n);
    buf_add_str(&p->plain, body);
}

struct str body_packer_end(struct body_packer *p)
{
    buf_clear(&p->chunk);
    if (p->plain.n == 0)
        return buf_str(&p->chunk);
    buf_clear(&p->packed);
    /* each chunk is read without the others */
    bool is_packed = lz4_block_pack(&p->lz4, buf_str(&p->plain), STR_NONE, &p->packed);
    number_put(&p->chunk, p->plain.n);
    number_put(&p->chunk, p->packed.n);
    lz4_sum_add(&p->chunk, buf_str(&p->plain));
    buf_add_str(&p->chunk, buf_str(is_packed ? &p->packed : &p->plain));
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
    uint64_t n = number_get(r), packed_n = number_get(r);
    struct str sum_bytes = number_get_bytes(r, LZ4_SUM_BYTES);
    struct str bytes = number_get_bytes(r, packed_n > 0 ? packed_n : n);
    if (r->bad || n == 0 || (packed_n > 0 && !lz4_block_may_hold(bytes, n)))
        return false;
    char *room = buf_reserve(to, n);
    if (packed_n == 0)
        memcpy(room, bytes.p, n);
    else if (!lz4_block_unpack(bytes, STR_NONE, room, n))
        return false;
    to->n += n;
    return lz4_sum_is_of(sum_bytes, (struct str){room, n});
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
