/* Making a certificate and its key. */
#include "certificate.h"

static void certificate_extend(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
}

bool certificate_make(struct certificate *c, const char *names, long seconds)
{
    snprintf(c->dir, sizeof c->dir, "/tmp/certificate-XXXXXX");
    if (!mkdtemp(c->dir))
        return false;
    snprintf(c->cert, sizeof c->cert, "%s/cert.pem", c->dir);
    snprintf(c->key, sizeof c->key, "%s/key.pem", c->dir);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), seconds - 3600);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    certificate_extend(x, NID_basic_constraints, "critical,CA:TRUE");
    certificate_extend(x, NID_subject_alt_name, names);
    bool good = X509_sign(x, key, EVP_sha256()) > 0;
    FILE *f = fopen(c->cert, "w");
    good = good && f && PEM_write_X509(f, x) == 1;
    good = f && fclose(f) == 0 && good;
    f = fopen(c->key, "w");
    good = good && f && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1;
    good = f && fclose(f) == 0 && good;
    X509_free(x);
    EVP_PKEY_free(key);
    return good;
}

void certificate_remove(const struct certificate *c)
{
    unlink(c->cert);
    unlink(c->key);
    rmdir(c->dir);
}

struct ssl_ctx_st *client_trusting(const char *ca_file, char **ret_why)
{
    struct tls_authorities *authorities = tls_authorities_new(ca_file);
    struct ssl_ctx_st *client = tls_client_new(authorities, false, ret_why);
    tls_authorities_free(authorities);
    return client;
}
