/* Sends the message of a notice, by webhook or mail, and handles the result. */
#include "operations/recipient.h"
#include "operations/running.h"

#include "base/log.h"
#include "domain/schedule.h"

#include <stdatomic.h>
#include <stdio.h>

#define TIMEOUT_MS 10000
#define CONNECT_TIMEOUT_MS 5000

/* The wait after failed tries. */
static int64_t wait_after(int32_t tries)
{
    static const int64_t steps[] = {5000, 30000, 120000, 600000, 1800000};
    size_t at = (size_t)(tries > 0 ? tries - 1 : 0);
    return at < ARRAY_LEN(steps) ? steps[at] : HOUR_MS;
}

/* The result of sending a message. */
struct message_end {
    bool good;
    const char *class, *detail; /* for the log */
    int64_t retry_after_ms;     /* 0: none */
};

static void log_end(const char *event, const struct notice *n, const struct message_end *why)
{
    struct app *app =
        n->app_no ? directory_app_by_no(n->operations->options.directory, n->app_no) : NULL;
    log_info(event, LOG_STR("app", app ? app->id : STR("none")),
             LOG_C("endpoint", n->kind ? lane_kind_name(n->kind) : "none"),
             LOG_C("type", notice_type(n->topic, n->saying)), LOG_C("id", n->id),
             LOG_C("by", notice_is_mail(n) ? "mail" : "webhook"), LOG_INT("tries", n->tries),
             LOG_C("class", why->class), LOG_C("detail", why->detail));
    if (app)
        app_unref(app);
}

static void message_ended(struct notice *n, const struct message_end *end)
{
    CHECK_MAGIC(n, NOTICE_MAGIC);
    struct operations *o = n->operations;
    n->step = NOTICE_READY;
    if (n->is_unlinked) {
        notice_free(n); /* another node has taken over */
    } else if (end->good) {
        atomic_fetch_add(&o->sent, 1);
        log_end("operations_message_sent", n, end);
        notice_end_message(n);
    } else if (o->stopping) {
        /* the message is owed again after the next start */
    } else if (loop_mono_ms(o->loop) - n->first_mono_ms >= NOTICE_GIVE_UP_MS) {
        atomic_fetch_add(&o->given_up, 1);
        log_end("operations_message_given_up", n, end);
        notice_end_message(n);
    } else {
        atomic_fetch_add(&o->failed, 1);
        log_end("operations_message_failed", n, end);
        if (n->is != n->saying)
            notice_end_message(n);
        else if (wait_after(n->tries) < end->retry_after_ms)
            operations_set_due(o, n, end->retry_after_ms);
        else
            operations_set_due(o, n, wait_after(n->tries));
    }
    operations_end_when_quiet(o);
}

static void exchanged(struct exchange *x)
{
    struct notice *n = CONTAINER_OF(x, struct notice, x);
    n->operations->sending[OPERATIONS_BY_WEBHOOK]--;
    message_ended(n, &(struct message_end){.good = x->class == ATTEMPT_OK,
                                           .class = attempt_class_name(x->class),
                                           .detail = x->detail,
                                           .retry_after_ms =
                                               x->retry_after_ms < 0
                                                   ? 0
                                                   : schedule_retry_after_ms(x->retry_after_ms)});
}

static void mailed(struct task *task)
{
    struct notice *n = CONTAINER_OF(task, struct notice, mail.done);
    struct message_end end = {.good = n->mail.good,
                              .class = n->mail.good ? "ok" : "smtp",
                              .detail = n->mail.good ? "" : n->mail.why};
    n->operations->sending[n->channel]--;
    for (struct notice *with = n->with, *next; with; with = next) {
        next = with->with;
        with->with = NULL;
        message_ended(with, &end);
    }
    n->with = NULL;
    message_ended(n, &end); /* last, because it owns the sentence */
}

