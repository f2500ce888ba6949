/* Whom a notice goes to, and signed with what. Internal to operations/. */
#pragma once

#include "operations/notice.h"

struct recipient {
    char to[LIMIT_URL_BYTES + 1]; /* a URL or an address; empty: nobody wants to know any more */
    char secrets[LIVE_SECRETS_MOST][SECRET_TEXT_MAX];
    size_t secret_count;
    const char *settings_page; /* of the dashboard, to whom can turn it off there; NULL: none */
};

void recipient_find(struct recipient *ret, const struct operations_options *options,
                    const struct notice *n, int64_t now_ms);
/* Whether anybody wants to be told of such. */
bool recipient_is_wanted(const struct operations_options *options, const struct operations_event *e,
                         enum operations_channel channel);
/* What the person of a notice has chosen for such messages; who is gone, or may not know of them,
 * or whose account is disabled, never wants any. */
enum mail_when recipient_wants(const struct operations_options *options, const struct notice *n);
/* The account whose people are told; 0: operators. */
uint32_t recipient_account(enum operations_topic topic, uint32_t account_no);
enum mail_about recipient_about(enum operations_topic topic);
/* Whether both go to the operator, both to the partner, or both to one person. */
bool recipient_is_same(const struct notice *a, const struct notice *b);
/* Whether only one of both may be under way: they are the same, or both are mails to the people of
 * one account, or to operators. */
bool recipient_shares_seat(const struct notice *a, const struct notice *b);
/* Makes the notice's headers, over its id and body. */
void recipient_sign(const struct recipient *to, struct notice *n, int64_t now_ms);
