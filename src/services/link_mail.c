/* See link_mail.h. Everything but the first look at whether there is anything to do runs on the
 * control thread, where users change; a mail under way is the mailer's, which ends it on a thread
 * of its own.
 *
 * Accounts take turns, and each has at most one mail under way. There are two kinds of waits:
 * - The server was reached and told whom the mail is for: only this mail waits (hold_up), longer
 *   after each failure.
 * - It was not reached, or took no mail at all: all mails wait (hold_up_all). At the end of the
 * wait one mail is begun, and if it fails in the same way the next wait is longer. */
#include "services/link_mail.h"

#include "base/alloc.h"
#include "base/clock_lead.h"
#include "base/log.h"
#include "base/turns.h"
#include "base/waiter.h"
#include "domain/acceptance_times.h"
#include "domain/clock.h"
#include "people/mailed_link.h"
#include "people/throttle.h"
#include "services/audit.h"
#include "services/link_text.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define LINK_MAIL_MAGIC 0x11A4A11u
#define GIVE_UP_MS DAY_MS
#define WAIT_LEAST_MS 5000
#define WAIT_MOST_MS MINUTE_MS                /* of all mails */
#define WAIT_OF_MAIL_MOST_MS (10 * MINUTE_MS) /* of one mail */
#define LOOK_MS 500 /* how often to check for mails whose wait has ended */

static const struct throttle_rule of_user = {1, 30 * MINUTE_MS};

/* A mail under way. */
struct link_try {
    struct link_mail *link_mail;
    struct user *user; /* the user, with a reference; NULL: the place is free */
    bool is_reset;     /* a mail about a reset second factor; otherwise one with a link */
    char to[256], id[64];
    struct buf text;
    struct mail mail;
    atomic_bool has_ended; /* the result must be recorded */
};

/* The wait of a user whose mail has failed. */
struct link_wait {
    uint32_t user_no;
    int64_t wait_ms, due_mono_ms;
};

struct link_mail {
    uint32_t magic;
    struct link_mail_options options;
    struct waiter answers; /* for the mailer: tasks run at once on its threads */
    struct task look, stop, stop_done;
    struct waiter stopped;
    bool stopping; /* no mail begins; the control thread's */
    /* True: the control thread has the members below; false: the main thread. */
    atomic_bool is_looking;
    atomic_int ended; /* number of tries with has_ended */
    atomic_llong sent, failed, given_up;
    struct throttle *requests; /* by UserId */
    struct link_try tries[MAILER_SENDING_MOST];
    int under_way;                      /* of these */
    uint32_t served_last;               /* the account */
    int64_t look_mono_ms;               /* the next check */
    int64_t away_wait_ms, away_mono_ms; /* 0: the server was reached at the last try */
    struct link_wait *waits;            /* by user_no */
    size_t wait_count, wait_room;
    struct clock_lead lead; /* the control thread's */
};

/* --- what is sent ----------------------------------------------------------------------------- */

static int64_t owed_since_ms(const struct user *u, bool is_reset)
{
    return is_reset ? u->reset_mail_ms : u->mail_owed_ms;
}

static void mail_done(struct task *task)
{
    struct link_try *t = CONTAINER_OF(task, struct link_try, mail.done);
    atomic_store(&t->has_ended, true);
    atomic_fetch_add(&t->link_mail->ended, 1);
}

static void send_mail(struct link_mail *lm, struct user *u, bool is_reset, const char *token)
{
    struct link_try *t = lm->tries;
    while (t->user)
        t++;
    t->link_mail = lm;
    t->is_reset = is_reset;
    buf_clear(&t->text);
    struct partner *partner =
        u->account_no ? directory_partner_by_no(lm->options.directory, u->account_no) : NULL;
    if (is_reset)
        link_text_print_reset(&t->text, u, partner, lm->options.public_url);
    else
        link_text_print(&t->text, u, partner, lm->options.public_url, token);
    if (partner)
        partner_unref(partner);
    snprintf(t->to, sizeof t->to, "%.*s", STR_ARG(u->email));
    snprintf(t->id, sizeof t->id, "%s-%u-%lld", is_reset ? "reset" : "link", u->user_no,
             (long long)(is_reset ? u->reset_mail_ms : u->link_made_ms));
    t->user = u;
    lm->under_way++;
    t->mail = (struct mail){
        .done.run = mail_done,
        .reply_to = &lm->answers.executor,
        .owner = u->account_no,
        .to = t->to,
        .subject = link_text_subject(u, is_reset),
        .text = buf_str(&t->text),
        .id = t->id,
        .wall_ms = owed_since_ms(u, is_reset),
    };
    mailer_send(lm->options.mailer, &t->mail);
}

