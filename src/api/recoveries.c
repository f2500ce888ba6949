/* POST /api/v1/callbacks/recover begins a recovery (many resends); GET and DELETE
 * /api/v1/recoveries/{RecoveryId} show and stop it. */
#include "accounts/fields.h"
#include "api/callback_filters.h"
#include "api/idempotency_header.h"
#include "api/internal.h"
#include "api/mutation.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/log.h"
#include "services/recovery.h"

#include <stdio.h>
#include <stdlib.h>

#define RATE_DEFAULT 10

static const struct field_rule rules[] = {
    {"AppId", true, false},  {"From", true, false},          {"To", true, false},
    {"States", true, false}, {"RatePerSecond", true, false}, {"DryRun", true, false},
};

struct recovering {
    struct call *c;
    struct recovery r;
    bool dry_run;                /* only counted */
    struct callback_list newest; /* the account's newest event: later ones are left out */
    struct callback_count count;
    struct task task; /* on the control thread */
    enum store_status status;
};

/* --- what is asked ---------------------------------------------------------------------------- */

static enum callback_state state_of(const struct json *m)
{
    for (int s = CALLBACK_PENDING; m->type == JSON_STRING && s <= CALLBACK_SKIPPED; s++)
        if (str_is(m->text, callback_state_name((enum callback_state)s)))
            return s == CALLBACK_DELIVERING ? CALLBACK_PENDING : (enum callback_state)s;
    return CALLBACK_NONE;
}

static unsigned read_states(struct call *c, const struct json *body)
{
    const struct json *m = json_member(body, "States");
    unsigned states = 0;
    bool good = m && m->type == JSON_ARRAY && m->count > 0;
    for (const struct json *s = good ? m->first : NULL; s; s = s->next) {
        enum callback_state state = state_of(s);
        good = good && state != CALLBACK_NONE;
        states |= 1u << state;
    }
    if (!good)
        problem_add(&c->problems, STR("States"), m ? "invalid" : "required",
                    "An array of at least one of pending, delivered, dead and skipped.");
    return states;
}

/* False: 404 was answered. */
static bool read_app(struct call *c, const struct json *body, struct recovery *r)
{
    const struct json *m = json_member(body, "AppId");
    if (!m || m->type == JSON_NULL)
        return true;
    if (m->type != JSON_STRING) {
        problem_add(&c->problems, STR("AppId"), "invalid", "An AppId as a string.");
        return true;
    }
    return call_find_app(c, m->text, &r->account_no, &r->app_no);
}

static void make_id(struct call *c, char id[RECOVERY_ID_BYTES])
{
    unsigned char random[12];
    env_random(c->api->options.env, random, sizeof random);
    memcpy(id, "rec_", 4);
    hex_print(id + 4, random, sizeof random);
    id[4 + 2 * sizeof random] = '\0';
}

/* --- what it is, as it is shown ----------------------------------------------------------------
 */

static void print_states(struct json_writer *w, unsigned states)
{
    json_key_array(w, "States");
    for (int s = CALLBACK_PENDING; s <= CALLBACK_SKIPPED; s++)
        if (states & 1u << s)
            json_c(w, callback_state_name((enum callback_state)s));
    json_end_array(w);
}

static void print_app_id(struct call *c, struct json_writer *w, uint32_t app_no)
{
    struct app *app = app_no ? directory_app_by_no(c->api->options.directory, app_no) : NULL;
    json_key_string(w, "AppId", app ? app->id : STR_NONE);
    app_unref(app);
}

/* Prints the request. */
static void print_request(struct call *c, struct json_writer *w, const struct recovery *r)
{
    print_app_id(c, w, r->app_no);
    json_key_time(w, "From", r->from_ms);
    json_key_time(w, "To", r->to_ms);
    print_states(w, r->states);
    json_key_int(w, "RatePerSecond", r->rate_per_second);
    json_key_int(w, "Matched", r->matched);
}

static void print_asked(struct call *c, const struct recovery *r, struct buf *to)
{
    struct json_writer w;
    json_write_to(&w, to);
    json_object(&w);
    print_request(c, &w, r);
    json_end_object(&w);
}

/* --- POST ------------------------------------------------------------------------------------- */

static void answer(struct recovering *g, int status, struct str id)
{
    struct json_writer *w = call_begin_object(g->c);
    json_key_string(w, "RecoveryId", id);
    json_key_int(w, "Matched", g->r.matched);
    if (id.p)
        buf_printf(&g->c->headers, "Location: /api/v1/recoveries/%.*s\r\n", STR_ARG(id));
    call_end_object(g->c, status);
}

