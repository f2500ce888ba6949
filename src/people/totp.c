/* RFC 6238 over RFC 4226. The only use of SHA-1: HMAC with it is secure, and authenticator apps
 * ignore another algorithm in the URI. */
#include "people/totp.h"

#include "base/check.h"
#include "domain/url_macros.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#define SHA1_BYTES 20
#define WINDOW_STEPS 1

uint32_t totp_value(struct str secret, int64_t step)
{
    unsigned char counter[8], mac[SHA1_BYTES];
    unsigned n = 0;
    for (int i = 7; i >= 0; i--) {
        counter[i] = (unsigned char)(step & 0xff);
        step >>= 8;
    }
    ASSERT(HMAC(EVP_sha1(), secret.p, (int)secret.n, counter, sizeof counter, mac, &n) != NULL &&
           n == sizeof mac);
    const unsigned char *at = mac + (mac[SHA1_BYTES - 1] & 0xf); /* RFC 4226, section 5.3 */
    uint32_t bits = (uint32_t)(at[0] & 0x7f) << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
                    (uint32_t)at[3];
    return bits % 1000000;
}

static bool read_code(struct str code, uint32_t *ret)
{
    uint64_t value;
    if (code.n != TOTP_DIGITS || !str_parse_uint(code, UINT32_MAX, &value))
        return false;
    *ret = (uint32_t)value;
    return true;
}

int64_t totp_find_step(struct str secret, struct str code, int64_t now_ms,
                       const struct used_once *used)
{
    uint32_t value;
    int64_t found = 0, now = now_ms / TOTP_PERIOD_MS;
    if (!read_code(code, &value))
        return 0;
    for (int64_t step = now - WINDOW_STEPS; step <= now + WINDOW_STEPS; step++)
        if (!used_once_refuses(used, step, now + WINDOW_STEPS) && totp_value(secret, step) == value)
            found = step;
    return found;
}

void base32_print(struct buf *to, struct str bytes)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    uint32_t bits = 0;
    int held = 0;
    for (size_t i = 0; i < bytes.n; i++) {
        bits = (bits << 8 | (unsigned char)bytes.p[i]) & 0xfff;
        held += 8;
        while (held >= 5) {
            held -= 5;
            buf_add_char(to, alphabet[bits >> held & 31]);
        }
    }
    if (held > 0)
        buf_add_char(to, alphabet[bits << (5 - held) & 31]);
}

void totp_print_uri(struct buf *to, struct str secret, struct str email)
{
    buf_add_c(to, "otpauth://totp/postbackd:");
    url_encode(to, email);
    buf_add_c(to, "?secret=");
    base32_print(to, secret);
    buf_add_c(to, "&issuer=postbackd&algorithm=SHA1&digits=6&period=30");
}
