/* One-time links: shows what a link is for, and sets a password with it. Having the link is the
 * proof of identity; if a second factor is on, its code is required too. */
#include "api/internal.h"
#include "api/route.h"
#include "api/sign_in.h"
#include "api/tries.h"
#include "services/link_mail.h"

static const struct field_rule check_rules[] = {{"Token", true, false}};
static const struct field_rule use_rules[] = {
    {"Token", true, false}, {"Password", true, false}, {"Name", true, false},
    {"Email", true, false}, {"Code", true, false},
};

#define NO_LINK "The link is wrong, already used, or expired. Ask for a new one."

/* Fills in user and kind. False: there is no such link. */
static bool find_link(struct people_job *job)
{
    int64_t now_ms = env_wall_ms(job->c->api->options.env);
    user_unref(job->user);
    job->user = people_user_by_link(job->people, job->link_hash, now_ms);
    job->link_kind = job->user ? job->user->link : LINK_SET_UP;
    job->link_until_ms = job->user ? job->user->link_until_ms
                                   : people_set_up_until_ms(job->people, job->link_hash, now_ms);
    return job->link_until_ms != 0;
}

static bool read_token(struct people_job *job)
{
    struct str token = STR_NONE;
    sign_in_text(job, "Token", 1, 128, &token);
    token_hash(token, job->link_hash);
    return token.p && job->c->problems.count == 0;
}

static bool refuse_link(struct people_job *job)
{
    tries_failed_of_links(job);
    return job_refuse(job, 404, NO_LINK);
}

/* --- what it is for --------------------------------------------------------------------------- */

static bool check_judge(struct people_job *job)
{
    if (!find_link(job))
        return refuse_link(job);
    /* so that nobody chooses a password in vain */
    return sign_in_is_open(job, job->user ? job->user->account_no : 0);
}

static void check_render(struct people_job *job, struct json_writer *w)
{
    const struct user *u = job->user;
    json_object(w);
    json_key_c(w, "Kind", link_kind_name(job->link_kind));
    json_key_string(w, "Email", u ? u->email : STR_NONE);
    json_key_string(w, "Name", u ? u->name : STR_NONE);
    json_key_c(w, "Role", role_name(u ? u->role : ROLE_ADMIN));
    person_render_partner(w, job->c->api, u ? u->account_no : 0);
    json_key_time(w, "ExpiresAt", job->link_until_ms);
    json_key_bool(w, "SecondFactor", u && u->totp_secret.p);
    json_end_object(w);
}

void link_check(struct call *c)
{
    struct people_job *job = sign_in_same_origin(c) ? people_job_new(c, true) : NULL;
    if (!job)
        return;
    if (fields_check(&job->fields, check_rules, ARRAY_LEN(check_rules)) && read_token(job) &&
        !tries_left_of_links(job))
        ASSERT(job->refusal);
    job->judge = check_judge;
    job->render = check_render;
    people_job_run(job);
}

/* --- asking for one --------------------------------------------------------------------------- */

static const struct field_rule request_rules[] = {{"Email", true, false}};

#define NO_MAIL                                                                                    \
    "This server sends no links by e-mail. Ask an owner of your account, or who runs the server, " \
    "for a new link."

static bool request_good(struct people_job *job)
{
    if (!link_mail_works(job->c->api->options.link_mail))
        return job_refuse(job, 409, NO_MAIL);
    if (!fields_check(&job->fields, request_rules, ARRAY_LEN(request_rules)))
        return false;
    fields_required(&job->fields, "Email");
    sign_in_email(job, "Email", &job->email);
    if (job->c->problems.count)
        return false;
    job->retry_after_s = 180;
    return tries_take_mail_of_site(job) ||
           job_refuse(job, 429, "Too many links were asked for. Wait before the next one.");
}

/* The answer is the same for every Email, and waits for nothing. */
void link_request(struct call *c)
{
    struct people_job *job = sign_in_same_origin(c) ? people_job_new(c, true) : NULL;
    if (!job)
        return;
    if (request_good(job)) {
        link_mail_request(c->api->options.link_mail, job->email, &c->r->peer);
        call_answer_empty(c, 202);
    } else {
        people_job_run(job);
    }
}

