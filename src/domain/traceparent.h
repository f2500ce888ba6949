/* The header traceparent of W3C Trace Context (https://www.w3.org/TR/trace-context/):
 * 00-<trace id>-<parent id>-<flags>, in lower-case hex.
 *
 * We do not collect traces, so we forward the header unchanged (section 3.4 there): a parent id of
 * our own would name a span that nobody reports. */
#pragma once

#include "base/arena.h"
#include "base/check.h"

#include <stdbool.h>

#define TRACEPARENT_BYTES 55
#define TRACEPARENT_PACKED_BYTES 32

/* The trace id of any version; absent: the header is absent or invalid. Borrows from it. */
struct str traceparent_trace_id(struct str header);

/* Packs a header of version 00 into TRACEPARENT_PACKED_BYTES characters that JSON need not escape,
 * never all zeros. Absent: the header is absent, invalid, or of a later version. */
struct str traceparent_pack(struct str header, struct arena *arena);

/* False: these characters are not a packed header. */
MUST_CHECK bool traceparent_unpack(const char packed[TRACEPARENT_PACKED_BYTES],
                                   char ret_text[TRACEPARENT_BYTES + 1]);
