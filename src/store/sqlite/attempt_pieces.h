/* The numbers and header lines inside a block of attempts, both ways; see attempt_block.h. */
#pragma once

#include "store/sqlite/attempt_block.h"

#define ATTEMPT_SIGNATURE_BYTES 32
#define ATTEMPT_SIGNATURE_TEXT 47 /* "v1," and base64 of it, padded */

/* --- writing */

void piece_put(struct buf *to, uint64_t v);
void piece_put_signed(struct buf *to, int64_t v);
/* A line with its '\n'. True: a fact tells it, and its piece has been written. */
bool piece_put_line(struct attempt_chunk *c, struct str line, const struct attempt *a,
                    const struct attempt_facts *facts);

/* --- reading: what is left of a block. Once something did not fit, `bad` stays. */

struct piece_reader {
    const unsigned char *at, *end;
    bool bad;
};

uint64_t piece_get(struct piece_reader *r);
int64_t piece_get_signed(struct piece_reader *r);
struct str piece_get_bytes(struct piece_reader *r, uint64_t n);
/* The line that a piece below PIECE_LITERAL stands for. */
void piece_print(struct buf *to, enum attempt_piece piece, struct piece_reader *r,
                 const struct attempt *a, const struct attempt_facts *facts);
/* Writes such a piece again as it was read. */
void piece_copy(struct buf *to, enum attempt_piece piece, struct piece_reader *r);
