/* Signing in and out, and changes to the current session: the password, and acting as a partner.
 * A request's session is checked in api/person.c, and whether it is allowed in api/caller.h. */
#include "api/caller.h"
#include "api/internal.h"
#include "api/route.h"
#include "api/sign_in.h"

#include "accounts/directory.h"
#include "base/log.h"

/* --- signing in ------------------------------------------------------------------------------- */

static const struct field_rule sign_in_rules[] = {
    {"Email", true, false},
    {"Password", true, false},
    {"Code", true, false},
    {"PartnerId", true, false},
};

#define WRONG "Email, Password or Code is wrong."

static bool refuse_sign_in(struct people_job *job)
{
    tries_failed(job, job->email);
    log_warning("sign_in_refused", LOG_STR("from", job->address),
                LOG_STR("user", job->user ? job->user->id : STR("unknown")));
    if (job->user)
        job_note_session(job, "session.refused", job->user->account_no, STR_NONE, job->user->id);
    return job_refuse(job, 401, WRONG);
}

/* The possible users: all with this Email, or the one of the account named in the request. */
static size_t find_candidates(struct people_job *job, struct user *ret[EMAIL_ACCOUNTS_MOST])
{
    if (!job->name.p)
        return people_users_by_email(job->people, job->email, ret);
    struct partner *p = directory_partner(job->c->api->options.directory, job->name);
    ret[0] = p ? people_user_by_email(job->people, p->account_no, job->email) : NULL;
    partner_unref(p);
    return ret[0] != NULL;
}

/* Prefers users of enabled accounts, then the last sign-in. */
static bool is_better(struct api *api, const struct user *a, const struct user *b)
{
    bool a_enabled = caller_account_enabled(api, a->account_no);
    bool b_enabled = caller_account_enabled(api, b->account_no);
    return a_enabled != b_enabled ? a_enabled : a->last_sign_in_ms > b->last_sign_in_ms;
}

/* Takes over the reference. */
static void prefer(struct api *api, struct user **preferred, struct user *u)
{
    if (*preferred && !is_better(api, u, *preferred)) {
        user_unref(u);
        return;
    }
    user_unref(*preferred);
    *preferred = u;
}

/* If users with one Email have different salts, each gets the first user's salt at a sign-in
 * (sign_in_hash_password says why). */
static void share_salt(struct people_job *job)
{
    const struct user *u = job->user;
    bool needs_code = u->totp_secret.p && !job->code.p; /* nothing is stored then */
    struct user *first = people_first_with_password(job->people, u->email, STR_NONE);
    if (first && !needs_code && password_lacks_salt(u->password, first->password))
        password_hash(job->password, first->password, job->new_hash);
    user_unref(first);
}

/* Finds the users with this Email, in several accounts, who have this password. Hashes the password
 * even if there is no user. */
static bool sign_in_slow(struct people_job *job)
{
    struct user *users[EMAIL_ACCOUNTS_MOST], *refused = NULL;
    struct str hashes[EMAIL_ACCOUNTS_MOST];
    bool right[EMAIL_ACCOUNTS_MOST];
    size_t count = find_candidates(job, users);
    for (size_t i = 0; i < count; i++)
        hashes[i] = users[i]->enabled ? users[i]->password : STR_NONE;
    password_verify_each(hashes, count, job->password, right);
    for (size_t i = 0; i < count; i++)
        prefer(job->c->api, right[i] ? &job->user : &refused, users[i]);
    if (job->user) {
        user_unref(refused);
        share_salt(job);
        return true;
    }
    job->user = refused; /* for the audit log */
    return refuse_sign_in(job);
}

/* The password was right a moment ago. Another sign-in may have given it the shared salt meanwhile:
 * then the stored hash is the one that this sign-in would have made. */
static bool is_still_right(const struct people_job *job, const struct user *now)
{
    return str_eq(now->password, job->user->password) ||
           (job->new_hash[0] && str_eq(now->password, str_of(job->new_hash)));
}

static bool sign_in_judge(struct people_job *job)
{
    struct call *c = job->c;
    int64_t now_ms = env_wall_ms(c->api->options.env);
    struct user *now = people_user(job->people, job->user->id);
    bool same = now && now->enabled && is_still_right(job, now);
    if (now) {
        user_unref(job->user);
        job->user = now;
    }
    if (!same)
        return refuse_sign_in(job);
    struct user next;
    memcpy(&next, now, sizeof next);
    next.last_sign_in_ms = now_ms;
    if (job->new_hash[0])
        next.password = str_of(job->new_hash);
    if (now->totp_secret.p && !job->code.p) {
        problem_add(&c->problems, STR("Code"), "required", "the code of the second factor");
        return job_refuse(job, 401, "The second factor is required.");
    }
    if (now->totp_secret.p && !sign_in_take_code(now, job->code, now_ms, &job->change.arena, &next))
        return refuse_sign_in(job);
    if (!sign_in_is_open(job, now->account_no)) {
        job_note_session(job, "session.refused", now->account_no, STR_NONE, now->id);
        return false;
    }
    tries_forgive(job, job->email);
    c->person.user_id = arena_str(&c->r->arena, now->id);
    c->person.email = arena_str(&c->r->arena, now->email);
    job->change.user = user_pack(&next);
    people_begin_session(job->people, &job->change, now, job->address, job->agent, job->token);
    job_note_session(job, "session.begun", now->account_no, job->change.session->id, now->id);
    return true;
}

