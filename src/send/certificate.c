/* Describes what is wrong with a receiver's certificate, so that its owner can fix it. OpenSSL says
 * that a name does not match, but not which name was expected and which the certificate has; and
 * after a failed verification the certificate is gone when the handshake reports it. So the reason
 * is made while OpenSSL verifies, without changing the result. */
#include "send/sender_internal.h"

#include "base/alloc.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#define NAMES_SHOWN 4

static void add_printable(struct buf *to, const unsigned char *p, int n)
{
    for (int i = 0; i < n && i < 80; i++)
        buf_add_char(to, p[i] > 0x20 && p[i] < 0x7f ? (char)p[i] : '?');
}

static bool add_name(struct buf *to, const GENERAL_NAME *name)
{
    int type = 0;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);
    struct address address = {0};
    if (type == GEN_DNS) {
        add_printable(to, ASN1_STRING_get0_data(value), ASN1_STRING_length(value));
        return true;
    }
    if (type != GEN_IPADD)
        return false;
    int n = ASN1_STRING_length(value);
    if (n != 4 && n != 16)
        return false;
    address.family = n == 4 ? AF_INET : AF_INET6;
    memcpy(address.bytes, ASN1_STRING_get0_data(value), (size_t)n);
    address_print(to, &address);
    return true;
}

/* "a.example, b.example and 3 more"; a name in the subject only does not count any more (RFC 6125,
 * section 6.4.4 and RFC 9525). */
static void add_names(struct buf *to, X509 *certificate)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int count = sk_GENERAL_NAME_num(names), shown = 0, hidden = 0;
    struct buf one = {0};
    for (int i = 0; i < count; i++) {
        buf_clear(&one);
        if (!add_name(&one, sk_GENERAL_NAME_value(names, i)))
            continue;
        if (shown == NAMES_SHOWN) {
            hidden++;
            continue;
        }
        buf_add_c(to, shown++ ? ", " : "");
        buf_add_str(to, buf_str(&one));
    }
    if (hidden > 0)
        buf_printf(to, " and %d more", hidden);
    if (shown == 0)
        buf_add_c(to, "no name at all");
    buf_free(&one);
    GENERAL_NAMES_free(names);
}

static void add_time(struct buf *to, const ASN1_TIME *time)
{
    struct tm tm;
    if (ASN1_TIME_to_tm(time, &tm) == 1)
        buf_printf(to, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

static void say(struct buf *to, const struct connection *c, X509_STORE_CTX *context)
{
    int error = X509_STORE_CTX_get_error(context);
    X509 *certificate = X509_STORE_CTX_get_current_cert(context);
    switch (certificate ? error : X509_V_OK) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        buf_printf(to, "the certificate is not for %s but for ", c->pool->host);
        add_names(to, certificate);
        return;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        buf_add_c(to, "the certificate has expired on ");
        add_time(to, X509_get0_notAfter(certificate));
        return;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        buf_add_c(to, "the certificate is not valid before ");
        add_time(to, X509_get0_notBefore(certificate));
        return;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        buf_add_c(to, "the certificate is self-signed");
        return;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        buf_add_c(to, "the certificate's issuer is unknown: is the intermediate certificate "
                      "missing from what the server sends?");
        return;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        buf_add_c(to, "the certificate was issued by an unknown authority");
        return;
    default: buf_add_c(to, X509_verify_cert_error_string(error));
    }
}

static int on_verify(int good, X509_STORE_CTX *context)
{
    if (good)
        return good;
    SSL *tls = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct connection *c = SSL_get_app_data(tls);
    CHECK_MAGIC(c, CONNECTION_MAGIC);
    if (!c->tls_why) {
        struct buf why = {0};
        say(&why, c, context);
        c->tls_why = xstrdup(buf_c(&why));
        buf_free(&why);
    }
    return good;
}

void certificate_watch(struct ssl_st *tls)
{
    SSL_set_verify(tls, SSL_VERIFY_PEER, on_verify);
}
