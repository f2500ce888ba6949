/* See link_mail.h. Everything but the first look at whether there is anything to do runs on the
 * control thread, where users change; a mail under way is the mailer's, which may end it on its own
 * thread. The wait after failures is one for all, and short: a server that is away is asked for one
 * mail at a time, and addresses that fail, whoever chose them, hold up the others for little. */
#include "services/link_mail.h"

#include "base/alloc.h"
#include "base/log.h"
#include "domain/clock.h"
#include "people/mailed_link.h"
#include "people/throttle.h"
#include "services/audit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define LINK_MAIL_MAGIC 0x11A4A11u
#define GIVE_UP_MS (INT64_C(24) * 60 * 60 * 1000)
#define WAIT_LEAST_MS 5000
#define WAIT_MOST_MS 60000

static const struct throttle_rule of_user = {1, 30 * 60 * 1000};

enum link_mail_state {
    LINK_MAIL_IDLE,    /* the main thread's */
    LINK_MAIL_LOOKING, /* the control thread's */
    LINK_MAIL_SENDING, /* the mailer's */
    LINK_MAIL_ENDED,   /* the main thread's: what came of it is to be noted */
};

struct link_mail {
    uint32_t magic;
    struct link_mail_options options;
    struct executor here; /* of the mailer's answer */
    struct task look;
    atomic_int state; /* enum link_mail_state */
    atomic_llong sent, failed, given_up;
    struct throttle *requests; /* by UserId */
    /* Of whoever the state says. */
    int64_t due_mono_ms, wait_ms;
    uint32_t after_no; /* whose turn it was last */
    struct user *user; /* whose mail is under way; a reference */
    bool is_reset;     /* it says that the second factor was reset; otherwise it has a link */
    char to[256], id[64];
    struct buf text;
    struct mail mail;
};

/* --- what is sent ----------------------------------------------------------------------------- */

static void print_partner(struct link_mail *lm, struct buf *to, uint32_t account_no)
{
    struct partner *p =
        account_no ? directory_partner_by_no(lm->options.directory, account_no) : NULL;
    if (p)
        buf_printf(to, "Account: %.*s (%.*s)\n", STR_ARG(p->name), STR_ARG(p->id));
    if (p)
        partner_unref(p);
}

static void print_link_text(struct link_mail *lm, const struct user *u, const char *token)
{
    struct str url = str_trim_end(lm->options.public_url, '/');
    buf_add_c(&lm->text, u->link == LINK_INVITATION
                             ? "You are invited to sign in. Choose a password here:\n\n"
                             : "Choose a new password here:\n\n");
    buf_printf(&lm->text, "%.*s/link#%s\n\n", STR_ARG(url), token);
    print_partner(lm, &lm->text, u->account_no);
    buf_printf(&lm->text, "User: %.*s\nGood once, until: ", STR_ARG(u->email));
    clock_print(&lm->text, u->link_until_ms);
    buf_add_c(&lm->text, "\n\nWhoever has this link can choose the password, so do not pass it on. "
                         "If you did not expect it, you can ignore this mail: nothing changes.\n");
}

static void print_reset_text(struct link_mail *lm, const struct user *u)
{
    struct str url = str_trim_end(lm->options.public_url, '/');
    buf_add_c(&lm->text,
              "Somebody who may manage users has reset your second factor: codes, recovery "
              "codes and passkeys no longer sign in, and your password alone does. Set up a "
              "new second factor here:\n\n");
    buf_printf(&lm->text, "%.*s/account\n\n", STR_ARG(url));
    print_partner(lm, &lm->text, u->account_no);
    buf_printf(&lm->text, "User: %.*s\nReset: ", STR_ARG(u->email));
    clock_print(&lm->text, u->reset_mail_ms);
    buf_add_c(&lm->text, "\n\nIf you did not ask for this, choose a new password at once, and tell "
                         "whoever manages the users of your account.\n");
}

static struct str subject_of(const struct link_mail *lm, const struct user *u)
{
    return lm->is_reset                 ? STR("Your second factor was reset")
           : u->link == LINK_INVITATION ? STR("Your invitation")
                                        : STR("Your new password");
}

static int64_t owed_since_ms(const struct link_mail *lm, const struct user *u)
{
    return lm->is_reset ? u->reset_mail_ms : u->mail_owed_ms;
}

