/* What the files of operations/ share: the thread's state, and actions on a notice, on that thread.
 * Internal to operations/. */
#pragma once

#include "operations/notice.h"

#include "net/loop.h"

#include <pthread.h>
#include <stdatomic.h>

#define OPERATIONS_SENDING_MOST MAILER_SENDING_MOST /* of each channel */
#define OPERATIONS_MAGIC 0x0BE7A710u

/* The check of all accounts for a final statement of the last closed month: see
 * statement_messages.c. */
struct statement_tour {
    struct timer timer;
    int32_t month, last_day; /* its first and last day; month 0: none was checked */
    bool under_way, again;   /* again: some were not final */
    int64_t again_mono_ms;
    uint32_t account_no; /* 0: before the first */
    struct report_query any;
    struct callback_count waiting;
};

#define MAILS_MS HOUR_MS /* period of the limit on mails: digest.c */

struct operations {
    uint32_t magic;
    struct operations_options options;
    struct loop *loop;
    struct sender *sender;
    pthread_t thread;
    bool running;
    struct notice *notices;
    size_t count;
    /* Under way: messages, with a limit per channel, and requests to the store. */
    int32_t sending[OPERATIONS_CHANNELS], requests;
    struct timer timer;
    bool timer_set, stopping;
    struct task stop_task;
    atomic_llong sent, failed, given_up, owed;
    struct statement_tour statements;
    struct timer people_timer; /* people_mail.c */
    atomic_int daily_minute;   /* as in options, for other threads */
    atomic_llong known;        /* unhealthy endpoints, and events about them under way */
};

/* Has the notice considered again after that time. */
void operations_set_due(struct operations *o, struct notice *n, int64_t in_ms);

/* Removes the notice from the list, and frees it: now, or when its running actions have ended. */
void operations_unlink(struct operations *o, struct notice **at);

/* True for a listener's notice of a node that is gone for good: nobody would ever report it as
 * well. */
bool notice_is_abandoned(const struct notice *n);

/* True if this node sends the notice's messages. */
bool notice_is_ours(const struct notice *n);

/* Ends the loop if operations is stopping and nothing is under way. */
void operations_end_when_quiet(struct operations *o);

/* How long the notice's mail waits, so that its recipient does not get too many; 0: not at all. */
int64_t digest_wait_ms(const struct operations *o, const struct notice *as);
/* True if another message to the same recipient, now being made, can go into the same mail. */
bool digest_is_gathering(const struct operations *o, const struct notice *as);
/* Chains to n the notices whose messages go into the same mail, and makes its `digest`. */
void digest_gather(struct operations *o, struct notice *n);

/* The notice that such an event belongs to; NULL: none. */
struct notice *operations_find(const struct operations *o, const struct operations_event *e,
                               enum operations_channel channel);
void operations_take_news(struct operations *o, const struct operations_event *e);
/* Sets the notice's state to the event's. */
void notice_take(struct notice *n, const struct operations_event *e);
void operations_add(struct operations *o, struct notice *n);
/* True if it counts for the limit of notices. */
bool notice_is_limited(const struct notice *n);
void statements_start(struct operations *o);
void people_mail_start(struct operations *o);
/* How long its owed message must wait, by the spacing and the person's choice; 0: not at all. */
int64_t notice_wait_ms(const struct notice *n);
/* If owed_ms is in the future (stored by a clock that was ahead), sets it to now. Otherwise the
 * message would wait until then. */
void notice_correct_owed(struct notice *n);

/* Begins or ends an owed message, by the subject's present state. */
void notice_consider(struct notice *n);
/* The message was sent or given up: either way, it is finished. */
void notice_end_message(struct notice *n);

/* For a notice that is READY and due: sends its message, or withdraws it if it is out of date. Does
 * nothing while its recipient or its channel is busy. */
void notice_try(struct notice *n);
/* Cancels a webhook at once: the message is READY again. */
void notice_cancel_sending(struct notice *n);
