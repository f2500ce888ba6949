/* The recipient of a notice, and the secrets that sign it. Internal to operations/. */
#pragma once

#include "operations/notice.h"

struct recipient {
    char to[LIMIT_URL_BYTES + 1]; /* a URL or an address; empty: no recipient any more */
    char secrets[LIVE_SECRETS_MOST][SECRET_TEXT_MAX];
    size_t secret_count;
    const char *settings_page; /* of the dashboard: there the recipient can turn it off; or NULL */
};

void recipient_find(struct recipient *ret, const struct operations_options *options,
                    const struct notice *n, int64_t now_ms);
/* True if anybody wants such a message. */
bool recipient_is_wanted(const struct operations_options *options, const struct operations_event *e,
                         enum operations_channel channel);
/* The choice of the notice's person for such messages: never if the person is removed, has no right
 * to know, or belongs to a disabled account. */
enum mail_when recipient_wants(const struct operations_options *options, const struct notice *n);
/* The account whose people get the message; 0: operators. */
uint32_t recipient_account(enum operations_topic topic, uint32_t account_no);
enum mail_about recipient_about(enum operations_topic topic);
/* True if both have the same recipient: the operator, the partner, or one person. */
bool recipient_is_same(const struct notice *a, const struct notice *b);
/* True if only one of both may be sent at a time: they have the same recipient, or both are mails
 * to people of one account, or to operators. */
bool recipient_shares_seat(const struct notice *a, const struct notice *b);
/* Makes the notice's headers, which sign its id and body. */
void recipient_sign(const struct recipient *to, struct notice *n, int64_t now_ms);
