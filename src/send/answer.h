/* A receiver's answer: bytes in, status and kept parts out. Pure: no socket, no clock, so that it
 * can be fuzzed. llhttp in its strict mode does the parsing (RFC 9112); around it stand bounds on
 * headers and on interim answers, and the rule that nothing is ever decompressed.
 *
 * An outcome is certain once the final status and its headers are complete; what is wrong with
 * the body after that no longer changes it, it only costs the connection. */
#pragma once

#include "base/buf.h"
#include "base/limits.h"

#include <llhttp.h>

struct answer {
    llhttp_t parser;
    struct buf *headers; /* "Name: value\n" lines of the final answer, */
    struct buf *body;    /* and its first LIMIT_ATTEMPT_BODY_KEPT_BYTES; NULL: not kept */
    int status;          /* final; 0 before headers_complete */
    bool headers_complete;
    bool keep_alive; /* the connection may be used again; known when complete */
    uint8_t interim_count;
    uint32_t head_bytes; /* before headers_complete, interim answers included */
    uint32_t body_bytes; /* after it, framing included */
    const char *why;     /* our own reason for ANSWER_BAD; NULL: the parser's */
    char first[16];      /* the first bytes, to say what came instead of HTTP */
    uint8_t first_bytes;
};

enum answer_result {
    ANSWER_MORE, /* feed more */
    ANSWER_DONE, /* complete */
    ANSWER_BAD,  /* not HTTP/1.1, or over a bound: answer_why */
};

/* Buffers are cleared; they and the answer must stay where they are while it is fed. */
void answer_begin(struct answer *answer, struct buf *ret_headers, struct buf *ret_body);
/* n > 0 bytes. ANSWER_DONE: *ret_used tells how many belonged to the answer. */
enum answer_result answer_feed(struct answer *answer, const char *p, size_t n, size_t *ret_used);
/* Whether any byte has come. */
static inline bool answer_begun(const struct answer *answer)
{
    return answer->first_bytes > 0;
}
/* The peer has closed the connection: whether that is how the body ends. */
bool answer_ends_by_close(const struct answer *answer);
/* Nothing further is kept: the exchange is over, the rest of the body is only drained. */
void answer_keep_nothing(struct answer *answer);
/* After ANSWER_BAD, a clause: "its header lines are over 32768 bytes". */
void answer_print_why(struct buf *to, const struct answer *answer);

/* The value of the first header of that name in "Name: value\n" lines; absent when none. */
struct str header_value(struct str lines, const char *name);
/* Retry-After (RFC 9110, section 10.2.3): how long from now, -1 when it is neither form. */
int64_t retry_after_ms(struct str value, int64_t now_wall_ms);
