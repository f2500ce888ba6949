/* A request's head: finds its end, parses it, and finds out how its body is framed. Pure. RFC 9112,
 * strict where two readers could disagree about the end of a request (request smuggling). */
#pragma once

#include "base/limits.h"
#include "http/grammar.h"
#include "http/server.h"

struct head {
    struct grammar_lines lines;
    enum http_method method;
    struct str path, query;
    bool http10, keep_alive, chunked, expects_continue;
    int64_t content_bytes; /* by Content-Length; -1: it is absent */
};

/* A refusal: status and sentence (static). */
struct head_refusal {
    int status;
    const char *detail;
};

#define TOO_LONG_TARGET                                                                            \
    "the request target is too long (at most " NUMBER_AS_TEXT(LIMIT_TARGET_BYTES) " bytes)"
/* One text for both versions: a client may not know which one its proxy or library speaks. */
#define TOO_LONG_HEAD                                                                              \
    "the head is too long (at most " NUMBER_AS_TEXT(                                               \
        LIMIT_HEADER_BYTES) " bytes with its first line; over HTTP/2, each field counts 32 more)"
#define TOO_MANY_FIELDS "too many header fields (at most " NUMBER_AS_TEXT(LIMIT_HEADERS) ")"

enum head_scan_result { HEAD_MORE, HEAD_WHOLE, HEAD_REFUSED };

/* A scan's position between reads; zero-initialised at the first byte of a head. */
struct head_scan {
    size_t seen;      /* bytes scanned */
    size_t line_from; /* begin of the present line */
    size_t lines;
};

/* Searches the empty line. HEAD_WHOLE: the head has *ret_n bytes. Refuses NUL and other control
 * characters, a CR or LF alone, a folded line, and a head that is too long. */
MUST_CHECK enum head_scan_result head_scan(struct head_scan *scan, const char *p, size_t n,
                                           size_t *ret_n, struct head_refusal *ret_refusal);
/* p, n: a whole head. Overwrites *head, but reuses the memory of its lines. */
MUST_CHECK bool head_parse(struct head *head, char *p, size_t n, struct head_refusal *ret_refusal);
/* The second half of head_parse, for lines from HTTP/2. */
MUST_CHECK bool head_judge(struct head *head, struct head_refusal *ret_refusal);
void head_free(struct head *head);
