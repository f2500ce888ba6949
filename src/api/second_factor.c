/* The second factor of the signed-in person: begins it, confirms it with the first code, removes
 * it, and makes new recovery codes. */
#include "api/internal.h"
#include "api/route.h"
#include "api/sign_in.h"

#include <sodium.h>

static const struct field_rule password_rules[] = {{"Password", true, false}};
static const struct field_rule code_rules[] = {{"Code", true, false}};

/* Makes new codes in the job; their hashes are in the arena. */
static struct str make_recovery(struct people_job *job)
{
    uint8_t *hashes = arena_alloc(&job->change.arena, (size_t)RECOVERY_CODES * 32);
    for (size_t i = 0; i < RECOVERY_CODES; i++) {
        recovery_code_make(job->c->api->options.env, job->recovery[i]);
        bool good = recovery_code_hash(str_of(job->recovery[i]), hashes + 32 * i);
        ASSERT(good);
    }
    return (struct str){(const char *)hashes, (size_t)RECOVERY_CODES * 32};
}

static void print_recovery(struct people_job *job, struct json_writer *w)
{
    json_key_array(w, "RecoveryCodes");
    for (size_t i = 0; i < RECOVERY_CODES; i++)
        json_c(w, job->recovery[i]);
    json_end_array(w);
}

/* Changes the user to `next`, changes the session's token, and adds a note. */
static bool change_factor(struct people_job *job, struct user *next, const char *action)
{
    sign_in_change_self(job, next);
    job_note_user(job, action, job->user, job->change.user);
    return true;
}

/* --- begin ------------------------------------------------------------------------------------ */

static bool begin_judge(struct people_job *job)
{
    uint8_t secret[TOTP_SECRET_BYTES];
    struct env *env = job->c->api->options.env;
    if (!sign_in_refresh(job))
        return false;
    if (job->user->totp_secret.p)
        return job_refuse(job, 409, "A second factor is on; remove it first.");
    env_random(env, secret, sizeof secret);
    people_set_pending_factor(job->people, job->session->id, secret, env_wall_ms(env));
    sodium_memzero(secret, sizeof secret);
    return true;
}

static void begin_render(struct people_job *job, struct json_writer *w)
{
    uint8_t secret[TOTP_SECRET_BYTES];
    struct buf text = {0}, uri = {0};
    bool good = people_pending_factor(job->people, job->session->id,
                                      env_wall_ms(job->c->api->options.env), secret);
    ASSERT(good);
    base32_print(&text, (struct str){(const char *)secret, sizeof secret});
    totp_print_uri(&uri, (struct str){(const char *)secret, sizeof secret}, job->user->email);
    json_object(w);
    json_key_string(w, "Secret", buf_str(&text));
    json_key_string(w, "OtpauthUri", buf_str(&uri));
    json_end_object(w);
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(text.p, text.n);
    sodium_memzero(uri.p, uri.n);
    buf_free(&text);
    buf_free(&uri);
}

void second_factor_begin(struct call *c)
{
    struct people_job *job = people_job_new(c, true);
    if (!job)
        return;
    if (fields_check(&job->fields, password_rules, ARRAY_LEN(password_rules)))
        sign_in_text(job, "Password", 1, PASSWORD_BYTES_MOST, &job->password);
    if (c->problems.count == 0 && tries_left(job, c->person.user_id))
        job->slow = sign_in_own_password;
    job->judge = begin_judge;
    job->render = begin_render;
    people_job_run(job);
}

/* --- confirm ---------------------------------------------------------------------------------- */

static bool confirm_judge(struct people_job *job)
{
    uint8_t secret[TOTP_SECRET_BYTES];
    int64_t now_ms = env_wall_ms(job->c->api->options.env);
    struct user next = {0};
    if (!sign_in_refresh(job))
        return false;
    if (job->user->totp_secret.p)
        return job_refuse(job, 409, "The second factor is already on.");
    if (!people_pending_factor(job->people, job->session->id, now_ms, secret))
        return job_refuse(job, 409, "No second factor was started in the last minutes.");
    memcpy(&next, job->user, sizeof next);
    next.totp_secret =
        arena_str(&job->change.arena, (struct str){(const char *)secret, sizeof secret});
    next.totp_used = (struct used_once){0};
    int64_t step = totp_find_step(next.totp_secret, job->code, now_ms, &next.totp_used);
    sodium_memzero(secret, sizeof secret);
    if (!step)
        return sign_in_wrong_code(job);
    used_once_add(&next.totp_used, step);
    next.recovery = make_recovery(job);
    /* Sessions that were begun with the password alone must show the second factor, too. */
    people_end_sessions(job->people, &job->change, job->user->id, job->session->id);
    return change_factor(job, &next, "user.second_factor_on");
}

static void confirm_render(struct people_job *job, struct json_writer *w)
{
    json_object(w);
    print_recovery(job, w);
    json_key(w, "Session");
    sign_in_render_session(job, w);
    json_end_object(w);
}

void second_factor_confirm(struct call *c)
{
    struct people_job *job = people_job_new(c, true);
    if (!job)
        return;
    if (fields_check(&job->fields, code_rules, ARRAY_LEN(code_rules)))
        sign_in_text(job, "Code", 1, 64, &job->code);
    if (c->problems.count == 0 && !tries_left(job, c->person.user_id))
        ASSERT(job->refusal);
    job->judge = confirm_judge;
    job->render = confirm_render;
    people_job_run(job);
}

/* --- remove, and other recovery codes --------------------------------------------------------- */

/* Reads the user again, and marks the code as used. */
static bool take_code(struct people_job *job, struct user *ret_next)
{
    int64_t now_ms = env_wall_ms(job->c->api->options.env);
    if (!sign_in_refresh(job))
        return false;
    if (!job->user->totp_secret.p)
        return job_refuse(job, 409, "No second factor is on.");
    memcpy(ret_next, job->user, sizeof *ret_next);
    return sign_in_take_code(job->user, job->code, now_ms, &job->change.arena, ret_next) ||
           sign_in_wrong_code(job);
}

static bool remove_judge(struct people_job *job)
{
    struct user next = {0};
    if (!take_code(job, &next))
        return false;
    next.totp_secret = next.recovery = STR_NONE;
    next.totp_used = (struct used_once){0};
    return change_factor(job, &next, "user.second_factor_off");
}

static bool codes_judge(struct people_job *job)
{
    struct user next = {0};
    if (!take_code(job, &next))
        return false;
    next.recovery = make_recovery(job);
    return change_factor(job, &next, "user.recovery_codes_made");
}

static void run_with_both(struct call *c, bool (*judge)(struct people_job *job),
                          void (*render)(struct people_job *job, struct json_writer *w))
{
    struct people_job *job = people_job_new(c, true);
    if (!job)
        return;
    sign_in_read_proof_alone(job, true);
    if (c->problems.count == 0 && tries_left(job, c->person.user_id))
        job->slow = sign_in_own_password;
    job->judge = judge;
    job->render = render;
    people_job_run(job);
}

void second_factor_remove(struct call *c)
{
    run_with_both(c, remove_judge, sign_in_render_session);
}

void second_factor_recovery(struct call *c)
{
    run_with_both(c, codes_judge, confirm_render);
}
