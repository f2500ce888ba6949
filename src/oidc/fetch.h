/* One HTTP request to an identity provider, by libcurl: blocks, so never on a loop. No redirect is
 * followed, the answer and its time are bounded. */
#pragma once

#include "base/buf.h"
#include "domain/destination_rules.h"

#include <stdatomic.h>

/* Texts are borrowed. */
struct fetch {
    const char *url;
    const char *form;            /* the body of a POST; NULL: a GET */
    const char *user, *password; /* NULL: none */
    const char *ca_file, *proxy; /* NULL: the system's; none */
    /* Where addresses of this machine or of the private network are not for others to name: of
     * whoever is not the issuer itself; NULL: any. */
    const struct destination_rules *rules;
    const atomic_bool *stopping;
};

#define FETCH_WHY_BYTES 256

enum fetch_verdict {
    FETCH_GOOD,
    FETCH_REFUSED,     /* an answer that is no 200, or is too large */
    FETCH_UNREACHABLE, /* no whole answer: refused connections, TLS, timeouts */
};

/* Not FETCH_GOOD: with a sentence; of a refusal the body is in *ret all the same. */
MUST_CHECK enum fetch_verdict fetch_run(const struct fetch *f, struct buf *ret,
                                        char ret_why[FETCH_WHY_BYTES]);
