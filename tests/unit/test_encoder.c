/* Compressed answers: what was flushed can be read at once, what was ended is whole, whichever way
 * the bytes came. */
#include "http/encoder.h"

#include "base/alloc.h"
#include "base/env.h"
#include "check.h"

#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

struct decoder {
    enum coding coding;
    z_stream gzip;
    ZSTD_DCtx *zstd;
    struct buf text;
    bool has_ended;
};

static void decode(struct decoder *d, struct str bytes)
{
    static char room[1 << 20];
    if (d->coding == CODING_ZSTD) {
        ZSTD_inBuffer in = {bytes.p, bytes.n, 0};
        ZSTD_outBuffer out = {room, sizeof room, 0};
        size_t left = ZSTD_decompressStream(d->zstd, &out, &in);
        ASSERT(!ZSTD_isError(left) && in.pos == in.size && out.pos < sizeof room);
        buf_add(&d->text, room, out.pos);
        d->has_ended = left == 0;
        return;
    }
    d->gzip.next_in = (const Bytef *)bytes.p;
    d->gzip.avail_in = (uInt)bytes.n;
    d->gzip.next_out = (Bytef *)room;
    d->gzip.avail_out = sizeof room;
    d->has_ended = inflate(&d->gzip, Z_SYNC_FLUSH) == Z_STREAM_END;
    ASSERT(d->gzip.avail_in == 0 && d->gzip.avail_out > 0);
    buf_add(&d->text, room, sizeof room - d->gzip.avail_out);
}

static struct buf rows(int count, struct rng *rng)
{
    struct buf text = {0};
    for (int i = 0; i < count; i++)
        buf_printf(&text, "{\"Day\":\"2026-11-%02d\",\"ClientId\":\"c-%llu\",\"Earnings\":%llu}\n",
                   i % 30 + 1, (unsigned long long)rng_below(rng, 50),
                   (unsigned long long)rng_next(rng));
    return text;
}

static size_t stream(enum coding coding, struct str text, struct rng *rng)
{
    struct decoder d = {.coding = coding, .zstd = ZSTD_createDCtx()};
    struct encoder *e = encoder_new(coding);
    struct buf packed = {0};
    size_t at = 0, read = 0;
    bool is_last;
    ASSERT(inflateInit2(&d.gzip, 15 + 16) == Z_OK);
    do {
        size_t n = rng_below(rng, ENCODER_SLICE_BYTES) + 1;
        is_last = n >= text.n - at;
        n = is_last ? text.n - at : n;
        enum encoder_flush flush = is_last             ? ENCODER_END
                                   : rng_below(rng, 3) ? ENCODER_MORE
                                                       : ENCODER_FLUSH;
        encoder_add(e, (struct str){text.p + at, n}, flush, &packed);
        at += n;
        decode(&d, (struct str){packed.p + read, packed.n - read});
        read = packed.n;
        if (flush != ENCODER_MORE)
            CHECK(str_eq(buf_str(&d.text), (struct str){text.p, at}));
        CHECK_EQ_INT(d.has_ended, is_last);
    } while (!is_last);
    encoder_free(e);
    inflateEnd(&d.gzip);
    ZSTD_freeDCtx(d.zstd);
    buf_free(&d.text);
    buf_free(&packed);
    return read;
}

static void what_was_flushed_can_be_read(void)
{
    struct rng rng;
    rng_seed(&rng, 17);
    for (int i = 0; i < 20; i++) {
        struct buf text = rows(1 + (int)rng_below(&rng, 4000), &rng);
        size_t gzip = stream(CODING_GZIP, buf_str(&text), &rng);
        size_t zstd = stream(CODING_ZSTD, buf_str(&text), &rng);
        if (text.n > 10000)
            CHECK(gzip < text.n / 2 && zstd < text.n / 2);
        buf_free(&text);
    }
}

static void nothing_is_an_answer_too(void)
{
    struct rng rng;
    rng_seed(&rng, 1);
    CHECK(stream(CODING_GZIP, STR(""), &rng) > 0);
    CHECK(stream(CODING_ZSTD, STR(""), &rng) > 0);
    encoder_free(NULL);
}

int main(void)
{
    RUN(what_was_flushed_can_be_read);
    RUN(nothing_is_an_answer_too);
    return check_done("encoder");
}
