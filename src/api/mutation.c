/* Changes that calls ask for; see mutation.h. */
#include "api/mutation.h"

#include "accounts/render.h"
#include "api/caller.h"
#include "api/idempotency_header.h"
#include "api/internal.h"
#include "base/limits.h"

uint32_t call_owner(const struct call *c)
{
    return c->authenticated ? c->key_account_no : OWNER_STRANGERS;
}

struct actor call_actor(const struct call *c)
{
    return (struct actor){
        .user_id = c->person.user_id,
        .email = c->person.email,
        .key_id = c->key_id,
        .is_operator = c->is_operator,
        .acting = c->person.acting,
        .peer = &c->r->peer,
        .request_id = c->r->request_id,
        .idempotency_key = c->idempotency_key,
    };
}

bool call_judge_anew(struct control *control, struct call *c)
{
    control_catch_up(control);
    return caller_judge(c) && idempotency_judge(control, c);
}

/* --- changes asked for by calls ------------------------------------------------------------- */

static uint64_t version_of(const struct change *change)
{
    switch (change->kind) {
    case ACCOUNT_PARTNER: return change->partner->version;
    case ACCOUNT_APP: return change->app->version;
    case ACCOUNT_CLIENT: return change->client->version;
    case ACCOUNT_KEY: return change->key->version;
    }
    UNREACHABLE();
}

static void answer_refused(struct mutation *m)
{
    struct call *c = m->c;
    if (c->refusal.status) {
        caller_answer_refusal(c);
        return;
    }
    switch (m->result) {
    case CHANGE_INVALID: call_answer_invalid(c); return;
    case CHANGE_FORBIDDEN:
        call_answer_problem(
            c, 403, "A key cannot have more scopes, or a later end, than the key that creates it.");
        return;
    case CHANGE_NOT_FOUND: call_answer_problem(c, 404, CALL_NOT_FOUND); return;
    case CHANGE_CONFLICT:
        call_answer_problem(
            c, 409, "The id is taken. Choose another, or leave it out to have one generated.");
        return;
    case CHANGE_TOO_MANY:
        call_answer_problem(c, 409, "%.*s", STR_ARG(c->problems.first->detail));
        return;
    case CHANGE_SECRETS_LIVE:
        call_answer_problem(c, 409,
                            "%d older secrets are still live, the most there may be; wait until "
                            "the overlap of one has ended, or end all of them at once with "
                            "OverlapSeconds 0.",
                            LIMIT_OLDER_SECRETS);
        return;
    case CHANGE_STALE:
        call_answer_problem(c, 412,
                            "The object has changed since the version that If-Match names; read it "
                            "again and repeat the change.");
        return;
    case CHANGE_READY: call_answer_busy(c, m->stored); return;
    }
    UNREACHABLE();
}

static void answer_on_loop(struct task *task)
{
    struct mutation *m = CONTAINER_OF(task, struct mutation, task);
    if (m->result != CHANGE_READY || m->stored != STORE_OK)
        answer_refused(m);
    else if (!m->render)
        call_answer_empty(m->c, m->status);
    else
        call_end_json(m->c, m->status);
}

static void print_answer(struct mutation *m)
{
    m->render(m, call_begin_json(m->c));
    char tag[ETAG_MAX];
    etag_print(tag, version_of(&m->change));
    buf_printf(&m->c->headers, "ETag: %s\r\n", tag);
    if (m->location)
        buf_printf(&m->c->headers, "Location: %s%.*s\r\n", m->location, STR_ARG(m->change.id));
    idempotency_print_header(m->c, &m->c->headers);
}

static int64_t number_of(const struct change *change)
{
    switch (change->kind) {
    case ACCOUNT_PARTNER:
        return idempotency_number(change->partner->account_no, change->partner->account_no);
    case ACCOUNT_APP:
        return idempotency_number(0, change->app->app_no); /* apps are never deleted */
    case ACCOUNT_CLIENT:
        return idempotency_number(change->client->account_no, change->client->client_no);
    case ACCOUNT_KEY: return idempotency_number(change->key->account_no, change->key->key_no);
    }
    UNREACHABLE();
}

