/* OpenSSL contexts, set up once and never changed. Read-ahead is on, so that a record costs one
 * read instead of two (header, body); that is why net/stream.c calls SSL_has_pending. */
#include "net/tls.h"

#include "base/alloc.h"
#include "base/file.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* For TLS 1.2 only forward secrecy and authenticated encryption; TLS 1.3 has nothing else. */
#define SERVER_CIPHERS_TLS12 "ECDHE+AESGCM:ECDHE+CHACHA20"
/* The bundle of Debian and related systems. OpenSSL's default is a directory with a file for each
 * authority, which it would read during handshakes: disk reads on an event loop. */
#define SYSTEM_CA_FILE "/etc/ssl/certs/ca-certificates.crt"
#define PEM_BYTES_MOST ((size_t)16 << 20) /* the system's authorities have 220 KiB */

typedef void session_hook(void *owner, struct ssl_session_st *session);

/* Holds the hook as the context's ex data: ISO C does not convert a function pointer to a void
 * pointer. */
struct hook_box {
    session_hook *hook;
};

static void hook_box_free(void *parent, void *p, CRYPTO_EX_DATA *data, int index, long number,
                          void *argument)
{
    (void)parent, (void)data, (void)index, (void)number, (void)argument;
    free(p);
}

static int hook_index = -1;
static CRYPTO_ONCE hook_index_once = CRYPTO_ONCE_STATIC_INIT;

static void make_hook_index(void)
{
    hook_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, hook_box_free);
}

/* Without it OpenSSL would ask on the terminal. */
static int no_password(char *to, int size, int writing, void *context)
{
    (void)to, (void)size, (void)writing, (void)context;
    return -1;
}

/* --- PEM files ------------------------------------------------------------------------------ */

/* OpenSSL is given bytes, not names of files: it would wait for the end of a pipe. Every use_...
 * takes one file's, and leaves the reason in OpenSSL's queue of errors. */
typedef bool use_pem(void *to, BIO *from);

/* what: the option that names the file. */
static char *say_why(const char *what, const char *file)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);
    if (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE)
        reason = "it holds none in PEM (text that begins with -----BEGIN)";
    ERR_clear_error();
    return xprintf("%s: %s: %s", what, file, reason ? reason : "cannot be used");
}

static bool use_file(const char *what, const char *file, use_pem *use, void *to, char **ret_why)
{
    struct buf text = {0};
    char *why = NULL;
    ERR_clear_error();
    if (!file_read(file, PEM_BYTES_MOST, &text, NULL, &why)) {
        *ret_why = xprintf("%s: %s", what, why);
        free(why);
        return false;
    }
    BIO *from = BIO_new_mem_buf(text.p, (int)text.n);
    ASSERT(from);
    bool good = use(to, from);
    if (!good)
        *ret_why = say_why(what, file);
    BIO_free(from);
    OPENSSL_cleanse(text.p, text.capacity);
    buf_free(&text);
    return good;
}

static bool use_chain(void *to, BIO *from)
{
    SSL_CTX *context = to;
    X509 *own = PEM_read_bio_X509_AUX(from, NULL, no_password, NULL), *more;
    bool good = own && SSL_CTX_use_certificate(context, own) == 1;
    X509_free(own);
    while (good && (more = PEM_read_bio_X509(from, NULL, no_password, NULL)) != NULL)
        ASSERT(SSL_CTX_add0_chain_cert(context, more) == 1);
    if (good && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        return false; /* one that is damaged, not the end */
    if (good)
        ERR_clear_error();
    return good;
}

static bool use_key(void *to, BIO *from)
{
    SSL_CTX *context = to;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(from, NULL, no_password, NULL);
    bool good =
        key && SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_check_private_key(context) == 1;
    EVP_PKEY_free(key);
    return good;
}

static bool use_authorities(void *to, BIO *from)
{
    X509_STORE *store = to;
    STACK_OF(X509_INFO) *all = PEM_X509_INFO_read_bio(from, NULL, no_password, NULL);
    bool good = all != NULL, found = false;
    for (int i = 0; good && i < sk_X509_INFO_num(all); i++) {
        const X509_INFO *one = sk_X509_INFO_value(all, i);
        good = (!one->x509 || X509_STORE_add_cert(store, one->x509) == 1) &&
               (!one->crl || X509_STORE_add_crl(store, one->crl) == 1);
        found |= one->x509 || one->crl;
    }
    sk_X509_INFO_pop_free(all, X509_INFO_free);
    if (good && !found)
        ERR_raise(ERR_LIB_X509, X509_R_NO_CERTIFICATE_OR_CRL_FOUND);
    return good && found;
}

/* --- contexts ------------------------------------------------------------------------------- */

static SSL_CTX *context_new(const SSL_METHOD *method)
{
    SSL_CTX *context = SSL_CTX_new(method);
    ASSERT(context);
    ASSERT(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1);
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    return context;
}

/* Protocol lists of RFC 7301, preferred ones first. */
static const unsigned char alpn_both[] = "\x02h2\x08http/1.1";
static const unsigned char alpn_http1[] = "\x08http/1.1";

/* RFC 7301: chooses h2 if it is allowed (`context` is not NULL), otherwise http/1.1 if offered. A
 * client that offers only other protocols gets no ALPN answer; it speaks HTTP/1.1 or closes. */
static int select_alpn(SSL *tls, const unsigned char **ret, unsigned char *ret_n,
                       const unsigned char *offered, unsigned n, void *context)
{
    (void)tls;
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, ret_n, context ? alpn_both : alpn_http1,
                              context ? sizeof alpn_both - 1 : sizeof alpn_http1 - 1, offered,
                              n) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *ret = chosen;
    return SSL_TLSEXT_ERR_OK;
}

