/* GET /api/v1/audit: reads a range of keys backwards, page by page, until enough matching entries
 * are found or enough entries have been read. Next continues from there. */
#include "api/internal.h"
#include "api/query.h"
#include "api/route.h"
#include "domain/email.h"
#include "services/audit.h"

#define PAGE_ROWS 500
#define ROWS_LOOKED_AT_MOST 20000
#define KEY_TIME_LAST_MS ((INT64_C(1) << 48) - 1) /* the twelve digits of audit_key */

struct auditing {
    struct call *c;
    struct object_list list;
    struct str action, object; /* filters; absent: any */
    struct str actor;          /* also a filter: an id, or an address in lower case */
    struct str partner;        /* whose entries an operator wants; absent: all */
    char from[AUDIT_KEY_BYTES], below[AUDIT_KEY_BYTES];
    size_t limit, found, looked_at;
};

static void ask(struct auditing *a);

static bool text_is(const struct json *object, const char *name, struct str want)
{
    const struct json *v = object ? json_member(object, name) : NULL;
    return !want.p || (v && v->type == JSON_STRING && str_eq(v->text, want));
}

/* A person's Id is the UserId, the Name the e-mail address. */
static bool is_by(const struct json *actor, struct str want)
{
    return text_is(actor, "Id", want) || text_is(actor, "Name", want);
}

static bool is_wanted(struct auditing *a, struct str document)
{
    struct json *v = NULL;
    struct str why;
    struct arena arena = {0};
    bool any = !a->action.p && !a->actor.p && !a->object.p && !a->partner.p;
    bool wanted =
        any || (json_parse(&arena, document, &v, &why) && text_is(v, "Action", a->action) &&
                text_is(v, "PartnerId", a->partner) && is_by(json_member(v, "Actor"), a->actor) &&
                text_is(json_member(v, "Object"), "Id", a->object));
    arena_free(&arena);
    return wanted;
}

static void finish(struct auditing *a, bool more, struct str last_key)
{
    json_end_array(&a->c->writer);
    json_key_string(&a->c->writer, "Next", more ? audit_id_of_key(last_key) : STR_NONE);
    call_end_object(a->c, 200);
}

/* True: the answer is complete. */
static bool take_rows(struct auditing *a)
{
    const struct object_list *l = &a->list;
    for (size_t i = 0; i < l->count; i++) {
        bool last = i + 1 == l->count && !l->more;
        if (is_wanted(a, l->rows[i].document)) {
            json_raw(&a->c->writer, l->rows[i].document);
            a->found++;
        }
        if (a->found == a->limit || ++a->looked_at == ROWS_LOOKED_AT_MOST) {
            finish(a, !last, l->rows[i].id);
            return true;
        }
    }
    if (l->more)
        return false;
    finish(a, false, STR_NONE);
    return true;
}

static void go_on_below(struct auditing *a, struct str key)
{
    ASSERT(key.n < sizeof a->below);
    memcpy(a->below, key.p, key.n);
    a->below[key.n] = '\0';
    ask(a);
}

static void on_rows(struct task *task)
{
    struct auditing *a = CONTAINER_OF(task, struct auditing, list.done);
    struct arena rows = a->list.arena; /* answering frees the call, and `a` with it */
    a->list.arena = (struct arena){0};
    if (a->list.status != STORE_OK || a->c->r->gone) {
        call_answer_busy(a->c, a->list.status);
    } else if (!take_rows(a)) {
        go_on_below(a, a->list.rows[a->list.count - 1].id);
    }
    arena_free(&rows);
}

static void ask(struct auditing *a)
{
    a->list.from = str_of(a->from);
    a->list.below = str_of(a->below);
    store_list_objects(a->c->api->options.store, &a->list);
}

/* A time that a key can hold: no entry is older than 1970. */
static int64_t since_1970(int64_t ms)
{
    return ms < 0 ? 0 : ms;
}

void audit_list(struct call *c)
{
    struct auditing *a = call_alloc(c, sizeof *a);
    struct str after = call_parameter(c, "after");
    int64_t from_ms = 0, to_ms = KEY_TIME_LAST_MS;
    bool has_from = query_time(c, "from", &from_ms), has_to = query_time(c, "to", &to_ms);
    if (has_from && has_to)
        query_check_times(c, from_ms, to_ms);
    a->c = c;
    a->action = call_parameter(c, "action");
    a->actor = call_parameter(c, "actor");
    if (a->actor.p && memchr(a->actor.p, '@', a->actor.n))
        a->actor = email_lower(&c->r->arena, a->actor);
    a->object = call_parameter(c, "object");
    a->limit = query_limit(c);
    if (after.p && !audit_is_id(after))
        problem_add(&c->problems, STR("after"), "invalid",
                    "The Next of an earlier answer, as it was given.");
    if (c->problems.count) {
        call_answer_invalid_query(c);
        return;
    }
    /* A partner's list does not name the operator's people, so operators read the whole list. */
    uint32_t scope_no = c->is_operator ? 0 : c->account_no;
    a->partner = c->is_operator ? call_parameter(c, "partnerId") : STR_NONE;
    audit_key(a->from, scope_no, since_1970(from_ms));
    audit_key(a->below, scope_no, since_1970(to_ms));
    if (after.p)
        audit_key_after(a->below, after);
    json_key_array(call_begin_object(c), "Items");
    a->list.kind = OBJECT_AUDIT;
    /* Reads only the cluster of this account and the first one: others may be down. */
    a->list.account_no = c->account_no;
    a->list.limit = PAGE_ROWS;
    a->list.reply_to = call_executor(c);
    a->list.done.run = on_rows;
    ask(a);
}
