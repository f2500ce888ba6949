/* A receiver's answer: takes bytes, returns the status and the kept parts. Pure: no socket, no
 * clock, so that it can be fuzzed. llhttp parses in strict mode (RFC 9112); this code adds bounds
 * on headers and on interim answers. Nothing is ever decompressed. What a Retry-After does to the
 * callback and its lane: schedule_retry_after_ms (domain/schedule.h).
 *
 * An outcome is certain when the final status and its headers are complete. A faulty body after
 * that does not change it; it only costs the connection. */
#pragma once

#include "base/buf.h"
#include "base/limits.h"

#include <llhttp.h>

struct answer {
    llhttp_t parser;
    struct buf *headers; /* "Name: value\n" lines of the final answer, */
    struct buf *body;    /* and its first LIMIT_ATTEMPT_BODY_KEPT_BYTES; NULL: not kept */
    int status;          /* final; 0 until headers_complete */
    bool headers_complete;
    bool body_is_cut; /* it has more bytes than are kept */
    bool keep_alive;  /* the connection can be reused; known when the answer is complete */
    uint8_t interim_count;
    bool in_status, status_over; /* the status is being read, has been */
    uint32_t status_digits;
    uint32_t head_bytes; /* up to headers_complete, with interim answers */
    uint32_t body_bytes; /* after that, with framing */
    const char *why;     /* the reason of ANSWER_BAD; NULL: see the parser */
    char first[16];      /* the first bytes, to show what came instead of HTTP */
    uint8_t first_bytes;
};

/* Of either version of HTTP. */
#define HEADER_LINES_TOO_LONG                                                                      \
    "its header is longer than " NUMBER_AS_TEXT(LIMIT_ATTEMPT_HEADER_BYTES) " bytes"

enum answer_result {
    ANSWER_MORE, /* feed more */
    ANSWER_DONE, /* complete */
    ANSWER_BAD,  /* not HTTP/1.1, or over a bound: answer_print_why */
};

/* Clears the buffers. They and the answer must keep their addresses while bytes are fed. */
void answer_begin(struct answer *answer, struct buf *ret_headers, struct buf *ret_body);
/* n > 0 bytes. ANSWER_DONE: *ret_used is the number of bytes that belong to the answer. */
enum answer_result answer_feed(struct answer *answer, const char *p, size_t n, size_t *ret_used);
/* True if any byte has come. */
static inline bool answer_begun(const struct answer *answer)
{
    return answer->first_bytes > 0;
}
/* The peer has closed the connection: true if that ends the body. */
bool answer_ends_by_close(const struct answer *answer);
/* Keeps nothing more: the exchange is over, and the rest of the body is only drained. */
void answer_keep_nothing(struct answer *answer);
/* After ANSWER_BAD, a clause: "its header is longer than 32768 bytes". */
void answer_print_why(struct buf *to, const struct answer *answer);

/* The value of the first header of that name in "Name: value\n" lines; absent if there is none. */
struct str header_value(struct str lines, const char *name);
/* Retry-After (RFC 9110, section 10.2.3): the time from now; -1 if it has neither form. A date is
 * compared with the answer's own Date (section 6.6.1), because the receiver has made both by the
 * same clock; with now_wall_ms if there is no good Date. */
int64_t retry_after_ms(struct str value, struct str date, int64_t now_wall_ms);
