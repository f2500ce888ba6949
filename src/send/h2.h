/* The bytes of HTTP/2: the client's half of one connection (RFC 9113). Pure: no socket, no clock,
 * so that it can be fuzzed. nghttp2 parses frames, compresses headers (RFC 7541) and checks the
 * rules; this code adds the bounds of receiver_answer.h, and three for HTTP/2:
 *
 * - a stream's window is LIMIT_ATTEMPT_BODY_DRAINED_BYTES and is never enlarged, so that a peer
 *   cannot send more of a body than would be read;
 * - frames between one answer and the next are counted: LIMIT_HTTP2_FRAMES_IDLE of PING, SETTINGS,
 *   WINDOW_UPDATE, CONTINUATION, empty DATA or any other break the connection, and so do
 *   LIMIT_HTTP2_BYTES_IDLE bytes outside of bodies;
 * - server push is disabled.
 *
 * h2_next reports changes of streams after each h2_feed; there are no callbacks. As with HTTP/1.1
 * an outcome is certain when the final headers are complete. */
#pragma once

#include "base/buf.h"
#include "base/limits.h"

struct h2;

enum h2_end {
    H2_OPEN,  /* more may come */
    H2_ENDED, /* the answer is complete */
    /* the peer has not processed it and will not: REFUSED_STREAM, or GOAWAY names an earlier one as
     * the last. Safe to retry (RFC 9113, section 8.7) */
    H2_REFUSED,
    H2_RESET, /* by the peer: code */
    H2_BAD,   /* breaks a rule or a bound: h2_stream_print_why; it has been reset here */
};

/* The caller's memory, from h2_submit to h2_forget; zero-initialised, the members up to
 * request_body filled. */
struct h2_stream {
    struct buf *headers; /* "name: value\n" lines of the final answer, */
    struct buf *body;    /* and its first LIMIT_ATTEMPT_BODY_KEPT_BYTES; NULL: not kept */
    struct str request_body;

    enum h2_end end;
    uint32_t code; /* H2_RESET: RFC 9113, section 7 */
    int status;    /* final; 0 until headers_complete */
    bool headers_complete;
    bool body_is_cut;  /* it has more bytes than are kept */
    bool begun;        /* any byte of an answer has come */
    bool headers_sent; /* false: the peer does not allow another stream yet */
    bool sent;         /* the whole request has been sent */
    uint32_t head_bytes, body_bytes;

    int32_t id; /* from here on: internal */
    int block_status;
    bool closed, is_changed;
    uint8_t interim_count;
    size_t sent_bytes;
    const char *why;   /* the reason of H2_BAD found by h2.c, */
    char *nghttp2_why; /* or by nghttp2 */
    struct h2_stream *changed_next;
};

/* A header line to send. Names are in lower case; pseudo-headers come first. */
struct h2_header {
    struct str name, value;
    bool once; /* changes with each request, or is secret: HPACK does not index it */
};

/* streams to assume as allowed until the peer's SETTINGS; 0: 100 */
struct h2 *h2_new(uint32_t first_streams);
void h2_free(struct h2 *h2);

/* How many streams may be opened now: the allowed ones less the open ones; 0 after a GOAWAY. */
uint32_t h2_room(const struct h2 *h2);
/* concurrent streams in total; 0: unknown, or none */
uint32_t h2_allowed_streams(const struct h2 *h2);

/* False: no more streams can be opened. `request_body` must stay valid until h2_forget or
 * `sent`. */
MUST_CHECK bool h2_submit(struct h2 *h2, struct h2_stream *stream, const struct h2_header *headers,
                          size_t count);
/* Ends the caller's interest in a stream; sends RST_STREAM (CANCEL) unless both sides have ended
 * it. */
void h2_forget(struct h2 *h2, struct h2_stream *stream);
/* Keeps no more of its body; the stream goes on. */
void h2_keep_nothing(struct h2_stream *stream);

void h2_feed(struct h2 *h2, const char *p, size_t n); /* n > 0 bytes from the peer */
/* After h2_feed and h2_output: the peer has broken a rule or a bound, and the connection is of no
 * more use. h2_next still reports what ended before. */
bool h2_broken(const struct h2 *h2);
/* The next stream that has changed; NULL: none. Each is reported once per feed. */
struct h2_stream *h2_next(struct h2 *h2);
bool h2_has_next(const struct h2 *h2);
/* Appends bytes to send, about `most` at most; none: everything is sent for now. */
void h2_output(struct h2 *h2, struct buf *to, size_t most);

#define H2_CODE_HTTP_1_1_REQUIRED 0xdu

/* Clauses: "it floods the connection with PING frames". */
void h2_print_why(struct buf *to, const struct h2 *h2);
void h2_stream_print_why(struct buf *to, const struct h2_stream *stream);
const char *h2_code_name(uint32_t code); /* "ENHANCE_YOUR_CALM" */
/* The reason of a GOAWAY; 0: none came, or it has no error. */
uint32_t h2_leaving_code(const struct h2 *h2);
