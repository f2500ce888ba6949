/* Parses the master key; encrypts, decrypts and derives secrets with it. Plain text is only in
 * buffers that are wiped, and in the directory. */
#include "accounts/vault.h"

#include <ctype.h>
#include <sodium.h>
#include <stdlib.h>

bool master_key_parse(struct str text, uint8_t ret_key[MASTER_KEY_BYTES], const char **ret_why)
{
    static const int variants[] = {
        sodium_base64_VARIANT_ORIGINAL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING,
        sodium_base64_VARIANT_URLSAFE, sodium_base64_VARIANT_URLSAFE_NO_PADDING};
    while (text.n && isspace((unsigned char)text.p[text.n - 1]))
        text.n--;
    while (text.n && isspace((unsigned char)text.p[0])) {
        text.p++;
        text.n--;
    }
    uint8_t key[MASTER_KEY_BYTES];
    size_t n = 0;
    bool good = text.n == 2 * sizeof key &&
                sodium_hex2bin(key, sizeof key, text.p, text.n, NULL, &n, NULL) == 0 &&
                n == sizeof key;
    for (size_t i = 0; i < ARRAY_LEN(variants) && !good; i++)
        good =
            text.n > 0 &&
            sodium_base642bin(key, sizeof key, text.p, text.n, NULL, &n, NULL, variants[i]) == 0 &&
            n == sizeof key;
    if (good)
        memcpy(ret_key, key, sizeof key);
    else
        *ret_why = "the master key must be 64 hexadecimal digits or the base64 of 32 bytes "
                   "(make one with: openssl rand -hex 32)";
    sodium_memzero(key, sizeof key);
    return good;
}

void vault_derive(const uint8_t key[MASTER_KEY_BYTES], struct str label,
                  uint8_t ret[VAULT_DERIVED_BYTES])
{
    ASSERT(label.n <= 255);
    _Static_assert(crypto_auth_hmacsha256_KEYBYTES == MASTER_KEY_BYTES, "the key as it is");
    _Static_assert(crypto_auth_hmacsha256_BYTES == VAULT_DERIVED_BYTES, "SHA-256");
    ASSERT(crypto_auth_hmacsha256(ret, (const unsigned char *)label.p, label.n, key) == 0);
}

void vault_seal(const struct vault *vault, struct env *env, struct str secret, struct buf *to)
{
    struct buf box = {0};
    size_t n = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + secret.n;
    uint8_t *nonce = (uint8_t *)buf_reserve(&box, n);
    env_random(env, nonce, crypto_secretbox_NONCEBYTES);
    ASSERT(crypto_secretbox_easy(nonce + crypto_secretbox_NONCEBYTES,
                                 (const unsigned char *)secret.p, secret.n, nonce,
                                 vault->key) == 0);
    size_t text_bytes = sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL);
    sodium_bin2base64(buf_reserve(to, text_bytes), text_bytes, nonce, n,
                      sodium_base64_VARIANT_ORIGINAL);
    to->n += text_bytes - 1; /* not the NUL */
    buf_free(&box);
}

/* nonce, then box of n bytes */
static bool open_box(const uint8_t key[MASTER_KEY_BYTES], const uint8_t *nonce, size_t n,
                     uint8_t *ret_secret)
{
    return crypto_secretbox_open_easy(ret_secret, nonce + crypto_secretbox_NONCEBYTES, n, nonce,
                                      key) == 0;
}

bool vault_open(const struct vault *vault, struct arena *arena, struct str sealed,
                struct str *ret_secret, bool *ret_under_second)
{
    const size_t overhead = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;
    uint8_t *bytes = arena_alloc(arena, sealed.n + 1);
    size_t n = 0;
    if (!sealed.p || sodium_base642bin(bytes, sealed.n, sealed.p, sealed.n, NULL, &n, NULL,
                                       sodium_base64_VARIANT_ORIGINAL) != 0)
        return false;
    if (n < overhead)
        return false;
    uint8_t *secret = arena_alloc(arena, n - overhead + 1);
    const size_t box = n - crypto_secretbox_NONCEBYTES;
    if (!open_box(vault->key, bytes, box, secret)) {
        if (!vault->has_second || !open_box(vault->second, bytes, box, secret))
            return false;
        *ret_under_second = true;
    }
    *ret_secret = (struct str){(const char *)secret, n - overhead};
    return true;
}
