/* Content-Encoding gzip (RFC 1952) or zstd (RFC 8878), in pieces: a whole answer, or a stream whose
 * pieces can be read when they arrive. A gzip encoder takes about 100 KiB of memory, a zstd encoder
 * about 200. */
#pragma once

#include "base/buf.h"
#include "base/check.h"
#include "domain/negotiate.h"

/* Maximum per call on a loop: takes well below a millisecond. */
#define ENCODER_SLICE_BYTES 32768

struct encoder;

enum encoder_flush { ENCODER_MORE, ENCODER_FLUSH, ENCODER_END };

struct encoder *encoder_new(enum coding coding); /* gzip or zstd */
void encoder_free(struct encoder *e);            /* NULL: nothing */
/* FLUSH: the output so far decodes to all input so far. After END only encoder_free is allowed. */
void encoder_add(struct encoder *e, struct str bytes, enum encoder_flush flush, struct buf *to);
