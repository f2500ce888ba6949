/* GET /api/v1/search?text=: finds an id for an operator who does not know its account. Partners,
 * apps, clients and users are looked up in memory. Callbacks (by EventId, which is the RewardId)
 * and panelists are looked up account by account, because every key of the store begins with the
 * account: one index look-up each, no scan. One answer searches at most PARTNERS_MOST accounts;
 * `Next` continues with further ones. */
#include "api/account_routes.h"
#include "api/internal.h"
#include "api/partner_walk.h"
#include "api/route.h"
#include "domain/email.h"
#include "people/people.h"

#define PARTNERS_MOST 200

struct searching {
    struct call *c;
    struct str text;
    struct str email; /* the text as a lower-case Email; absent: it is none */
    struct partner_walk walk;
    struct callback_list list;
    bool by_panelist; /* what `list` asks for; at first by EventId */
};

static void print_found(struct searching *s, const char *kind, struct str partner_id, struct str id)
{
    json_object(&s->c->writer);
    json_key_c(&s->c->writer, "Kind", kind);
    json_key_string(&s->c->writer, "PartnerId", partner_id);
    json_key_string(&s->c->writer, "Id", id);
    json_end_object(&s->c->writer);
}

/* partner_id absent: among the operator's users. */
static void find_user(struct searching *s, uint32_t account_no, struct str partner_id)
{
    if (!s->email.p)
        return;
    struct user *u = people_user_by_email(s->c->api->options.people, account_no, s->email);
    if (!u)
        return;
    print_found(s, "user", partner_id, u->id);
    user_unref(u);
}

static void find_in_memory(struct searching *s)
{
    struct directory *d = s->c->api->options.directory;
    struct partner *partner = directory_partner(d, s->text);
    struct app *app = directory_app(d, s->text);
    struct client *client = directory_client(d, s->text);
    if (partner) {
        print_found(s, "partner", partner->id, partner->id);
        partner_unref(partner);
    }
    if (app) {
        print_found(s, "app", app->partner_id, app->id);
        app_unref(app);
    }
    struct partner *owner = client ? directory_partner_by_no(d, client->account_no) : NULL;
    if (owner) {
        print_found(s, "client", owner->id, client->id);
        partner_unref(owner);
    }
    client_unref(client);
    find_user(s, 0, STR_NONE);
}

static void end(struct partner_walk *walk, bool more)
{
    struct searching *s = CONTAINER_OF(walk, struct searching, walk);
    json_end_array(&s->c->writer);
    list_print_next(s->c, &s->c->writer, more, walk->last_no);
    call_end_object(s->c, 200);
}

static void list_done(struct task *task);

static void ask(struct searching *s, bool by_panelist)
{
    s->by_panelist = by_panelist;
    s->list = (struct callback_list){
        .done.run = list_done,
        .reply_to = call_executor(s->c),
        .account_no = s->walk.partner->account_no,
        .event_id = by_panelist ? STR_NONE : s->text,
        .panelist_id = by_panelist ? s->text : STR_NONE,
        .no_bodies = true,
        .order = LIST_NEWEST_FIRST,
        .limit = 1,
    };
    store_list_callbacks(s->c->api->options.store, &s->list);
}

static void list_done(struct task *task)
{
    struct searching *s = CONTAINER_OF(task, struct searching, list.done);
    if (s->list.status != STORE_OK) {
        arena_free(&s->list.arena);
        partner_walk_abort(&s->walk);
        call_answer_busy(s->c, s->list.status);
        return;
    }
    if (s->list.count > 0)
        print_found(s, s->by_panelist ? "panelist" : "callback", s->walk.partner->id, s->text);
    arena_free(&s->list.arena);
    if (!s->by_panelist) {
        ask(s, true);
        return;
    }
    partner_walk_next(&s->walk);
}

static void search_partner(struct partner_walk *walk)
{
    struct searching *s = CONTAINER_OF(walk, struct searching, walk);
    find_user(s, walk->partner->account_no, walk->partner->id);
    ask(s, false);
}

void search_get(struct call *c)
{
    struct searching *s = call_alloc(c, sizeof *s);
    size_t limit;
    s->text = call_parameter(c, "text");
    if (!s->text.p)
        problem_add(&c->problems, STR("text"), "required",
                    "The id to search for, as it was given.");
    if (!list_position(c, &s->walk.last_no, &limit)) {
        call_answer_invalid_query(c);
        return;
    }
    s->c = c;
    if (s->text.n <= EMAIL_BYTES_MAX && memchr(s->text.p, '@', s->text.n) &&
        call_may(c, SCOPE_PEOPLE_WRITE))
        s->email = email_lower(&c->r->arena, s->text);
    s->walk = (struct partner_walk){
        .c = c,
        .last_no = s->walk.last_no,
        .left = PARTNERS_MOST,
        .read = search_partner,
        .end = end,
    };
    json_key_array(call_begin_object(c), "Items");
    if (s->walk.last_no == 0)
        find_in_memory(s);
    partner_walk_begin(&s->walk);
}
