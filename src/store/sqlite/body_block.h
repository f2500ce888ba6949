/* The bodies of BODY_BLOCK_IDS neighbouring events in one row. A row for each would cost several
 * times the instructions and leave half-empty pages, because most accounts insert between existing
 * rows.
 *
 *     block   bodies, in any order
 *     body    id % BODY_BLOCK_IDS and its length, as numbers of attempt_block.h; its bytes
 *
 * The number is small, so that reading one body does not read many pages. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

#define BODY_BLOCK_BITS 4
#define BODY_BLOCK_IDS (1u << BODY_BLOCK_BITS)

void body_block_add(struct buf *to, uint64_t id, struct str body);
struct str body_block_find(struct str block, uint64_t id); /* absent: not in the block */
/* Appends the block without one body to *to. */
void body_block_erase(struct str block, uint64_t id, struct buf *to);
