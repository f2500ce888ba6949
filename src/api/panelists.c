/* POST /api/v1/panelists/erase: a person's right to be forgotten; the money rows stay. */
#include "api/internal.h"
#include "api/mutation.h"
#include "api/route.h"
#include "base/limits.h"

struct erasure_request {
    struct call *c;
    struct erase erase;
    struct delivery_erase lanes;
    struct noted noted;
};

static void lanes_done(struct task *task)
{
    const struct erasure_request *e = CONTAINER_OF(task, struct erasure_request, lanes.done);
    json_key_int(call_begin_object(e->c), "Erased", e->erase.erased);
    call_end_object(e->c, 200);
}

/* Lanes are told behind the store: what they look for then is what was erased. */
static void erase_done(struct task *task)
{
    struct erasure_request *e = CONTAINER_OF(task, struct erasure_request, erase.done);
    noted_free(&e->noted);
    if (!call_store_ok(e->c, e->erase.status))
        return;
    e->lanes = (struct delivery_erase){
        .done.run = lanes_done,
        .reply_to = call_executor(e->c),
        .account_no = e->erase.account_no,
        .panelist_id = e->erase.panelist_id,
    };
    delivery_erase(e->c->api->options.delivery, &e->lanes);
}

static void erase_go(struct noted *n)
{
    struct erasure_request *e = CONTAINER_OF(n, struct erasure_request, noted);
    e->erase.parts = n->parts;
    e->erase.part_count = n->part_count;
    store_erase(e->c->api->options.store, &e->erase);
}

void panelist_erase(struct call *c)
{
    const struct json *object;
    if (!call_read_object(c, &object))
        return;
    for (const struct json *m = object->first; m; m = m->next)
        if (!str_is(m->name, "PanelistId"))
            problem_add(&c->problems, m->name, "unknown_field",
                        "Only PanelistId is accepted here.");
    const struct json *id = json_member(object, "PanelistId");
    if (!id)
        problem_add(&c->problems, STR("PanelistId"), "required", "Whose data is to be erased.");
    else if (id->type != JSON_STRING || !id->text.n || id->text.n > LIMIT_PANELIST_ID_BYTES)
        problem_add(&c->problems, STR("PanelistId"), "invalid", "A string of 1 to %d bytes.",
                    LIMIT_PANELIST_ID_BYTES);
    if (c->problems.count) {
        call_answer_invalid(c);
        return;
    }
    ASSERT(id); /* or there was a problem */
    struct erasure_request *e = call_alloc(c, sizeof *e);
    e->c = c;
    e->erase.account_no = c->account_no;
    e->erase.panelist_id = id->text;
    e->erase.done.run = erase_done;
    e->erase.reply_to = call_executor(c);
    e->noted.go = erase_go;
    /* Whose data it was is just what must not be kept. */
    struct audit_note note = {
        .action = "panelist.erased",
        .account_no = c->account_no,
        .object_kind = "panelist",
    };
    call_with_note(c, &note, &e->noted, &e->erase.done);
}
