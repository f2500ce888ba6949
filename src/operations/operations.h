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

#define OPERATIONS_SPACING_MS (5 * 60 * 1000)
#define OPERATIONS_GIVE_UP_HOURS 24

/* What is told of; stored: append only. Each topic has its own spacing and its own news. */
enum operations_topic {
    OPERATIONS_OF_HEALTH = 0,
    OPERATIONS_OF_CERTIFICATE = 1,
    OPERATIONS_OF_BOOKS = 2,    /* the operator's: account, app and kind are 0 */
    OPERATIONS_OF_DISABLED = 3, /* the operator's: an endpoint that 410s have disabled */
    OPERATIONS_OF_LISTENER = 4, /* the operator's: the listener's certificate of a node; as books */
    OPERATIONS_OF_STATEMENT = 5,                    /* of an account: app and kind are 0 */
    OPERATIONS_OF_CLIENT_CERTIFICATE = 6,           /* the one that an app shows: kind is 0 */
    OPERATIONS_OF_CLIENT_CERTIFICATE_OPERATORS = 7, /* the same, told to the operator */
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

/* How a message goes; stored: append only. */
enum operations_channel {
    OPERATIONS_BY_WEBHOOK = 0,
    OPERATIONS_BY_MAIL = 1,
    OPERATIONS_TO_PEOPLE = 2, /* nothing is sent: the state that people may be told of */
    OPERATIONS_TO_PERSON = 3, /* by mail to one user, as the user has chosen */
};
#define OPERATIONS_CHANNELS 4
#define OPERATIONS_NEWS_CHANNELS 3 /* but the last one: people_mail.c */

struct operations_event {
    enum operations_topic topic;
    uint32_t account_no, app_no;
    enum lane_kind kind;
    enum operations_state state;
    int64_t expires_ms; /* wall; of the certificate; 0: there is none any more */
    int64_t since_ms;   /* wall */
    int32_t month;      /* its first day; of the statement */
    const char *node;   /* whose listener; NULL: the only process. As `detail` */
    /* The last failure; error_ms 0: none is known. */
    enum attempt_class class;
    int status;
    bool has_format; /* false: the format of its request is not known */
    enum request_format format;
    int64_t error_ms;
    const char *detail; /* borrowed until the call returns */
};

struct operations_options {
    struct env *env;
    struct store *store;
    struct directory *directory;
    const struct accounts *accounts;
    struct str operator_url;   /* absent: the operator is told nothing; must outlive it */
    struct str operator_email; /* likewise, by e-mail */
    struct str public_url;     /* of the dashboard, for mails; absent: none; must outlive it */
    struct mailer *mailer;     /* NULL: no e-mail is sent */
    struct people *people;     /* who may have chosen mails of their own */
    int64_t spacing_ms;        /* 0: OPERATIONS_SPACING_MS */
    int32_t daily_minute;      /* of the day (UTC), at which daily mails go */
};

struct operations;

struct operations *operations_new(const struct operations_options *options);
/* One stored object, at start. False: it cannot be read. */
MUST_CHECK bool operations_load(struct operations *o, struct str document);
/* One as another node has left it; document absent: it is gone. Any thread, after the start. */
void operations_refresh(struct operations *o, struct str id, struct str document);
/* Makes the sender. On failure *ret_why is a malloc'ed sentence. */
MUST_CHECK bool operations_prepare(struct operations *o, const struct sender_options *sender,
                                   char **ret_why);
/* What a running daemon takes at SIGHUP. Valid until `done`, when nothing of before is used any
 * more. Any thread, after the start. */
struct operations_change {
    struct task task, done; /* task: its own */
    struct executor *reply_to;
    struct str operator_url, operator_email; /* as in operations_options */
    int64_t spacing_ms;
    int32_t daily_minute;
    const struct destination_rules *rules; /* NULL: connections and whom they trust stay */
    struct ssl_ctx_st *tls;                /* as sender_change */
    struct operations *operations;         /* its own */
};
void operations_change(struct operations *o, struct operations_change *change);
void operations_start(struct operations *o); /* begins to send; after the store has started */
/* Any thread, never blocks. Well: only of interest where something else was told. */
void operations_tell(struct operations *o, const struct operations_event *event);
/* Gives up what is under way; it is owed after the next start. Before the store closes. */
void operations_stop(struct operations *o);
void operations_free(struct operations *o);

struct operations_numbers {
    int64_t sent, failed, given_up, owed;
};
void operations_get_numbers(const struct operations *o, struct operations_numbers *ret);

/* Of e-mail to people: whether any is sent, and at which minute of the day (UTC) the daily one
 * goes. Any thread. */
bool operations_sends_mail(const struct operations *o);
int32_t operations_daily_minute(const struct operations *o);
