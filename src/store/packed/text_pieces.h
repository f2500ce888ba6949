/* Texts of attempts in few bytes: a header line that other facts tell becomes a piece of a byte or
 * some, and a literal that the writer has written before is named instead of repeated.
 *
 *     text      pieces, up to PIECE_END; their bytes one after the other
 *     piece     a number: below PIECE_LITERAL a header line printed from other facts (below);
 *               from there on, even: (n - PIECE_LITERAL) / 2 bytes follow;
 *               odd: the ((n - PIECE_LITERAL) / 2)-th literal of the writer again, counted
 *               from 0 up to TEXT_LITERALS
 *     number    as in numbers.h
 *
 * A line becomes a piece only if the piece prints the same bytes, so every text is read back byte
 * for byte. */
#pragma once

#include "store/outcome.h"
#include "store/packed/numbers.h"

#define TEXT_LITERALS 256

/* Stored: append only. */
enum attempt_piece {
    PIECE_END = 0,
    PIECE_ABSENT = 1,     /* the text is absent; no PIECE_END follows */
    PIECE_ID = 2,         /* "webhook-id: <EventId>\n" */
    PIECE_TIMESTAMP = 3,  /* "webhook-timestamp: <at_ms / 1000 + the number after the piece>\n" */
    PIECE_SIGNATURE = 4,  /* "webhook-signature: v1,<base64 of the 32 bytes after the piece>\n" */
    PIECE_NUMBER = 5,     /* "Postbackd-Attempt: <number>\n" */
    PIECE_EVENT_TIME = 6, /* "Postbackd-Event-Time: <when the event occurred>\n" */
    PIECE_DATE = 7,       /* "Date: <at_ms / 1000 + the number after the piece, as in HTTP>\n" */
    PIECE_LITERAL = 8,
};

/* Facts of the event that headers repeat. */
struct attempt_facts {
    struct str event_id; /* absent: unknown */
    int64_t occurred_ms;
};

/* --- writing ---------------------------------------------------------------------------------- */

struct text_literal {
    struct str text;
    uint16_t next; /* index + 1 of the next with the same hash; 0: none */
};

/* A date's text and its value. */
struct text_date {
    char text[40];
    size_t n;
    int64_t s;
};
#define TEXT_DATES 16

/* Zero-initialised it is ready for text_writer_begin. */
struct text_writer {
    struct buf out;
    uint32_t literal_count;
    struct text_literal literals[TEXT_LITERALS];
    uint16_t heads[512]; /* by hash: index + 1 of the newest literal */
    struct text_date dates[TEXT_DATES];
};

/* Forgets all literals. Texts must stay valid until the next call of this. */
void text_writer_begin(struct text_writer *w);
void text_put(struct text_writer *w, struct str text);
/* The same for a text of header lines: of `a` number and at_ms are read. */
void text_put_lines(struct text_writer *w, struct str text, const struct attempt *a,
                    const struct attempt_facts *facts);

/* --- reading ---------------------------------------------------------------------------------- */

/* Zero-initialised but for `in` it is ready. */
struct text_reader {
    struct number_reader in; /* bad: bytes are damaged */
    uint32_t literal_count;
    struct str literals[TEXT_LITERALS];
};

/* wanted: into the buffer, of which the result is; otherwise skipped. */
struct str text_get(struct text_reader *r, const struct attempt *a,
                    const struct attempt_facts *facts, struct buf *text, bool wanted);
/* Copies a text piece by piece, which needs no facts. erased: an absent one in its place. */
void text_copy(struct text_reader *from, struct text_writer *to, bool erased);
