/* The bodies of BODY_BLOCK_IDS neighbouring events in one row. A row for each would cost several
 * times the instructions and leave half-empty pages, because most accounts insert between existing
 * rows. They are packed together, because they repeat most of each other.
 *
 *     block   chunks; each memtable with bodies of these events appends one
 *     chunk   numbers: the length of its bodies and of what they are packed to, 0: they are not;
 *             their CRC-32C, little-endian; they themselves, or the block that LZ4 has made of them
 *     body    id % BODY_BLOCK_IDS and its length; its bytes
 *     number  as in packed/numbers.h
 *
 * The checksum is there because one wrong bit would change many bodies, and a body is signed and
 * sent. Pages are not checked when they are read (page_sum.h).
 *
 * The number of events is small, so that reading one body does not read many pages. */
#pragma once

#include "base/buf.h"
#include "base/check.h"
#include "base/str.h"
#include "store/packed/lz4_block.h"

#include <stdint.h>

#define BODY_BLOCK_BITS 4
#define BODY_BLOCK_IDS (1u << BODY_BLOCK_BITS)

/* --- writing: zero-initialised it is ready, and it is used for one chunk after the other --------
 */

struct body_packer {
    struct buf plain, packed, chunk;
    struct lz4_packer lz4;
};

void body_packer_free(struct body_packer *p);
void body_packer_add(struct body_packer *p, uint64_t id, struct str body);
/* Packs what was added since the last call. Valid until the next one; empty if nothing was added.
 */
struct str body_packer_end(struct body_packer *p);

/* --- reading: zero-initialised it is ready, and it is used for one block after the other ---------
 */

struct body_block {
    struct buf plain;
    struct str of[BODY_BLOCK_IDS]; /* by id % BODY_BLOCK_IDS; absent: not in the block */
};

void body_block_free(struct body_block *b);
/* False: the bytes are damaged, and no body is there. The bodies are valid until the next call. */
MUST_CHECK bool body_block_read(struct body_block *b, struct str block);
/* Says so in the log, with a way out. `block`: the row's key in bodies_SEGMENT. */
void body_block_say_damaged(uint64_t block, uint32_t segment);
/* Packs all bodies but one's. */
void body_block_erase(const struct body_block *b, uint64_t id, struct body_packer *ret);
