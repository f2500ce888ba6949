/* How the thread of operations learns of changes: from this process's lanes, from other nodes
 * through the store, and at the start from the store alone. */
#include "operations/recipient.h"
#include "operations/running.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define NOTICES_MOST 15000
#define UNTIL_LOOK_MS HOUR_MS

struct endpoint_news {
    struct task task;
    struct operations *operations;
    struct operations_event event;
    char detail[256], node[NOTICE_NODE_BYTES];
};

/* --- news --------------------------------------------------------------------------------------
 */

struct notice *operations_find(const struct operations *o, const struct operations_event *e,
                               enum operations_channel channel)
{
    for (struct notice *n = o->notices; n; n = n->next)
        if (n->topic == e->topic && n->channel == channel && n->account_no == e->account_no &&
            n->app_no == e->app_no && n->kind == e->kind &&
            strcmp(n->node, e->node ? e->node : "") == 0)
            return n;
    return NULL;
}

bool notice_is_limited(const struct notice *n)
{
    /* An account has only one notice of statements; people_mail.c has its own limit. */
    return topic_of(n->topic)->subject != SUBJECT_ACCOUNT && n->channel != OPERATIONS_TO_PERSON;
}

void operations_add(struct operations *o, struct notice *n)
{
    n->next = o->notices;
    o->notices = n;
    o->count += notice_is_limited(n);
    atomic_fetch_add(&o->known, 1);
}

void notice_take(struct notice *n, const struct operations_event *e)
{
    struct operations *o = n->operations;
    bool is_new = n->is != e->state || n->month < e->month;
    if (is_new) {
        n->is = e->state;
        n->since_ms = e->since_ms ? e->since_ms : loop_wall_ms(o->loop);
    }
    if (n->month < e->month) {
        n->month = e->month;
        n->told = OPERATIONS_WELL; /* nothing was sent about that month */
    }
    if (e->expires_ms || topic_of(e->topic)->subject == SUBJECT_APP)
        n->expires_ms = e->expires_ms;
    if (e->error_ms) {
        n->class = e->class;
        n->status = e->status;
        n->has_format = e->has_format;
        n->format = e->format;
        n->error_ms = e->error_ms;
        snprintf(n->detail, sizeof n->detail, "%s", e->detail);
    }
    if (is_new)
        notice_consider(n);
}

static void take_news(struct operations *o, const struct operations_event *e,
                      enum operations_channel channel)
{
    struct notice *n = operations_find(o, e, channel);
    if (!n) {
        if (e->state == OPERATIONS_WELL ||
            (topic_of(e->topic)->subject != SUBJECT_ACCOUNT && o->count >= NOTICES_MOST) ||
            !recipient_is_wanted(&o->options, e, channel))
            return;
        n = notice_new(o, e->topic, channel, e->account_no, e->app_no, e->kind);
        if (e->node && e->node[0])
            notice_set_node(n, e->node);
        operations_add(o, n);
    }
    notice_take(n, e);
}

void operations_take_news(struct operations *o, const struct operations_event *e)
{
    for (int channel = 0; channel < OPERATIONS_NEWS_CHANNELS && !o->stopping; channel++)
        take_news(o, e, (enum operations_channel)channel);
}

static void news_came(struct task *task)
{
    struct endpoint_news *news = CONTAINER_OF(task, struct endpoint_news, task);
    struct operations *o = news->operations;
    operations_take_news(o, &news->event);
    if (news->event.state != OPERATIONS_WELL)
        atomic_fetch_sub(&o->known, 1);
    free(news);
}

void operations_tell(struct operations *o, const struct operations_event *event)
{
    CHECK_MAGIC(o, OPERATIONS_MAGIC);
    if (event->state == OPERATIONS_WELL && atomic_load(&o->known) == 0)
        return;
    if (event->state != OPERATIONS_WELL)
        atomic_fetch_add(&o->known, 1); /* so that an event about its recovery is not dropped */
    struct endpoint_news *news = xcalloc(1, sizeof *news);
    news->task.run = news_came;
    news->operations = o;
    news->event = *event;
    snprintf(news->detail, sizeof news->detail, "%s", event->detail ? event->detail : "");
    news->event.detail = news->detail;
    snprintf(news->node, sizeof news->node, "%s", event->node ? event->node : "");
    news->event.node = news->node;
    executor_post(loop_executor(o->loop), &news->task);
}

