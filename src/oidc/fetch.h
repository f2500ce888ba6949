/* One HTTP request to an identity provider, by libcurl. It blocks, so it never runs on a loop.
 * Redirects are not followed; the answer's size and time are bounded. */
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
    /* The addresses allowed for a host other than the issuer's: others must not name this machine
     * or the private network. NULL: all. */
    const struct destination_rules *rules;
    const atomic_bool *stopping;
};

#define FETCH_WHY_BYTES 256

enum fetch_verdict {
    FETCH_GOOD,
    FETCH_REFUSED,     /* the answer is not 200, or too large */
    FETCH_UNREACHABLE, /* no complete answer: refused connections, TLS, timeouts */
};

/* Other than FETCH_GOOD: *ret_why is a sentence. With FETCH_REFUSED *ret still has the body. */
MUST_CHECK enum fetch_verdict fetch_run(const struct fetch *f, struct buf *ret,
                                        char ret_why[FETCH_WHY_BYTES]);
