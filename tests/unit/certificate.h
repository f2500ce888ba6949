/* A self-signed certificate for tests, made on the spot: files cert.pem and key.pem in a folder
 * of its own under /tmp. */
#pragma once

#include "net/tls.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct certificate {
    char dir[64], cert[96], key[96];
};

/* names: as in subjectAltName, "DNS:localhost,IP:127.0.0.1". seconds: how long it is valid,
 * counted from an hour ago; less than 3600 makes one that has expired. */
bool certificate_make(struct certificate *c, const char *names, long seconds);

void certificate_remove(const struct certificate *c);

/* A client's context that trusts that file's certificates only. */
struct ssl_ctx_st *client_trusting(const char *ca_file, char **ret_why);
