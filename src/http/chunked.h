/* Decoding of the chunked transfer coding, strictly (RFC 9112, section 7.1). Pure. */
#pragma once

#include "base/buf.h"

#define CHUNKED_EXTENSION_BYTES_MAX 1024 /* of one chunk */

enum chunked_result {
    CHUNKED_MORE,
    CHUNKED_END,
    CHUNKED_MALFORMED,
    CHUNKED_TOO_LARGE,
    CHUNKED_LONG_EXTENSION,
    CHUNKED_LONG_TRAILERS, /* beyond LIMIT_HEADER_BYTES */
};

/* Zero-initialised is the beginning of a body. */
struct chunked {
    int state;
    int digits;
    uint64_t chunk_left;
    size_t line_bytes; /* of a chunk's extensions, or of the trailer section */
};

/* Decodes bytes into `body`, which may not grow beyond max_bytes. *ret_used: how many bytes were
 * used, all of them on CHUNKED_MORE, up to the body's end on CHUNKED_END. Skips extensions and
 * trailer fields. */
MUST_CHECK enum chunked_result chunked_decode(struct chunked *c, const char *p, size_t n,
                                              struct buf *body, size_t max_bytes, size_t *ret_used);
