/* Moves a job from thread to thread; see people_job.h. The request's secrets are in its body and
 * in the job; both are wiped at the end. */
#include "api/people_job.h"

#include "api/idempotency_header.h"
#include "api/internal.h"
#include "oidc/oidc.h"

#include <sodium.h>

/* It is stored, shown and audited: each byte that is not UTF-8 becomes '?'. */
static struct str read_agent(struct call *c)
{
    struct str given = str_utf8_prefix(http_header(c->r, "user-agent"), AGENT_BYTES_KEPT);
    char *p = arena_alloc(&c->r->arena, given.n + 1);
    for (size_t i = 0; i < given.n;) {
        size_t n = str_utf8_sequence(given, i);
        memcpy(p + i, n ? given.p + i : "?", n ? n : 1);
        i += n ? n : 1;
    }
    return given.p ? (struct str){p, given.n} : STR_NONE;
}

struct people_job *people_job_new(struct call *c, bool with_body)
{
    const struct json *body = NULL;
    if (with_body && !call_read_object(c, &body))
        return NULL;
    struct people_job *job = call_alloc(c, sizeof *job);
    struct buf address = {0};
    address_print(&address, &c->r->peer);
    job->c = c;
    job->people = c->api->options.people;
    job->body = body;
    job->fields = (struct fields){.body = body, .faults = &c->problems};
    job->status = 200;
    job->address = arena_take(&c->r->arena, &address);
    job->agent = read_agent(c);
    return job;
}

bool job_refuse(struct people_job *job, int status, const char *text)
{
    job->refusal = status;
    job->refusal_text = text;
    return false;
}

bool job_refuse_field(struct people_job *job, const char *field, const char *code,
                      const char *detail)
{
    problem_add(&job->c->problems, str_of(field), code, "%s", detail);
    return job_refuse(job, 400, NULL);
}

struct audit_note *job_note(struct people_job *job, const char *action, uint32_t account_no)
{
    ASSERT(job->note_count < JOB_NOTES_MAX);
    struct audit_note *note = &job->notes[job->note_count++];
    *note = (struct audit_note){.action = action, .account_no = account_no};
    return note;
}

void job_note_user(struct people_job *job, const char *action, const struct user *before,
                   const struct user *after)
{
    const struct user *about = after ? after : before;
    struct audit_note *note = job_note(job, action, about->account_no);
    struct json_writer w;
    note->object_kind = "user";
    note->object_id = arena_str(&job->change.arena, about->id);
    if (before) {
        json_write_to(&w, &note->before);
        person_render_user(&w, job->c->api, before);
    }
    if (after) {
        json_write_to(&w, &note->after);
        person_render_user(&w, job->c->api, after);
    }
}

void job_note_session(struct people_job *job, const char *action, uint32_t account_no,
                      struct str session_id, struct str user_id)
{
    struct audit_note *note = job_note(job, action, account_no);
    struct json_writer w;
    note->object_kind = "session";
    note->object_id = arena_str(&job->change.arena, session_id);
    json_write_to(&w, &note->after);
    json_object(&w);
    json_key_string(&w, "UserId", user_id);
    json_key_string(&w, "UserAgent", job->agent);
    json_key_string_if(&w, "Provider", job->provider);
    json_key_string_if(&w, "PasskeyId", job->passkey);
    if (job->reason)
        json_key_c(&w, "Reason", job->reason);
    json_end_object(&w);
}

void job_note_throttled(struct people_job *job, const char *of)
{
    const struct user *user = job->user;
    struct audit_note *note = job_note(job, "session.throttled", user ? user->account_no : 0);
    struct json_writer w;
    note->object_kind = "session";
    json_write_to(&w, &note->after);
    json_object(&w);
    json_key_string(&w, "UserId", user ? user->id : STR_NONE);
    json_key_c(&w, "Of", of);
    json_end_object(&w);
}

/* --- the end: on the loop --------------------------------------------------------------------- */

static void answer_refused(struct people_job *job)
{
    struct call *c = job->c;
    c->retry_after_s = job->retry_after_s;
    if (job->refusal_text)
        call_answer_problem(c, job->refusal, "%s", job->refusal_text);
    else
        call_answer_invalid(c);
}

static void wipe(struct people_job *job)
{
    for (size_t i = 0; i < job->note_count; i++)
        audit_note_free(&job->notes[i]);
    user_unref(job->user);
    session_unref(job->session);
    oidc_client_unref(job->client);
    people_change_free(&job->change);
    sodium_memzero(job->new_hash, sizeof job->new_hash);
    sodium_memzero(job->token, sizeof job->token);
    sodium_memzero(job->recovery, sizeof job->recovery);
}

void people_job_return(struct call *c, const char *problem)
{
    person_print_flow(&c->headers, c, STR_NONE, 0);
    buf_printf(&c->headers, "Location: /%s%s\r\n", *problem ? "?problem=" : "", problem);
    call_answer_empty(c, 303);
}

