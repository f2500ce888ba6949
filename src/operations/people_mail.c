/* Mail to people about operations, by each person's choice (people/mail_choice.h).
 *
 * The node that delivers to an endpoint keeps one notice of its state for all people
 * (OPERATIONS_TO_PEOPLE), for which nothing is sent. The first node compares these once a second
 * with each person's choices, and keeps a notice per message owed or sent to a person
 * (OPERATIONS_TO_PERSON). So each notice has one writer, one node sends all mail to a person, and
 * messages about endpoints of several nodes go into one mail.
 *
 * A daily mail is sent at the first daily time after its message became owed, by the wall clock.
 * The store has owed messages, so a restart neither loses nor repeats one; a mail that became due
 * while no node ran is sent at the next start. */
#include "operations/recipient.h"
#include "operations/running.h"

#include "base/index.h"

#define LOOK_MS 1000
#define NOTICES_MOST 20000
#define NOTICES_OF_ACCOUNT_MOST 1000
#define NEW_MOST 200 /* in one check */

struct people_look {
    struct operations *operations;
    struct index states, told; /* by object_id: notices of both kinds */
    size_t made;
};

void notice_correct_owed(struct notice *n)
{
    int64_t now_ms = env_wall_ms(n->operations->options.env);
    if (n->owed_ms > now_ms)
        n->owed_ms = now_ms;
}

/* Since when its message may be sent: wall. */
static int64_t ready_ms(const struct notice *n)
{
    const struct operations_options *options = &n->operations->options;
    if (n->channel != OPERATIONS_TO_PERSON || recipient_wants(options, n) != MAIL_DAILY)
        return n->owed_ms;
    return mail_daily_after_ms(n->owed_ms, options->daily_minute);
}

int64_t notice_wait_ms(const struct notice *n)
{
    const struct operations_options *options = &n->operations->options;
    int64_t spacing_ms = n->last_mono_ms + options->spacing_ms - env_mono_ms(options->env);
    int64_t until_ready_ms = ready_ms(n) - env_wall_ms(options->env);
    int64_t wait_ms = spacing_ms > until_ready_ms ? spacing_ms : until_ready_ms;
    return wait_ms > 0 ? wait_ms : 0;
}

static struct operations_event event_of(const struct notice *state)
{
    return (struct operations_event){
        .topic = state->topic,
        .account_no = state->account_no,
        .app_no = state->app_no,
        .kind = state->kind,
        .state = state->is,
        .expires_ms = state->expires_ms,
        .since_ms = state->since_ms,
        .month = state->month,
        .node = state->node,
        .class = state->class,
        .status = state->status,
        .has_format = state->has_format,
        .format = state->format,
        .error_ms = state->error_ms,
        .detail = state->detail,
    };
}

/* --- who is to be told ------------------------------------------------------------------------ */

static bool has_room(struct people_look *l, const struct notice *state)
{
    size_t all = 0, of_account = 0;
    uint32_t account_no = recipient_account(state->topic, state->account_no);
    for (const struct notice *n = l->operations->notices; n; n = n->next) {
        if (n->channel != OPERATIONS_TO_PERSON)
            continue;
        all++;
        of_account += recipient_account(n->topic, n->account_no) == account_no;
    }
    return all < NOTICES_MOST && of_account < NOTICES_OF_ACCOUNT_MOST;
}

static void tell_user(struct people_look *l, const struct notice *state, const struct user *u)
{
    struct operations *o = l->operations;
    struct operations_event event = event_of(state);
    if (user_wants_mail(u, recipient_about(state->topic)) == MAIL_NEVER || l->made >= NEW_MOST)
        return;
    char object_id[NOTICE_OBJECT_BYTES];
    notice_name(state, OPERATIONS_TO_PERSON, u->user_no, object_id);
    if (index_find(&l->told, str_of(object_id)) || !has_room(l, state))
        return;
    struct notice *n = notice_new(o, state->topic, OPERATIONS_TO_PERSON, state->account_no,
                                  state->app_no, state->kind);
    if (state->node[0])
        notice_set_node(n, state->node);
    notice_set_user(n, u->user_no);
    if (recipient_wants(&o->options, n) == MAIL_NEVER) {
        notice_free(n);
        return;
    }
    operations_add(o, n);
    index_put(&l->told, str_of(n->object_id), n);
    l->made++;
    notice_take(n, &event);
}

