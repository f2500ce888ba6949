/* Content-Encoding gzip (RFC 1952), bit by bit: a whole answer, or a stream whose every piece can
 * be read when it arrives. Some 100 KiB each while it lives. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

/* What may be given in one call on a loop: well below a millisecond. */
#define GZIP_SLICE_BYTES 32768

struct gzip;

enum gzip_flush { GZIP_MORE, GZIP_FLUSH, GZIP_END };

struct gzip *gzip_new(void);
void gzip_free(struct gzip *g); /* NULL: nothing */
/* FLUSH: what was given so far can be read from what was added to `to` so far. After END only free
 * is left. */
void gzip_add(struct gzip *g, struct str bytes, enum gzip_flush flush, struct buf *to);
