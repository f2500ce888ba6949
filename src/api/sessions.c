/* Lists sessions, and ends one of the person's own. */
#include "api/internal.h"
#include "api/people_job.h"
#include "api/route.h"
#include "base/alloc.h"

#include <stdlib.h>

static void print_entry(struct call *c, struct json_writer *w, const struct session *s)
{
    json_object(w);
    json_key_string(w, "SessionId", s->id);
    json_key_bool(w, "Current", str_eq(s->id, c->person.session_id));
    json_key_time(w, "SignedInAt", s->created_ms);
    json_key_time(w, "LastUsedAt", atomic_load(&s->used_ms));
    json_key_time(w, "ExpiresAt", s->created_ms + SESSION_AGE_MS);
    json_key_string(w, "Address", s->address);
    json_key_string(w, "UserAgent", s->agent);
    json_end_object(w);
}

static void answer_sessions(struct call *c, struct str user_id)
{
    struct session *found[SESSIONS_PER_USER];
    size_t n = people_list_sessions(c->api->options.people, user_id, call_now_ms(c), found);
    struct json_writer *w = call_begin_object(c);
    json_key_array(w, "Items");
    for (size_t i = 0; i < n; i++) {
        print_entry(c, w, found[i]);
        session_unref(found[i]);
    }
    json_end_array(w);
    json_key_c(w, "Next", NULL);
    call_end_object(c, 200);
}

void sessions_list(struct call *c)
{
    answer_sessions(c, c->person.user_id);
}

void user_sessions_list(struct call *c)
{
    answer_sessions(c, c->user->id);
}

static bool end_judge(struct people_job *job)
{
    const struct call *c = job->c;
    struct session *s = people_session(job->people, c->ids[0]);
    if (!s || !str_eq(s->user_id, c->person.user_id)) {
        session_unref(s);
        return job_refuse(job, 404, CALL_NOT_FOUND);
    }
    job->clears_cookie = str_eq(s->id, c->person.session_id);
    people_end_session(&job->change, s);
    job_note_session(job, "session.ended", c->key_account_no, s->id, s->user_id);
    return true;
}

void session_end(struct call *c)
{
    struct people_job *job = people_job_new(c, false);
    job->judge = end_judge;
    job->status = 204;
    people_job_run(job);
}

/* --- when it was used last ----------------------------------------------------------------------
 */

/* Stored late and rarely, so that a read costs no write. */
struct using
{
    struct task task;
    struct api *api;
    struct arena arena;
    struct str session_id;
};

static void run_using(struct task *task)
{
    struct using *u = CONTAINER_OF(task, struct using, task);
    struct people *people = u->api->options.people;
    control_catch_up(u->api->options.control);
    struct session *s = people_session(people, u->session_id);
    int64_t used_ms = s ? atomic_load(&s->used_ms) : 0;
    if (s && session_use_is_news(s, used_ms)) {
        struct people_change change = {0};
        struct object_part parts[PEOPLE_PARTS_MAX];
        people_note_use(&change, s);
        size_t count = people_change_parts(people, &change, parts);
        if (control_keep(u->api->options.control, parts, count) == STORE_OK)
            people_change_apply(people, &change);
        people_change_free(&change);
    }
    session_unref(s);
    arena_free(&u->arena);
    free(u);
}

void person_note_use(struct api *api, struct str session_id)
{
    struct using *u = xcalloc(1, sizeof *u);
    u->api = api;
    u->session_id = arena_str(&u->arena, session_id);
    u->task.run = run_using;
    u->task.owner = OWNER_DAEMON;
    control_post(api->options.control, &u->task);
}
