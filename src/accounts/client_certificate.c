/* Parses and checks client certificates (client_certificate.h). A separate OpenSSL context is asked
 * whether it would use certificate and key, so that everything accepted here can be used for
 * sending. */
#include "accounts/client_certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <time.h>

#define SUBJECT_BYTES_MAX 512
#define CHAIN_MAX 8

static BIO *reader_of(struct str text)
{
    BIO *bio = BIO_new_mem_buf(text.p, (int)text.n);
    ASSERT(bio);
    return bio;
}

/* Without it OpenSSL asks the terminal. */
static int no_password(char *to, int size, int writing, void *context)
{
    (void)to, (void)size, (void)writing, (void)context;
    return -1;
}

static X509 *first_certificate(struct str pem)
{
    BIO *bio = reader_of(pem);
    X509 *x = PEM_read_bio_X509(bio, NULL, no_password, NULL);
    BIO_free(bio);
    ERR_clear_error();
    return x;
}

static int64_t time_ms(const ASN1_TIME *time)
{
    struct tm tm = {0};
    return ASN1_TIME_to_tm(time, &tm) == 1 ? (int64_t)timegm(&tm) * 1000 : 0;
}

static struct str subject_of(struct arena *arena, X509 *x)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    ASSERT(bio);
    X509_NAME_print_ex(bio, X509_get_subject_name(x), 0, XN_FLAG_RFC2253);
    long n = BIO_get_mem_data(bio, &text);
    size_t bytes = n > 0 ? (size_t)n : 0;
    struct str subject =
        arena_str(arena, (struct str){text ? text : "",
                                      bytes < SUBJECT_BYTES_MAX ? bytes : SUBJECT_BYTES_MAX});
    BIO_free(bio);
    return subject;
}

bool client_certificate_read(struct arena *arena, struct str pem, struct client_certificate *ret,
                             const char **ret_why)
{
    X509 *x = first_certificate(pem);
    if (!x) {
        *ret_why = "holds no certificate that can be read: it begins with -----BEGIN CERTIFICATE";
        return false;
    }
    struct client_certificate read = {.pem = pem};
    unsigned n = sizeof read.sha256;
    bool good = X509_digest(x, EVP_sha256(), read.sha256, &n) == 1;
    ASSERT(good && n == sizeof read.sha256);
    read.not_after_ms = time_ms(X509_get0_notAfter(x));
    read.subject = subject_of(arena, x);
    X509_free(x);
    *ret = read;
    return true;
}

static EVP_PKEY *key_of(struct str key)
{
    BIO *bio = reader_of(key);
    EVP_PKEY *made = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
    BIO_free(bio);
    ERR_clear_error();
    return made;
}

/* Reads the rest of the chain. *ret_whole false: it ends before a damaged certificate. */
static STACK_OF(X509) * chain_of(struct str pem, bool *ret_whole)
{
    STACK_OF(X509) *chain = sk_X509_new_null();
    BIO *bio = reader_of(pem);
    X509 *x = PEM_read_bio_X509(bio, NULL, no_password, NULL);
    X509_free(x); /* the certificate itself */
    while ((x = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL)
        ASSERT(sk_X509_push(chain, x) > 0);
    *ret_whole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE; /* the end */
    BIO_free(bio);
    ERR_clear_error();
    return chain;
}

static const char *pair_fault(X509 *x, EVP_PKEY *key, STACK_OF(X509) * chain)
{
    const char *why = NULL;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    ASSERT(context);
    if (sk_X509_num(chain) > CHAIN_MAX)
        why = "has more than 8 certificates behind the first";
    else if (SSL_CTX_use_cert_and_key(context, x, key, chain, 1) != 1)
        why = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    SSL_CTX_free(context);
    return why;
}

bool client_certificate_fits(struct arena *arena, struct str pem, struct str key_text,
                             int64_t now_ms, bool *ret_key_fault, const char **ret_why)
{
    X509 *x = first_certificate(pem);
    ASSERT(x); /* the caller has read it */
    EVP_PKEY *key = key_of(key_text);
    bool whole;
    STACK_OF(X509) *chain = chain_of(pem, &whole);
    const char *why = NULL;
    bool key_fault = false;
    if (!key) {
        why = "holds no key that can be read: PEM, without a password";
        key_fault = true;
    } else if (X509_check_private_key(x, key) != 1) {
        why = "does not belong to the certificate";
        key_fault = true;
    } else if (time_ms(X509_get0_notAfter(x)) <= now_ms) {
        why = "has expired";
    } else if (X509_check_purpose(x, X509_PURPOSE_SSL_CLIENT, 0) != 1) {
        why = "may not be used by TLS clients: its key usage says so";
    } else if (!whole) { /* receivers would refuse an incomplete chain */
        why = arena_print(arena, "holds a certificate, number %d, that cannot be read",
                          sk_X509_num(chain) + 2)
                  .p;
    } else {
        why = pair_fault(x, key, chain);
    }
    ERR_clear_error();
    sk_X509_pop_free(chain, X509_free);
    EVP_PKEY_free(key);
    X509_free(x);
    *ret_key_fault = key_fault;
    *ret_why = why;
    return !why;
}
