/* Packed texts of attempts: bytes from a database do no harm, whatever they are, and what is packed
 * here comes back byte for byte. The first byte says where the request headers end. */
#include "fuzz.h"

#include "base/alloc.h"
#include "store/packed/attempt_texts.h"

#include <stdlib.h>

static const struct attempt_facts facts = {STR("ev-1.x"), 1763726400123};

static void read_them(struct str packed)
{
    struct arena arena = {0};
    struct attempt a = {.number = 3, .at_ms = 1763726401999};
    if (!attempt_texts_read(packed, &facts, &arena, &a))
        ASSERT(!a.request_headers.p && !a.response_headers.p && !a.response_body.p);
    arena_free(&arena);
}

/* As if their sum was right, which random bytes never have. */
static void read_summed(struct str pieces)
{
    struct text_packer packer = {0};
    read_them(text_pack(&packer, pieces));
    text_packer_free(&packer);
}

static void pack_and_read(struct str bytes, size_t split)
{
    struct attempt_packer *packer = xcalloc(1, sizeof *packer);
    struct arena arena = {0};
    split = split > bytes.n ? bytes.n : split;
    struct attempt a = {.number = 3,
                        .at_ms = 1763726401999,
                        .request_headers = {bytes.p, split},
                        .response_headers = {bytes.p + split, (bytes.n - split) / 2}};
    a.response_body = (struct str){a.response_headers.p + a.response_headers.n,
                                   bytes.n - split - a.response_headers.n};
    struct attempt got = {.number = a.number, .at_ms = a.at_ms};
    ASSERT(attempt_texts_read(attempt_texts_pack(packer, &a, &facts), &facts, &arena, &got));
    ASSERT(str_eq(got.request_headers, a.request_headers));
    ASSERT(str_eq(got.response_headers, a.response_headers));
    ASSERT(str_eq(got.response_body, a.response_body));
    arena_free(&arena);
    attempt_packer_free(packer);
    free(packer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    if (data_bytes == 0)
        return 0;
    struct str bytes = {(const char *)data + 1, data_bytes - 1};
    read_them(bytes);
    read_summed(bytes);
    pack_and_read(bytes, (size_t)data[0] * 4);
    return 0;
}