/* --- what waits ------------------------------------------------------------------------------- */

/* The index of the user's wait, or where it would be inserted. */
static size_t wait_at(const struct link_mail *lm, uint32_t user_no)
{
    size_t from = 0, to = lm->wait_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (lm->waits[middle].user_no < user_no)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct link_wait *find_wait(const struct link_mail *lm, uint32_t user_no)
{
    size_t at = wait_at(lm, user_no);
    return at < lm->wait_count && lm->waits[at].user_no == user_no ? &lm->waits[at] : NULL;
}

/* Forgets waits that ended at least ten minutes ago: most of these mails are no longer owed. One
 * that is still owed may then be tried at once, which does no harm. */
static void forget_old_waits(struct link_mail *lm, int64_t now_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < lm->wait_count; i++)
        if (now_ms < lm->waits[i].due_mono_ms + WAIT_OF_MAIL_MOST_MS)
            lm->waits[kept++] = lm->waits[i];
    lm->wait_count = kept;
}

static void hold_up(struct link_mail *lm, const struct user *u)
{
    int64_t now_ms = env_mono_ms(lm->options.env);
    struct link_wait *wait = find_wait(lm, u->user_no);
    if (!wait) {
        forget_old_waits(lm, now_ms);
        size_t at = wait_at(lm, u->user_no);
        lm->waits = xgrow(lm->waits, &lm->wait_room, lm->wait_count + 1, sizeof *lm->waits);
        wait = &lm->waits[at];
        memmove(wait + 1, wait, (lm->wait_count++ - at) * sizeof *wait);
        *wait = (struct link_wait){.user_no = u->user_no};
    }
    wait->wait_ms = wait->wait_ms ? 2 * wait->wait_ms : WAIT_LEAST_MS;
    if (wait->wait_ms > WAIT_OF_MAIL_MOST_MS)
        wait->wait_ms = WAIT_OF_MAIL_MOST_MS;
    wait->due_mono_ms = now_ms + wait->wait_ms;
}

static void let_go(struct link_mail *lm, const struct user *u)
{
    struct link_wait *wait = find_wait(lm, u->user_no);
    if (wait)
        memmove(wait, wait + 1, (size_t)(lm->waits + lm->wait_count-- - wait - 1) * sizeof *wait);
}

/* All mails wait: the server may be down, until it has taken one. */
static void hold_up_all(struct link_mail *lm)
{
    lm->away_wait_ms = lm->away_wait_ms ? 2 * lm->away_wait_ms : WAIT_LEAST_MS;
    if (lm->away_wait_ms > WAIT_MOST_MS)
        lm->away_wait_ms = WAIT_MOST_MS;
    lm->away_mono_ms = env_mono_ms(lm->options.env) + lm->away_wait_ms;
}

static int64_t due_mono_ms(const struct link_mail *lm, const struct user *u)
{
    const struct link_wait *wait = find_wait(lm, u->user_no);
    return wait ? wait->due_mono_ms : INT64_MIN;
}

static bool may_go(void *context, const struct user *u)
{
    const struct link_mail *lm = context;
    for (size_t i = 0; i < ARRAY_LEN(lm->tries); i++)
        if (lm->tries[i].user && lm->tries[i].user->account_no == u->account_no)
            return false;
    return due_mono_ms(lm, u) <= env_mono_ms(lm->options.env);
}

static bool is_before(void *context, const struct user *a, const struct user *b)
{
    const struct link_mail *lm = context;
    if (a->account_no != b->account_no)
        return turn_is_before(lm->served_last, a->account_no, b->account_no);
    int64_t due_a = due_mono_ms(lm, a), due_b = due_mono_ms(lm, b);
    return due_a != due_b ? due_a < due_b : a->user_no < b->user_no;
}

static struct user *find_next(struct link_mail *lm)
{
    const struct mail_turns turns = {.may_go = may_go, .is_before = is_before, .context = lm};
    return people_next_mail(lm->options.people, &turns);
}

/* --- what is owed ----------------------------------------------------------------------------- */

/* True if the mail is still owed; false if the user has another link meanwhile. */
static bool is_owed(const struct user *now, const struct user *mailed, bool is_reset)
{
    return is_reset ? now->reset_mail_ms == mailed->reset_mail_ms
                    : mailed_link_is_owed(now) && now->link_made_ms == mailed->link_made_ms;
}

