/* TLS contexts for both sides: TLS 1.2 and later, no compression, no renegotiation. A context
 * never changes: to reload certificates, make a new one and hand it over; streams made from the
 * old one keep it alive. Contexts may be shared between threads, streams may not. */
#pragma once

#include "base/check.h"
#include "base/str.h"
#include "domain/url.h"

struct tls_authorities;
struct ssl_ctx_st;
struct ssl_st;
struct ssl_session_st;

/* Both files PEM: the certificate first, then its chain; the key without a password. On failure
 * NULL, and *ret_why is a sentence (free() it). http2: chosen by ALPN where a client offers it. */
MUST_CHECK struct ssl_ctx_st *tls_server_new(const char *cert_file, const char *key_file,
                                             bool http2, char **ret_why);
int64_t tls_server_expires_ms(const struct ssl_ctx_st *context); /* of its certificate */
/* Whom clients trust, for any number of contexts. ca_file NULL: the system's authorities
 * (SSL_CERT_FILE and SSL_CERT_DIR of the environment are honoured). A bundle takes a twentieth of a
 * second: it is parsed once, on a thread of its own, and who needs it waits. */
struct tls_authorities *tls_authorities_new(const char *ca_file);
void tls_authorities_free(struct tls_authorities *a); /* NULL too; contexts keep what they need */
/* Verifies the peer. http2: offered by ALPN before HTTP/1.1 (RFC 7301). On failure, which is that
 * of the authorities, NULL, and *ret_why is a sentence (free() it). */
MUST_CHECK struct ssl_ctx_st *tls_client_new(struct tls_authorities *authorities, bool http2,
                                             char **ret_why);
void tls_context_keep(struct ssl_ctx_st *context); /* one reference more */
void tls_context_free(struct ssl_ctx_st *context); /* NULL too; the caller's reference */

/* Sessions to resume with: called on the loop's thread from inside a call to the stream, with
 * the `owner` given to tls_client_stream. The hook owns the session (tls_session_free). */
void tls_client_set_session_hook(struct ssl_ctx_st *context,
                                 void (*hook)(void *owner, struct ssl_session_st *session));
void tls_session_free(struct ssl_session_st *session);           /* NULL too */
bool tls_session_is_http2(const struct ssl_session_st *session); /* what its connection agreed on */

/* For stream_open. */
struct ssl_st *tls_server_stream(struct ssl_ctx_st *context);
/* The peer's certificate must be for `host`: a DNS name, also sent as SNI, or, when `address` is
 * given, that IP address (RFC 6066, section 3: then no SNI). Wildcards cover one whole label
 * (RFC 6125). session: to resume, not consumed, or NULL. */
struct ssl_st *tls_client_stream(struct ssl_ctx_st *context, const char *host,
                                 const struct address *address, struct ssl_session_st *session,
                                 void *owner);
/* A certificate (PEM, its chain behind it) and key to show when the server asks; before the
 * handshake. False: TLS does not take them. */
MUST_CHECK bool tls_use_identity(struct ssl_st *tls, struct str certificate, struct str key);
void tls_offer_http1_only(struct ssl_st *tls); /* before the handshake */
bool tls_chose_http2(struct ssl_st *tls);      /* after it */
/* When the peer's certificate expires; 0: there is none. */
int64_t tls_peer_expires_ms(const struct ssl_st *tls);
/* Whether the handshake resumed a session. */
bool tls_resumed(struct ssl_st *tls);
