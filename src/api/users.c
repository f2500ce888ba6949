/* The people of an account: invites, lists, changes and removes them; their one-time links and
 * sessions. */
#include "accounts/names.h"
#include "accounts/render.h"
#include "api/account_routes.h"
#include "api/internal.h"
#include "api/provider_sign_in.h"
#include "api/route.h"
#include "api/sign_in.h"
#include "api/slices.h"
#include "api/tries.h"
#include "domain/email.h"
#include "people/mailed_link.h"
#include "services/link_mail.h"

#include <sodium.h>

#define NAME_BYTES_MOST 256
#define TOO_MANY_PEOPLE                                                                            \
    "This account has " NUMBER_AS_TEXT(LIMIT_ACCOUNT_PEOPLE) " people, the most it may have. "     \
                                                             "Remove one first."

static const struct field_rule user_rules[] = {
    {"UserId", true, false}, {"Email", true, false},   {"Name", true, true},
    {"Role", true, true},    {"Enabled", false, true}, {"SendMail", true, false},
};

/* --- fields ----------------------------------------------------------------------------------- */

/* False: none is given, or a problem is added. */
static bool read_role(const struct people_job *job, uint32_t account_no, enum role *ret)
{
    struct str name = STR_NONE;
    enum role role;
    fields_text(&job->fields, "Role", 1, 64, &name);
    if (!name.p)
        return false;
    bool good = role_parse(name, &role) && role_is_operators(role) == (account_no == 0);
    if (good)
        *ret = role;
    else
        problem_add(&job->c->problems, STR("Role"), "invalid", "must be %s",
                    account_no ? "owner, developer or analyst" : "admin or support");
    return good;
}

/* True if the caller may do everything that the role may; otherwise names the missing scopes. Also
 * needed for removing: a key that signs owners out, or removes them, keeps them out. */
static bool may_manage(struct people_job *job, enum role role)
{
    uint32_t beyond = role_scopes_beyond(role, job->c->scopes);
    if (!beyond)
        return true;
    struct buf names = {0};
    scopes_print(&names, beyond);
    struct str text = arena_print(
        &job->c->r->arena, "This needs every scope of the role %s; the key or role lacks %s.",
        role_name(role), buf_c(&names));
    buf_free(&names);
    return job_refuse(job, 403, text.p);
}

/* Makes a new link for the user; the former one becomes invalid. */
static void make_link(struct people_job *job, struct user *next, bool send_mail)
{
    struct call *c = job->c;
    char token[TOKEN_BYTES + 1];
    struct buf text = {0};
    int64_t now_ms = env_wall_ms(c->api->options.env);
    struct str by = c->person.user_id;
    struct user *maker = by.p ? people_user(job->people, by) : NULL;
    user_begin_link(next, by, maker ? maker->links_from_ms : 0, now_ms);
    user_unref(maker);
    if (send_mail && tries_take_mail_of_account(job, next->account_no))
        mailed_link_make(job->people, next, now_ms, token);
    else
        token_make(c->api->options.env, token, next->link_hash);
    person_print_base_url(&text, c);
    buf_printf(&text, "/link#%s", token);
    job->link = arena_str(&job->change.arena, buf_str(&text));
    sodium_memzero(text.p, text.n);
    sodium_memzero(token, sizeof token);
    buf_free(&text);
}

static void print_etag(struct people_job *job, const struct user *user)
{
    char tag[ETAG_MAX];
    etag_print(tag, user->version);
    buf_printf(&job->headers, "ETag: %s\r\n", tag);
}

static void render_changed(struct people_job *job, struct json_writer *w)
{
    print_etag(job, job->change.user);
    person_render_user(w, job->c->api, job->change.user);
}

static void print_link(struct people_job *job, struct json_writer *w, const struct user *user)
{
    if (job->link.p) {
        json_key_string(w, "Link", job->link);
        json_key_time(w, "LinkExpiresAt", user->link_until_ms);
    }
    json_key_bool(w, "MailQueued", mailed_link_is_owed(user));
}

/* --- create ----------------------------------------------------------------------------------- */

