/* Messages about endpoints, certificates, statements and books, to partners and to the operator.
 *
 * A partner is told when an endpoint is suspended, is disabled by 410s, or works again; when the
 * endpoint's certificate or the app's client certificate will expire soon; and when a month's
 * statement is final. Each message goes by webhook to the partner's OperationsUrl, signed as
 * Standard Webhooks (docs/partners/operations.md), by e-mail to its OperationsEmail, and by e-mail
 * to each person of the account who has chosen it. Webhook and e-mail do not wait for each other.
 * The operator is told when books do not balance (docs/operators/books.md), when 410s have disabled
 * an endpoint, and when the certificate of the listener or of an app will expire soon.
 *
 * Operations has a thread, a loop and a sender of its own, so that a slow OperationsUrl delays no
 * callback. An owed message is an object of the store before it is sent, so it survives a crash. A
 * message may arrive twice, with the same webhook-id. An endpoint has at most one message within
 * OPERATIONS_SPACING_MS; afterwards its state is sent if it differs from the last state sent. There
 * are no messages about an OperationsUrl itself.
 *
 * Where several nodes share a store, every node knows all notices, and the node that holds an
 * endpoint's shard sends the messages about it. Each node's listener has a notice of its own,
 * because a new certificate on one node says nothing about the other nodes. */
#pragma once

#include "accounts/changes.h"
#include "mail/mailer.h"
#include "people/people.h"
#include "send/send.h"
#include "store/store.h"

#define OPERATIONS_SPACING_MS (5 * MINUTE_MS)
#define OPERATIONS_GIVE_UP_HOURS 24

/* Topics of messages; stored: append only. Each topic has its own spacing. */
enum operations_topic {
    OPERATIONS_OF_HEALTH = 0,
    OPERATIONS_OF_CERTIFICATE = 1,
    OPERATIONS_OF_BOOKS = 2,    /* for the operator: account, app and kind are 0 */
    OPERATIONS_OF_DISABLED = 3, /* for the operator: 410s have disabled an endpoint */
    /* For the operator: the certificate of a node's listener; account, app and kind are 0. */
    OPERATIONS_OF_LISTENER = 4,
    OPERATIONS_OF_STATEMENT = 5,          /* of an account: app and kind are 0 */
    OPERATIONS_OF_CLIENT_CERTIFICATE = 6, /* the certificate that an app presents: kind is 0 */
    OPERATIONS_OF_CLIENT_CERTIFICATE_OPERATORS = 7, /* the same, for the operator */
};
#define OPERATIONS_TOPICS 8
enum operations_state {
    OPERATIONS_WELL = 0,
    OPERATIONS_SUSPENDED = 1,
    OPERATIONS_DISABLED = 2,
    OPERATIONS_EXPIRING = 3,
    OPERATIONS_BOOKS_WRONG = 4,
    OPERATIONS_STATEMENT_READY = 5,
};
#define OPERATIONS_STATES 6

/* How a message is sent; stored: append only. */
enum operations_channel {
    OPERATIONS_BY_WEBHOOK = 0,
    OPERATIONS_BY_MAIL = 1,
    OPERATIONS_TO_PEOPLE = 2, /* nothing is sent: keeps the state for messages to people */
    OPERATIONS_TO_PERSON = 3, /* by mail to one user, by the user's choice */
};
#define OPERATIONS_CHANNELS 4
#define OPERATIONS_NEWS_CHANNELS 3 /* all but the last one: people_mail.c */

struct operations_event {
    enum operations_topic topic;
    uint32_t account_no, app_no;
    enum lane_kind kind;
    enum operations_state state;
    int64_t expires_ms; /* wall; of the certificate; 0: there is none any more */
    int64_t since_ms;   /* wall */
    int32_t month;      /* its first day; of the statement */
    const char *node;   /* whose listener; NULL: the only process. Borrowed as `detail` */
    /* The last failure; error_ms 0: none is known. */
    enum attempt_class class;
    int status;
    bool has_format; /* false: its request's format is unknown */
    enum request_format format;
    int64_t error_ms;
    const char *detail; /* borrowed until the call returns */
};

struct operations_options {
    struct env *env;
    struct store *store;
    struct directory *directory;
    const struct accounts *accounts;
    struct str operator_url;   /* absent: no webhooks to the operator; must outlive it */
    struct str operator_email; /* the same for e-mail */
    struct str public_url;     /* of the dashboard, for mails; absent: none; must outlive it */
    struct mailer *mailer;     /* NULL: no e-mail is sent */
    struct people *people;     /* who may have chosen messages */
    int64_t spacing_ms;        /* 0: OPERATIONS_SPACING_MS */
    int32_t daily_minute;      /* when daily mails are sent: minute of the day (UTC) */
};

struct operations;

struct operations *operations_new(const struct operations_options *options);
/* Loads one stored object, at the start. False: it cannot be read. */
MUST_CHECK bool operations_load(struct operations *o, struct str document);
/* Takes over a stored object that another node has changed; document absent: deleted. Any thread,
 * after the start. */
void operations_refresh(struct operations *o, struct str id, struct str document);
/* Makes the sender. On failure *ret_why is a malloc'ed sentence. */
MUST_CHECK bool operations_prepare(struct operations *o, const struct sender_options *sender,
                                   char **ret_why);
/* Settings that SIGHUP changes. Keep it valid until `done`; then the former settings are not used
 * any more. Any thread, after the start. */
struct operations_change {
    struct task task, done; /* task: internal */
    struct executor *reply_to;
    struct str operator_url, operator_email; /* as in operations_options */
    int64_t spacing_ms;
    int32_t daily_minute;
    const struct destination_rules *rules; /* NULL: connections and trust stay */
    struct ssl_ctx_st *tls;                /* as sender_change */
    struct operations *operations;         /* internal */
};
void operations_change(struct operations *o, struct operations_change *change);
void operations_start(struct operations *o); /* begins to send; after the store has started */
/* Reports an event. Any thread, never blocks. OPERATIONS_WELL matters only after another state was
 * reported. */
void operations_tell(struct operations *o, const struct operations_event *event);
/* Cancels what is under way; it is owed again after the next start. Before the store closes. */
void operations_stop(struct operations *o);
void operations_free(struct operations *o);

struct operations_numbers {
    int64_t sent, failed, given_up, owed;
};
void operations_get_numbers(const struct operations *o, struct operations_numbers *ret);

/* True if e-mail to people is sent; the minute of the day (UTC) of daily ones. Any thread. */
bool operations_sends_mail(const struct operations *o);
int32_t operations_daily_minute(const struct operations *o);