struct ssl_ctx_st *tls_server_new(const char *cert_file, const char *key_file, bool http2,
                                  char **ret_why)
{
    SSL_CTX *context = context_new(TLS_server_method());
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    ASSERT(SSL_CTX_set_cipher_list(context, SERVER_CIPHERS_TLS12) == 1);
    /* tickets only, no state in the server */
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    ASSERT(SSL_CTX_set_num_tickets(context, 1) == 1);
    SSL_CTX_set_alpn_select_cb(context, select_alpn, http2 ? context : NULL);
    if (use_file("tls-cert", cert_file, use_chain, context, ret_why) &&
        use_file("tls-key", key_file, use_key, context, ret_why))
        return context;
    SSL_CTX_free(context);
    return NULL;
}

static int64_t expires_ms(const X509 *certificate)
{
    struct tm tm = {0};
    if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) != 1)
        return 0;
    return (int64_t)timegm(&tm) * 1000;
}

int64_t tls_server_expires_ms(const struct ssl_ctx_st *context)
{
    return expires_ms(SSL_CTX_get0_certificate(context));
}

int64_t tls_peer_expires_ms(const struct ssl_st *tls)
{
    return expires_ms(SSL_get0_peer_certificate(tls));
}

/* --- authorities ---------------------------------------------------------------------------- */

struct tls_authorities {
    char *ca_file; /* NULL: the system's */
    pthread_t loader;
    pthread_mutex_t lock;
    bool waited;       /* the loader has been joined; guarded by the lock */
    X509_STORE *store; /* the loader's until it has been joined */
    char *why;         /* not NULL: loading failed */
};

static void *load_authorities(void *context)
{
    struct tls_authorities *a = context;
    const char *file = a->ca_file;
    if (!file && !getenv("SSL_CERT_FILE") && !getenv("SSL_CERT_DIR") &&
        access(SYSTEM_CA_FILE, R_OK) == 0)
        file = SYSTEM_CA_FILE;
    ERR_clear_error();
    if (!file && X509_STORE_set_default_paths(a->store) != 1)
        a->why = say_why("ca-file", "the system's");
    if (file)
        (void)use_file("ca-file", file, use_authorities, a->store, &a->why);
    return NULL;
}

struct tls_authorities *tls_authorities_new(const char *ca_file)
{
    struct tls_authorities *a = xcalloc(1, sizeof *a);
    a->ca_file = ca_file ? xstrdup(ca_file) : NULL;
    a->store = X509_STORE_new();
    ASSERT(a->store);
    ASSERT(pthread_mutex_init(&a->lock, NULL) == 0);
    ASSERT(pthread_create(&a->loader, NULL, load_authorities, a) == 0);
    return a;
}

static void wait_loaded(struct tls_authorities *a)
{
    pthread_mutex_lock(&a->lock);
    if (!a->waited)
        ASSERT(pthread_join(a->loader, NULL) == 0);
    a->waited = true;
    pthread_mutex_unlock(&a->lock);
}

void tls_authorities_free(struct tls_authorities *a)
{
    if (!a)
        return;
    wait_loaded(a);
    pthread_mutex_destroy(&a->lock);
    X509_STORE_free(a->store);
    free(a->ca_file);
    free(a->why);
    free(a);
}

/* --- clients -------------------------------------------------------------------------------- */

static int on_session(SSL *tls, SSL_SESSION *session)
{
    const struct hook_box *box = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(tls), hook_index);
    box->hook(SSL_get_app_data(tls), session);
    return 1; /* the hook owns the reference */
}

