/* Changes, single entries and lists, in the form that all routes of accounts have; see
 * account_routes.h. */
#include "api/account_routes.h"

#include "accounts/render.h"
#include "api/internal.h"
#include "api/query.h"
#include "api/route.h"
#include "api/slices.h"
#include "domain/negotiate.h"
#include "services/cursor.h"

void mutate(struct call *c, bool with_body, enum change_result (*judge)(struct mutation *m),
            void (*render)(struct mutation *m, struct json_writer *w), int status,
            const char *location)
{
    const struct json *body = NULL;
    if (with_body && !call_read_object(c, &body))
        return;
    struct mutation *m = call_alloc(c, sizeof *m);
    m->c = c;
    m->body = body;
    m->judge = judge;
    m->render = render;
    m->status = status;
    m->location = location;
    mutation_ask(c->api->options.control, m);
}

void answer_entry(struct call *c, uint64_t version)
{
    char tag[ETAG_MAX];
    etag_print(tag, version);
    buf_printf(&c->headers, "ETag: %s\r\n", tag);
    /* A user's version does not change with the sign-ins that the answer shows. */
    if (c->route->subject != SUBJECT_USER &&
        etag_listed_weak(http_header_list(c->r, "if-none-match"), str_of(tag)))
        call_answer_empty(c, 304);
    else
        call_end_json(c, 200);
}

bool list_position(struct call *c, uint32_t *ret_before, size_t *ret_limit)
{
    uint64_t before = 0;
    if (query_after(c, &before) && before > UINT32_MAX)
        problem_add(&c->problems, STR("after"), "invalid", "It is of another list.");
    *ret_limit = query_limit(c);
    *ret_before = (uint32_t)before;
    return c->problems.count == 0;
}

void list_print_next(struct call *c, struct json_writer *w, bool more, uint32_t last_no)
{
    struct buf next = {0};
    cursor_print(&next, c->account_no, last_no);
    json_key_string(w, "Next", more ? buf_str(&next) : STR_NONE);
    buf_free(&next);
}

struct entry_listing {
    struct call *c;
    struct slices slices;
    list_printer *print;
    uint32_t last_no; /* of the last printed entry; at first: the position to begin at */
};

static bool list_print(struct slices *slices, size_t most)
{
    struct entry_listing *l = CONTAINER_OF(slices, struct entry_listing, slices);
    return l->print(l->c, &l->c->writer, l->last_no, most, &l->last_no);
}

static void list_end(struct slices *slices, bool more)
{
    struct entry_listing *l = CONTAINER_OF(slices, struct entry_listing, slices);
    json_end_array(&l->c->writer);
    list_print_next(l->c, &l->c->writer, more, l->last_no);
    call_end_object(l->c, 200);
}

void answer_list(struct call *c, list_printer *print)
{
    struct entry_listing *l = call_alloc(c, sizeof *l);
    if (!list_position(c, &l->last_no, &l->slices.left)) {
        call_answer_invalid_query(c);
        return;
    }
    l->c = c;
    l->print = print;
    l->slices.executor = call_executor(c);
    l->slices.print = list_print;
    l->slices.end = list_end;
    json_key_array(call_begin_object(c), "Items");
    slices_begin(&l->slices);
}
