/* Whom a notice goes to, and signed with what. Internal to operations/. */
#pragma once

#include "operations/notice.h"

struct recipient {
    char to[LIMIT_URL_BYTES + 1]; /* a URL or an address; empty: nobody wants to know any more */
    char secrets[LIVE_SECRETS_MOST][SECRET_TEXT_MAX];
    size_t secret_count;
    bool is_partner; /* who can change the address */
};

void recipient_find(struct recipient *ret, const struct operations_options *options,
                    const struct notice *n, int64_t now_ms);
/* Whether anybody wants to be told of such. */
bool recipient_is_wanted(const struct operations_options *options, const struct operations_event *e,
                         enum operations_channel channel);
/* Whether both go to the operator, or both to the partner. */
bool recipient_is_same(const struct notice *a, const struct notice *b);
/* Makes the notice's headers, over its id and body. */
void recipient_sign(const struct recipient *to, struct notice *n, int64_t now_ms);
