/* HTTP/2 as bytes: the client's half of one connection (RFC 9113), many requests on it and an
 * answer for each. Pure: no socket, no clock, so that it can be fuzzed. nghttp2 cuts frames, packs
 * headers (RFC 7541) and checks the rules; around it stand the bounds of answer.h, and three of
 * HTTP/2's own:
 *
 * - a stream's window is LIMIT_ATTEMPT_BODY_DRAINED_BYTES and is never opened again: a peer cannot
 *   send more of a body than we would read;
 * - frames between one answer and the next are counted: LIMIT_HTTP2_FRAMES_IDLE of PING, SETTINGS,
 *   WINDOW_UPDATE, CONTINUATION, empty DATA or anything else break the connection, and so do
 *   LIMIT_HTTP2_BYTES_IDLE of what is not a body;
 * - nothing may be pushed.
 *
 * What happened to a stream is found out with h2_next after each h2_feed, never by a call from
 * within. As with HTTP/1.1 an outcome is certain once the final headers are complete. */
#pragma once

#include "base/buf.h"
#include "base/limits.h"

struct h2;

enum h2_end {
    H2_OPEN,    /* more may come */
    H2_ENDED,   /* the answer is complete */
    H2_REFUSED, /* the peer has not begun with it and will not: REFUSED_STREAM, or GOAWAY names an
                 * earlier one as the last. Safe to try again (RFC 9113, section 8.7) */
    H2_RESET,   /* by the peer: code */
    H2_BAD,     /* against the rules, or over a bound: h2_stream_print_why; reset by us */
};

/* The caller's memory, from h2_submit to h2_forget; zero-initialised, the upper part filled. */
struct h2_stream {
    struct buf *headers; /* "name: value\n" lines of the final answer, */
    struct buf *body;    /* and its first LIMIT_ATTEMPT_BODY_KEPT_BYTES; NULL: not kept */
    struct str request_body;

    enum h2_end end;
    uint32_t code; /* H2_RESET: RFC 9113, section 7 */
    int status;    /* final; 0 before headers_complete */
    bool headers_complete;
    bool begun;        /* any byte of an answer has come */
    bool headers_sent; /* of the request; false: the peer does not allow another stream yet */
    bool sent;         /* the request is out, body included */
    uint32_t head_bytes, body_bytes;

    int32_t id; /* these and below: h2's */
    int block_status;
    bool closed, is_changed;
    uint8_t interim_count;
    size_t sent_bytes;
    const char *why; /* our own reason for H2_BAD, */
    char *said;      /* or nghttp2's */
    struct h2_stream *changed_next;
};

/* A header line to send. Names are in lower case; pseudo-headers come first. */
struct h2_header {
    struct str name, value;
    bool once; /* differs each time, or is secret: kept out of the compression's memory */
};

struct h2 *h2_new(uint32_t first_streams); /* assumed to be allowed until the peer says; 0: 100 */
void h2_free(struct h2 *h2);

/* How many streams may be opened now: what the peer allows less those open; 0 when the peer has
 * said that it will go (GOAWAY). */
uint32_t h2_room(const struct h2 *h2);
uint32_t h2_allowed_streams(const struct h2 *h2); /* at once, in all; 0: has not said, or none */

/* False: no stream can be opened any more. `request_body` must stay until h2_forget or `sent`. */
MUST_CHECK bool h2_submit(struct h2 *h2, struct h2_stream *stream, const struct h2_header *headers,
                          size_t count);
/* The stream is not watched any more; RST_STREAM (CANCEL) unless it has ended both ways. */
void h2_forget(struct h2 *h2, struct h2_stream *stream);
/* Nothing further is kept of its body; it goes on. */
void h2_keep_nothing(struct h2_stream *stream);

void h2_feed(struct h2 *h2, const char *p, size_t n); /* n > 0 bytes of the peer */
/* After h2_feed and h2_output: the peer has broken a rule or passed a bound, nothing more comes of
 * this connection. What ended before is still told by h2_next. */
bool h2_broken(const struct h2 *h2);
/* A stream about which something became known, NULL: none. Each is told once per feed. */
struct h2_stream *h2_next(struct h2 *h2);
bool h2_has_next(const struct h2 *h2);
/* Appends what is to be sent, about `most` bytes at most; nothing: all is said for now. */
void h2_output(struct h2 *h2, struct buf *to, size_t most);

#define H2_CODE_HTTP_1_1_REQUIRED 0xdu

/* Clauses: "it floods the connection with PING frames". */
void h2_print_why(struct buf *to, const struct h2 *h2);
void h2_stream_print_why(struct buf *to, const struct h2_stream *stream);
const char *h2_code_name(uint32_t code); /* "ENHANCE_YOUR_CALM" */
/* What a GOAWAY gave as its reason; 0: none came, or no error. */
uint32_t h2_leaving_code(const struct h2 *h2);
