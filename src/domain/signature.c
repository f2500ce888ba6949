/* Sig and the Standard Webhooks signature.
 *
 * Both are computed for each attempt, so they limit how much a core can send. Hashing 400 bytes is
 * cheap; setting up is not: fetching an algorithm, allocating a context, hashing a key into its two
 * pads. So each thread keeps its contexts, and a table of contexts that are keyed with a secret
 * already (lanes take turns on a thread, so a single remembered key would be replaced at every
 * attempt). The table has sets of four, the last used first; keys are wiped when they leave it and
 * when the thread ends.
 *
 * A failing OpenSSL call here means a build without MD5 or SHA-256, or no memory: it ends the
 * process. */
#include "domain/signature.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdlib.h>

#define KEYED_SETS 256 /* per thread; a context has about 1 KiB, made when first used */
#define KEYED_WAYS 4
#define SECRET_TAIL_BYTES 8 /* hashed to find the set: secrets are random */
#define SECRET_PREFIX "whsec_"
#define SECRET_PREFIX_BYTES (sizeof SECRET_PREFIX - 1)

struct keyed {
    EVP_MAC_CTX *ctx; /* NULL: free */
    size_t secret_n;
    char secret[SECRET_BYTES_MAX];
};

struct signer {
    EVP_MD *md5;
    EVP_MD_CTX *md5_ctx;
    EVP_MAC *hmac;
    struct keyed *keyed[KEYED_SETS][KEYED_WAYS];
};

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key_of_thread; /* only for its destructor */
static _Thread_local struct signer *signer_here;

static void keyed_free(struct keyed *k)
{
    if (!k)
        return;
    EVP_MAC_CTX_free(k->ctx);
    OPENSSL_cleanse(k, sizeof *k);
    free(k);
}

static void signer_free(void *p)
{
    struct signer *s = p;
    for (size_t i = 0; i < KEYED_SETS; i++)
        for (size_t j = 0; j < KEYED_WAYS; j++)
            keyed_free(s->keyed[i][j]);
    EVP_MD_CTX_free(s->md5_ctx);
    EVP_MD_free(s->md5);
    EVP_MAC_free(s->hmac);
    free(s);
}

static void make_key(void)
{
    ASSERT(pthread_key_create(&key_of_thread, signer_free) == 0);
}

static struct signer *signer_of_thread(void)
{
    if (signer_here)
        return signer_here;
    struct signer *s = xcalloc(1, sizeof *s);
    s->md5 = EVP_MD_fetch(NULL, "MD5", NULL);
    s->md5_ctx = EVP_MD_CTX_new();
    s->hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    ASSERT(s->md5 && s->md5_ctx && s->hmac);
    ASSERT(pthread_once(&key_once, make_key) == 0);
    ASSERT(pthread_setspecific(key_of_thread, s) == 0);
    signer_here = s;
    return s;
}

void signature_sig(struct str panelist_id, struct str reward_id, struct str secret,
                   char ret_hex[SIG_HEX_BYTES])
{
    struct signer *s = signer_of_thread();
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    ASSERT(EVP_DigestInit_ex2(s->md5_ctx, s->md5, NULL) == 1);
    ASSERT(EVP_DigestUpdate(s->md5_ctx, panelist_id.p, panelist_id.n) == 1);
    ASSERT(EVP_DigestUpdate(s->md5_ctx, reward_id.p, reward_id.n) == 1);
    ASSERT(EVP_DigestUpdate(s->md5_ctx, secret.p, secret.n) == 1);
    ASSERT(EVP_DigestFinal_ex(s->md5_ctx, digest, &n) == 1 && n * 2 == SIG_HEX_BYTES);
    hex_print(ret_hex, digest, n);
}

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* RFC 4648, section 4, padding required, no white space. Returns the length, or -1. */
static int base64_decode(struct str text, uint8_t *to, size_t capacity)
{
    if (text.n == 0 || text.n % 4 != 0 || text.n / 4 * 3 > capacity)
        return -1;
    size_t pad = text.p[text.n - 1] != '=' ? 0 : text.p[text.n - 2] != '=' ? 1 : 2;
    size_t n = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < text.n - pad; i++) {
        int v = base64_value(text.p[i]);
        if (v < 0)
            return -1;
        bits = bits << 6 | (uint32_t)v;
        if (i % 4 != 0)
            to[n++] = (uint8_t)(bits >> (6 - i % 4 * 2));
    }
    return (int)n;
}

size_t signature_webhook_key(struct str secret, uint8_t ret_key[SECRET_BYTES_MAX])
{
    ASSERT(secret.n <= SECRET_BYTES_MAX);
    if (str_has_prefix(secret, SECRET_PREFIX)) {
        struct str encoded = {secret.p + SECRET_PREFIX_BYTES, secret.n - SECRET_PREFIX_BYTES};
        int n = base64_decode(encoded, ret_key, SECRET_BYTES_MAX);
        if (n >= 0)
            return (size_t)n;
    }
    if (secret.n > 0)
        memcpy(ret_key, secret.p, secret.n);
    return secret.n;
}

static EVP_MAC_CTX *key_context(struct signer *s, struct str secret)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                           OSSL_PARAM_construct_end()};
    uint8_t key[SECRET_BYTES_MAX];
    size_t key_n = signature_webhook_key(secret, key);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(s->hmac);
    ASSERT(ctx && EVP_MAC_init(ctx, key, key_n, params) == 1);
    OPENSSL_cleanse(key, sizeof key);
    return ctx;
}

