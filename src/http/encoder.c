/* zlib's deflate with a small window: answers repeat the same names on every line, and a stream
 * keeps its memory for as long as its client reads. */
#include "http/gzip.h"

#include "base/alloc.h"

#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

#define LEVEL 4         /* of 9: from here on a smaller answer costs much more time */
#define WINDOW_BITS 13  /* 8 KiB */
#define GZIP_WRAPPER 16 /* added to them: RFC 1952 instead of RFC 1950 */
#define MEMORY_LEVEL 7
#define ROOM_BYTES 4096

struct gzip {
    z_stream z;
};

struct gzip *gzip_new(void)
{
    struct gzip *g = xcalloc(1, sizeof *g);
    ASSERT(deflateInit2(&g->z, LEVEL, Z_DEFLATED, WINDOW_BITS + GZIP_WRAPPER, MEMORY_LEVEL,
                        Z_DEFAULT_STRATEGY) == Z_OK);
    return g;
}

void gzip_free(struct gzip *g)
{
    if (!g)
        return;
    deflateEnd(&g->z);
    free(g);
}

void gzip_add(struct gzip *g, struct str bytes, enum gzip_flush flush, struct buf *to)
{
    static const int modes[] = {
        [GZIP_MORE] = Z_NO_FLUSH, [GZIP_FLUSH] = Z_SYNC_FLUSH, [GZIP_END] = Z_FINISH};
    g->z.next_in = (const Bytef *)bytes.p;
    g->z.avail_in = (uInt)bytes.n;
    do {
        buf_reserve(to, ROOM_BYTES);
        g->z.next_out = (Bytef *)to->p + to->n;
        g->z.avail_out = ROOM_BYTES;
        (void)deflate(&g->z, modes[flush]); /* an error only where there was nothing to do */
        to->n += ROOM_BYTES - g->z.avail_out;
    } while (g->z.avail_out == 0);
    ASSERT(g->z.avail_in == 0);
}
