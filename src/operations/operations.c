/* The thread that sends messages to partners about their endpoints, by webhook and by e-mail.
 *
 * There is one notice for each endpoint that is not well or has an owed message; docs/partners/
 * operations.md says what a partner may rely on. Everything except operations_tell runs on the
 * loop's thread. A notice goes through IDLE, OWED, ASKING, SAVING, READY and SENDING, and back to
 * IDLE. If the endpoint's state then differs from the state that was sent, the next message is
 * owed. A failed message is not repeated once its content is outdated: it may have arrived, so a
 * message with the new state is sent instead. */
#include "operations/running.h"

#include "base/alloc.h"
#include "net/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define TICK_MS 200
#define BUSY_MS 5000
#define OTHERS_MS 1000 /* how often to check for messages taken over from another node */

static int64_t now_mono(const struct operations *o)
{
    return loop_mono_ms(o->loop);
}

static void wake_in(struct operations *o, int64_t ms)
{
    int64_t at = now_mono(o) + (ms > TICK_MS ? ms : TICK_MS);
    if (o->stopping || (o->timer_set && o->timer.at_mono_ms <= at))
        return;
    o->timer_set = true;
    loop_timer_set(o->loop, &o->timer, at);
}

void operations_set_due(struct operations *o, struct notice *n, int64_t in_ms)
{
    n->due_mono_ms = now_mono(o) + in_ms;
    wake_in(o, in_ms);
}

void operations_end_when_quiet(struct operations *o)
{
    int32_t under_way = o->requests;
    for (int channel = 0; channel < OPERATIONS_CHANNELS; channel++)
        under_way += o->sending[channel];
    if (o->stopping && under_way == 0)
        loop_stop(o->loop);
}

/* --- keeping -----------------------------------------------------------------------------------
 */

static void saved(struct task *task);

/* How long a healthy notice is kept after its last message. */
static int64_t keep_ms(const struct notice *n)
{
    int64_t spacing_ms = n->operations->options.spacing_ms;
    return n->channel != OPERATIONS_BY_WEBHOOK && spacing_ms < MAILS_MS ? MAILS_MS : spacing_ms;
}

static bool is_worth_keeping(const struct notice *n)
{
    return (n->is != OPERATIONS_WELL && !notice_is_abandoned(n)) ||
           (n->told != OPERATIONS_WELL && !notice_is_abandoned(n)) || n->step != NOTICE_IDLE ||
           now_mono(n->operations) < n->last_mono_ms + keep_ms(n);
}

static void save(struct notice *n)
{
    struct operations *o = n->operations;
    if (n->saving) {
        n->save_again = true;
        return;
    }
    buf_clear(&n->document);
    if (is_worth_keeping(n))
        notice_print(&n->document, n);
    n->change = (struct object_change){
        .done.run = saved,
        .reply_to = loop_executor(o->loop),
        .kind = OBJECT_NOTICE,
        .id = str_of(n->object_id),
        .document = n->document.n ? buf_str(&n->document) : STR_NONE,
    };
    n->saving = true;
    o->requests++;
    store_change_object(o->options.store, &n->change);
}

void operations_unlink(struct operations *o, struct notice **at)
{
    struct notice *n = *at;
    *at = n->next;
    o->count -= notice_is_limited(n);
    atomic_fetch_sub(&o->known, 1);
    if (n->step == NOTICE_SENDING && n->channel == OPERATIONS_BY_WEBHOOK)
        notice_cancel_sending(n);
    n->is_unlinked = n->step == NOTICE_SENDING || n->step == NOTICE_ASKING;
    if (!n->is_unlinked)
        notice_free(n);
}

/* Deletes healthy notices, in the store first, on the node that sends their messages. */
static void forget_what_is_well(struct operations *o)
{
    for (struct notice **at = &o->notices; *at;) {
        struct notice *n = *at;
        bool is_over = !n->saving && !is_worth_keeping(n);
        if (is_over && n->is_stored && notice_is_ours(n))
            save(n);
        if (is_over && !n->is_stored)
            operations_unlink(o, at);
        else
            at = &n->next;
    }
}

/* --- what is owed ------------------------------------------------------------------------------
 */

