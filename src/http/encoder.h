/* Content-Encoding gzip (RFC 1952) or zstd (RFC 8878), bit by bit: a whole answer, or a stream
 * whose every piece can be read when it arrives. gzip takes some 100 KiB each while it lives, zstd
 * some 200. */
#pragma once

#include "base/buf.h"
#include "base/check.h"
#include "domain/negotiate.h"

/* What may be given in one call on a loop: well below a millisecond. */
#define ENCODER_SLICE_BYTES 32768

struct encoder;

enum encoder_flush { ENCODER_MORE, ENCODER_FLUSH, ENCODER_END };

struct encoder *encoder_new(enum coding coding); /* gzip or zstd */
void encoder_free(struct encoder *e);            /* NULL: nothing */
/* FLUSH: what was given so far can be read from what was added to `to` so far. After END only free
 * is left. */
void encoder_add(struct encoder *e, struct str bytes, enum encoder_flush flush, struct buf *to);