struct ssl_ctx_st *tls_client_new(struct tls_authorities *authorities, bool http2, char **ret_why)
{
    wait_loaded(authorities);
    if (authorities->why) {
        *ret_why = xstrdup(authorities->why);
        return NULL;
    }
    SSL_CTX *context = context_new(TLS_client_method());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    /* Many servers close idle connections without close_notify. HTTP framing tells whether bytes
     * are missing; OpenSSL would also refuse to resume such a session. */
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    ASSERT(SSL_CTX_set_alpn_protos(context, http2 ? alpn_both : alpn_http1,
                                   http2 ? sizeof alpn_both - 1 : sizeof alpn_http1 - 1) == 0);
    SSL_CTX_set1_cert_store(context, authorities->store);
    return context;
}

void tls_context_keep(struct ssl_ctx_st *context)
{
    ASSERT(SSL_CTX_up_ref(context) == 1);
}

void tls_context_free(struct ssl_ctx_st *context)
{
    SSL_CTX_free(context);
}

void tls_client_set_session_hook(struct ssl_ctx_st *context,
                                 void (*hook)(void *owner, struct ssl_session_st *session))
{
    ASSERT(CRYPTO_THREAD_run_once(&hook_index_once, make_hook_index) == 1 && hook_index >= 0);
    ASSERT(SSL_CTX_get_ex_data(context, hook_index) == NULL);
    struct hook_box *box = xmalloc(sizeof *box);
    box->hook = hook;
    ASSERT(SSL_CTX_set_ex_data(context, hook_index, box) == 1);
    SSL_CTX_set_session_cache_mode(context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(context, on_session);
}

void tls_session_free(struct ssl_session_st *session)
{
    SSL_SESSION_free(session);
}

struct ssl_st *tls_server_stream(struct ssl_ctx_st *context)
{
    SSL *tls = SSL_new(context);
    ASSERT(tls);
    SSL_set_accept_state(tls);
    return tls;
}

struct ssl_st *tls_client_stream(struct ssl_ctx_st *context, const char *host,
                                 const struct address *address, struct ssl_session_st *session,
                                 void *owner)
{
    SSL *tls = SSL_new(context);
    ASSERT(tls);
    SSL_set_connect_state(tls);
    SSL_set_app_data(tls, owner);
    X509_VERIFY_PARAM *param = SSL_get0_param(tls);
    if (address) {
        ASSERT(X509_VERIFY_PARAM_set1_ip(param, address->bytes,
                                         address->family == AF_INET ? 4 : 16) == 1);
    } else {
        X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        ASSERT(X509_VERIFY_PARAM_set1_host(param, host, 0) == 1);
        ASSERT(SSL_set_tlsext_host_name(tls, host) == 1);
    }
    /* an unsuitable session only costs a full handshake */
    if (session && SSL_set_session(tls, session) != 1)
        ERR_clear_error();
    return tls;
}

bool tls_use_identity(struct ssl_st *tls, struct str certificate, struct str key)
{
    BIO *from = BIO_new_mem_buf(certificate.p, (int)certificate.n);
    BIO *key_from = BIO_new_mem_buf(key.p, (int)key.n);
    STACK_OF(X509) *chain = sk_X509_new_null();
    ASSERT(from && key_from && chain);
    X509 *own = PEM_read_bio_X509(from, NULL, no_password, NULL), *more;
    while (own && (more = PEM_read_bio_X509(from, NULL, no_password, NULL)) != NULL)
        ASSERT(sk_X509_push(chain, more) > 0);
    EVP_PKEY *made = PEM_read_bio_PrivateKey(key_from, NULL, no_password, NULL);
    bool good = own && made && SSL_use_cert_and_key(tls, own, made, chain, 1) == 1;
    ERR_clear_error();
    EVP_PKEY_free(made);
    X509_free(own);
    sk_X509_pop_free(chain, X509_free);
    BIO_free(key_from);
    BIO_free(from);
    return good;
}

void tls_offer_http1_only(struct ssl_st *tls)
{
    ASSERT(SSL_set_alpn_protos(tls, alpn_http1, sizeof alpn_http1 - 1) == 0);
}

static bool is_http2(const unsigned char *name, size_t n)
{
    return n == 2 && memcmp(name, "h2", 2) == 0;
}

bool tls_chose_http2(struct ssl_st *tls)
{
    const unsigned char *name;
    unsigned n;
    SSL_get0_alpn_selected(tls, &name, &n);
    return is_http2(name, n);
}

bool tls_session_is_http2(const struct ssl_session_st *session)
{
    const unsigned char *name;
    size_t n;
    SSL_SESSION_get0_alpn_selected(session, &name, &n);
    return is_http2(name, n);
}

bool tls_resumed(struct ssl_st *tls)
{
    return SSL_session_reused(tls) == 1;
}