/* For a repetition: answers with the object that the first request created. */
static enum change_result show_again(struct mutation *m)
{
    enum account_kind kind = (enum account_kind)m->c->idempotency_key->kind;
    bool found = change_find(m->accounts, kind, idempotency_made(m->c), &m->change) == CHANGE_READY;
    bool same = found && number_of(&m->change) == m->c->idempotency_key->number;
    m->stored = STORE_OK;
    if (same)
        print_answer(m);
    else
        (void)idempotency_refuse_gone(m->c);
    if (found)
        change_free(m->accounts, &m->change);
    return same ? CHANGE_READY : CHANGE_NOT_FOUND;
}

static void judge_and_keep(struct control *control, struct mutation *m)
{
    m->result = call_judge_anew(control, m->c) ? CHANGE_READY : CHANGE_FORBIDDEN;
    bool again = m->result == CHANGE_READY && idempotency_made(m->c).p;
    if (m->result == CHANGE_READY)
        m->result = again ? show_again(m) : m->judge(m);
    if (m->result != CHANGE_READY || again)
        return;
    struct actor by = call_actor(m->c);
    if (m->c->idempotency_key)
        m->c->idempotency_key->number = number_of(&m->change);
    m->stored = control_change(control, &by, m->action, &m->change);
    if (m->stored == STORE_OK && m->render)
        print_answer(m);
    change_free(m->accounts, &m->change);
}

static void run_mutation(struct task *task)
{
    struct mutation *m = CONTAINER_OF(task, struct mutation, task);
    m->accounts = control_accounts(m->control);
    m->stored = STORE_STALE;
    m->result = CHANGE_READY;
    for (int tries = 0; tries < CONTROL_TRIES && m->result == CHANGE_READY; tries++) {
        judge_and_keep(m->control, m);
        if (m->stored != STORE_STALE)
            break;
    }
    m->task.run = answer_on_loop;
    executor_post(call_executor(m->c), &m->task);
}

void mutation_ask(struct control *control, struct mutation *m)
{
    m->control = control;
    m->task.run = run_mutation;
    m->task.owner = call_owner(m->c);
    control_post(control, &m->task);
}

/* --- what is only written down ---------------------------------------------------------------- */

struct noting {
    struct call *c;
    struct task task;
    struct control *control;
    struct audit_note note;
    enum store_status status;
    void (*done)(struct call *c, enum store_status status);
};

static void noted_on_loop(struct task *task)
{
    struct noting *n = CONTAINER_OF(task, struct noting, task);
    n->done(n->c, n->status);
}

static void run_noting(struct task *task)
{
    struct noting *n = CONTAINER_OF(task, struct noting, task);
    struct arena arena = {0};
    struct object_part parts[AUDIT_PARTS];
    if (call_judge_anew(n->control, n->c)) {
        struct actor by = call_actor(n->c);
        size_t count = audit_parts(control_audit(n->control), &by, &n->note, &arena, parts);
        n->status = control_keep(n->control, parts, count);
    }
    audit_note_free(&n->note);
    arena_free(&arena);
    n->task.run = noted_on_loop;
    executor_post(call_executor(n->c), &n->task);
}

void call_note(struct call *c, const struct audit_note *note,
               void (*done)(struct call *c, enum store_status status))
{
    struct noting *n = call_alloc(c, sizeof *n);
    n->c = c;
    n->control = c->api->options.control;
    n->note = *note;
    n->done = done;
    n->task.run = run_noting;
    n->task.owner = call_owner(c);
    control_post(n->control, &n->task);
}

static void run_noted(struct task *task)
{
    struct noted *n = CONTAINER_OF(task, struct noted, task);
    struct control *control = n->c->api->options.control;
    bool may = call_judge_anew(control, n->c);
    struct actor by = call_actor(n->c);
    if (may)
        n->part_count = audit_parts(control_audit(control), &by, &n->note, &n->arena, n->parts);
    audit_note_free(&n->note);
    if (may)
        n->go(n);
    else
        executor_post(call_executor(n->c), n->done);
}

void call_with_note(struct call *c, const struct audit_note *note, struct noted *n,
                    struct task *done)
{
    n->c = c;
    n->done = done;
    n->note = *note;
    n->task.run = run_noted;
    n->task.owner = call_owner(c);
    control_post(c->api->options.control, &n->task);
}

void noted_free(struct noted *n)
{
    arena_free(&n->arena);
}
