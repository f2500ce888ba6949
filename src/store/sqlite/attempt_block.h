/* How SQLite stores the log of attempts: the attempts of ATTEMPT_BLOCK_IDS neighbouring events in
 * one row. A row for each would cost five times the instructions and, as attempts share almost all
 * of their text, seven times the bytes.
 *
 * A block is a sequence of chunks; each memtable with attempts of these events appends one:
 *
 *     chunk     u32 length of the attempts, little-endian; attempts
 *     attempt   numbers: id % ATTEMPT_BLOCK_IDS, number, manual, at_ms - that of the attempt
 *               before in the chunk (0 at first), duration_ms, status, class;
 *               texts: url, detail, request headers, response headers, response body
 *
 * The texts are as in packed/text_pieces.h, whose literals are those of the chunk; so are the
 * numbers. */
#pragma once

#include "store/packed/text_pieces.h"
#include "store/store.h"

#define ATTEMPT_BLOCK_BITS 6
#define ATTEMPT_BLOCK_IDS (1u << ATTEMPT_BLOCK_BITS)

/* Zero-initialised it is ready for attempt_chunk_begin; reused from chunk to chunk. */
struct attempt_chunk {
    struct text_writer texts; /* out: the chunks */
    size_t begin;             /* where the chunk begins in texts.out */
    int64_t before_ms;
};

/* Begins a chunk at the end of texts.out. Texts passed to attempt_chunk_add must stay valid until
 * attempt_chunk_end. */
void attempt_chunk_begin(struct attempt_chunk *c);
void attempt_chunk_add(struct attempt_chunk *c, uint64_t id, const struct attempt *a,
                       const struct attempt_facts *facts);
void attempt_chunk_end(struct attempt_chunk *c);

/* Called for each attempt of an event in a block, in the order in which they were added. Texts are
 * in the arena. Invalid bytes end the reading. */
typedef void (*attempt_visitor)(void *context, const struct attempt *a);
void attempt_block_read(struct str block, uint64_t id, const struct attempt_facts *facts,
                        struct arena *arena, attempt_visitor visit, void *context);
/* For all events of the block; low: the event's id % ATTEMPT_BLOCK_IDS, as in `facts`. */
typedef void (*attempt_of_visitor)(void *context, unsigned low, const struct attempt *a);
void attempt_block_read_all(struct str block, const struct attempt_facts facts[ATTEMPT_BLOCK_IDS],
                            struct arena *arena, attempt_of_visitor visit, void *context);

/* Copies the block as one chunk without the texts of one event that may name the panelist (headers,
 * bodies, the target of a redirect). */
void attempt_block_erase(struct str block, uint64_t id, struct attempt_chunk *ret);