static void tell_users(struct people_look *l, const struct notice *state)
{
    struct user *users[64];
    uint32_t account_no = recipient_account(state->topic, state->account_no), before_no = 0;
    size_t count;
    do {
        count = people_list_users(l->operations->options.people, account_no, before_no, users,
                                  ARRAY_LEN(users));
        for (size_t i = 0; i < count; i++) {
            tell_user(l, state, users[i]);
            before_no = users[i]->user_no;
            user_unref(users[i]);
        }
    } while (count == ARRAY_LEN(users));
}

/* --- what each was told ----------------------------------------------------------------------- */

/* The person does not want such mail any more: forgets the owed message and the last state. */
static void drop(struct notice *n)
{
    if (n->saving || n->step == NOTICE_SENDING || n->step == NOTICE_ASKING)
        return; /* at the next check */
    n->is = n->told = OPERATIONS_WELL;
    n->step = NOTICE_IDLE;
    n->id[0] = '\0';
    buf_clear(&n->body);
    n->sent_ms = 0;
    n->last_mono_ms = INT64_MIN / 2;
    operations_set_due(n->operations, n, 0);
    if (n->is_stored)
        notice_consider(n);
}

/* A statement's state stays STATEMENT_READY, so a new event is one about another month; the message
 * about the month before ends first. */
static bool is_news(const struct notice *n, const struct operations_event *e)
{
    return topic_of(n->topic)->subject == SUBJECT_ACCOUNT
               ? e->month > n->month && n->step == NOTICE_IDLE && !n->saving
               : e->state != n->is;
}

static void follow(struct people_look *l, struct notice *n)
{
    struct operations *o = l->operations;
    char object_id[NOTICE_OBJECT_BYTES];
    notice_name(n, OPERATIONS_TO_PEOPLE, 0, object_id);
    const struct notice *state = index_find(&l->states, str_of(object_id));
    struct operations_event event = event_of(state ? state : n);
    if (recipient_wants(&o->options, n) == MAIL_NEVER) {
        drop(n);
        return;
    }
    if (!state)
        event.state = OPERATIONS_WELL;
    if (is_news(n, &event))
        notice_take(n, &event);
    notice_correct_owed(n);
    if (n->step == NOTICE_OWED)
        operations_set_due(o, n, notice_wait_ms(n)); /* the choice may have changed */
}

static void look_at_all(struct operations *o)
{
    struct people_look l = {.operations = o};
    l.states.secret = l.told.secret = *store_hash_secret(o->options.store);
    for (struct notice *n = o->notices; n; n = n->next) {
        if (n->channel == OPERATIONS_TO_PEOPLE)
            index_put(&l.states, str_of(n->object_id), n);
        else if (n->channel == OPERATIONS_TO_PERSON)
            index_put(&l.told, str_of(n->object_id), n);
    }
    for (struct notice *n = o->notices; n; n = n->next) {
        if (n->channel == OPERATIONS_TO_PEOPLE && n->is != OPERATIONS_WELL &&
            !notice_is_abandoned(n))
            tell_users(&l, n);
        else if (n->channel == OPERATIONS_TO_PERSON)
            follow(&l, n);
    }
    index_free(&l.states);
    index_free(&l.told);
}

static void look_in(struct operations *o)
{
    if (!o->stopping)
        loop_timer_set(o->loop, &o->people_timer, loop_mono_ms(o->loop) + LOOK_MS);
}

static void look(struct timer *timer)
{
    struct operations *o = CONTAINER_OF(timer, struct operations, people_timer);
    if (o->options.mailer && leases_first(store_leases(o->options.store)))
        look_at_all(o);
    look_in(o);
}

void people_mail_start(struct operations *o)
{
    o->people_timer.fire = look;
    look_in(o);
}

bool operations_sends_mail(const struct operations *o)
{
    CHECK_MAGIC(o, OPERATIONS_MAGIC);
    return o->options.mailer != NULL;
}

int32_t operations_daily_minute(const struct operations *o)
{
    CHECK_MAGIC(o, OPERATIONS_MAGIC);
    return atomic_load(&o->daily_minute);
}
