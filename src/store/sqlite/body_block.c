/* Blocks of bodies: see body_block.h. */
#include "store/sqlite/body_block.h"

#include "store/sqlite/attempt_pieces.h"

/* Reads the next body of a block. False: there is none. */
static bool next(struct piece_reader *r, uint64_t *ret_low, struct str *ret_body)
{
    if (r->at == r->end)
        return false;
    *ret_low = piece_get(r);
    *ret_body = piece_get_bytes(r, piece_get(r));
    return !r->bad;
}

static struct piece_reader reader_of(struct str block)
{
    const unsigned char *at = (const unsigned char *)block.p;
    return (struct piece_reader){at, at + block.n, false};
}

void body_block_add(struct buf *to, uint64_t id, struct str body)
{
    piece_put(to, id % BODY_BLOCK_IDS);
    piece_put(to, body.n);
    buf_add_str(to, body);
}

struct str body_block_find(struct str block, uint64_t id)
{
    struct piece_reader r = reader_of(block);
    struct str body;
    for (uint64_t low; next(&r, &low, &body);)
        if (low == id % BODY_BLOCK_IDS)
            return body;
    return STR_NONE;
}

void body_block_erase(struct str block, uint64_t id, struct buf *to)
{
    struct piece_reader r = reader_of(block);
    struct str body;
    for (uint64_t low; next(&r, &low, &body);)
        if (low != id % BODY_BLOCK_IDS)
            body_block_add(to, low, body);
}