static bool create_judge(struct people_job *job)
{
    struct call *c = job->c;
    struct user next = {
        .account_no = c->account_no,
        .version = 1,
        .enabled = true,
        .created_ms = env_wall_ms(c->api->options.env),
    };
    /* A former user with that UserId may have made links: they must not become valid again. */
    next.links_from_ms = next.created_ms + 1;
    /* Checked first: a caller who may not give the role is not asked to correct other members. The
     * role is required, so if it cannot be read there is a problem. */
    if (read_role(job, c->account_no, &next.role) && !may_manage(job, next.role))
        return false;
    fields_id(&job->fields, "UserId", &next.id);
    sign_in_email(job, "Email", &next.email);
    next.name = next.email;
    fields_text(&job->fields, "Name", 1, NAME_BYTES_MOST, &next.name);
    bool sends = link_mail_works_for(c->api->options.link_mail, c->account_no);
    bool send_mail = sends;
    fields_bool(&job->fields, "SendMail", &send_mail);
    if (c->problems.count)
        return job_refuse(job, 400, NULL);
    if (send_mail && !sends)
        return job_refuse(job, 409,
                          "No link can be sent by e-mail here. Leave SendMail out, and pass the "
                          "link on yourself.");
    struct user *same_email = people_user_by_email(job->people, c->account_no, next.email);
    struct user *same_id = next.id.p ? people_user(job->people, next.id) : NULL;
    user_unref(same_email);
    user_unref(same_id);
    if (same_email)
        return job_refuse(job, 409, "A user with this Email already exists in this account.");
    if (same_id)
        return job_refuse(job, 409, "The UserId is taken. Choose another, or leave it out.");
    if (people_count_users(job->people, c->account_no) >= LIMIT_ACCOUNT_PEOPLE) {
        (void)job_refuse_field(job, "Email", PROBLEM_TOO_MANY, TOO_MANY_PEOPLE);
        return job_refuse(job, 409, TOO_MANY_PEOPLE);
    }
    if (!next.id.p)
        next.id = people_new_id(job->people, &job->change.arena, "u_");
    next.user_no = people_next_no(job->people);
    make_link(job, &next, send_mail);
    job->change.user = user_pack(&next);
    job_note_user(job, "user.created", NULL, job->change.user);
    return true;
}

static void create_render(struct people_job *job, struct json_writer *w)
{
    const struct user *user = job->change.user ? job->change.user : job->user; /* repeated */
    print_etag(job, user);
    buf_printf(&job->headers, "Location: /api/v1/users/%.*s\r\n", STR_ARG(user->id));
    json_object(w);
    json_key(w, "User");
    person_render_user(w, job->c->api, user);
    print_link(job, w, user);
    json_end_object(w);
}

void users_post(struct call *c)
{
    struct people_job *job = people_job_new(c, true);
    if (!job)
        return;
    if (fields_check(&job->fields, user_rules, ARRAY_LEN(user_rules))) {
        fields_required(&job->fields, "Email");
        fields_required(&job->fields, "Role");
    }
    job->status = 201;
    job->judge = create_judge;
    job->render = create_render;
    people_job_run(job);
}

/* --- read ------------------------------------------------------------------------------------- */

void user_get(struct call *c)
{
    person_render_user(call_begin_json(c), c->api, c->user);
    answer_entry(c, c->user->version);
}

/* The user with that address, if it is this account's. The case of letters does not matter, as it
 * does not when people sign in. */
static bool print_one(struct call *c, struct json_writer *w, struct str email)
{
    struct user *u = people_user_by_email(c->api->options.people, c->account_no,
                                          email_lower(&c->r->arena, email));
    if (u)
        person_render_user(w, c->api, u);
    user_unref(u);
    return false;
}

static bool print_items(struct call *c, struct json_writer *w, uint32_t before_no, size_t limit,
                        uint32_t *ret_last_no)
{
    struct str email = call_parameter(c, "email");
    struct user *found[SLICE_ITEMS + 1];
    if (email.p)
        return print_one(c, w, email);
    size_t count =
        people_list_users(c->api->options.people, c->account_no, before_no, found, limit + 1);
    for (size_t i = 0; i < count; i++) {
        if (i < limit) {
            person_render_user(w, c->api, found[i]);
            *ret_last_no = found[i]->user_no;
        }
        user_unref(found[i]);
    }
    return count > limit;
}

void users_list(struct call *c)
{
    answer_list(c, print_items);
}

/* --- change and remove ------------------------------------------------------------------------ */

static bool is_self(const struct people_job *job)
{
    return str_eq(job->c->person.user_id, job->user->id);
}

/* Reads the user again. False: the user was removed, or the caller may not manage this user. */
static bool refresh(struct people_job *job)
{
    user_unref(job->user);
    job->user = people_user(job->people, job->name);
    if (!job->user)
        return job_refuse(job, 404, CALL_NOT_FOUND);
    return may_manage(job, job->user->role);
}

/* True if the account can do without this user's role. */
static bool may_lose(struct people_job *job)
{
    if (is_self(job))
        return job_refuse(
            job, 409, "You cannot do this to your own user. Ask another person with this role.");
    if (people_is_last(job->people, job->user))
        return job_refuse(job, 409,
                          "This is the last one with this role; give it to another one "
                          "first.");
    return true;
}

static bool is_current(struct people_job *job)
{
    if (etag_matches(http_header_list(job->c->r, "if-match"), job->user->version))
        return true;
    return job_refuse(job, 412, "The user has changed since the version that If-Match names.");
}

