/* One short text in a row of its own, packed by LZ4 with a dictionary: what the bodies and headers
 * of callbacks mostly say. A text of 200 bytes repeats little of itself.
 *
 *     packed    a number: the text's length * 4 + how it is packed;
 *               u32 CRC-32C of the text, little-endian;
 *               not packed (0): the text;
 *               by LZ4 with the dictionary (1): the block that LZ4 has made of it
 *     number    as in numbers.h
 *
 * The checksum is there because a body is signed and sent: a wrong bit must not become another
 * body. */
#pragma once

#include "base/arena.h"
#include "base/check.h"
#include "store/packed/lz4_block.h"
#include "store/packed/numbers.h"

/* Zero-initialised it is ready; of one thread at a time. */
struct text_packer {
    struct buf packed;
    struct lz4_packer lz4;
};

void text_packer_free(struct text_packer *p);
/* Valid until the next call. An absent text stays absent. */
struct str text_pack(struct text_packer *p, struct str text);
/* The text is in the arena. False: the bytes are damaged, and *ret is absent. */
MUST_CHECK bool text_unpack(struct str packed, struct arena *arena, struct str *ret);
