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
 *     text      pieces, up to PIECE_END; their bytes one after the other
 *     piece     a number: below PIECE_LITERAL a header line printed from other facts (below);
 *               from there on, even: (n - PIECE_LITERAL) / 2 bytes follow;
 *               odd: the ((n - PIECE_LITERAL) / 2)-th literal of the chunk again, counted
 *               from 0 up to ATTEMPT_LITERALS
 *     number    base 128, least significant first, the high bit means that more follow; numbers
 *               that may be negative as 2n or -2n-1
 *
 * A line becomes a piece only if the piece prints the same bytes, so every text is read back byte
 * for byte. */
#pragma once

#include "base/buf.h"
#include "store/store.h"

#define ATTEMPT_BLOCK_BITS 6
#define ATTEMPT_BLOCK_IDS (1u << ATTEMPT_BLOCK_BITS)
#define ATTEMPT_LITERALS 256

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

struct attempt_literal {
    struct str text;
    uint16_t next; /* index + 1 of the next with the same hash; 0: none */
};

/* A date's text and its value. */
struct attempt_date {
    char text[40];
    size_t n;
    int64_t s;
};
#define ATTEMPT_DATES 16

/* Zero-initialised it is ready for attempt_chunk_begin; reused from chunk to chunk. */
struct attempt_chunk {
    struct buf out;
    size_t begin; /* where the chunk begins in out */
    int64_t before_ms;
    uint32_t literal_count;
    struct attempt_literal literals[ATTEMPT_LITERALS];
    uint16_t heads[512]; /* by hash: index + 1 of the newest literal */
    struct attempt_date dates[ATTEMPT_DATES];
};

/* Begins a chunk at the end of `out`. Texts passed to attempt_chunk_add must stay valid until
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