static struct keyed *keyed_new(struct signer *s, struct str secret)
{
    struct keyed *k = xcalloc(1, sizeof *k);
    k->ctx = key_context(s, secret);
    k->secret_n = secret.n;
    memcpy(k->secret, secret.p, secret.n);
    return k;
}

/* A context keyed with this secret, ready for a message. */
static EVP_MAC_CTX *context_for(struct signer *s, struct str secret)
{
    ASSERT(secret.n > 0 && secret.n <= SECRET_BYTES_MAX);
    _Static_assert(KEYED_SETS == 256, "the set is the top byte of the hash");
    size_t tail = secret.n < SECRET_TAIL_BYTES ? secret.n : SECRET_TAIL_BYTES;
    struct keyed **set = s->keyed[hash_fast(secret.p + secret.n - tail, tail) >> 56];
    struct keyed *k = NULL;
    size_t way = 0;
    for (; way < KEYED_WAYS && set[way] && !k; way++)
        if (set[way]->secret_n == secret.n && memcmp(set[way]->secret, secret.p, secret.n) == 0)
            k = set[way];
    if (k) {
        way--;
        ASSERT(EVP_MAC_init(k->ctx, NULL, 0, NULL) == 1); /* the key stays */
    } else {
        k = keyed_new(s, secret);
        if (way == KEYED_WAYS)
            keyed_free(set[--way]);
    }
    memmove(set + 1, set, way * sizeof(struct keyed *));
    set[0] = k;
    return k->ctx;
}

/* ".1763726400." : the text between id and body in the signed text. */
static size_t print_between(char to[24], int64_t timestamp_s)
{
    char digits[20];
    size_t n = 0, at = 0;
    ASSERT(timestamp_s >= 0);
    do {
        digits[n++] = (char)('0' + timestamp_s % 10);
        timestamp_s /= 10;
    } while (timestamp_s);
    to[at++] = '.';
    while (n)
        to[at++] = digits[--n];
    to[at++] = '.';
    return at;
}

void signature_webhook(struct str secret, struct str id, int64_t timestamp_s, struct str body,
                       char ret_text[WEBHOOK_SIGNATURE_BYTES])
{
    char between[24];
    size_t between_n = print_between(between, timestamp_s);
    unsigned char mac[32];
    size_t n = 0;
    EVP_MAC_CTX *ctx = context_for(signer_of_thread(), secret);
    ASSERT(EVP_MAC_update(ctx, (const unsigned char *)id.p, id.n) == 1);
    ASSERT(EVP_MAC_update(ctx, (const unsigned char *)between, between_n) == 1);
    ASSERT(EVP_MAC_update(ctx, (const unsigned char *)body.p, body.n) == 1);
    ASSERT(EVP_MAC_final(ctx, mac, &n, sizeof mac) == 1 && n == sizeof mac);
    memcpy(ret_text, "v1,", 3);
    int written = EVP_EncodeBlock((unsigned char *)ret_text + 3, mac, (int)n);
    ASSERT(written == WEBHOOK_SIGNATURE_BYTES - 4);
}

void signature_query(struct str secret, struct str query, char ret_hex[QUERY_SIGNATURE_BYTES])
{
    unsigned char mac[QUERY_SIGNATURE_BYTES / 2];
    unsigned int n = 0;
    ASSERT(secret.n <= SECRET_BYTES_MAX);
    ASSERT(HMAC(EVP_sha256(), secret.p, (int)secret.n, (const unsigned char *)query.p, query.n, mac,
                &n) != NULL &&
           n == sizeof mac);
    hex_print(ret_hex, mac, n);
}

int signature_make_secret(const uint8_t *random, int n, char ret_text[SECRET_TEXT_MAX])
{
    ASSERT(n >= 24 && n <= 32);
    memcpy(ret_text, SECRET_PREFIX, SECRET_PREFIX_BYTES);
    unsigned char *to = (unsigned char *)ret_text + SECRET_PREFIX_BYTES;
    return (int)SECRET_PREFIX_BYTES + EVP_EncodeBlock(to, random, n);
}

bool signature_secret_valid(struct str secret, const char **ret_why)
{
    if (secret.n < SECRET_BYTES_MIN || secret.n > SECRET_BYTES_MAX) {
        *ret_why = "a Callback Secret has 8 to 256 characters";
        return false;
    }
    for (size_t i = 0; i < secret.n; i++) {
        if (secret.p[i] < 0x21 || secret.p[i] > 0x7e) {
            *ret_why = "a Callback Secret has only visible ASCII characters, no spaces";
            return false;
        }
    }
    if (str_has_prefix(secret, SECRET_PREFIX)) {
        uint8_t key[SECRET_BYTES_MAX];
        struct str encoded = {secret.p + SECRET_PREFIX_BYTES, secret.n - SECRET_PREFIX_BYTES};
        int n = base64_decode(encoded, key, sizeof key);
        OPENSSL_cleanse(key, sizeof key);
        if (n < 0) {
            *ret_why = "after whsec_ a Callback Secret must be padded base64";
            return false;
        }
    }
    return true;
}