static void answer_on_loop(struct task *task)
{
    struct recovering *g = CONTAINER_OF(task, struct recovering, task);
    struct str again = idempotency_made(g->c);
    if (!call_store_ok(g->c, g->status))
        return;
    idempotency_print_header(g->c, &g->c->headers);
    if (again.p)
        g->r.matched = g->c->idempotency_key->matched;
    answer(g, 202, again.p ? again : str_of(g->r.id));
}

static enum store_status keep(struct recovering *g)
{
    struct control *control = g->c->api->options.control;
    struct audit_note note = {
        .action = "recovery.created",
        .account_no = g->r.account_no,
        .object_kind = "recovery",
        .object_id = str_of(g->r.id),
    };
    struct actor by = call_actor(g->c);
    struct arena arena = {0};
    struct buf document = {0};
    print_asked(g->c, &g->r, &note.after);
    recovery_print(&document, &g->r);
    struct object_part parts[1 + AUDIT_PARTS] = {
        {OBJECT_RECOVERY, str_of(g->r.id), buf_str(&document)}};
    size_t count = 1 + audit_parts(control_audit(control), &by, &note, &arena, parts + 1);
    if (g->c->idempotency_key)
        g->c->idempotency_key->matched = g->r.matched;
    enum store_status status = control_keep_made(control, g->c->idempotency_key, parts, count);
    audit_note_free(&note);
    buf_free(&document);
    arena_free(&arena);
    return status;
}

/* For a repetition: the first request's recovery may have been removed. */
static void judge_made(struct recovering *g)
{
    struct recovery made;
    bool done;
    struct str id = idempotency_made(g->c);
    if (id.p && !recoveries_find(g->c->api->options.recoveries, id, &made, &done))
        (void)idempotency_refuse_gone(g->c);
}

/* Takes over the recovery's parts. */
static void run_on_control(struct task *task)
{
    struct recovering *g = CONTAINER_OF(task, struct recovering, task);
    bool is_new = true;
    g->status = STORE_STALE;
    for (int tries = 0; tries < CONTROL_TRIES && g->status == STORE_STALE && is_new; tries++) {
        is_new = call_judge_anew(g->c->api->options.control, g->c) && !idempotency_made(g->c).p;
        g->status = is_new ? keep(g) : STORE_OK;
    }
    if (is_new && g->status == STORE_OK) {
        log_info("recovery_made", LOG_C("recovery", g->r.id), LOG_STR("by", g->c->key_id),
                 LOG_INT("matched", g->r.matched),
                 LOG_INT("rate_per_second", g->r.rate_per_second));
        recoveries_add(g->c->api->options.recoveries, &g->r);
    } else {
        judge_made(g);
        free(g->r.parts);
    }
    g->task.run = answer_on_loop;
    executor_post(call_executor(g->c), &g->task);
}

static void make_parts(struct recovery *r, const struct callback_count *count)
{
    r->parts = xcalloc(count->count + 1, sizeof *r->parts);
    for (size_t i = 0; i < count->count; i++) {
        r->matched += count->apps[i].count;
        r->parts[r->part_count++] = (struct recovery_part){
            .app_no = count->apps[i].app_no,
            .state = recovery_next_state(r->states, CALLBACK_NONE),
        };
    }
}

static void counted(struct task *task)
{
    struct recovering *g = CONTAINER_OF(task, struct recovering, count.done);
    if (!call_store_ok(g->c, g->count.status))
        return;
    if (g->c->r->gone) { /* it has waited long, and may have been sent again */
        free(g->count.apps);
        call_answer_busy(g->c, STORE_BUSY);
        return;
    }
    make_parts(&g->r, &g->count);
    free(g->count.apps);
    if (g->dry_run) {
        free(g->r.parts);
        answer(g, 200, STR_NONE);
        return;
    }
    g->task.run = run_on_control;
    g->task.owner = call_owner(g->c);
    control_post(g->c->api->options.control, &g->task);
}

static void newest_known(struct task *task)
{
    struct recovering *g = CONTAINER_OF(task, struct recovering, newest.done);
    enum store_status status = g->newest.status;
    g->r.last_event_no = g->newest.count > 0 ? g->newest.rows[0].event.event_no : 0;
    arena_free(&g->newest.arena);
    if (!call_store_ok(g->c, status))
        return;
    g->count = (struct callback_count){
        .done.run = counted,
        .reply_to = call_executor(g->c),
        .account_no = g->c->account_no,
        .app_no = g->r.app_no,
        .states = g->r.states,
        .accepted_from_ms = g->r.from_ms,
        .accepted_to_ms = g->r.until_ms,
    };
    store_count_callbacks(g->c->api->options.store, &g->count);
}