static enum store_status keep_settled(struct link_mail *lm, const struct user *mailed,
                                      bool is_reset)
{
    struct people_change change = {0};
    struct user next, *now = people_user(lm->options.people, mailed->id);
    enum store_status status = STORE_OK;
    if (now && is_owed(now, mailed, is_reset)) {
        memcpy(&next, now, sizeof next);
        *(is_reset ? &next.reset_mail_ms : &next.mail_owed_ms) = 0;
        change.user = user_pack(&next);
        status =
            control_change_people(lm->options.control, lm->options.people, NULL, NULL, &change);
    }
    people_change_free(&change);
    user_unref(now);
    return status;
}

/* Records that the mail is no longer owed. If the store refuses that, the mail is sent again. */
static void settle(struct link_mail *lm, const struct user *mailed, bool is_reset)
{
    enum store_status status = keep_settled(lm, mailed, is_reset);
    for (int tries = 1; tries < CONTROL_TRIES && status == STORE_STALE; tries++) {
        control_catch_up(lm->options.control);
        status = keep_settled(lm, mailed, is_reset);
    }
    if (status == STORE_OK)
        let_go(lm, mailed);
    else
        hold_up(lm, mailed);
}

static void give_up(struct link_mail *lm, const struct user *u, bool is_reset, const char *why)
{
    atomic_fetch_add(&lm->given_up, 1);
    log_warning("link_mail_given_up", LOG_STR("user", u->id), LOG_C("reason", why));
    settle(lm, u, is_reset);
}

static void note_end(struct link_mail *lm, struct link_try *t)
{
    struct user *u = t->user;
    const struct mail *mail = &t->mail;
    if (mail->good || mail->was_addressed)
        lm->away_wait_ms = lm->away_mono_ms = 0;
    if (mail->good) {
        atomic_fetch_add(&lm->sent, 1);
        log_info("link_mail_sent", LOG_STR("user", u->id));
        settle(lm, u, t->is_reset);
    } else if (mail->is_refused) {
        give_up(lm, u, t->is_reset, mail->why);
    } else {
        atomic_fetch_add(&lm->failed, 1);
        log_info("link_mail_failed", LOG_STR("user", u->id), LOG_C("detail", mail->why));
        if (mail->was_addressed)
            hold_up(lm, u);
        else if (!lm->away_wait_ms) /* otherwise all wait already */
            hold_up_all(lm);
    }
    user_unref(u);
    t->user = NULL;
    lm->under_way--;
}

static void note_ends(struct link_mail *lm)
{
    for (size_t i = 0; i < ARRAY_LEN(lm->tries); i++) {
        if (!atomic_exchange(&lm->tries[i].has_ended, false))
            continue;
        atomic_fetch_sub(&lm->ended, 1);
        bool was_woken = waiter_try(&lm->answers); /* or just being woken */
        (void)was_woken;
        note_end(lm, &lm->tries[i]);
    }
}

static bool is_good_link(struct link_mail *lm, const struct user *u, int64_t now_ms)
{
    struct user *maker = u->link_by.p ? people_user(lm->options.people, u->link_by) : NULL;
    bool good = user_link_is_good(u, maker, now_ms);
    user_unref(maker);
    return good;
}

/* Why the user's mail must not be sent; NULL: it may. */
static const char *obsolete(struct link_mail *lm, const struct user *u, bool is_reset,
                            int64_t now_ms)
{
    if (is_reset && !u->enabled)
        return "the user is disabled";
    if (!is_reset && !is_good_link(lm, u, now_ms))
        return "the link is over";
    return now_ms - owed_since_ms(u, is_reset) >= GIVE_UP_MS ? "not taken within 24 hours" : NULL;
}

/* Takes over the reference. */
static void begin(struct link_mail *lm, struct user *u)
{
    char token[TOKEN_BYTES + 1];
    bool is_reset = !mailed_link_is_owed(u); /* if both are owed, the link goes first */
    int64_t wall_ms = env_wall_ms(lm->options.env);
    int64_t now_ms = clock_lead_look(&lm->lead, wall_ms, env_mono_ms(lm->options.env));
    const char *why = obsolete(lm, u, is_reset, now_ms);
    lm->served_last = u->account_no;
    /* expired by the wall clock, but perhaps only because it jumped: wait */
    if (!why && !is_reset && !is_good_link(lm, u, wall_ms)) {
        hold_up(lm, u);
        user_unref(u);
        return;
    }
    if (!why && !is_reset && !mailed_link_token(lm->options.people, u, token))
        why = "made under another master key";
    if (!why) {
        if (lm->away_wait_ms)
            hold_up_all(lm); /* except this one, which tries the server */
        send_mail(lm, u, is_reset, token);
        explicit_bzero(token, sizeof token);
        return;
    }
    give_up(lm, u, is_reset, why);
    user_unref(u);
}

