/* From a body to items: parses the JSON, finds each item's client, and separates candidates from
 * rejections. The directory is locked once for the whole batch, and each app's settings are copied
 * once, so that candidates hold no reference to the directory.
 *
 * The JSON tree is large and not needed after the items are judged, while the candidates may wait
 * for the store. So the tree has an arena of its own, and texts that had to be unescaped are copied
 * out of it. All other texts borrow from the body. */
#include "intake/intake.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "domain/traceparent.h"
#include "intake/content.h"
#include "intake/item.h"

#include <stdlib.h>

#define INTAKE_MAGIC 0x14ea4eedu
#define TERMS_CACHE 64 /* by app_no; a collision costs a copy */

struct intake {
    uint32_t magic;
    struct directory *directory;
    struct hash_secret secret;
    struct buf scratch; /* for content hashes */
};

/* One request being read. */
struct reading {
    struct intake *intake;
    const struct intake_request *request;
    struct arena *arena; /* the caller's, for the results */
    struct arena tree;   /* freed when the call returns */
    const struct app_terms *terms[TERMS_CACHE];
    struct intake_items out;
    struct str trace; /* see struct candidate */
    uint32_t next_index;
    size_t listed; /* number of problems of all items so far */
};

struct intake *intake_new(struct directory *directory, const struct hash_secret *secret)
{
    struct intake *intake = xcalloc(1, sizeof *intake);
    intake->magic = INTAKE_MAGIC;
    intake->directory = directory;
    intake->secret = *secret;
    return intake;
}

void intake_free(struct intake *intake)
{
    if (!intake)
        return;
    CHECK_MAGIC(intake, INTAKE_MAGIC);
    buf_free(&intake->scratch);
    intake->magic = 0;
    free(intake);
}

enum intake_format intake_format_of(struct str content_type)
{
    struct str type = str_trim(str_cut(&content_type, ';'));
    if (!type.p || str_eq_nocase(type, "application/json"))
        return INTAKE_JSON;
    if (str_eq_nocase(type, "application/x-ndjson"))
        return INTAKE_NDJSON;
    return INTAKE_UNSUPPORTED;
}

/* With the directory locked. */
static const struct app_terms *terms_of(struct reading *r, uint32_t app_no)
{
    const struct app_terms **cached = &r->terms[app_no % TERMS_CACHE];
    if (*cached && (*cached)->app_no == app_no)
        return *cached;
    const struct app *app = directory_app_locked(r->intake->directory, app_no);
    ASSERT(app != NULL);
    struct app_terms *copy = arena_alloc(r->arena, sizeof *copy);
    *copy = app->terms;
    *cached = copy;
    return copy;
}

/* The client may be unknown or disabled, or its partner may be disabled. Events of a disabled app
 * are accepted; its callbacks wait. */
static void find_client(struct reading *r, const struct json *id, struct item_faults *faults,
                        struct item_client *ret, struct str *ret_id)
{
    struct directory *d = r->intake->directory;
    if (!id)
        return;
    if (id->type != JSON_STRING) {
        problem_add(&faults->own, STR("ClientId"), "invalid", "must be a string");
        return;
    }
    const struct client *client = directory_client_locked(d, id->text);
    uint32_t only = r->request->account_no;
    if (!client || (only && client->account_no != only)) {
        /* clients are never removed, so no event of this one was accepted before */
        problem_add(&faults->own, STR("ClientId"), "unknown_client", "there is no such client");
        faults->doubt = true;
        return;
    }
    const struct partner *partner = directory_partner_locked(d, client->account_no);
    ASSERT(partner != NULL);
    if (!client->enabled || !partner->enabled) {
        problem_add(&faults->of_now, STR("ClientId"), "disabled",
                    client->enabled ? "the client's partner is disabled"
                                    : "the client is disabled");
        faults->doubt = true;
    }
    ret->terms = terms_of(r, client->app_no);
    ret->client_no = client->client_no;
    ret->integration = client->integration;
    *ret_id = id->text;
}

/* A copy of the text if it would not outlive the tree. */
static struct str keep(struct reading *r, struct str s)
{
    struct str body = r->request->body;
    if (s.p >= body.p && s.p < body.p + body.n)
        return s;
    return arena_str(r->arena, s);
}

static void keep_texts(struct reading *r, struct candidate *c)
{
    c->event_id = keep(r, c->event_id);
    c->client_id = keep(r, c->client_id);
    c->panelist_id = keep(r, c->panelist_id);
    c->session_id = keep(r, c->session_id);
    c->mid = keep(r, c->mid);
    c->offer_title = keep(r, c->offer_title);
    c->offer_goal_id = keep(r, c->offer_goal_id);
    c->original_reward_id = keep(r, c->original_reward_id);
    c->reason = keep(r, c->reason);
}

static void reject(struct reading *r, uint32_t index, struct str event_id, struct str source,
                   const struct problems *faults)
{
    r->out.rejected[r->out.rejected_count++] =
        (struct intake_rejection){.index = index,
                                  .event_id = keep(r, event_id),
                                  .source = keep(r, source),
                                  .faults = *faults};
}

/* A string without its quotes. */
static struct str source_of(const struct json *item)
{
    switch (item->type) {
    case JSON_NULL: return STR("null");
    case JSON_FALSE: return STR("false");
    case JSON_TRUE: return STR("true");
    case JSON_NUMBER:
    case JSON_STRING:
    case JSON_ARRAY:
    case JSON_OBJECT: return item->text;
    }
    UNREACHABLE();
}

