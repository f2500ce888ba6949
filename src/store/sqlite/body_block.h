/* The bodies of BODY_BLOCK_IDS neighbouring events in one row: a row of its own for each costs
 * several times the instructions, and as the rows of all accounts but the last go in between
 * others, half-empty pages.
 *
 *     block   bodies, in any order
 *     body    id % BODY_BLOCK_IDS and its length, as the numbers of attempt_block.h; its bytes
 *
 * Few enough that reading one body does not read many pages. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

#define BODY_BLOCK_BITS 4
#define BODY_BLOCK_IDS (1u << BODY_BLOCK_BITS)

void body_block_add(struct buf *to, uint64_t id, struct str body);
struct str body_block_find(struct str block, uint64_t id); /* absent: not in it */
/* Adds the block without one body to *to. */
void body_block_erase(struct str block, uint64_t id, struct buf *to);