/* True if one more mail may be under way. */
static bool has_room(const struct link_mail *lm)
{
    return !lm->stopping && lm->under_way < MAILER_SENDING_MOST &&
           env_mono_ms(lm->options.env) >= lm->away_mono_ms &&
           leases_first(store_leases(lm->options.store));
}

static void begin_some(struct link_mail *lm)
{
    struct user *u = has_room(lm) ? find_next(lm) : NULL;
    if (!u) {
        lm->look_mono_ms = env_mono_ms(lm->options.env) + LOOK_MS;
        return;
    }
    user_unref(u);
    control_catch_up(lm->options.control); /* first, because it may no longer be owed */
    for (int i = 0; i < MAILER_SENDING_MOST && has_room(lm) && (u = find_next(lm)); i++)
        begin(lm, u);
}

static void look(struct task *task)
{
    struct link_mail *lm = CONTAINER_OF(task, struct link_mail, look);
    CHECK_MAGIC(lm, LINK_MAIL_MAGIC);
    if (atomic_load(&lm->ended) > 0)
        control_catch_up(lm->options.control);
    note_ends(lm);
    begin_some(lm);
    atomic_store(&lm->is_looking, false);
}

/* --- a forgotten password --------------------------------------------------------------------- */

struct link_request {
    struct task task;
    struct link_mail *link_mail;
    struct address peer;
    struct arena arena;
    struct str email;
};

static enum store_status keep_link(struct link_request *r, struct user *next)
{
    struct link_mail *lm = r->link_mail;
    struct people_change change = {.user = user_pack(next)};
    struct actor by = {.peer = &r->peer};
    struct audit_note note = {
        .action = "user.link_requested",
        .account_no = next->account_no,
        .object_kind = "user",
        .object_id = next->id,
    };
    enum store_status status =
        control_change_people(lm->options.control, lm->options.people, &by, &note, &change);
    people_change_free(&change);
    return status;
}

static bool may_ask(struct link_mail *lm, const struct user *u)
{
    int64_t now_ms = env_mono_ms(lm->options.env);
    if (throttle_wait_ms(lm->requests, u->id, now_ms) > 0)
        return false;
    (void)throttle_fail(lm->requests, u->id, now_ms);
    return true;
}

/* A link is of use only if its account is enabled and allows passwords. */
static bool is_of_use(const struct link_mail *lm, uint32_t account_no)
{
    struct partner *p =
        account_no ? directory_partner_by_no(lm->options.directory, account_no) : NULL;
    bool is_open = account_no == 0 || (p && p->enabled);
    partner_unref(p);
    return is_open && link_mail_works_for(lm, account_no);
}

/* A valid link stays: knowing an Email must not be enough to end its owner's link. A mailed link is
 * mailed again; of a link that was handed over nobody knows the token. */
static enum store_status give_link(struct link_request *r, const struct user *u)
{
    struct link_mail *lm = r->link_mail;
    int64_t now_ms = env_wall_ms(lm->options.env);
    char token[TOKEN_BYTES + 1];
    struct user next;
    /* a link dated by a clock that was ahead would be valid for too long */
    bool has_link = is_good_link(lm, u, now_ms) && !acceptance_goes_back(u->link_made_ms, now_ms);
    bool can_mail_it = has_link && mailed_link_token(lm->options.people, u, token);
    if (!is_of_use(lm, u->account_no) || (has_link && !can_mail_it) || !may_ask(lm, u))
        return STORE_OK;
    memcpy(&next, u, sizeof next);
    if (has_link) {
        next.mail_owed_ms = now_ms;
    } else {
        user_begin_link(&next, STR_NONE, 0, now_ms);
        mailed_link_make(lm->options.people, &next, now_ms, token);
    }
    explicit_bzero(token, sizeof token);
    next.version++;
    return keep_link(r, &next);
}

static enum store_status give_links(struct link_request *r)
{
    struct user *users[EMAIL_ACCOUNTS_MOST];
    enum store_status status = STORE_OK;
    control_catch_up(r->link_mail->options.control);
    size_t count = people_users_by_email(r->link_mail->options.people, r->email, users);
    for (size_t i = 0; i < count; i++) {
        if (status == STORE_OK)
            status = give_link(r, users[i]);
        user_unref(users[i]);
    }
    return status;
}

static void run_request(struct task *task)
{
    struct link_request *r = CONTAINER_OF(task, struct link_request, task);
    enum store_status status = give_links(r);
    for (int tries = 1; tries < CONTROL_TRIES && status == STORE_STALE; tries++)
        status = give_links(r);
    if (status != STORE_OK)
        log_warning("link_request_lost", LOG_INT("status", status));
    arena_free(&r->arena);
    free(r);
}

