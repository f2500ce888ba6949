/* Checks passwords and codes; see sign_in.h. */
#include "api/sign_in.h"

#include "api/caller.h"
#include "api/internal.h"
#include "domain/email.h"

#include <sodium.h>

bool sign_in_same_origin(struct call *c)
{
    if (person_same_origin(c))
        return true;
    call_answer_problem(c, 403, PERSON_OTHER_ORIGIN);
    return false;
}

bool sign_in_is_open(struct people_job *job, uint32_t account_no)
{
    struct api *api = job->c->api;
    if (!caller_account_enabled(api, account_no)) {
        job->reason = "the account is disabled";
        return job_refuse(job, 403, CALLER_ACCOUNT_DISABLED);
    }
    if (!sign_in_by_password(api, account_no)) {
        job->reason = "passwords and passkeys are off for this account";
        return job_refuse(job, 403, SIGN_IN_NO_PASSWORDS);
    }
    return true;
}

/* --- fields ----------------------------------------------------------------------------------- */

void sign_in_text(struct people_job *job, const char *name, size_t least, size_t most,
                  struct str *ret)
{
    fields_required(&job->fields, name);
    fields_text(&job->fields, name, least, most, ret);
}

void sign_in_read_proof(struct people_job *job)
{
    sign_in_text(job, "Password", 1, PASSWORD_BYTES_MOST, &job->password);
    fields_text(&job->fields, "Code", 1, 64, &job->code);
}

void sign_in_read_proof_alone(struct people_job *job, bool needs_code)
{
    static const struct field_rule rules[] = {{"Password", true, false}, {"Code", true, false}};
    if (!fields_check(&job->fields, rules, ARRAY_LEN(rules)))
        return;
    sign_in_read_proof(job);
    if (needs_code)
        fields_required(&job->fields, "Code");
}

void sign_in_email(struct people_job *job, const char *name, struct str *ret)
{
    struct str given = STR_NONE;
    fields_text(&job->fields, name, 3, EMAIL_BYTES_MAX, &given);
    if (!given.p)
        return;
    const char *fault = email_fault(given);
    if (fault) {
        problem_add(&job->c->problems, str_of(name), "invalid", "%s", fault);
        return;
    }
    *ret = email_lower(&job->c->r->arena, given);
}

void sign_in_new_password(struct people_job *job, const char *name, struct str password,
                          struct str email)
{
    const char *why = NULL;
    if (password.p && !password_good(password, email, &why))
        problem_add(&job->c->problems, str_of(name), "invalid", "%s", why);
}

void sign_in_hash_password(struct people_job *job, struct str password, struct str email,
                           struct str user_id)
{
    struct user *other = people_first_with_password(job->people, email, user_id);
    password_hash(password, other ? other->password : STR_NONE, job->new_hash);
    user_unref(other);
}

/* --- the second factor ------------------------------------------------------------------------ */

/* The hashes without the used one. */
static struct str recovery_without(struct arena *arena, struct str recovery, size_t used)
{
    char *left = arena_alloc(arena, recovery.n);
    size_t behind = recovery.n - used - 32;
    memcpy(left, recovery.p, used);
    if (behind)
        memcpy(left + used, recovery.p + used + 32, behind);
    return (struct str){left, recovery.n - 32};
}

bool sign_in_take_code(const struct user *user, struct str code, int64_t now_ms,
                       struct arena *arena, struct user *to)
{
    uint8_t hash[32];
    int64_t step = totp_find_step(user->totp_secret, code, now_ms, &user->totp_used);
    if (step) {
        to->totp_used = user->totp_used;
        used_once_add(&to->totp_used, step);
        return true;
    }
    if (!recovery_code_hash(code, hash))
        return false;
    for (size_t at = 0; at + 32 <= user->recovery.n; at += 32) {
        if (sodium_memcmp(user->recovery.p + at, hash, 32) != 0)
            continue;
        to->recovery = recovery_without(arena, user->recovery, at);
        return true;
    }
    return false;
}

bool sign_in_second_factor(struct people_job *job, struct user *next)
{
    int64_t now_ms = env_wall_ms(job->c->api->options.env);
    if (!job->user->totp_secret.p)
        return true;
    if (!job->code.p)
        return job_refuse_field(job, "Code", "required", "the code of the second factor");
    return sign_in_take_code(job->user, job->code, now_ms, &job->change.arena, next) ||
           sign_in_wrong_code(job);
}

bool sign_in_use_code(struct people_job *job)
{
    struct user next;
    memcpy(&next, job->user, sizeof next);
    if (!sign_in_second_factor(job, &next))
        return false;
    if (job->user->totp_secret.p)
        job->change.user = user_pack(&next);
    return true;
}

bool sign_in_wrong_code(struct people_job *job)
{
    tries_failed(job, job->c->person.user_id);
    return job_refuse_field(job, "Code", "invalid", "is wrong, or has been used already");
}

/* --- one's own session ------------------------------------------------------------------------ */

bool sign_in_own_password(struct people_job *job)
{
    job->user = people_user(job->people, job->c->person.user_id);
    if (password_verify(job->user ? job->user->password : STR_NONE, job->password))
        return true;
    tries_failed(job, job->c->person.user_id);
    return job_refuse_field(job, "Password", "invalid", "is not the current password");
}

bool sign_in_refresh(struct people_job *job)
{
    const struct call *c = job->c;
    user_unref(job->user);
    session_unref(job->session);
    job->user = people_user(job->people, c->person.user_id);
    job->session = people_session(job->people, c->person.session_id);
    uint8_t hash[32];
    token_hash(c->person.token, hash);
    if (job->user && job->user->enabled && job->session &&
        memcmp(hash, job->session->hash, sizeof hash) == 0)
        return true;
    return job_refuse(job, 401, "The session has ended; sign in again.");
}

void sign_in_rotate_session(struct people_job *job)
{
    people_rotate_session(job->people, &job->change, job->session, job->session->acting_no,
                          job->token);
}

void sign_in_change_self(struct people_job *job, struct user *next)
{
    next->version++;
    job->change.user = user_pack(next);
    sign_in_rotate_session(job);
}

void sign_in_render_session(struct people_job *job, struct json_writer *w)
{
    struct people_change *change = &job->change;
    const struct user *user = change->user ? change->user : job->user;
    const struct session *session = change->session ? change->session : job->session;
    person_render(w, job->c->api, user, session,
                  job->token[0] ? str_of(job->token) : job->c->person.token);
}
