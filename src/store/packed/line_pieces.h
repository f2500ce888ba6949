/* Writes and reads the header lines in the texts of attempts; see text_pieces.h. */
#pragma once

#include "store/packed/text_pieces.h"

#define ATTEMPT_SIGNATURE_BYTES 32
#define ATTEMPT_SIGNATURE_TEXT 47 /* "v1," and their base64, padded */

/* A line with its '\n'. True: facts tell it, and its piece has been written. */
bool piece_put_line(struct text_writer *w, struct str line, const struct attempt *a,
                    const struct attempt_facts *facts);
/* Prints the line of a piece below PIECE_LITERAL. */
void piece_print(struct buf *to, enum attempt_piece piece, struct number_reader *r,
                 const struct attempt *a, const struct attempt_facts *facts);
/* Copies such a piece. */
void piece_copy(struct buf *to, enum attempt_piece piece, struct number_reader *r);