void link_mail_request(struct link_mail *lm, struct str email, const struct address *peer)
{
    CHECK_MAGIC(lm, LINK_MAIL_MAGIC);
    struct link_request *r = xcalloc(1, sizeof *r);
    r->link_mail = lm;
    r->peer = *peer;
    r->email = arena_str(&r->arena, email);
    r->task = (struct task){.run = run_request, .owner = OWNER_STRANGERS};
    control_post(lm->options.control, &r->task);
}

/* --- life ------------------------------------------------------------------------------------- */

/* A mail that was sent must be recorded while there is a store, or it is sent again. */
static void stop_on_control(struct task *task)
{
    struct link_mail *lm = CONTAINER_OF(task, struct link_mail, stop);
    CHECK_MAGIC(lm, LINK_MAIL_MAGIC);
    lm->stopping = true;
    while (atomic_load(&lm->ended) < lm->under_way)
        waiter_wait(&lm->answers);
    control_catch_up(lm->options.control);
    note_ends(lm);
    executor_post(&lm->stopped.executor, &lm->stop_done);
}

struct link_mail *link_mail_new(const struct link_mail_options *options)
{
    struct link_mail *lm = xcalloc(1, sizeof *lm);
    lm->magic = LINK_MAIL_MAGIC;
    lm->options = *options;
    waiter_init(&lm->answers);
    waiter_init(&lm->stopped);
    lm->stop.run = stop_on_control;
    lm->stop.owner = OWNER_DAEMON;
    lm->stop_done.run = waiter_wake;
    lm->requests = throttle_new(of_user);
    lm->look.run = look;
    lm->look.owner = OWNER_DAEMON;
    int64_t mono_ms = env_mono_ms(options->env);
    clock_lead_set_window(&lm->lead, GIVE_UP_MS, mono_ms);
    (void)clock_lead_look(&lm->lead, env_wall_ms(options->env), mono_ms);
    return lm;
}

bool link_mail_works(const struct link_mail *lm)
{
    CHECK_MAGIC(lm, LINK_MAIL_MAGIC);
    return lm->options.mailer && lm->options.public_url.p;
}

bool link_mail_works_for(const struct link_mail *lm, uint32_t account_no)
{
    return link_mail_works(lm) &&
           oidc_passwords(lm->options.oidc, lm->options.directory, account_no);
}

void link_mail_step(struct link_mail *lm)
{
    CHECK_MAGIC(lm, LINK_MAIL_MAGIC);
    if (atomic_load(&lm->is_looking) || !link_mail_works(lm))
        return;
    bool begins = env_mono_ms(lm->options.env) >= lm->look_mono_ms &&
                  people_mails_owed(lm->options.people) > 0 &&
                  leases_first(store_leases(lm->options.store));
    if (atomic_load(&lm->ended) == 0 && !begins)
        return;
    atomic_store(&lm->is_looking, true);
    control_post(lm->options.control, &lm->look);
}

void link_mail_stop(struct link_mail *lm)
{
    CHECK_MAGIC(lm, LINK_MAIL_MAGIC);
    if (!lm->options.mailer)
        return;
    mailer_abort(lm->options.mailer);
    control_post(lm->options.control, &lm->stop);
    waiter_wait(&lm->stopped);
}

void link_mail_free(struct link_mail *lm)
{
    if (!lm)
        return;
    CHECK_MAGIC(lm, LINK_MAIL_MAGIC);
    for (size_t i = 0; i < ARRAY_LEN(lm->tries); i++) {
        struct link_try *t = &lm->tries[i];
        ASSERT(!t->user || atomic_load(&t->has_ended));
        user_unref(t->user);
        if (t->text.n)
            explicit_bzero(t->text.p, t->text.n);
        buf_free(&t->text);
    }
    throttle_free(lm->requests);
    waiter_free(&lm->answers);
    waiter_free(&lm->stopped);
    free(lm->waits);
    lm->magic = 0;
    free(lm);
}

void link_mail_get_numbers(struct link_mail *lm, struct link_mail_numbers *ret)
{
    CHECK_MAGIC(lm, LINK_MAIL_MAGIC);
    *ret = (struct link_mail_numbers){
        .sent = atomic_load(&lm->sent),
        .failed = atomic_load(&lm->failed),
        .given_up = atomic_load(&lm->given_up),
        .owed = (int64_t)people_mails_owed(lm->options.people),
    };
}
