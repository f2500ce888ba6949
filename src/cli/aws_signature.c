/* The canonical request, the string to sign, and the key that is derived for a day and region. */
#include "cli/aws_signature.h"

#include <sodium.h>
#include <stdio.h>
#include <time.h>

#define HASH_BYTES crypto_hash_sha256_BYTES
_Static_assert(2 * HASH_BYTES + 1 == AWS_HEX_BYTES, "a SHA-256 in hex");

static void print_hash(char to[AWS_HEX_BYTES], struct str text)
{
    unsigned char hash[HASH_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text.p, text.n);
    sodium_bin2hex(to, AWS_HEX_BYTES, hash, sizeof hash);
}

static void hmac(unsigned char key[HASH_BYTES], size_t key_bytes, const void *p, size_t n)
{
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key, key_bytes);
    crypto_auth_hmacsha256_update(&state, p, n);
    crypto_auth_hmacsha256_final(&state, key);
}

static void derive_key(const struct aws_credentials *as, struct str day,
                       unsigned char ret[HASH_BYTES])
{
    struct buf first = {0};
    crypto_auth_hmacsha256_state state;
    buf_printf(&first, "AWS4%.*s", STR_ARG(as->secret));
    crypto_auth_hmacsha256_init(&state, (const unsigned char *)first.p, first.n);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)day.p, day.n);
    crypto_auth_hmacsha256_final(&state, ret);
    hmac(ret, HASH_BYTES, as->region.p, as->region.n);
    hmac(ret, HASH_BYTES, "s3", 2);
    hmac(ret, HASH_BYTES, "aws4_request", 12);
    explicit_bzero(first.p, first.n);
    buf_free(&first);
}

void aws_sign(const struct aws_credentials *as, const struct aws_request *r, struct aws_signed *ret)
{
    struct buf canonical = {0}, text = {0};
    char hash[AWS_HEX_BYTES];
    unsigned char key[HASH_BYTES];
    time_t now = (time_t)(r->now_ms / 1000);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(ret->date, sizeof ret->date, "%Y%m%dT%H%M%SZ", &utc);
    struct str day = {ret->date, 8};
    const char *token = as->token.p ? ";x-amz-security-token" : "";
    print_hash(ret->body_hash, r->body);
    buf_printf(&canonical, "%s\n%.*s\n%.*s\nhost:%.*s\nx-amz-content-sha256:%s\nx-amz-date:%s\n",
               r->method, STR_ARG(r->path), STR_ARG(r->query), STR_ARG(r->host), ret->body_hash,
               ret->date);
    if (as->token.p)
        buf_printf(&canonical, "x-amz-security-token:%.*s\n", STR_ARG(as->token));
    buf_printf(&canonical, "\nhost;x-amz-content-sha256;x-amz-date%s\n%s", token, ret->body_hash);
    print_hash(hash, buf_str(&canonical));
    buf_printf(&text, "AWS4-HMAC-SHA256\n%s\n%.*s/%.*s/s3/aws4_request\n%s", ret->date,
               STR_ARG(day), STR_ARG(as->region), hash);
    derive_key(as, day, key);
    hmac(key, sizeof key, text.p, text.n);
    sodium_bin2hex(hash, sizeof hash, key, sizeof key);
    ret->authorization = (struct buf){0};
    buf_printf(&ret->authorization,
               "AWS4-HMAC-SHA256 Credential=%.*s/%.*s/%.*s/s3/aws4_request, "
               "SignedHeaders=host;x-amz-content-sha256;x-amz-date%s, Signature=%s",
               STR_ARG(as->key_id), STR_ARG(day), STR_ARG(as->region), token, hash);
    buf_free(&canonical);
    buf_free(&text);
}