void callbacks_recover(struct call *c)
{
    const struct json *body;
    if (!call_read_object(c, &body))
        return;
    struct recovering *g = call_alloc(c, sizeof *g);
    struct recovery *r = &g->r;
    if (!read_app(c, body, r))
        return;
    struct fields f = {.body = body, .faults = &c->problems};
    int64_t rate = RATE_DEFAULT;
    if (fields_check(&f, rules, ARRAY_LEN(rules))) {
        fields_required(&f, "From");
        fields_time(&f, "From", &r->from_ms);
        fields_required(&f, "To");
        fields_time(&f, "To", &r->to_ms);
        r->states = read_states(c, body);
        fields_int(&f, "RatePerSecond", 1, RECOVERY_RATE_MOST, &rate);
        fields_bool(&f, "DryRun", &g->dry_run);
    }
    r->rate_per_second = (int32_t)rate;
    if (!c->problems.count && r->from_ms > r->to_ms)
        problem_add(&c->problems, STR("From"), "invalid", "From is after To.");
    if (c->problems.count) {
        call_answer_invalid(c);
        return;
    }
    if (!g->dry_run &&
        recoveries_running(c->api->options.recoveries, c->account_no) >= RECOVERIES_RUNNING_MOST) {
        call_answer_problem(c, 409,
                            "%d recoveries of this account are running; wait for one, or "
                            "delete one.",
                            RECOVERIES_RUNNING_MOST);
        return;
    }
    make_id(c, r->id);
    r->account_no = c->account_no;
    r->created_ms = call_now_ms(c);
    r->until_ms = r->to_ms < r->created_ms ? r->to_ms : INT64_MAX;
    g->c = c;
    g->newest = (struct callback_list){
        .done.run = newest_known,
        .reply_to = call_executor(c),
        .account_no = c->account_no,
        .order = LIST_NEWEST_FIRST,
        .all_events = true, /* an upper bound: an event without a callback will do */
        .no_bodies = true,
        .limit = 1,
    };
    store_list_callbacks(c->api->options.store, &g->newest);
}

/* --- GET, DELETE ------------------------------------------------------------------------------ */

void recovery_get(struct call *c)
{
    struct recovery r;
    bool done;
    if (!recoveries_find(c->api->options.recoveries, c->ids[0], &r, &done)) {
        call_answer_problem(c, 404, CALL_NOT_FOUND);
        return;
    }
    struct json_writer *w = call_begin_object(c);
    json_key_c(w, "RecoveryId", r.id);
    json_key_c(w, "State", done ? "done" : "running");
    print_request(c, w, &r);
    json_key_int(w, "Resent", r.resent);
    json_key_int(w, "Purged", r.purged);
    json_key_int(w, "Erased", r.erased);
    json_key_time(w, "CreatedAt", r.created_ms);
    call_end_object(c, 200);
}

struct removing {
    struct call *c;
    struct recovery_removal removal;
    struct noted noted;
};

static void removed(struct task *task)
{
    struct removing *m = CONTAINER_OF(task, struct removing, removal.done);
    noted_free(&m->noted);
    if (!call_store_ok(m->c, m->removal.status))
        return;
    log_info("recovery_deleted", LOG_STR("recovery", m->removal.id), LOG_STR("by", m->c->key_id));
    call_answer_empty(m->c, 204);
}

static void remove_go(struct noted *n)
{
    struct removing *m = CONTAINER_OF(n, struct removing, noted);
    m->removal.parts = n->parts;
    m->removal.part_count = n->part_count;
    recoveries_remove(m->c->api->options.recoveries, &m->removal);
}

void recovery_delete(struct call *c)
{
    struct removing *m = call_alloc(c, sizeof *m);
    m->c = c;
    m->removal.id = c->ids[0];
    m->removal.done.run = removed;
    m->removal.reply_to = call_executor(c);
    m->noted.go = remove_go;
    struct audit_note note = {
        .action = "recovery.removed",
        .account_no = c->account_no,
        .object_kind = "recovery",
        .object_id = c->ids[0],
    };
    call_with_note(c, &note, &m->noted, &m->removal.done);
}