static void read_item(struct reading *r, const struct json *object)
{
    size_t most = r->listed < LIMIT_PROBLEMS_OF_REQUEST ? LIMIT_PROBLEMS : 1;
    struct item_faults faults = {
        .own = {.arena = r->arena, .most = most},
        .of_now = {.arena = r->arena, .most = most},
    };
    struct item item;
    struct item_client client = {0};
    struct str client_id = STR_NONE;
    struct candidate *c = &r->out.items[r->out.count];
    uint32_t index = r->next_index++;
    item_find(object, &faults.own, &item);
    if (object->type == JSON_OBJECT && !item_find_unusable(object, &faults.own)) {
        find_client(r, item.field[FIELD_CLIENT_ID], &faults, &client, &client_id);
        item_judge(&item, &client, r->request->now_ms, r->request->imported, &faults, c);
    }
    r->listed += faults.own.count + faults.of_now.count;
    r->out.doubt |= faults.doubt;
    if (faults.own.count) {
        problems_join(&faults.own, &faults.of_now);
        reject(r, index, item_event_id(&item), source_of(object), &faults.own);
        return;
    }
    c->refused = faults.of_now.count > 0;
    r->out.refusals[r->out.count] = faults.of_now;
    c->client_id = client_id;
    c->trace = r->trace;
    c->key = event_key(&r->intake->secret, c->terms->account_no, c->event_id);
    c->content = content_hash(&r->intake->secret, &r->intake->scratch, &item, c);
    keep_texts(r, c);
    r->out.sources[r->out.count] = keep(r, source_of(object));
    r->out.indexes[r->out.count++] = index;
}

static void make_room(struct reading *r, size_t items)
{
    r->out.items = arena_alloc(r->arena, items * sizeof *r->out.items);
    r->out.indexes = arena_alloc(r->arena, items * sizeof *r->out.indexes);
    r->out.sources = arena_alloc(r->arena, items * sizeof *r->out.sources);
    r->out.refusals = arena_alloc(r->arena, items * sizeof *r->out.refusals);
    r->out.rejected = arena_alloc(r->arena, items * sizeof *r->out.rejected);
}

static enum intake_result read_json(struct reading *r, struct str *ret_why)
{
    struct json *v = NULL;
    struct str why = STR_NONE;
    if (!json_parse_items(&r->tree, r->request->body, &v, &why)) {
        *ret_why = arena_str(r->arena, why);
        return INTAKE_UNREADABLE;
    }
    if (v->type != JSON_OBJECT && v->type != JSON_ARRAY) {
        *ret_why = STR("the body must be one event or an array of events");
        return INTAKE_UNREADABLE;
    }
    size_t items = v->type == JSON_ARRAY ? v->count : 1;
    if (items > LIMIT_EVENTS_PER_REQUEST)
        return INTAKE_TOO_MANY;
    make_room(r, items);
    directory_read_lock(r->intake->directory);
    if (v->type == JSON_OBJECT)
        read_item(r, v);
    else
        for (const struct json *e = v->first; e; e = e->next)
            read_item(r, e);
    directory_unlock(r->intake->directory);
    return INTAKE_READ;
}

/* The next line that is not empty; absent at the end. */
static struct str next_line(struct str *rest)
{
    while (rest->p) {
        struct str line = str_cut(rest, '\n');
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        if (str_trim(line).n)
            return line;
    }
    return STR_NONE;
}

static void read_line(struct reading *r, struct str line)
{
    struct json *v = NULL;
    struct str why = STR_NONE;
    arena_reset(&r->tree); /* the tree of the previous line */
    if (json_parse_items(&r->tree, line, &v, &why)) {
        read_item(r, v);
        return;
    }
    struct problems faults = {.arena = r->arena};
    problem_add(&faults, STR(""), "invalid", "the line is not JSON: %.*s", STR_ARG(why));
    reject(r, r->next_index++, STR_NONE, line, &faults);
}

static enum intake_result read_ndjson(struct reading *r)
{
    size_t lines = 0;
    struct str rest = r->request->body;
    while (next_line(&rest).p)
        lines++;
    if (lines > LIMIT_EVENTS_PER_REQUEST)
        return INTAKE_TOO_MANY;
    make_room(r, lines);
    rest = r->request->body;
    directory_read_lock(r->intake->directory);
    for (struct str line = next_line(&rest); line.p; line = next_line(&rest))
        read_line(r, line);
    directory_unlock(r->intake->directory);
    return INTAKE_READ;
}

enum intake_result intake_read(struct intake *intake, const struct intake_request *request,
                               struct arena *arena, struct intake_items *ret_items,
                               struct str *ret_why)
{
    CHECK_MAGIC(intake, INTAKE_MAGIC);
    ASSERT(request->format != INTAKE_UNSUPPORTED);
    struct reading r = {.intake = intake, .request = request, .arena = arena};
    r.trace = traceparent_pack(request->traceparent, arena);
    enum intake_result result =
        request->format == INTAKE_NDJSON ? read_ndjson(&r) : read_json(&r, ret_why);
    arena_free(&r.tree);
    if (result == INTAKE_READ)
        *ret_items = r.out;
    return result;
}