static void mail_done(struct task *task)
{
    struct link_mail *lm = CONTAINER_OF(task, struct link_mail, mail.done);
    atomic_store(&lm->state, LINK_MAIL_ENDED);
}

static void send_mail(struct link_mail *lm, struct user *u, const char *token)
{
    buf_clear(&lm->text);
    if (lm->is_reset)
        print_reset_text(lm, u);
    else
        print_link_text(lm, u, token);
    snprintf(lm->to, sizeof lm->to, "%.*s", STR_ARG(u->email));
    snprintf(lm->id, sizeof lm->id, "%s-%u-%lld", lm->is_reset ? "reset" : "link", u->user_no,
             (long long)(lm->is_reset ? u->reset_mail_ms : u->link_made_ms));
    lm->user = u;
    lm->after_no = u->user_no;
    lm->mail = (struct mail){
        .done.run = mail_done,
        .reply_to = &lm->here,
        .owner = u->account_no,
        .to = lm->to,
        .subject = subject_of(lm, u),
        .text = buf_str(&lm->text),
        .id = lm->id,
        .wall_ms = owed_since_ms(lm, u),
    };
    atomic_store(&lm->state, LINK_MAIL_SENDING);
    mailer_send(lm->options.mailer, &lm->mail);
}

/* --- what is owed ----------------------------------------------------------------------------- */

/* Whether the mail is still owed: not where the user has another link meanwhile. */
static bool is_owed(const struct link_mail *lm, const struct user *now, const struct user *mailed)
{
    return lm->is_reset ? now->reset_mail_ms == mailed->reset_mail_ms
                        : mailed_link_is_owed(now) && now->link_made_ms == mailed->link_made_ms;
}

static enum store_status keep_settled(struct link_mail *lm, const struct user *mailed)
{
    struct people_change change = {0};
    struct user next, *now = people_user(lm->options.people, mailed->id);
    enum store_status status = STORE_OK;
    if (now && is_owed(lm, now, mailed)) {
        memcpy(&next, now, sizeof next);
        *(lm->is_reset ? &next.reset_mail_ms : &next.mail_owed_ms) = 0;
        change.user = user_pack(&next);
        status =
            control_change_people(lm->options.control, lm->options.people, NULL, NULL, &change);
    }
    people_change_free(&change);
    user_unref(now);
    return status;
}

/* The mail is owed no more. Where the store does not take that, it is sent once more. */
static void settle(struct link_mail *lm, const struct user *mailed)
{
    enum store_status status = keep_settled(lm, mailed);
    for (int tries = 1; tries < CONTROL_TRIES && status == STORE_STALE; tries++) {
        control_catch_up(lm->options.control);
        status = keep_settled(lm, mailed);
    }
    if (status != STORE_OK)
        lm->due_mono_ms = env_mono_ms(lm->options.env) + WAIT_LEAST_MS;
}

static void give_up(struct link_mail *lm, const struct user *u, const char *why)
{
    atomic_fetch_add(&lm->given_up, 1);
    log_warning("link_mail_given_up", LOG_STR("user", u->id), LOG_C("reason", why));
    settle(lm, u);
}

static void note_end(struct link_mail *lm)
{
    struct user *u = lm->user;
    lm->user = NULL;
    if (lm->mail.good) {
        atomic_fetch_add(&lm->sent, 1);
        log_info("link_mail_sent", LOG_STR("user", u->id));
        lm->wait_ms = 0;
        lm->due_mono_ms = 0;
        settle(lm, u);
    } else if (lm->mail.is_refused) {
        give_up(lm, u, lm->mail.why);
    } else {
        atomic_fetch_add(&lm->failed, 1);
        log_info("link_mail_failed", LOG_STR("user", u->id), LOG_C("detail", lm->mail.why));
        lm->wait_ms = lm->wait_ms ? 2 * lm->wait_ms : WAIT_LEAST_MS;
        lm->wait_ms = lm->wait_ms < WAIT_MOST_MS ? lm->wait_ms : WAIT_MOST_MS;
        lm->due_mono_ms = env_mono_ms(lm->options.env) + lm->wait_ms;
    }
    user_unref(u);
}

