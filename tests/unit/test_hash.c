/*
 * Hashes that reach the disk: their values must never change, so they are held against published
 * ones.
 */
#include "check.h"

#include "base/hash.h"

/* SipHash-2-4-128, the first vectors of the reference implementation. */
static void key128_is_siphash(void)
{
    struct hash_secret secret;
    for (uint8_t i = 0; i < 16; i++)
        secret.bytes[i] = i;
    struct key128 empty = hash_key128(&secret, "", 0), one = hash_key128(&secret, "\0", 1);
    CHECK_BYTES(&empty, 16, "\xa3\x81\x7f\x04\xba\x25\xa8\xe6\x6d\xf6\x72\x14\xc7\x55\x02\x93", 16);
    CHECK_BYTES(&one, 16, "\xda\x87\xc1\xd8\x6b\x99\xaf\x44\x34\x76\x59\x11\x9b\x22\xfc\x45", 16);
    CHECK(!key128_eq(empty, one));
    CHECK(key128_eq(one, one));
}

/* RFC 3720, appendix B.4. */
static void crc32c_is_castagnoli(void)
{
    uint8_t bytes[32] = {0};
    CHECK_EQ_UINT(hash_crc32c(0, bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, 32);
    CHECK_EQ_UINT(hash_crc32c(0, bytes, 32), 0x62a8ab43u);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    CHECK_EQ_UINT(hash_crc32c(0, bytes, 32), 0x46dd794eu);
    CHECK_EQ_UINT(hash_crc32c(0, "123456789", 9), 0xe3069283u);
}

static void crc32c_goes_on_where_it_stopped(void)
{
    const char *text = "an event, cut anywhere, has one checksum";
    uint32_t whole = hash_crc32c(0, text, strlen(text));
    for (size_t cut = 0; cut <= strlen(text); cut++)
        CHECK_EQ_UINT(hash_crc32c(hash_crc32c(0, text, cut), text + cut, strlen(text) - cut),
                      whole);
}

int main(void)
{
    RUN(key128_is_siphash);
    RUN(crc32c_is_castagnoli);
    RUN(crc32c_goes_on_where_it_stopped);
    return check_done("hash");
}
