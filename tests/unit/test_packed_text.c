/* Packed texts: each comes back byte for byte, in little room if it says what callbacks say; what
 * was packed once can be read for ever; no wrong bit makes another text of it. */
#include "base/alloc.h"
#include "base/env.h"
#include "check.h"
#include "store/packed/packed_text.h"

#include <stdlib.h>

static struct text_packer packer;
static struct arena arena;

static const struct str usual = STR(
    "{\"Sig\":\"4f2b7a90c1d35e68\",\"PanelistId\":\"user-77\",\"RewardType\":\"survey_completed\","
    "\"RewardId\":\"r-1\",\"Reward\":93.00,\"SessionId\":\"s-1\",\"RevenueAmount\":0.93,"
    "\"IsTest\":false}");

static bool comes_back(struct str text)
{
    struct str ret;
    return text_unpack(text_pack(&packer, text), &arena, &ret) && str_eq(ret, text);
}

static void usual_ones_are_small(void)
{
    CHECK(comes_back(usual));
    CHECK(text_pack(&packer, usual).n < usual.n / 2);
    CHECK(comes_back(STR("")));
    CHECK(!text_pack(&packer, STR_NONE).p);
}

static void all_kinds_come_back(void)
{
    struct rng rng;
    rng_seed(&rng, 4711);
    for (size_t n = 0; n < 70000; n = n * 2 + 1) {
        char *text = xmalloc(n + 1);
        for (size_t i = 0; i < n; i++)
            text[i] = (char)rng_next(&rng);
        CHECK(comes_back((struct str){text, n})); /* cannot be packed */
        for (size_t i = 0; i < n; i++)
            text[i] = usual.p[i % 61];
        CHECK(comes_back((struct str){text, n}));
        free(text);
    }
}

/* The bytes are those of the first release. If this fails, do not change the bytes: rows that say
 * this are in databases. */
static void what_was_packed_once_is_read(void)
{
    static const unsigned char packed[] = {
        0x9d, 0x05, 0x99, 0x1a, 0xcb, 0x4c, 0x04, 0xab, 0x00, 0xfc, 0x01, 0x34, 0x66, 0x32, 0x62,
        0x37, 0x61, 0x39, 0x30, 0x63, 0x31, 0x64, 0x33, 0x35, 0x65, 0x36, 0x38, 0xe7, 0x01, 0x7f,
        0x75, 0x73, 0x65, 0x72, 0x2d, 0x37, 0x37, 0xa2, 0x00, 0x1b, 0x35, 0x72, 0x2d, 0x31, 0x31,
        0x00, 0x4d, 0x22, 0x3a, 0x39, 0x33, 0xa4, 0x00, 0x13, 0x73, 0x21, 0x00, 0x09, 0xd8, 0x01,
        0x47, 0x30, 0x2e, 0x39, 0x33, 0xa7, 0x00, 0x50, 0x61, 0x6c, 0x73, 0x65, 0x7d};
    struct str ret;
    CHECK(text_unpack((struct str){(const char *)packed, sizeof packed}, &arena, &ret));
    CHECK(str_eq(ret, usual));
}

static void no_wrong_bit_changes_a_text(void)
{
    struct str packed = text_pack(&packer, usual), ret;
    char *copy = xmalloc(packed.n);
    for (size_t i = 0; i < packed.n * 8; i++) {
        memcpy(copy, packed.p, packed.n);
        copy[i / 8] = (char)(copy[i / 8] ^ (1 << i % 8));
        /* a reference to another place that says the same is no damage */
        CHECK(text_unpack((struct str){copy, packed.n}, &arena, &ret) ? str_eq(ret, usual)
                                                                      : !ret.p);
    }
    for (size_t n = 0; n < packed.n; n++)
        CHECK(!text_unpack((struct str){copy, n}, &arena, &ret) && !ret.p);
    free(copy);
}

int main(void)
{
    RUN(usual_ones_are_small);
    RUN(all_kinds_come_back);
    RUN(what_was_packed_once_is_read);
    RUN(no_wrong_bit_changes_a_text);
    text_packer_free(&packer);
    arena_free(&arena);
    return check_done("packed_text");
}