static void answer(struct people_job *job)
{
    struct call *c = job->c;
    struct buf body = job->answer;
    c->headers = job->headers;
    wipe(job);
    if (job->problem)
        people_job_return(c, job->refusal || job->stored != STORE_OK ? "busy" : job->problem);
    else if (job->refusal)
        answer_refused(job);
    else if (job->stored != STORE_OK)
        call_answer_busy(c, job->stored);
    else if (!job->render)
        call_answer_empty(c, job->status);
    else
        call_answer_json(c, job->status, &body);
    if (body.n)
        sodium_memzero(body.p, body.n);
    buf_free(&body);
}

static void answer_on_loop(struct task *task)
{
    answer(CONTAINER_OF(task, struct people_job, task));
}

/* --- the control thread ----------------------------------------------------------------------- */

static int64_t number_of(const struct user *u)
{
    return idempotency_number(u->account_no, u->user_no);
}

static void keep(struct people_job *job, struct control *control)
{
    struct object_part parts[PEOPLE_PARTS_MAX + JOB_NOTES_MAX * AUDIT_PARTS];
    struct actor by = call_actor(job->c);
    struct idempotency_key *made = job->refusal ? NULL : job->c->idempotency_key;
    size_t count = 0;
    if (made && job->change.user)
        made->number = number_of(job->change.user);
    if (!job->refusal)
        count = people_change_parts(job->people, &job->change, parts);
    for (size_t i = 0; i < job->note_count; i++)
        count += audit_parts(control_audit(control), &by, &job->notes[i], &job->change.arena,
                             parts + count);
    job->stored = count ? control_keep_made(control, made, parts, count) : STORE_OK;
    if (job->stored == STORE_OK && !job->refusal)
        people_change_apply(job->people, &job->change);
}

static void print_answer(struct people_job *job)
{
    struct json_writer w;
    if (job->token[0]) {
        person_print_cookie(&job->headers, job->c, str_of(job->token));
        person_print_device(&job->headers, job->c);
    } else if (job->clears_cookie) {
        person_print_cookie(&job->headers, job->c, STR_NONE);
    }
    if (!job->render)
        return;
    json_write_to(&w, &job->answer);
    job->render(job, &w);
    idempotency_print_header(job->c, &job->headers);
}

/* For a repetition: shows the user that the first request created, without a change. */
static bool show_again(struct people_job *job)
{
    job->user = people_user(job->people, idempotency_made(job->c));
    bool same = job->user && number_of(job->user) == job->c->idempotency_key->number;
    return same || idempotency_refuse_gone(job->c) ||
           job_refuse(job, job->c->refusal.status, job->c->refusal.detail);
}

static void judge_and_keep(struct people_job *job, struct control *control)
{
    if (!call_judge_anew(control, job->c) && !job->refusal)
        job_refuse(job, job->c->refusal.status, job->c->refusal.detail);
    if (!job->refusal) {
        bool good = idempotency_made(job->c).p ? show_again(job) : job->judge(job);
        ASSERT(good == (job->refusal == 0));
    }
    keep(job, control);
}

/* Discards the judgement, so that it can be repeated. */
static void forget(struct people_job *job)
{
    for (size_t i = 0; i < job->note_count; i++)
        audit_note_free(&job->notes[i]);
    job->note_count = 0;
    sodium_memzero(job->token, sizeof job->token);
    job->link = STR_NONE;
    people_change_free(&job->change);
}

static void run_on_control(struct task *task)
{
    struct people_job *job = CONTAINER_OF(task, struct people_job, task);
    struct control *control = job->c->api->options.control;
    judge_and_keep(job, control);
    for (int tries = 1; tries < CONTROL_TRIES && job->stored == STORE_STALE; tries++) {
        forget(job);
        judge_and_keep(job, control);
    }
    if (job->stored == STORE_OK && !job->refusal)
        print_answer(job);
    job->task.run = answer_on_loop;
    executor_post(call_executor(job->c), &job->task);
}

static void run_slow(struct task *task)
{
    struct people_job *job = CONTAINER_OF(task, struct people_job, task);
    struct control *control = job->c->api->options.control;
    bool good = job->slow(job);
    ASSERT(good == (job->refusal == 0));
    job->task.run = run_on_control;
    control_slow_done(control);
    control_post(control, &job->task);
}

void people_job_run(struct people_job *job)
{
    struct control *control = job->c->api->options.control;
    if (job->c->problems.count && !job->refusal)
        job->refusal = 400;
    if (job->refusal) {
        answer(job);
        return;
    }
    job->task.run = job->slow ? run_slow : run_on_control;
    job->task.owner = call_owner(job->c);
    if (!job->slow) {
        control_post(control, &job->task);
    } else if (!control_post_slow(control, &job->task, job->known)) {
        job->retry_after_s = 1;
        job_refuse(job, 429, "Too many sign-ins at once. Try again in a second.");
        answer(job);
    }
}
