/* Which addresses callbacks may go to, beyond the rule that an address must be public. */
#pragma once

#include "domain/url.h"

/* The lists are borrowed. The operator writes both: `denied` beats `allowed`. */
struct destination_rules {
    const struct cidr *allowed; /* non-public or own addresses that are allowed all the same */
    size_t allowed_count;
    const struct cidr *denied; /* never, public or not */
    size_t denied_count;
};

enum destination_verdict {
    DESTINATION_PUBLIC,  /* allowed, unless it is the machine's own: only the kernel knows that */
    DESTINATION_ALLOWED, /* by the operator */
    DESTINATION_NOT_PUBLIC,
    DESTINATION_DENIED, /* by the operator */
};

/* Lists of one's own, to be freed. */
struct destination_rules destination_rules_copy(const struct destination_rules *rules);
void destination_rules_free(struct destination_rules *rules);

enum destination_verdict destination_judge(const struct destination_rules *rules,
                                           const struct address *a);