void notice_consider(struct notice *n)
{
    struct operations *o = n->operations;
    if (n->step == NOTICE_READY && !n->may_have_arrived)
        operations_set_due(o, n, 0); /* notice_try checks whether it is still true */
    if (n->step != NOTICE_IDLE && n->step != NOTICE_OWED)
        return; /* considered again when the message under way has ended */
    if (n->channel == OPERATIONS_TO_PEOPLE) {
        n->told = n->is;
        n->last_mono_ms = now_mono(o);
        n->sent_ms = loop_wall_ms(o->loop);
        operations_set_due(o, n, keep_ms(n)); /* to be forgotten then */
    } else if (n->is == n->told) {
        n->step = NOTICE_IDLE;
    } else if (n->step == NOTICE_IDLE) {
        n->step = NOTICE_OWED;
        n->owed_ms = loop_wall_ms(o->loop);
        n->tries = 0;
        operations_set_due(o, n, notice_wait_ms(n));
    }
    save(n);
}

void notice_end_message(struct notice *n)
{
    n->told = n->saying;
    n->step = NOTICE_IDLE;
    n->id[0] = '\0';
    buf_clear(&n->body);
    notice_consider(n);
}

/* Makes the text of an owed message and stores it. */
static void compose(struct notice *n)
{
    struct operations *o = n->operations;
    struct directory *directory = o->options.directory;
    struct partner *partner =
        n->account_no ? directory_partner_by_no(directory, n->account_no) : NULL;
    struct app *app = n->app_no ? directory_app_by_no(directory, n->app_no) : NULL;
    if (n->is == n->told) {
        notice_consider(n);
    } else if (n->waiting.status == STORE_OK && (partner || !n->account_no) &&
               (app || !n->app_no)) {
        notice_compose(n, partner, app, o->options.env, o->options.public_url);
        n->may_have_arrived = false;
        n->owed_ms = loop_wall_ms(o->loop);
        n->step = NOTICE_SAVING;
        save(n);
    } else {
        operations_set_due(o, n, BUSY_MS);
    }
    if (partner)
        partner_unref(partner);
    if (app)
        app_unref(app);
}

static void waiting_known(struct task *task)
{
    struct notice *n = CONTAINER_OF(task, struct notice, waiting.done);
    struct operations *o = n->operations;
    o->requests--;
    n->step = NOTICE_OWED;
    if (n->is_unlinked)
        notice_free(n);
    else
        compose(n);
    operations_end_when_quiet(o);
}

static void ask_waiting(struct notice *n)
{
    struct operations *o = n->operations;
    if (!topic_of(n->topic)->has_health) {
        n->waiting.status = STORE_OK;
        compose(n);
        return;
    }
    n->step = NOTICE_ASKING;
    n->waiting = (struct lane_waiting){
        .done.run = waiting_known,
        .reply_to = loop_executor(o->loop),
        .account_no = n->account_no,
        .app_no = n->app_no,
    };
    o->requests++;
    store_lane_waiting(o->options.store, &n->waiting);
}

static void saved(struct task *task)
{
    struct notice *n = CONTAINER_OF(task, struct notice, change.done);
    struct operations *o = n->operations;
    /* A message that the database refuses is sent all the same; a restart may forget it. */
    bool good = n->change.status == STORE_OK || n->change.status == STORE_NOT_FOUND ||
                n->change.status == STORE_REFUSED;
    n->saving = false;
    n->is_stored = n->document.n > 0;
    o->requests--;
    bool again = n->save_again || (n->change.status == STORE_BUSY && !o->stopping);
    n->save_again = false;
    if (good && !again && n->step == NOTICE_SAVING) {
        n->step = NOTICE_READY;
        operations_set_due(o, n, 0);
    }
    if (again)
        save(n);
    operations_end_when_quiet(o);
}

/* --- the tick ---------------------------------------------------------------------------------
 */

static void tick(struct timer *timer)
{
    struct operations *o = CONTAINER_OF(timer, struct operations, timer);
    int64_t next_ms = INT64_MAX, owed = 0;
    o->timer_set = false;
    forget_what_is_well(o);
    for (struct notice *n = o->notices; n && !o->stopping; n = n->next) {
        bool due = n->due_mono_ms <= now_mono(o);
        owed += n->step != NOTICE_IDLE && (due || n->channel != OPERATIONS_TO_PERSON);
        if (n->step != NOTICE_IDLE && !notice_is_ours(n)) {
            next_ms = next_ms < OTHERS_MS ? next_ms : OTHERS_MS;
            continue;
        }
        if (n->step == NOTICE_OWED && due)
            ask_waiting(n);
        else if (n->step == NOTICE_READY && due)
            notice_try(n);
        int64_t in_ms = n->due_mono_ms - now_mono(o);
        if (n->step == NOTICE_IDLE)
            in_ms = keep_ms(n); /* to be forgotten then */
        if (in_ms < next_ms)
            next_ms = in_ms;
    }
    atomic_store(&o->owed, owed);
    if (next_ms != INT64_MAX)
        wake_in(o, next_ms);
}

