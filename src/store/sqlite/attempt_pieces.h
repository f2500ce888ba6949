/* Writes and reads the numbers and header lines in a block of attempts; see attempt_block.h. */
#pragma once

#include "store/sqlite/attempt_block.h"

#define ATTEMPT_SIGNATURE_BYTES 32
#define ATTEMPT_SIGNATURE_TEXT 47 /* "v1," and their base64, padded */

/* --- writing */

void piece_put(struct buf *to, uint64_t v);
void piece_put_signed(struct buf *to, int64_t v);
/* A line with its '\n'. True: facts tell it, and its piece has been written. */
bool piece_put_line(struct attempt_chunk *c, struct str line, const struct attempt *a,
                    const struct attempt_facts *facts);

/* --- reading: the rest of a block; after a read beyond the end `bad` stays set  */

struct piece_reader {
    const unsigned char *at, *end;
    bool bad;
};

uint64_t piece_get(struct piece_reader *r);
int64_t piece_get_signed(struct piece_reader *r);
struct str piece_get_bytes(struct piece_reader *r, uint64_t n);
/* Prints the line of a piece below PIECE_LITERAL. */
void piece_print(struct buf *to, enum attempt_piece piece, struct piece_reader *r,
                 const struct attempt *a, const struct attempt_facts *facts);
/* Copies such a piece. */
void piece_copy(struct buf *to, enum attempt_piece piece, struct piece_reader *r);