static void begin_try(struct notice *n)
{
    struct operations *o = n->operations;
    if (!n->may_have_arrived)
        n->first_mono_ms = loop_mono_ms(o->loop);
    if (n->tries++ == 0) {
        n->last_mono_ms = loop_mono_ms(o->loop);
        n->sent_ms = loop_wall_ms(o->loop);
    }
    n->may_have_arrived = true;
    n->step = NOTICE_SENDING;
}

static void send_webhook(struct notice *n, const struct recipient *to)
{
    struct operations *o = n->operations;
    recipient_sign(to, n, loop_wall_ms(o->loop));
    n->x.url = &n->url;
    n->x.headers = buf_str(&n->headers);
    n->x.body = buf_str(&n->body);
    n->x.timeout_ms = TIMEOUT_MS;
    n->x.connect_timeout_ms = CONNECT_TIMEOUT_MS;
    n->x.done = exchanged;
    begin_try(n);
    o->sending[n->channel]++;
    sender_start(o->sender, &n->x);
}

static void send_mail(struct notice *n, const struct recipient *to)
{
    struct operations *o = n->operations;
    struct str public_url = str_trim_end(o->options.public_url, '/');
    digest_gather(o, n);
    bool is_digest = n->digest.n > 0;
    buf_clear(&n->headers);
    if (to->settings_page && public_url.p)
        buf_printf(&n->headers, "%.*s%s", STR_ARG(public_url), to->settings_page);
    struct str text = buf_str(is_digest ? &n->digest : &n->body), subject = str_cut(&text, '\n');
    snprintf(n->mail_to, sizeof n->mail_to, "%s", to->to);
    n->mail = (struct mail){
        .done.run = mailed,
        .reply_to = loop_executor(o->loop),
        .owner = recipient_account(n->topic, n->account_no),
        .to = n->mail_to,
        .subject = subject,
        .text = text,
        .id = is_digest ? n->digest_id : n->id,
        .wall_ms = n->owed_ms,
        .settings_url = n->headers.n ? buf_str(&n->headers) : STR_NONE,
    };
    for (struct notice *each = n; each; each = each->with)
        begin_try(each);
    o->sending[n->channel]++;
    mailer_send(o->options.mailer, &n->mail);
}

static void send_message(struct notice *n)
{
    struct operations *o = n->operations;
    struct recipient to;
    const char *why;
    recipient_find(&to, &o->options, n, loop_wall_ms(o->loop));
    arena_free(&n->arena);
    if (to.to[0] && notice_is_mail(n))
        send_mail(n, &to);
    else if (to.to[0] && url_parse(&n->arena, str_of(to.to), &n->url, &why))
        send_webhook(n, &to);
    else
        notice_end_message(n);
    explicit_bzero(&to, sizeof to);
}

/* A recipient that hangs occupies one seat only. */
static bool is_recipient_busy(const struct operations *o, const struct notice *as)
{
    for (const struct notice *n = o->notices; n; n = n->next)
        if (n->step == NOTICE_SENDING && recipient_shares_seat(n, as))
            return true;
    return false;
}

/* The message was never sent, and is outdated. */
static void withdraw(struct notice *n)
{
    n->step = NOTICE_IDLE;
    n->id[0] = '\0';
    buf_clear(&n->body);
    notice_consider(n);
}

void notice_try(struct notice *n)
{
    struct operations *o = n->operations;
    if (!n->may_have_arrived && n->is != n->saying) {
        withdraw(n);
        return;
    }
    if (o->sending[n->channel] >= OPERATIONS_SENDING_MOST || n->saving || is_recipient_busy(o, n) ||
        digest_is_gathering(o, n))
        return;
    int64_t wait_ms = digest_wait_ms(o, n);
    if (wait_ms > 0)
        n->due_mono_ms = loop_mono_ms(o->loop) + wait_ms;
    else
        send_message(n);
}

void notice_cancel_sending(struct notice *n)
{
    struct operations *o = n->operations;
    sender_cancel(o->sender, &n->x);
    n->step = NOTICE_READY;
    o->sending[n->channel]--;
}
