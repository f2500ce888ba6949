/* An app's client certificate, for receivers that require one (TLS client authentication): reads
 * its subject, fingerprint and end, and decides whether certificate and key can be used together.
 * Internal. */
#pragma once

#include "accounts/accounts.h"

/* What the certificate says of itself, from the first of its PEM blocks. The texts are the
 * arena's; `key` is left out. False: *ret_why is a static clause. */
MUST_CHECK bool client_certificate_read(struct arena *arena, struct str pem,
                                        struct client_certificate *ret, const char **ret_why);
/* Whether TLS takes both; the key is PEM without a password. *ret_key_fault: it is the key that is
 * wrong. *ret_why is static or the arena's. */
MUST_CHECK bool client_certificate_fits(struct arena *arena, struct str pem, struct str key,
                                        int64_t now_ms, bool *ret_key_fault, const char **ret_why);
