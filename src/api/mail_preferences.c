/* Which e-mails the signed-in person gets (people/mail_choice.h). */
#include "api/internal.h"
#include "api/route.h"
#include "api/sign_in.h"
#include "operations/operations.h"

static const struct field_rule rules[] = {
    {"Endpoints", true, true},
    {"Certificates", true, true},
    {"Statements", true, true},
    {"Books", true, true},
};
_Static_assert(ARRAY_LEN(rules) == MAIL_ABOUTS, "one for each kind of messages");

static void print_choices(struct json_writer *w, const struct user *u)
{
    for (int i = 0; i < MAIL_ABOUTS; i++) {
        enum mail_about about = (enum mail_about)i;
        if (user_has_mail(u, about))
            json_key_c(w, mail_about_name(about), mail_when_name(u->mail[i]));
    }
}

static void print_preferences(struct json_writer *w, struct api *api, const struct user *u)
{
    const struct operations *operations = api->options.operations;
    int32_t minute = operations_daily_minute(operations);
    char daily_at[sizeof "00:00"] = {
        (char)('0' + minute / 600),     (char)('0' + minute / 60 % 10), ':',
        (char)('0' + minute % 60 / 10), (char)('0' + minute % 10),
    };
    print_choices(w, u);
    json_key_string(w, "Email", u->email);
    json_key_c(w, "DailyAt", daily_at);
    json_key_bool(w, "SendsMail", operations_sends_mail(operations));
}

void mail_preferences_get(struct call *c)
{
    struct user *u = people_user(c->api->options.people, c->person.user_id);
    if (u) {
        print_preferences(call_begin_object(c), c->api, u);
        call_end_object(c, 200);
    } else {
        call_answer_problem(c, 401, "Nobody is signed in.");
    }
    user_unref(u);
}

/* --- changing them ---------------------------------------------------------------------------- */

static void read_choice(struct people_job *job, enum mail_about about, enum mail_when *ret)
{
    const char *name = mail_about_name(about);
    struct str when = STR_NONE;
    if (!fields_given(&job->fields, name))
        return;
    const struct json *given = json_member(job->body, name);
    if (given->type == JSON_STRING)
        when = given->text;
    if (!user_has_mail(job->user, about))
        problem_add(&job->c->problems, str_of(name), "invalid",
                    "there are no such messages for your role: leave it out");
    else if (!when.p || !mail_when_parse(when, ret))
        problem_add(&job->c->problems, str_of(name), "invalid", "must be at_once, daily or never");
    else if (*ret != MAIL_NEVER && !operations_sends_mail(job->c->api->options.operations))
        problem_add(&job->c->problems, str_of(name), "invalid",
                    "this server sends no e-mail: its operator has set no smtp-url");
}

static void note_change(struct people_job *job, const struct user *next)
{
    struct audit_note *note = job_note(job, "user.mail_preferences_changed", next->account_no);
    struct json_writer w;
    note->object_kind = "user";
    note->object_id = arena_str(&job->change.arena, next->id);
    json_write_to(&w, &note->before);
    json_object(&w);
    print_choices(&w, job->user);
    json_end_object(&w);
    json_write_to(&w, &note->after);
    json_object(&w);
    print_choices(&w, next);
    json_end_object(&w);
}

static bool patch_judge(struct people_job *job)
{
    struct user next;
    if (!sign_in_refresh(job))
        return false;
    memcpy(&next, job->user, sizeof next);
    for (int about = 0; about < MAIL_ABOUTS; about++)
        read_choice(job, (enum mail_about)about, &next.mail[about]);
    if (job->c->problems.count)
        return job_refuse(job, 400, NULL);
    if (memcmp(next.mail, job->user->mail, sizeof next.mail) == 0)
        return true;
    next.version++;
    job->change.user = user_pack(&next);
    note_change(job, &next);
    return true;
}

static void patch_render(struct people_job *job, struct json_writer *w)
{
    json_object(w);
    print_preferences(w, job->c->api, job->change.user ? job->change.user : job->user);
    json_end_object(w);
}

void mail_preferences_patch(struct call *c)
{
    struct people_job *job = people_job_new(c, true);
    if (!job)
        return;
    job->fields.patch = true;
    if (!fields_check(&job->fields, rules, ARRAY_LEN(rules)))
        ASSERT(c->problems.count);
    job->judge = patch_judge;
    job->render = patch_render;
    people_job_run(job);
}
