/* zlib's deflate and zstd with small windows: answers repeat the same names on every line, and a
 * stream keeps its memory for as long as its client reads. docs/decisions/compression.md has what
 * was measured. */
#include "http/encoder.h"

#include "base/alloc.h"

#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

#define GZIP_LEVEL 4        /* of 9: from here on a smaller answer costs much more time */
#define GZIP_WINDOW_BITS 13 /* 8 KiB */
#define GZIP_WRAPPER 16     /* added to them: RFC 1952 instead of RFC 1950 */
#define GZIP_MEMORY_LEVEL 7
#define ZSTD_LEVEL 1
#define ZSTD_WINDOW_BITS 14 /* 16 KiB: with 8 some answers are larger than gzip's */
#define ROOM_BYTES 4096

struct encoder {
    enum coding coding;
    z_stream gzip;
    ZSTD_CCtx *zstd;
};

struct encoder *encoder_new(enum coding coding)
{
    struct encoder *e = xcalloc(1, sizeof *e);
    e->coding = coding;
    if (coding == CODING_ZSTD) {
        e->zstd = ZSTD_createCCtx();
        ASSERT(e->zstd);
        ASSERT(!ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)));
        ASSERT(!ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_windowLog, ZSTD_WINDOW_BITS)));
    } else {
        ASSERT(coding == CODING_GZIP);
        ASSERT(deflateInit2(&e->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS + GZIP_WRAPPER,
                            GZIP_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK);
    }
    return e;
}

void encoder_free(struct encoder *e)
{
    if (!e)
        return;
    if (e->coding == CODING_ZSTD)
        ZSTD_freeCCtx(e->zstd);
    else
        deflateEnd(&e->gzip);
    free(e);
}

static void add_gzip(z_stream *z, struct str bytes, enum encoder_flush flush, struct buf *to)
{
    static const int modes[] = {
        [ENCODER_MORE] = Z_NO_FLUSH, [ENCODER_FLUSH] = Z_SYNC_FLUSH, [ENCODER_END] = Z_FINISH};
    z->next_in = (const Bytef *)bytes.p;
    z->avail_in = (uInt)bytes.n;
    do {
        buf_reserve(to, ROOM_BYTES);
        z->next_out = (Bytef *)to->p + to->n;
        z->avail_out = ROOM_BYTES;
        (void)deflate(z, modes[flush]); /* an error only if there was nothing to do */
        to->n += ROOM_BYTES - z->avail_out;
    } while (z->avail_out == 0);
    ASSERT(z->avail_in == 0);
}

static void add_zstd(ZSTD_CCtx *zstd, struct str bytes, enum encoder_flush flush, struct buf *to)
{
    static const ZSTD_EndDirective modes[] = {[ENCODER_MORE] = ZSTD_e_continue,
                                              [ENCODER_FLUSH] = ZSTD_e_flush,
                                              [ENCODER_END] = ZSTD_e_end};
    ZSTD_inBuffer in = {bytes.p, bytes.n, 0};
    size_t left;
    do {
        buf_reserve(to, ROOM_BYTES);
        ZSTD_outBuffer out = {to->p + to->n, ROOM_BYTES, 0};
        left = ZSTD_compressStream2(zstd, &out, &in, modes[flush]);
        ASSERT(!ZSTD_isError(left));
        to->n += out.pos;
    } while (flush == ENCODER_MORE ? in.pos < in.size : left > 0);
}

void encoder_add(struct encoder *e, struct str bytes, enum encoder_flush flush, struct buf *to)
{
    if (e->coding == CODING_ZSTD)
        add_zstd(e->zstd, bytes, flush, to);
    else
        add_gzip(&e->gzip, bytes, flush, to);
}
