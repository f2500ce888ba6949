/* TLS contexts for both sides: TLS 1.2 and later, no compression, no renegotiation. A context never
 * changes: to reload certificates, make a new one and switch to it; streams of the old one keep it
 * alive. Threads may share contexts, but not streams. */
#pragma once

#include "base/check.h"
#include "base/str.h"
#include "domain/address.h"

struct tls_authorities;
struct ssl_ctx_st;
struct ssl_st;
struct ssl_session_st;

/* Both files are PEM: the certificate first, then its chain; the key without a password. On failure
 * NULL, and *ret_why is a sentence (free() it). http2: ALPN chooses it if a client offers it. */
MUST_CHECK struct ssl_ctx_st *tls_server_new(const char *cert_file, const char *key_file,
                                             bool http2, char **ret_why);
int64_t tls_server_expires_ms(const struct ssl_ctx_st *context); /* of its certificate */
/* Trusted authorities for any number of client contexts. ca_file NULL: the system's (SSL_CERT_FILE
 * and SSL_CERT_DIR are honoured). Parsing a bundle takes a twentieth of a second: a thread of its
 * own parses it once, and users wait for the result. */
struct tls_authorities *tls_authorities_new(const char *ca_file);
/* accepts NULL; contexts keep what they need */
void tls_authorities_free(struct tls_authorities *a);
/* The client verifies the peer. http2: ALPN offers it before HTTP/1.1 (RFC 7301). NULL if the
 * authorities could not be loaded: *ret_why is a sentence (free() it). */
MUST_CHECK struct ssl_ctx_st *tls_client_new(struct tls_authorities *authorities, bool http2,
                                             char **ret_why);
void tls_context_keep(struct ssl_ctx_st *context); /* adds a reference */
void tls_context_free(struct ssl_ctx_st *context); /* accepts NULL; drops the caller's reference */

/* The hook gets sessions for resumption: on the loop's thread, during a call to the stream, with
 * the `owner` given to tls_client_stream. The hook owns the session (tls_session_free). */
void tls_client_set_session_hook(struct ssl_ctx_st *context,
                                 void (*hook)(void *owner, struct ssl_session_st *session));
void tls_session_free(struct ssl_session_st *session); /* accepts NULL */
/* whether its connection used HTTP/2 */
bool tls_session_is_http2(const struct ssl_session_st *session);

/* For stream_open. */
struct ssl_st *tls_server_stream(struct ssl_ctx_st *context);
/* The peer's certificate must be valid for `host`, a DNS name that is also sent as SNI; or, if
 * `address` is given, for that IP address (RFC 6066, section 3: no SNI). Wildcards cover one whole
 * label (RFC 6125). session: to resume, stays the caller's; may be NULL. */
struct ssl_st *tls_client_stream(struct ssl_ctx_st *context, const char *host,
                                 const struct address *address, struct ssl_session_st *session,
                                 void *owner);
/* A client certificate (PEM, followed by its chain) and key for a server that asks; call it before
 * the handshake. False: OpenSSL refuses them. */
MUST_CHECK bool tls_use_identity(struct ssl_st *tls, struct str certificate, struct str key);
void tls_offer_http1_only(struct ssl_st *tls); /* before the handshake */
bool tls_chose_http2(struct ssl_st *tls);      /* after it */
/* When the peer's certificate expires; 0: it has none. */
int64_t tls_peer_expires_ms(const struct ssl_st *tls);
/* True if the handshake resumed a session. */
bool tls_resumed(struct ssl_st *tls);
