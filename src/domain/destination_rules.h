/* Decides whether callbacks may be sent to an address: it must be public, or allowed by the
 * operator, and not denied. Which addresses are public: domain/address.c. Asked when a URL that
 * contains an address is set (accounts/fields.c), and again for every resolved address right before
 * each connect (send/opening.c). Requests to identity providers ask, too (oidc/fetch.c). */
#pragma once

#include "domain/address.h"

/* The lists are borrowed. The operator sets both; `denied` takes precedence. */
struct destination_rules {
    const struct cidr *allowed; /* allowed although they are not public, or are the machine's own */
    size_t allowed_count;
    const struct cidr *denied; /* never allowed, even if public */
    size_t denied_count;
};

enum destination_verdict {
    DESTINATION_PUBLIC,  /* allowed, unless it is the machine's own, which only the kernel knows */
    DESTINATION_ALLOWED, /* by the operator */
    DESTINATION_NOT_PUBLIC,
    DESTINATION_DENIED, /* by the operator */
};

/* Copies the lists; free the copy with destination_rules_free. */
struct destination_rules destination_rules_copy(const struct destination_rules *rules);
void destination_rules_free(struct destination_rules *rules);

enum destination_verdict destination_judge(const struct destination_rules *rules,
                                           const struct address *a);
