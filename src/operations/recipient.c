/* Signs and addresses the messages: Standard Webhooks, with a signature for each secret that is
 * live. */
#include "operations/recipient.h"

#include "domain/signature.h"

#include <inttypes.h>

/* Copies, because the partner's entry may be replaced while the message is being sent. */
static void take_secrets(struct recipient *ret, const struct partner *partner, int64_t now_ms)
{
    struct str live[LIVE_SECRETS_MOST];
    ret->secret_count = secrets_live(&partner->operations_secrets, now_ms, live);
    for (size_t i = 0; i < ret->secret_count; i++) {
        ASSERT(live[i].n < sizeof ret->secrets[i]);
        memcpy(ret->secrets[i], live[i].p, live[i].n);
    }
}

uint32_t recipient_account(enum operations_topic topic, uint32_t account_no)
{
    return topic_of(topic)->is_operators ? 0 : account_no;
}

enum mail_about recipient_about(enum operations_topic topic)
{
    return topic_of(topic)->about;
}

/* The recipient's address; absent: nobody. partner: as found; NULL for the operator. */
static struct str address_of(const struct operations_options *options, enum operations_topic topic,
                             enum operations_channel channel, const struct partner *partner)
{
    bool by_mail = channel == OPERATIONS_BY_MAIL;
    if (channel == OPERATIONS_TO_PEOPLE || (by_mail && !options->mailer))
        return STR_NONE;
    if (topic_of(topic)->is_operators)
        return by_mail ? options->operator_email : options->operator_url;
    if (!partner || !partner->enabled)
        return STR_NONE;
    return by_mail ? partner->operations_email : partner->operations_url;
}

/* A reference, or NULL. */
static struct user *user_of(const struct operations_options *options, const struct notice *n)
{
    struct user *u = NULL;
    uint32_t before_no = n->user_no < UINT32_MAX ? n->user_no + 1 : 0;
    uint32_t account_no = recipient_account(n->topic, n->account_no);
    if (people_list_users(options->people, account_no, before_no, &u, 1) == 1 &&
        u->user_no == n->user_no)
        return u;
    user_unref(u);
    return NULL;
}

static bool is_account_open(const struct operations_options *options, const struct notice *n)
{
    if (topic_of(n->topic)->is_operators)
        return true;
    struct partner *partner = directory_partner_by_no(options->directory, n->account_no);
    bool is = partner && partner->enabled;
    partner_unref(partner);
    return is;
}

enum mail_when recipient_wants(const struct operations_options *options, const struct notice *n)
{
    struct user *u = user_of(options, n);
    enum mail_when when = u && is_account_open(options, n)
                              ? user_wants_mail(u, recipient_about(n->topic))
                              : MAIL_NEVER;
    user_unref(u);
    return when;
}

static void find_person(struct recipient *ret, const struct operations_options *options,
                        const struct notice *n)
{
    struct user *u = user_of(options, n);
    ret->settings_page = "/account";
    if (u && options->mailer && recipient_wants(options, n) != MAIL_NEVER &&
        u->email.n < sizeof ret->to)
        memcpy(ret->to, u->email.p, u->email.n);
    user_unref(u);
}

void recipient_find(struct recipient *ret, const struct operations_options *options,
                    const struct notice *n, int64_t now_ms)
{
    *ret = (struct recipient){0};
    if (n->channel == OPERATIONS_TO_PERSON) {
        find_person(ret, options, n);
        return;
    }
    struct partner *partner = topic_of(n->topic)->is_operators
                                  ? NULL
                                  : directory_partner_by_no(options->directory, n->account_no);
    struct str to = address_of(options, n->topic, n->channel, partner);
    ret->settings_page = partner ? "/alerts" : NULL;
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
    if (a->channel == OPERATIONS_TO_PERSON)
        return a->channel == b->channel && a->user_no == b->user_no;
    return a->account_no == b->account_no && a->channel == b->channel &&
           topic_of(a->topic)->is_operators == topic_of(b->topic)->is_operators;
}

bool recipient_shares_seat(const struct notice *a, const struct notice *b)
{
    if (!notice_is_mail(a) || !notice_is_mail(b))
        return recipient_is_same(a, b);
    return recipient_account(a->topic, a->account_no) == recipient_account(b->topic, b->account_no);
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

/* True if any person has chosen such mail. */
static bool has_reader(const struct operations_options *options, const struct operations_event *e)
{
    enum mail_about about = recipient_about(e->topic);
    struct user *users[16];
    uint32_t before_no = 0;
    bool has = false;
    size_t count;
    do {
        count = people_list_users(options->people, recipient_account(e->topic, e->account_no),
                                  before_no, users, ARRAY_LEN(users));
        for (size_t i = 0; i < count; i++) {
            has = has || user_wants_mail(users[i], about) != MAIL_NEVER;
            before_no = users[i]->user_no;
            user_unref(users[i]);
        }
    } while (!has && count == ARRAY_LEN(users));
    return has;
}

bool recipient_is_wanted(const struct operations_options *options, const struct operations_event *e,
                         enum operations_channel channel)
{
    if (channel == OPERATIONS_TO_PEOPLE)
        return options->mailer && has_reader(options, e);
    struct partner *partner = topic_of(e->topic)->is_operators
                                  ? NULL
                                  : directory_partner_by_no(options->directory, e->account_no);
    bool wanted = address_of(options, e->topic, channel, partner).p != NULL;
    if (partner)
        partner_unref(partner);
    return wanted;
}
