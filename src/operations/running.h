/* What the files of operations/ share: the thread's state, and what is done to a notice on it.
 * Internal to operations/. */
#pragma once

#include "operations/notice.h"

#include "net/loop.h"

#include <pthread.h>
#include <stdatomic.h>

#define OPERATIONS_SENDING_MOST MAILER_SENDING_MOST /* of each channel */
#define OPERATIONS_MAGIC 0x0BE7A710u

/* The account whose statement of the last closed month is looked at: see statement_messages.c. */
struct statement_tour {
    struct timer timer;
    int32_t month, last_day; /* its first and last day; month 0: none was looked at */
    bool under_way, again;   /* again: some were not final */
    int64_t again_mono_ms;
    uint32_t account_no; /* 0: at the first */
    struct report_query any;
    struct callback_count waiting;
};

#define MAILS_MS HOUR_MS /* at most so many in it: digest.c */

struct operations {
    uint32_t magic;
    struct operations_options options;
    struct loop *loop;
    struct sender *sender;
    pthread_t thread;
    bool running;
    struct notice *notices;
    size_t count;
    /* Under way: messages, each way with seats of its own, and questions to the store. */
    int32_t sending[OPERATIONS_CHANNELS], requests;
    struct timer timer;
    bool timer_set, stopping;
    struct task stop_task;
    atomic_llong sent, failed, given_up, owed;
    struct statement_tour statements;
    struct timer people_timer; /* people_mail.c */
    atomic_int daily_minute;   /* as in options, for other threads */
    atomic_llong known;        /* endpoints not well, and news of such on their way */
};

/* Looks at it again after so long. */
void operations_set_due(struct operations *o, struct notice *n, int64_t in_ms);

/* Takes it out of the list, and frees it: now, or when what is under way has ended. */
void operations_unlink(struct operations *o, struct notice **at);

/* Of a node that is gone for good nobody ever says that it is well. */
bool notice_is_abandoned(const struct notice *n);

/* Whether this node sends what it owes. */
bool notice_is_ours(const struct notice *n);

/* When it is stopping and nothing is under way any more. */
void operations_end_when_quiet(struct operations *o);

/* How long its mail waits so that whom it goes to is not flooded; 0: it goes now. */
int64_t digest_wait_ms(const struct operations *o, const struct notice *as);
/* Whether another message to the same person is being written that can go in the same mail. */
bool digest_is_gathering(const struct operations *o, const struct notice *as);
/* Chains those to n whose messages can go in the same mail, and makes its `digest` of them. */
void digest_gather(struct operations *o, struct notice *n);

/* The notice that such news would go into; NULL: there is none. */
struct notice *operations_find(const struct operations *o, const struct operations_event *e,
                               enum operations_channel channel);
void operations_take_news(struct operations *o, const struct operations_event *e);
/* What it is about is now as the event says. */
void notice_take(struct notice *n, const struct operations_event *e);
void operations_add(struct operations *o, struct notice *n);
/* Whether it counts for the limit of notices. */
bool notice_is_limited(const struct notice *n);
void statements_start(struct operations *o);
void people_mail_start(struct operations *o);
/* How long what it owes has to wait, by the spacing and by what its person has chosen; 0: not. */
int64_t notice_wait_ms(const struct notice *n);
/* If owed_ms is in the future (stored by a clock that was ahead), sets it to now. Otherwise the
 * message would wait until then. */
void notice_correct_owed(struct notice *n);

/* Begins or ends what is owed, as its endpoint is now. */
void notice_consider(struct notice *n);
/* The message was told, or is given up: whichever, it is over. */
void notice_end_message(struct notice *n);

/* For a notice that is READY and due: sends its message, or withdraws it if it is out of date. Does
 * nothing while its recipient or its channel is busy. */
void notice_try(struct notice *n);
/* At once, of a webhook: the message is READY again. */
void notice_cancel_sending(struct notice *n);
