/* A notice: the state of an endpoint, certificate, statement or the books, the message owed about
 * it, and both as text. Which change makes a message: daemon/notify_operations.c; when it is sent:
 * operations.c, notice_send.c. Internal to operations/. */
#pragma once

#include "domain/clock.h"
#include "domain/email.h"
#include "operations/topic.h"

#define NOTICE_MAGIC 0x07071CE5u
/* How long a message is tried, by the monotonic clock. For tries by an earlier process there is
 * only the wall clock, which may be wrong: so at least NOTICE_LEFT_AT_START_MS are left after a
 * start. */
#define NOTICE_GIVE_UP_MS (OPERATIONS_GIVE_UP_HOURS * HOUR_MS)
#define NOTICE_LEFT_AT_START_MS HOUR_MS
#define NOTICE_ID_BYTES 40
#define NOTICE_NODE_BYTES 65
#define NOTICE_OBJECT_BYTES 48

enum notice_step {
    NOTICE_IDLE,   /* nothing is owed */
    NOTICE_OWED,   /* a message is owed and has no text yet */
    NOTICE_ASKING, /* the store is asked what waits */
    NOTICE_SAVING, /* the message is being stored */
    NOTICE_READY,  /* the message is stored; it is sent when due */
    NOTICE_SENDING,
};

struct notice {
    uint32_t magic;
    struct operations *operations;
    struct notice *next;
    enum operations_topic topic;
    enum operations_channel channel;
    uint32_t account_no, app_no;
    uint32_t user_no; /* for OPERATIONS_TO_PERSON; otherwise 0 */
    enum lane_kind kind;
    enum operations_state is;   /* the state now */
    enum operations_state told; /* the state in the last message, which may not have arrived */
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
    enum operations_state saying; /* the state in the message */
    char id[NOTICE_ID_BYTES];     /* its webhook-id; empty: none yet */
    struct buf body;              /* JSON; for a mail: a line with the subject, then the text */
    int64_t owed_ms; /* wall: since when the message is owed; later, when its text was printed */
    int64_t first_mono_ms; /* when it was first tried; valid if may_have_arrived */
    int32_t tries;
    bool may_have_arrived; /* it has been tried, perhaps before a restart */
    bool is_unlinked;      /* freed when its running actions have ended */
    int64_t due_mono_ms;
    int64_t sent_ms;      /* wall: when the last message was first sent; 0: never */
    int64_t last_mono_ms; /* the same by the monotonic clock */

    struct lane_waiting waiting;
    char object_id[NOTICE_OBJECT_BYTES];
    struct object_change change;
    struct buf document; /* being saved */
    bool saving, save_again, is_stored;
    struct exchange x;
    struct arena arena; /* of the exchange */
    struct url url;
    struct buf headers;
    struct mail mail; /* for a mail, instead of the exchange */
    char mail_to[EMAIL_BYTES_MAX + 1];
    struct notice *with; /* the next notice in the same mail */
    struct buf digest;   /* the mail of several notices, as `body` */
    char digest_id[NOTICE_ID_BYTES];
};

/* A notice that another node has changed. */
struct notice_left {
    struct task task;
    struct operations *operations;
    struct notice *notice; /* NULL: deleted */
    char object_id[NOTICE_OBJECT_BYTES];
};

struct notice *notice_new(struct operations *o, enum operations_topic topic,
                          enum operations_channel channel, uint32_t account_no, uint32_t app_no,
                          enum lane_kind kind);
/* Sets the node of a listener's notice. */
void notice_set_node(struct notice *n, const char *node);
/* The object_id of the notice about the same subject on another channel. */
void notice_name(const struct notice *as, enum operations_channel channel, uint32_t user_no,
                 char ret[NOTICE_OBJECT_BYTES]);
void notice_set_user(struct notice *n, uint32_t user_no); /* of a new one */
void notice_free(struct notice *n);                       /* nothing may be under way */
void notice_print(struct buf *to, const struct notice *n);
/* NULL: it cannot be read. */
struct notice *notice_read(struct operations *o, struct str document);

/* Makes `body` and `id` for the present state, and sets `saying` to it. partner, app: NULL if the
 * notice has none. */
void notice_compose(struct notice *n, const struct partner *partner, const struct app *app,
                    struct env *env, struct str public_url);
/* What to do about the error, for the request that was made. */
const char *notice_fix(const struct notice *n, const struct app *app);
/* The body of a mail. */
void mail_text_print(struct buf *to, const struct notice *n, const struct partner *partner,
                     const struct app *app, struct str public_url);
/* The same as JSON, for a chat; format: not OPERATIONS_STANDARD. */
void chat_text_print(struct buf *to, const struct notice *n, const struct partner *partner,
                     const struct app *app, struct str public_url, enum operations_format format);
/* True if its message is sent by e-mail. */
bool notice_is_mail(const struct notice *n);
/* "2026-07" */
void notice_print_month(struct buf *to, const struct notice *n);
/* "endpoint.suspended"; NULL: the topic does not have this state */
const char *notice_type(enum operations_topic topic, enum operations_state state);