/* --- other nodes -------------------------------------------------------------------------------
 */

/* Sets the step and times of a notice that was read from the store. The spacing continues as if
 * there had been no restart; a last message dated in the future counts as sent now. */
static void begin_step(struct notice *n)
{
    struct operations *o = n->operations;
    int64_t mono_ms = env_mono_ms(o->options.env);
    int64_t ago_ms = env_wall_ms(o->options.env) - n->sent_ms;
    if (n->sent_ms)
        n->last_mono_ms = mono_ms - (ago_ms > 0 ? ago_ms : 0);
    notice_correct_owed(n);
    int64_t tried_ms = env_wall_ms(o->options.env) - n->owed_ms;
    int64_t most_ms = NOTICE_GIVE_UP_MS - NOTICE_LEFT_AT_START_MS;
    n->first_mono_ms = mono_ms - (tried_ms < most_ms ? tried_ms : most_ms);
    n->may_have_arrived = n->id[0];
    n->step = n->id[0] ? NOTICE_READY : n->is != n->told ? NOTICE_OWED : NOTICE_IDLE;
    /* A person's choice may not be loaded yet: people_mail.c sets the time at its next check. */
    n->due_mono_ms = mono_ms;
    if (n->step == NOTICE_OWED)
        n->due_mono_ms += n->channel == OPERATIONS_TO_PERSON ? UNTIL_LOOK_MS : notice_wait_ms(n);
}

/* True: this node is working on the notice, so its state is newer than the stored one. */
static bool is_under_way(const struct notice *n)
{
    return n->saving || (n->step != NOTICE_IDLE && notice_is_ours(n));
}

/* One node may see the change and another send the message: the stored state may be older than the
 * last message, which its sender knows. */
static void keep_told(struct notice *left, const struct notice *known)
{
    if (known->sent_ms <= left->sent_ms || left->channel == OPERATIONS_TO_PEOPLE)
        return;
    left->told = known->told;
    left->sent_ms = known->sent_ms;
    left->owed_ms = env_wall_ms(left->operations->options.env);
}

/* A node reports on its own listener while this one sends a message about it. */
static void take_news_of_node(struct notice *n, const struct notice *left)
{
    if (!n->node[0] || n->is == left->is)
        return;
    n->is = left->is;
    n->since_ms = left->since_ms;
    n->expires_ms = left->expires_ms;
    notice_consider(n);
}

static void take_left(struct operations *o, struct notice_left *left)
{
    struct notice **at = &o->notices;
    while (*at && strcmp((*at)->object_id, left->object_id) != 0)
        at = &(*at)->next;
    if (*at && is_under_way(*at)) {
        if (left->notice) {
            take_news_of_node(*at, left->notice);
            notice_free(left->notice);
        }
        return;
    }
    if (*at && left->notice)
        keep_told(left->notice, *at);
    if (*at)
        operations_unlink(o, at);
    if (!left->notice)
        return;
    begin_step(left->notice);
    operations_add(o, left->notice);
    operations_set_due(o, left->notice, left->notice->due_mono_ms - loop_mono_ms(o->loop));
}

static void left_came(struct task *task)
{
    struct notice_left *left = CONTAINER_OF(task, struct notice_left, task);
    struct operations *o = left->operations;
    if (!o->stopping)
        take_left(o, left);
    else if (left->notice)
        notice_free(left->notice);
    free(left);
}

void operations_refresh(struct operations *o, struct str id, struct str document)
{
    CHECK_MAGIC(o, OPERATIONS_MAGIC);
    struct notice_left *left = xcalloc(1, sizeof *left);
    left->task.run = left_came;
    left->operations = o;
    left->notice = document.p ? notice_read(o, document) : NULL;
    if (id.n >= sizeof left->object_id || (document.p && !left->notice)) {
        log_error("notice_not_read", LOG_STR("id", id));
        if (left->notice)
            notice_free(left->notice);
        free(left);
        return;
    }
    memcpy(left->object_id, id.p, id.n);
    executor_post(loop_executor(o->loop), &left->task);
}

bool operations_load(struct operations *o, struct str document)
{
    CHECK_MAGIC(o, OPERATIONS_MAGIC);
    ASSERT(!o->running);
    struct notice *n = notice_read(o, document);
    if (!n)
        return false;
    begin_step(n);
    operations_add(o, n);
    return true;
}
