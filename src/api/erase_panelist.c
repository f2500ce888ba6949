/* POST /api/v1/panelists/erase: removes a panelist's identity (the right to be forgotten); amounts
 * stay. */
#include "accounts/fields.h"
#include "api/internal.h"
#include "api/mutation.h"
#include "api/route.h"
#include "base/limits.h"

static const struct field_rule rule = {"PanelistId", true, false};

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

/* Lanes are told after the store has erased: before, they could read the panelist's callbacks
 * again. */
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
        .mono_ms = env_mono_ms(e->c->api->options.env),
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
    struct fields f = {.body = object, .faults = &c->problems};
    struct str panelist_id = STR_NONE;
    if (fields_check(&f, &rule, 1)) {
        fields_required(&f, rule.name);
        fields_text(&f, rule.name, 1, LIMIT_PANELIST_ID_BYTES, &panelist_id);
    }
    if (c->problems.count) {
        call_answer_invalid(c);
        return;
    }
    struct erasure_request *e = call_alloc(c, sizeof *e);
    e->c = c;
    e->erase.account_no = c->account_no;
    e->erase.panelist_id = panelist_id;
    e->erase.done.run = erase_done;
    e->erase.reply_to = call_executor(c);
    e->noted.go = erase_go;
    /* The note does not name the panelist: that is what must be erased. */
    struct audit_note note = {
        .action = "panelist.erased",
        .account_no = c->account_no,
        .object_kind = "panelist",
    };
    call_with_note(c, &note, &e->noted, &e->erase.done);
}
