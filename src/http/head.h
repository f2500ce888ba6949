/* The head of a request: where it ends, what it says, how its body is framed. Pure: bytes in,
 * judgement out. RFC 9112, read strictly wherever two readers could disagree about where a
 * request ends (request smuggling). */
#pragma once

#include "base/limits.h"
#include "http/grammar.h"
#include "http/server.h"

struct head {
    struct grammar_lines lines;
    enum http_method method;
    struct str path, query;
    bool http10, keep_alive, chunked, expects_continue;
    int64_t content_bytes; /* as announced by Content-Length, -1: not announced */
};

/* What cannot be served: the status to answer and a sentence (static). */
struct head_refusal {
    int status;
    const char *detail;
};

#define TOO_LONG_TARGET                                                                            \
    "the request target is too long (at most " NUMBER_AS_TEXT(LIMIT_TARGET_BYTES) " bytes)"
/* The same over both: who asks may not know which one a proxy or a library speaks. */
#define TOO_LONG_HEAD                                                                              \
    "the head is too long (at most " NUMBER_AS_TEXT(                                               \
        LIMIT_HEADER_BYTES) " bytes with its first line; over HTTP/2, each field counts 32 more)"
#define TOO_MANY_FIELDS "too many header fields (at most " NUMBER_AS_TEXT(LIMIT_HEADERS) ")"

enum head_scan_result { HEAD_MORE, HEAD_WHOLE, HEAD_REFUSED };

/* Where a scan stands between reads; zero-initialised at the first byte of a head. */
struct head_scan {
    size_t seen;      /* bytes looked at */
    size_t line_from; /* where the present line begins */
    size_t lines;
};

/* Looks for the empty line. HEAD_WHOLE: *ret_n bytes are the head. Refuses what must not be
 * anywhere in one: NUL and other control characters, a CR or LF alone, a folded line; and what is
 * too long. */
MUST_CHECK enum head_scan_result head_scan(struct head_scan *scan, const char *p, size_t n,
                                           size_t *ret_n, struct head_refusal *ret_refusal);
/* p, n: a whole head. *head is overwritten but for the memory of its lines. */
MUST_CHECK bool head_parse(struct head *head, char *p, size_t n, struct head_refusal *ret_refusal);
/* The second half of it, for lines that came another way (HTTP/2). */
MUST_CHECK bool head_judge(struct head *head, struct head_refusal *ret_refusal);
void head_free(struct head *head);
