/* LZ4 blocks, and the checksums that stand beside them: what packed_text.h and sqlite/body_block.h
 * have in common. Each has a layout of its own around them. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

#include <stdint.h>

/* Zero-initialised it is ready; of one thread at a time. */
struct lz4_packer {
    void *stream; /* LZ4's memory */
};

void lz4_packer_free(struct lz4_packer *p);
/* Appends the block that LZ4 makes of the text; it is read with the same dictionary (absent: none)
 * and without any other block. False: packing gains nothing, and nothing is appended. */
MUST_CHECK bool lz4_block_pack(struct lz4_packer *p, struct str text, struct str dictionary,
                               struct buf *to);
/* True if so many bytes may have been packed into the block: checked before memory is reserved. */
bool lz4_block_may_hold(struct str block, uint64_t n);
/* Writes the n bytes that the block was made of. False: it is damaged. */
MUST_CHECK bool lz4_block_unpack(struct str block, struct str dictionary, char *to, uint64_t n);

/* CRC-32C of a text, little-endian. */
#define LZ4_SUM_BYTES 4u
void lz4_sum_add(struct buf *to, struct str text);
bool lz4_sum_is_of(struct str sum, struct str text);