static bool patch_judge(struct people_job *job)
{
    struct user next;
    if (!refresh(job))
        return false;
    memcpy(&next, job->user, sizeof next);
    if (read_role(job, job->user->account_no, &next.role) && !may_manage(job, next.role))
        return false;
    fields_text(&job->fields, "Name", 1, NAME_BYTES_MOST, &next.name);
    fields_bool(&job->fields, "Enabled", &next.enabled);
    if (job->c->problems.count)
        return job_refuse(job, 400, NULL);
    if (!is_current(job))
        return false;
    bool loses = next.role != job->user->role || (job->user->enabled && !next.enabled);
    if (loses && !may_lose(job))
        return false;
    next.version++;
    if (loses)
        user_end_links(&next, env_wall_ms(job->c->api->options.env));
    job->change.user = user_pack(&next);
    if (loses)
        people_end_sessions(job->people, &job->change, next.id, STR_NONE);
    if (job->user->enabled && !next.enabled)
        keys_warn_of_person(job->c->api, next.id);
    job_note_user(job, "user.changed", job->user, job->change.user);
    return true;
}

static bool remove_judge(struct people_job *job)
{
    struct user next;
    if (!refresh(job) || !is_current(job) || !may_lose(job))
        return false;
    memcpy(&next, job->user, sizeof next);
    job->change.user = user_pack(&next);
    job->change.remove_user = true;
    keys_warn_of_person(job->c->api, next.id);
    people_end_sessions(job->people, &job->change, next.id, STR_NONE);
    job_note_user(job, "user.removed", job->user, NULL);
    return true;
}

static bool link_judge(struct people_job *job)
{
    struct user next;
    if (!refresh(job))
        return false;
    if (!job->user->enabled)
        return job_refuse(job, 409, "The user is disabled; enable the user first.");
    memcpy(&next, job->user, sizeof next);
    make_link(job, &next, link_mail_works_for(job->c->api->options.link_mail, next.account_no));
    next.version++;
    job->change.user = user_pack(&next);
    job_note_user(job, "user.link_made", job->user, job->change.user);
    return true;
}

static void link_render(struct people_job *job, struct json_writer *w)
{
    json_object(w);
    print_link(job, w, job->change.user);
    json_key_c(w, "Kind", link_kind_name(job->change.user->link));
    json_end_object(w);
}

static bool factor_judge(struct people_job *job)
{
    struct user next;
    if (!refresh(job))
        return false;
    memcpy(&next, job->user, sizeof next);
    bool had_one = next.totp_secret.p || next.passkeys.p;
    next.totp_secret = next.recovery = next.passkeys = STR_NONE;
    next.totp_used = (struct used_once){0};
    next.passkey_count = 0;
    if (had_one && link_mail_works_for(job->c->api->options.link_mail, next.account_no))
        next.reset_mail_ms = env_wall_ms(job->c->api->options.env);
    next.version++;
    job->change.user = user_pack(&next);
    job_note_user(job, "user.second_factor_off", job->user, job->change.user);
    return true;
}

static bool unlink_judge(struct people_job *job)
{
    struct user next;
    if (!refresh(job))
        return false;
    if (is_self(job))
        return job_refuse(job, 409,
                          "You cannot do this to your own user here: unlink it in your own "
                          "account, with your password.");
    if (!job->user->subject.p)
        return true;
    memcpy(&next, job->user, sizeof next);
    identity_unlink(job, &next, STR_NONE);
    return true;
}

static bool end_sessions_judge(struct people_job *job)
{
    if (!refresh(job))
        return false;
    people_end_sessions(job->people, &job->change, job->user->id, STR_NONE);
    if (job->change.ended_count)
        job_note_session(job, "session.ended", job->user->account_no, STR_NONE, job->user->id);
    return true;
}

/* For the user in the path. */
static struct people_job *user_job(struct call *c, bool with_body,
                                   bool (*judge)(struct people_job *job), int status)
{
    struct people_job *job = people_job_new(c, with_body);
    if (!job)
        return NULL;
    job->name = arena_str(&c->r->arena, c->user->id);
    job->judge = judge;
    job->status = status;
    return job;
}

void user_patch(struct call *c)
{
    struct people_job *job = user_job(c, true, patch_judge, 200);
    if (!job)
        return;
    job->fields.patch = true;
    job->render = render_changed;
    if (!fields_check(&job->fields, user_rules, ARRAY_LEN(user_rules)))
        ASSERT(c->problems.count);
    people_job_run(job);
}

void user_delete(struct call *c)
{
    people_job_run(user_job(c, false, remove_judge, 204));
}

void user_link_post(struct call *c)
{
    struct people_job *job = user_job(c, false, link_judge, 200);
    job->render = link_render;
    people_job_run(job);
}

void user_factor_delete(struct call *c)
{
    people_job_run(user_job(c, false, factor_judge, 204));
}

void user_identity_delete(struct call *c)
{
    people_job_run(user_job(c, false, unlink_judge, 204));
}

void user_sessions_delete(struct call *c)
{
    people_job_run(user_job(c, false, end_sessions_judge, 204));
}
