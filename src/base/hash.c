/* SipHash from libsodium, CRC-32C by the CPU's own instruction where it has one. */
#include "base/hash.h"

#include "base/check.h"

#include <sodium.h>

struct key128 hash_key128(const struct hash_secret *secret, const void *p, size_t n)
{
    struct key128 k;
    unsigned char out[crypto_shorthash_siphashx24_BYTES];
    _Static_assert(sizeof out == 16 && sizeof k == 16, "128 bits");
    _Static_assert(sizeof secret->bytes == crypto_shorthash_siphashx24_KEYBYTES, "key size");
    ASSERT(crypto_shorthash_siphashx24(out, p, n, secret->bytes) == 0);
    memcpy(&k, out, sizeof k);
    return k;
}

uint64_t hash_fast(const void *p, size_t n)
{
    const unsigned char *c = p;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ c[i]) * 0x100000001b3u;
    h ^= h >> 32;
    return h * 0x9e3779b97f4a7c15u;
}

static uint32_t crc32c_soft(uint32_t crc, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1u)));
    }
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_hard(uint32_t crc, const unsigned char *p,
                                                              size_t n)
{
    uint64_t c = crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        c = __builtin_ia32_crc32di(c, word);
    }
    uint32_t c32 = (uint32_t)c;
    while (n--)
        c32 = __builtin_ia32_crc32qi(c32, *p++);
    return c32;
}
#endif

uint32_t hash_crc32c(uint32_t crc, const void *p, size_t n)
{
    crc = ~crc;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc32c_hard(crc, p, n);
#endif
    return ~crc32c_soft(crc, p, n);
}
