/* The log of attempts as SQLite holds it: the attempts of ATTEMPT_BLOCK_IDS neighbouring events in
 * one row. A row of its own for each costs five times the instructions and, as almost all of its
 * text is the same from one attempt to the next, seven times the bytes.
 *
 * A block is a run of chunks, one appended by each memtable that had something for it:
 *
 *     chunk     u32 length of what follows, little-endian; attempts
 *     attempt   numbers: id % ATTEMPT_BLOCK_IDS, number, manual, at_ms - that of the attempt
 *               before in the chunk (0 at first), duration_ms, status, class;
 *               texts: url, detail, request headers, response headers, response body
 *     text      pieces, up to PIECE_END; its bytes are theirs, one behind the other
 *     piece     a number: below PIECE_LITERAL a header line that other facts tell (below);
 *               from there on, even: (n - PIECE_LITERAL) / 2 bytes follow;
 *               odd: the ((n - PIECE_LITERAL) / 2)-th literal of the chunk again, counted
 *               from 0 up to ATTEMPT_LITERALS
 *     number    base 128, least significant first, the high bit says that more follows; those that
 *               may be negative as 2n or -2n-1
 *
 * Which texts are told by facts is decided by comparing: whatever was sent and answered is found
 * again byte for byte. */
#pragma once

#include "base/buf.h"
#include "store/store.h"

#define ATTEMPT_BLOCK_BITS 6
#define ATTEMPT_BLOCK_IDS (1u << ATTEMPT_BLOCK_BITS)
#define ATTEMPT_LITERALS 256

/* Stored: append only. */
enum attempt_piece {
    PIECE_END = 0,
    PIECE_ABSENT = 1,     /* the text is absent; nothing else follows, not even PIECE_END */
    PIECE_ID = 2,         /* "webhook-id: <EventId>\n" */
    PIECE_TIMESTAMP = 3,  /* "webhook-timestamp: <at_ms / 1000 + the number that follows>\n" */
    PIECE_SIGNATURE = 4,  /* "webhook-signature: v1,<base64 of the 32 bytes that follow>\n" */
    PIECE_NUMBER = 5,     /* "Postbackd-Attempt: <number>\n" */
    PIECE_EVENT_TIME = 6, /* "Postbackd-Event-Time: <when the event happened>\n" */
    PIECE_DATE = 7,       /* "Date: <at_ms / 1000 + the number that follows, as in HTTP>\n" */
    PIECE_LITERAL = 8,
};

/* What the headers repeat of their event. */
struct attempt_facts {
    struct str event_id; /* absent: not known here */
    int64_t occurred_ms;
};

struct attempt_literal {
    struct str text;
    uint16_t next; /* of the same hash: index + 1; 0: the last */
};

/* A date as it was spelled, and what it says. */
struct attempt_date {
    char text[40];
    size_t n;
    int64_t s;
};
#define ATTEMPT_DATES 16

/* Zero-initialised is ready for attempt_chunk_begin; kept from one chunk to the next. */
struct attempt_chunk {
    struct buf out;
    size_t begin; /* of the chunk, in out */
    int64_t before_ms;
    uint32_t literal_count;
    struct attempt_literal literals[ATTEMPT_LITERALS];
    uint16_t heads[512]; /* by hash: index + 1 of the newest literal */
    struct attempt_date dates[ATTEMPT_DATES];
};

/* Begins a chunk behind what `out` has. Texts given to attempt_chunk_add stay valid until its
 * end. */
void attempt_chunk_begin(struct attempt_chunk *c);
void attempt_chunk_add(struct attempt_chunk *c, uint64_t id, const struct attempt *a,
                       const struct attempt_facts *facts);
void attempt_chunk_end(struct attempt_chunk *c);

/* Called for each attempt of one event in a block, in the order in which they were added. Texts are
 * in the arena. Bytes that are no block end it. */
typedef void (*attempt_visitor)(void *context, const struct attempt *a);
void attempt_block_read(struct str block, uint64_t id, const struct attempt_facts *facts,
                        struct arena *arena, attempt_visitor visit, void *context);
/* Of all its events at once; low: the event's id % ATTEMPT_BLOCK_IDS, as in `facts`. */
typedef void (*attempt_of_visitor)(void *context, unsigned low, const struct attempt *a);
void attempt_block_read_all(struct str block, const struct attempt_facts facts[ATTEMPT_BLOCK_IDS],
                            struct arena *arena, attempt_of_visitor visit, void *context);

/* The block without what may name the panelist in one event's attempts (headers, bodies, where a
 * redirect leads), as one chunk. */
void attempt_block_erase(struct str block, uint64_t id, struct attempt_chunk *ret);
