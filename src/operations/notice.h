/* A notice: the state of an endpoint, certificate, statement or the books, the message owed about
 * it, and both as text. Which change makes a message: daemon/notify_operations.c; when it is sent:
 * operations.c, notice_send.c. Internal to operations/. */
#pragma once

#include "domain/clock.h"
#include "domain/email.h"
#include "operations/topic.h"

#define NOTICE_MAGIC 0x07071CE5u
/* A message is tried for so long, by the monotonic clock. How long an earlier process has tried it
 * only the wall clock tells, which may be wrong: some of the time is left in any case. */
#define NOTICE_GIVE_UP_MS (OPERATIONS_GIVE_UP_HOURS * HOUR_MS)
#define NOTICE_LEFT_AT_START_MS HOUR_MS
#define NOTICE_ID_BYTES 40
#define NOTICE_NODE_BYTES 65
#define NOTICE_OBJECT_BYTES 48

enum notice_step {
    NOTICE_IDLE,   /* nothing is owed */
    NOTICE_OWED,   /* a message is, and has no text yet */
    NOTICE_ASKING, /* what waits is being asked for */
    NOTICE_SAVING, /* the message is on its way to the disk */
    NOTICE_READY,  /* it is there: to be sent when it is due */
    NOTICE_SENDING,
};

struct notice {
    uint32_t magic;
    struct operations *operations;
    struct notice *next;
    enum operations_topic topic;
    enum operations_channel channel;
    uint32_t account_no, app_no;
    uint32_t user_no; /* OPERATIONS_TO_PERSON; of any other channel 0 */
    enum lane_kind kind;
    enum operations_state is, told; /* now; as last told, or as perhaps told */
    int64_t since_ms, expires_ms;
    int32_t month;
    enum attempt_class class;
    int status;
    bool has_format; /* false: stored by a version that did not keep it */
    enum request_format format;
    int64_t error_ms;
    char detail[256];
    char node[NOTICE_NODE_BYTES]; /* whose listener; empty: the only process, or no listener */

    enum notice_step step;
    enum operations_state saying; /* what the message says */
    char id[NOTICE_ID_BYTES];     /* its webhook-id; empty: none yet */
    struct buf body;              /* JSON; of a mail its subject, a line, and its text */
    int64_t owed_ms;              /* wall: since when the message is owed; once its text is
                                     written, when that was */
    int64_t first_mono_ms;        /* when it was first tried; not before may_have_arrived */
    int32_t tries;
    bool may_have_arrived; /* it was tried, perhaps before a restart */
    bool is_unlinked;      /* freed as soon as what is under way has ended */
    int64_t due_mono_ms;
    int64_t sent_ms, last_mono_ms; /* when the last one was first sent: wall, 0: never; and mono */

    struct lane_waiting waiting;
    char object_id[NOTICE_OBJECT_BYTES];
    struct object_change change;
    struct buf document; /* being saved */
    bool saving, save_again, is_stored;
    struct exchange x;
    struct arena arena; /* of the exchange */
    struct url url;
    struct buf headers;
    struct mail mail; /* instead of the exchange */
    char mail_to[EMAIL_BYTES_MAX + 1];
    struct notice *with; /* the next one whose message goes in the same mail */
    struct buf digest;   /* of several: the mail, as `body` */
    char digest_id[NOTICE_ID_BYTES];
};

/* What another node has left of one. */
struct notice_left {
    struct task task;
    struct operations *operations;
    struct notice *notice; /* NULL: it is gone */
    char object_id[NOTICE_OBJECT_BYTES];
};

struct notice *notice_new(struct operations *o, enum operations_topic topic,
                          enum operations_channel channel, uint32_t account_no, uint32_t app_no,
                          enum lane_kind kind);
/* Of a listener: whose. */
void notice_set_node(struct notice *n, const char *node);
/* The object_id of a notice of the same thing by another channel. */
void notice_name(const struct notice *as, enum operations_channel channel, uint32_t user_no,
                 char ret[NOTICE_OBJECT_BYTES]);
void notice_set_user(struct notice *n, uint32_t user_no); /* of a new one */
void notice_free(struct notice *n);                       /* nothing under way */
void notice_print(struct buf *to, const struct notice *n);
/* NULL: it cannot be read. */
struct notice *notice_read(struct operations *o, struct str document);

/* Makes `body` and `id` for the state it is in now, and says so. partner, app: NULL where it has
 * none. */
void notice_compose(struct notice *n, const struct partner *partner, const struct app *app,
                    struct env *env, struct str public_url);
/* What to do about the error, in words that fit the request that was made. */
const char *notice_fix(const struct notice *n, const struct app *app);
/* The body of a mail. */
void mail_text_print(struct buf *to, const struct notice *n, const struct partner *partner,
                     const struct app *app, struct str public_url);
/* The same as JSON, for a chat; the format is not OPERATIONS_STANDARD. */
void chat_text_print(struct buf *to, const struct notice *n, const struct partner *partner,
                     const struct app *app, struct str public_url, enum operations_format format);
/* Whether what it says goes by e-mail. */
bool notice_is_mail(const struct notice *n);
/* "2026-07" */
void notice_print_month(struct buf *to, const struct notice *n);
/* "endpoint.suspended"; NULL: nothing of that topic is ever so */
const char *notice_type(enum operations_topic topic, enum operations_state state);