/* --- using it --------------------------------------------------------------------------------- */

static bool use_slow(struct people_job *job)
{
    if (!find_link(job))
        return refuse_link(job);
    const char *why = NULL;
    if (!password_good(job->password, job->user ? job->user->email : job->email, &why))
        return job_refuse_field(job, "Password", "invalid", why);
    if (job->user)
        sign_in_hash_password(job, job->password, job->user->email, job->user->id);
    else
        sign_in_hash_password(job, job->password, job->email, STR_NONE);
    return true;
}

/* The first admin. */
static bool set_up(struct people_job *job, struct user *next)
{
    struct arena *arena = &job->change.arena;
    if (!job->email.p)
        return job_refuse_field(job, "Email", "required", "the field is required");
    if (job->code.p)
        return job_refuse_field(job, "Code", "invalid", "there is no second factor yet");
    *next = (struct user){
        .user_no = people_next_no(job->people),
        .role = ROLE_ADMIN,
        .enabled = true,
        .created_ms = env_wall_ms(job->c->api->options.env),
        .id = people_new_id(job->people, arena, "u_"),
        .email = job->email,
        .name = job->email,
    };
    return true;
}

static bool use_invited(struct people_job *job, struct user *next)
{
    int64_t now_ms = env_wall_ms(job->c->api->options.env);
    const struct user *u = job->user;
    memcpy(next, u, sizeof *next);
    if (job->email.p)
        return job_refuse_field(job, "Email", "invalid", "the link is for its own Email");
    if (!u->totp_secret.p)
        return !job->code.p ||
               job_refuse_field(job, "Code", "invalid", "there is no second factor");
    if (!job->code.p)
        return job_refuse_field(job, "Code", "required", "the code of the second factor");
    if (!tries_left(job, u->email))
        return false;
    if (sign_in_take_code(u, job->code, now_ms, &job->change.arena, next))
        return true;
    tries_failed(job, u->email);
    return job_refuse_field(job, "Code", "invalid", "is wrong, or has been used already");
}

static bool use_judge(struct people_job *job)
{
    struct call *c = job->c;
    struct user next = {0};
    if (!find_link(job)) /* it was used meanwhile */
        return refuse_link(job);
    if (!sign_in_is_open(job, job->user ? job->user->account_no : 0))
        return false;
    if (job->user ? !use_invited(job, &next) : !set_up(job, &next))
        return false;
    next.version++;
    next.password = str_of(job->new_hash);
    next.link = LINK_NONE;
    next.link_by = STR_NONE;
    next.last_sign_in_ms = env_wall_ms(c->api->options.env);
    if (job->name.p)
        next.name = job->name;
    job->change.user = user_pack(&next);
    c->person.user_id = arena_str(&c->r->arena, next.id);
    c->person.email = arena_str(&c->r->arena, next.email);
    people_end_sessions(job->people, &job->change, next.id, STR_NONE);
    people_begin_session(job->people, &job->change, &next, job->address, job->agent, job->token);
    job_note_user(job, job->user ? "user.password_set" : "user.created", job->user,
                  job->change.user);
    job_note_session(job, "session.begun", next.account_no, job->change.session->id, next.id);
    return true;
}

void link_use(struct call *c)
{
    struct people_job *job = sign_in_same_origin(c) ? people_job_new(c, true) : NULL;
    if (!job)
        return;
    if (fields_check(&job->fields, use_rules, ARRAY_LEN(use_rules))) {
        sign_in_text(job, "Password", 1, PASSWORD_BYTES_MOST, &job->password);
        fields_text(&job->fields, "Name", 1, 256, &job->name);
        fields_text(&job->fields, "Code", 1, 64, &job->code);
        sign_in_email(job, "Email", &job->email);
        if (read_token(job) && tries_left_of_links(job))
            job->slow = use_slow;
    }
    job->judge = use_judge;
    job->render = sign_in_render_session;
    people_job_run(job);
}