void session_post(struct call *c)
{
    struct people_job *job = sign_in_same_origin(c) ? people_job_new(c, true) : NULL;
    if (!job)
        return;
    if (fields_check(&job->fields, sign_in_rules, ARRAY_LEN(sign_in_rules))) {
        fields_required(&job->fields, "Email");
        sign_in_email(job, "Email", &job->email);
        sign_in_read_proof(job);
        fields_id(&job->fields, "PartnerId", &job->name);
    }
    if (c->problems.count == 0 && tries_left(job, job->email))
        job->slow = sign_in_slow;
    job->judge = sign_in_judge;
    job->render = sign_in_render_session;
    people_job_run(job);
}

/* --- who is signed in ------------------------------------------------------------------------- */

void session_get(struct call *c)
{
    struct people *people = c->api->options.people;
    struct user *user = NULL;
    struct session *session = NULL;
    if (person_same_origin(c) && person_authenticate(c)) {
        user = people_user(people, c->person.user_id);
        session = people_session(people, c->person.session_id);
    }
    struct json_writer *w = call_begin_json(c);
    person_render(w, c->api, session ? user : NULL, session, c->person.token);
    user_unref(user);
    session_unref(session);
    call_end_json(c, 200);
}

/* --- signing out ------------------------------------------------------------------------------ */

static bool sign_out_judge(struct people_job *job)
{
    if (!sign_in_refresh(job))
        return false;
    struct session *mine = people_session(job->people, job->session->id);
    people_end_session(&job->change, mine);
    job_note_session(job, "session.ended", job->user->account_no, mine->id, job->user->id);
    return true;
}

void session_delete(struct call *c)
{
    struct people_job *job = people_job_new(c, false);
    job->judge = sign_out_judge;
    job->status = 204;
    job->clears_cookie = true;
    people_job_run(job);
}

/* --- another password ------------------------------------------------------------------------- */

static const struct field_rule password_rules[] = {
    {"Password", true, false},
    {"NewPassword", true, false},
};

static bool password_slow(struct people_job *job)
{
    if (!sign_in_own_password(job))
        return false;
    sign_in_hash_password(job, job->new_password, job->user->email, job->user->id);
    return true;
}

static bool password_judge(struct people_job *job)
{
    struct str was = arena_str(&job->change.arena, job->user->password);
    if (!sign_in_refresh(job))
        return false;
    if (!str_eq(was, job->user->password))
        return job_refuse(job, 409, "The password was just changed in another session.");
    struct user next;
    memcpy(&next, job->user, sizeof next);
    next.password = str_of(job->new_hash);
    next.link = LINK_NONE;
    people_end_sessions(job->people, &job->change, job->user->id, job->session->id);
    sign_in_change_self(job, &next);
    job_note_user(job, "user.password_set", job->user, job->change.user);
    return true;
}

void session_password(struct call *c)
{
    struct people_job *job = people_job_new(c, true);
    if (!job)
        return;
    if (fields_check(&job->fields, password_rules, ARRAY_LEN(password_rules))) {
        sign_in_text(job, "Password", 1, PASSWORD_BYTES_MOST, &job->password);
        sign_in_text(job, "NewPassword", 1, PASSWORD_BYTES_MOST, &job->new_password);
        sign_in_new_password(job, "NewPassword", job->new_password, c->person.email);
    }
    if (c->problems.count == 0 && tries_left(job, c->person.user_id))
        job->slow = password_slow;
    job->judge = password_judge;
    job->render = sign_in_render_session;
    people_job_run(job);
}

/* --- acting as a partner ---------------------------------------------------------------------- */

static const struct field_rule act_as_rules[] = {{"PartnerId", true, false}};

static bool act_as(struct people_job *job, uint32_t account_no, const char *action)
{
    uint32_t noted = account_no ? account_no : job->session->acting_no;
    people_rotate_session(job->people, &job->change, job->session, account_no, job->token);
    job_note_session(job, action, noted, job->session->id, job->user->id);
    return true;
}

static bool act_as_judge(struct people_job *job)
{
    if (!sign_in_refresh(job))
        return false;
    struct partner *partner = directory_partner(job->c->api->options.directory, job->name);
    if (!partner)
        return job_refuse_field(job, "PartnerId", "invalid", "there is no such partner");
    uint32_t account_no = partner->account_no;
    partner_unref(partner);
    return act_as(job, account_no, "session.act_as_begun");
}

static bool act_as_end_judge(struct people_job *job)
{
    if (!sign_in_refresh(job))
        return false;
    if (!job->session->acting_no)
        return job_refuse(job, 409, "The session does not act as a partner.");
    return act_as(job, 0, "session.act_as_ended");
}

void session_act_as(struct call *c)
{
    if (!c->is_operator) {
        call_answer_problem(c, 403,
                            "Only an operator can act as a partner, and as one partner at a time.");
        return;
    }
    struct people_job *job = people_job_new(c, true);
    if (!job)
        return;
    if (fields_check(&job->fields, act_as_rules, ARRAY_LEN(act_as_rules))) {
        fields_required(&job->fields, "PartnerId");
        fields_id(&job->fields, "PartnerId", &job->name);
    }
    job->judge = act_as_judge;
    job->render = sign_in_render_session;
    people_job_run(job);
}

void session_act_as_end(struct call *c)
{
    struct people_job *job = people_job_new(c, false);
    job->judge = act_as_end_judge;
    job->render = sign_in_render_session;
    people_job_run(job);
}
