/* An app's client certificate, for receivers that require one (TLS client authentication): reads
 * its subject, fingerprint and end, and decides whether certificate and key can be used together.
 * Internal. */
#pragma once

#include "accounts/accounts.h"

/* Reads subject, fingerprint and end from the first PEM block. Texts are in the arena; `key` is not
 * set. False: *ret_why is a static clause. */
MUST_CHECK bool client_certificate_read(struct arena *arena, struct str pem,
                                        struct client_certificate *ret, const char **ret_why);
/* True if TLS can use both; the key is PEM without a password. False: *ret_key_fault is true if the
 * key is wrong, and *ret_why is static or in the arena. */
MUST_CHECK bool client_certificate_fits(struct arena *arena, struct str pem, struct str key,
                                        int64_t now_ms, bool *ret_key_fault, const char **ret_why);