/* --- life --------------------------------------------------------------------------------------
 */

struct operations *operations_new(const struct operations_options *options)
{
    struct operations *o = xcalloc(1, sizeof *o);
    o->magic = OPERATIONS_MAGIC;
    o->options = *options;
    if (!o->options.spacing_ms)
        o->options.spacing_ms = OPERATIONS_SPACING_MS;
    o->loop = loop_new(options->env);
    o->timer.fire = tick;
    atomic_store(&o->daily_minute, options->daily_minute);
    return o;
}

static void *run(void *context)
{
    struct operations *o = context;
    loop_run(o->loop);
    return NULL;
}

bool operations_prepare(struct operations *o, const struct sender_options *sender, char **ret_why)
{
    CHECK_MAGIC(o, OPERATIONS_MAGIC);
    struct sender_options options = *sender;
    options.connections_max = 2 * OPERATIONS_SENDING_MOST;
    options.idle_per_destination = 1;
    options.idle_ms = 5000;
    o->sender = sender_new(o->loop, &options, ret_why);
    return o->sender != NULL;
}

void operations_start(struct operations *o)
{
    CHECK_MAGIC(o, OPERATIONS_MAGIC);
    ASSERT(o->sender && !o->running);
    if (o->notices) {
        o->timer_set = true;
        loop_timer_set(o->loop, &o->timer, env_mono_ms(o->options.env) + TICK_MS);
    }
    statements_start(o);
    people_mail_start(o);
    o->running = true;
    ASSERT(pthread_create(&o->thread, NULL, run, o) == 0);
    pthread_setname_np(o->thread, "operations");
}

static void change_on_loop(struct task *task)
{
    struct operations_change *change = CONTAINER_OF(task, struct operations_change, task);
    struct operations *o = change->operations;
    o->options.operator_url = change->operator_url;
    o->options.operator_email = change->operator_email;
    o->options.spacing_ms = change->spacing_ms;
    o->options.daily_minute = change->daily_minute;
    atomic_store(&o->daily_minute, change->daily_minute);
    if (change->rules)
        sender_change(o->sender, change->rules, change->tls);
    executor_post(change->reply_to, &change->done);
}

void operations_change(struct operations *o, struct operations_change *change)
{
    CHECK_MAGIC(o, OPERATIONS_MAGIC);
    change->operations = o;
    change->task.run = change_on_loop;
    executor_post(loop_executor(o->loop), &change->task);
}

static void stop_on_loop(struct task *task)
{
    struct operations *o = CONTAINER_OF(task, struct operations, stop_task);
    o->stopping = true;
    loop_timer_clear(o->loop, &o->timer);
    loop_timer_clear(o->loop, &o->statements.timer);
    loop_timer_clear(o->loop, &o->people_timer);
    for (struct notice *n = o->notices; n; n = n->next)
        if (n->step == NOTICE_SENDING && n->channel == OPERATIONS_BY_WEBHOOK)
            notice_cancel_sending(n); /* mailer_abort ends a mail under way soon */
    operations_end_when_quiet(o);
}

void operations_stop(struct operations *o)
{
    CHECK_MAGIC(o, OPERATIONS_MAGIC);
    if (!o->running)
        return;
    if (o->options.mailer)
        mailer_abort(o->options.mailer);
    o->stop_task.run = stop_on_loop;
    executor_post(loop_executor(o->loop), &o->stop_task);
    pthread_join(o->thread, NULL);
    o->running = false;
}

void operations_free(struct operations *o)
{
    CHECK_MAGIC(o, OPERATIONS_MAGIC);
    ASSERT(!o->running);
    while (o->notices) {
        struct notice *n = o->notices;
        o->notices = n->next;
        notice_free(n);
    }
    if (o->sender)
        sender_free(o->sender);
    loop_free(o->loop);
    o->magic = 0;
    free(o);
}

void operations_get_numbers(const struct operations *o, struct operations_numbers *ret)
{
    CHECK_MAGIC(o, OPERATIONS_MAGIC);
    *ret = (struct operations_numbers){
        .sent = atomic_load(&o->sent),
        .failed = atomic_load(&o->failed),
        .given_up = atomic_load(&o->given_up),
        .owed = atomic_load(&o->owed),
    };
}