static bool is_good_link(struct link_mail *lm, const struct user *u, int64_t now_ms)
{
    struct user *maker = u->link_by.p ? people_user(lm->options.people, u->link_by) : NULL;
    bool good = user_link_is_good(u, maker, now_ms);
    user_unref(maker);
    return good;
}

/* Why its mail is not to be sent, or no more; NULL: it is. */
static const char *obsolete(struct link_mail *lm, const struct user *u, int64_t now_ms)
{
    if (lm->is_reset && !u->enabled)
        return "the user is disabled";
    if (!lm->is_reset && !is_good_link(lm, u, now_ms))
        return "the link is over";
    return now_ms - owed_since_ms(lm, u) >= GIVE_UP_MS ? "not taken within 24 hours" : NULL;
}

/* True: a mail is under way. */
static bool begin_next(struct link_mail *lm)
{
    struct user *u = people_next_mail(lm->options.people, lm->after_no);
    char token[TOKEN_BYTES + 1];
    if (!u)
        return false;
    lm->is_reset = !mailed_link_is_owed(u); /* of both, the link goes first */
    const char *why = obsolete(lm, u, env_wall_ms(lm->options.env));
    if (!why && !lm->is_reset && !mailed_link_token(lm->options.people, u, token))
        why = "made under another master key";
    if (!why) {
        send_mail(lm, u, token);
        explicit_bzero(token, sizeof token);
        return true;
    }
    give_up(lm, u, why);
    lm->after_no = u->user_no;
    user_unref(u);
    return false;
}

static void look(struct task *task)
{
    struct link_mail *lm = CONTAINER_OF(task, struct link_mail, look);
    CHECK_MAGIC(lm, LINK_MAIL_MAGIC);
    control_catch_up(lm->options.control);
    if (lm->user)
        note_end(lm);
    if (env_mono_ms(lm->options.env) < lm->due_mono_ms || !begin_next(lm))
        atomic_store(&lm->state, LINK_MAIL_IDLE);
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

/* A link that is good stays: who knows an Email must not end what its owner was given. One that was
 * mailed is mailed again; of one that was handed over nobody knows the token. */
static enum store_status give_link(struct link_request *r, const struct user *u)
{
    struct link_mail *lm = r->link_mail;
    int64_t now_ms = env_wall_ms(lm->options.env);
    char token[TOKEN_BYTES + 1];
    struct user next;
    bool has_link = is_good_link(lm, u, now_ms);
    bool can_mail_it = has_link && mailed_link_token(lm->options.people, u, token);
    if (!link_mail_works_for(lm, u->account_no) || (has_link && !can_mail_it) || !may_ask(lm, u))
        return STORE_OK;
    memcpy(&next, u, sizeof next);
    if (has_link) {
        next.mail_owed_ms = now_ms;
    } else {
        user_begin_link(&next, STR_NONE, now_ms);
        mailed_link_make(lm->options.people, &next, token);
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

static void run_at_once(struct executor *executor, struct task *task)
{
    (void)executor;
    task->run(task);
}

struct link_mail *link_mail_new(const struct link_mail_options *options)
{
    struct link_mail *lm = xcalloc(1, sizeof *lm);
    lm->magic = LINK_MAIL_MAGIC;
    lm->options = *options;
    lm->here.post = run_at_once;
    lm->requests = throttle_new(of_user);
    lm->look.run = look;
    lm->look.owner = OWNER_DAEMON;
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
    int state = atomic_load(&lm->state);
    bool ended = state == LINK_MAIL_ENDED;
    bool begins = state == LINK_MAIL_IDLE && link_mail_works(lm) &&
                  env_mono_ms(lm->options.env) >= lm->due_mono_ms &&
                  people_mails_owed(lm->options.people) > 0 &&
                  leases_first(store_leases(lm->options.store));
    if (!ended && !begins)
        return;
    atomic_store(&lm->state, LINK_MAIL_LOOKING);
    control_post(lm->options.control, &lm->look);
}

void link_mail_free(struct link_mail *lm)
{
    if (!lm)
        return;
    CHECK_MAGIC(lm, LINK_MAIL_MAGIC);
    ASSERT(atomic_load(&lm->state) != LINK_MAIL_SENDING);
    user_unref(lm->user);
    throttle_free(lm->requests);
    if (lm->text.n)
        explicit_bzero(lm->text.p, lm->text.n);
    buf_free(&lm->text);
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
