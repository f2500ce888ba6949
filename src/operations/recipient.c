/* Standard Webhooks: a signature for each secret that is live. */
#include "operations/recipient.h"

#include "domain/signature.h"

#include <inttypes.h>

/* Copies: the partner's entry may be replaced while the message is on its way. */
static void take_secrets(struct recipient *ret, const struct partner *partner, int64_t now_ms)
{
    struct str live[LIVE_SECRETS_MOST];
    ret->secret_count = secrets_live(&partner->operations_secrets, now_ms, live);
    for (size_t i = 0; i < ret->secret_count; i++) {
        ASSERT(live[i].n < sizeof ret->secrets[i]);
        memcpy(ret->secrets[i], live[i].p, live[i].n);
    }
}

/* Absent: nobody. The partner is looked up; NULL where the operator is meant. */
static struct str address_of(const struct operations_options *options, enum operations_topic topic,
                             enum operations_channel channel, const struct partner *partner)
{
    bool by_mail = channel == OPERATIONS_BY_MAIL;
    if (by_mail && !options->mailer)
        return STR_NONE;
    if (is_operators_topic(topic))
        return by_mail ? options->operator_email : options->operator_url;
    if (!partner || !partner->enabled)
        return STR_NONE;
    return by_mail ? partner->operations_email : partner->operations_url;
}

void recipient_find(struct recipient *ret, const struct operations_options *options,
                    const struct notice *n, int64_t now_ms)
{
    *ret = (struct recipient){0};
    struct partner *partner = is_operators_topic(n->topic)
                                  ? NULL
                                  : directory_partner_by_no(options->directory, n->account_no);
    struct str to = address_of(options, n->topic, n->channel, partner);
    ret->is_partner = partner != NULL;
    if (partner)
        take_secrets(ret, partner, now_ms);
    else
        ret->secret_count = accounts_operator_secrets(options->accounts, ret->secrets);
    if (to.p && to.n < sizeof ret->to)
        memcpy(ret->to, to.p, to.n);
    if (partner)
        partner_unref(partner);
}

bool recipient_is_same(const struct notice *a, const struct notice *b)
{
    return a->account_no == b->account_no && a->channel == b->channel &&
           is_operators_topic(a->topic) == is_operators_topic(b->topic);
}

void recipient_sign(const struct recipient *to, struct notice *n, int64_t now_ms)
{
    char text[WEBHOOK_SIGNATURE_BYTES];
    buf_clear(&n->headers);
    buf_printf(&n->headers, "webhook-id: %s\r\nwebhook-timestamp: %" PRId64, n->id, now_ms / 1000);
    for (size_t i = 0; i < to->secret_count; i++) {
        signature_webhook(str_of(to->secrets[i]), str_of(n->id), now_ms / 1000, buf_str(&n->body),
                          text);
        buf_printf(&n->headers, "%s%s", i ? " " : "\r\nwebhook-signature: ", text);
    }
    buf_add_c(&n->headers, "\r\n");
}

bool recipient_is_wanted(const struct operations_options *options, const struct operations_event *e,
                         enum operations_channel channel)
{
    struct partner *partner = is_operators_topic(e->topic)
                                  ? NULL
                                  : directory_partner_by_no(options->directory, e->account_no);
    bool wanted = address_of(options, e->topic, channel, partner).p != NULL;
    if (partner)
        partner_unref(partner);
    return wanted;
}
