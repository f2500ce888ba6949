/* Routes a request to its handler, and checks in the order of the contract: 404 for an unknown
 * path, 405, 401, 403, 404 for another account's object; all of that before the body is read. Then
 * the query is checked (400), and the handler called. A key that has used up its rate gets 429
 * before the body is read; an account beyond its limits gets it afterwards. Caller and scopes (401,
 * 403): api/caller.c. */
#include "api/caller.h"
#include "api/forwards.h"
#include "api/idempotency_header.h"
#include "api/internal.h"
#include "api/query.h"
#include "api/route.h"
#include "api/tries.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "domain/negotiate.h"
#include "people/people.h"
#include "services/recovery.h"
#include "web/web.h"

#include <stdlib.h>

struct api *api_new(const struct api_options *options)
{
    struct api *api = xcalloc(1, sizeof *api);
    api->magic = API_MAGIC;
    api->options = *options;
    api->started_ms = env_wall_ms(options->env);
    api->limit = rate_limit_new(options->reads_per_minute);
    atomic_init(&api->bodies_days, options->bodies_days);
    api->accounts = account_limits_new(options->reads_per_minute);
    api->forwards = forwards_new();
    openapi_print(&api->openapi, &api->options);
    tries_new(api);
    return api;
}

void api_free(struct api *api)
{
    CHECK_MAGIC(api, API_MAGIC);
    rate_limit_free(api->limit);
    account_limits_free(api->accounts);
    forwards_free(api->forwards);
    buf_free(&api->openapi);
    tries_free(api);
    free(api);
}

void api_set_reads_per_minute(struct api *api, int32_t reads_per_minute)
{
    CHECK_MAGIC(api, API_MAGIC);
    rate_limit_set(api->limit, reads_per_minute);
    account_limits_set_reads(api->accounts, reads_per_minute);
}

void api_set_bodies_days(struct api *api, int32_t days)
{
    CHECK_MAGIC(api, API_MAGIC);
    atomic_store(&api->bodies_days, days);
}

void api_set_accepting(struct api *api, bool accepting)
{
    CHECK_MAGIC(api, API_MAGIC);
    atomic_store(&api->accepting, accepting);
}

void api_count_rejected(struct api *api, size_t events)
{
    CHECK_MAGIC(api, API_MAGIC);
    atomic_fetch_add(&api->events_rejected, (long long)events);
}

struct api_loop *api_loop_new(struct api *api, struct loop *loop)
{
    struct api_loop *l = xcalloc(1, sizeof *l);
    l->magic = API_MAGIC;
    l->api = api;
    l->loop = loop;
    l->intake = intake_new(api->options.directory, api->options.hash_secret);
    return l;
}

void api_loop_free(struct api_loop *l)
{
    CHECK_MAGIC(l, API_MAGIC);
    intake_free(l->intake);
    free(l);
}

/* --- about what --------------------------------------------------------------------------- */

/* partnerId is read before the query is checked: another account's object (404) comes before a
 * 400. */
static struct str asked_partner(struct call *c)
{
    struct str rest = c->r->query;
    while (rest.p) {
        struct parameter given;
        if (query_decode_pair(&c->r->arena, str_cut(&rest, '&'), &given) &&
            str_is(given.name, "partnerId") && given.value.p)
            return given.value;
    }
    return STR_NONE;
}

/* True if the caller may know of an object of this account; sets the call's account. */
static bool owns(struct call *c, uint32_t account_no)
{
    if (!c->is_operator && account_no != c->key_account_no)
        return false;
    if (c->account_no && c->account_no != account_no)
        return false; /* partnerId names another partner */
    c->account_no = account_no;
    return true;
}

static bool find_recovery(struct call *c, struct str id)
{
    struct recovery r;
    bool done;
    return recoveries_find(c->api->options.recoveries, id, &r, &done) && owns(c, r.account_no);
}

/* Takes references for the call. */
static bool find_subject(struct call *c)
{
    struct directory *d = c->api->options.directory;
    const struct str *ids = c->ids;
    switch (c->route->subject) {
    case SUBJECT_NONE:
    case SUBJECT_ACCOUNT_OR_OPERATOR:
    case SUBJECT_ACCOUNT:
    case SUBJECT_REWARD: return true;
    case SUBJECT_PARTNER:
        c->partner = directory_partner(d, ids[0]);
        return c->partner && owns(c, c->partner->account_no);
    case SUBJECT_APP:
        c->app = directory_app(d, ids[0]);
        return c->app && owns(c, c->app->terms.account_no);
    case SUBJECT_CLIENT:
        c->client = directory_client(d, ids[0]);
        return c->client && owns(c, c->client->account_no);
    case SUBJECT_USER:
        c->user = people_user(c->api->options.people, ids[0]);
        return c->user && owns(c, c->user->account_no);
    case SUBJECT_RECOVERY: return find_recovery(c, ids[0]);
    case SUBJECT_KEY:
        c->partner = directory_partner(d, ids[0]);
        c->key = directory_key(d, ids[1]);
        return c->partner && c->key && owns(c, c->partner->account_no) &&
               c->key->account_no == c->partner->account_no;
    }
    UNREACHABLE();
}

static bool find_account(struct call *c)
{
    struct str asked = asked_partner(c);
    if (!c->is_operator)
        c->account_no = c->key_account_no;
    if (!asked.p)
        return true;
    struct partner *p = directory_partner(c->api->options.directory, asked);
    if (!p)
        return false;
    bool good = owns(c, p->account_no);
    partner_unref(p);
    return good;
}

/* --- the order of judging ----------------------------------------------------------------- */

static bool judge_caller(struct call *c)
{
    bool good = caller_judge(c);
    if (!good)
        caller_answer_refusal(c);
    return good;
}

static bool take_rate(struct call *c)
{
    if (!(c->route->flags & ROUTE_LIMITED))
        return true;
    c->rate_counted = true;
    if (rate_limit_take(c->api->limit, c->key_id, loop_mono_ms(c->loop->loop), &c->rate))
        return true;
    call_answer_problem(c, 429,
                        "This key has used its %d requests a minute; it may ask again in %d s.",
                        c->rate.limit, c->rate.retry_s);
    return false;
}

/* 503 if the remaining connections and buffers are kept for others. True: it was answered. */
static bool refuse_stranger(struct call *c)
{
    if (!http_is_crowded(c->r))
        return false;
    call_answer_problem(c, 503,
                        "The remaining connections and memory are reserved for clients with a key "
                        "or a session. Try again.");
    return true;
}

static void answer_unknown_path(struct call *c)
{
    const char *below = route_below(c->r->path);
    if (below)
        call_answer_problem(c, 404, "There is no such path, but %s; /openapi.json lists all.",
                            below);
    else
        call_answer_problem(c, 404, "There is no such path; /openapi.json lists them.");
}

static int answer_without_route(struct call *c, bool path_known)
{
    if (path_known)
        call_answer_problem(c, 405, "This path does not support %.*s.", STR_ARG(c->r->method_text));
    else if (!refuse_stranger(c) && !web_answer(c->r))
        answer_unknown_path(c);
    return 1;
}

/* The bound on a body; public routes have a low one. */
static size_t body_bytes_most(const struct route *route)
{
    if (route->flags & ROUTE_PUBLIC)
        return LIMIT_PUBLIC_BODY_BYTES;
    return route->handle == events_post ? LIMIT_REQUEST_BODY_BYTES : LIMIT_CHANGE_BODY_BYTES;
}

int api_headers_in(void *context, struct http_request *r)
{
    struct api_loop *l = context;
    CHECK_MAGIC(l, API_MAGIC);
    struct call *c = arena_zalloc(&r->arena, sizeof *c);
    c->magic = CALL_MAGIC;
    c->r = r;
    c->loop = l;
    c->api = l->api;
    c->problems.arena = &r->arena;
    r->context = c;

    bool path_known;
    c->route = route_find(&r->arena, r->method, r->path, c->ids, &path_known);
    if (!c->route)
        return answer_without_route(c, path_known);
    r->body_max_bytes = body_bytes_most(c->route);
    r->is_probe = c->route->flags & ROUTE_PROBE;
    if (c->route->flags & ROUTE_PUBLIC)
        return !(c->route->flags & ROUTE_PROBE) && refuse_stranger(c);
    if (!judge_caller(c) || !take_rate(c))
        return 1;
    if (!find_account(c) || !find_subject(c)) {
        call_answer_problem(c, 404, CALL_NOT_FOUND);
        return 1;
    }
    /* The body may never come, and nothing reports that: until it has come, nothing is held. */
    call_release(c);
    return 0;
}

static void answer_over_limit(struct call *c, const struct account_refusal *why)
{
    c->retry_after_s = why->retry_after_s;
    if (why->at_once)
        call_answer_problem(c, 429,
                            "This account has %d %s in progress, the limit of all its keys "
                            "together. Wait for one to end.",
                            why->at_once, why->of);
    else if (why->per_day)
        call_answer_problem(c, 429,
                            "This account has used its %d changes of a day, with test callbacks, "
                            "recoveries and shown secrets, whichever key asks; the next is free in "
                            "%lld s.",
                            why->per_day, (long long)why->retry_after_s);
    else
        call_answer_problem(c, 429,
                            "This account has used its %d %s of a minute, whichever key asks; the "
                            "next is free in %lld s.",
                            why->per_minute, why->of, (long long)why->retry_after_s);
}

static enum account_use use_of(const struct route *route)
{
    if (route->method == HTTP_GET)
        return route->flags & ROUTE_SCAN      ? ACCOUNT_SCANS
               : route->flags & ROUTE_AUDITED ? ACCOUNT_WRITES
                                              : ACCOUNT_READS;
    return route->flags & ROUTE_TEST       ? ACCOUNT_TESTS
           : route->flags & ROUTE_FORWARD  ? ACCOUNT_FORWARDS
           : route->flags & ROUTE_RECOVERY ? ACCOUNT_RECOVERIES
                                           : ACCOUNT_WRITES;
}

/* The use counts for the asking account; operators work for all accounts. A recovery counts for its
 * own account, whoever asks: as they are started one at a time, their number is known when one is
 * judged. */
static bool take_use(struct call *c)
{
    struct account_refusal why;
    enum account_use use = use_of(c->route);
    uint32_t account_no = use == ACCOUNT_RECOVERIES ? c->account_no : c->key_account_no;
    if (!account_no || c->route->flags & ROUTE_PUBLIC)
        return true;
    if (account_limits_take(c->api->accounts, account_no, use, loop_mono_ms(c->loop->loop), &why)) {
        c->uses = true;
        c->used_account_no = account_no;
        c->use = use;
        return true;
    }
    answer_over_limit(c, &why);
    return false;
}

/* While the database is unavailable or read-only, nobody knows for how long, or whether a commit
 * under way happened. An answer that has begun by then continues. */
static void set_deadline(struct call *c)
{
    bool is_long = c->route->flags & (ROUTE_LONG | ROUTE_SCAN);
    http_respond_by(c->r,
                    loop_mono_ms(c->loop->loop) +
                        (is_long ? LIMIT_LONG_ANSWER_DEADLINE_MS : LIMIT_ANSWER_DEADLINE_MS),
                    c->route->method == HTTP_GET
                        ? "The store does not answer. Send this again after Retry-After seconds."
                        : "The store does not answer, and " CALL_NOT_KNOWN);
}

void api_handle(void *context, struct http_request *r)
{
    (void)context;
    struct call *c = r->context;
    CHECK_MAGIC(c, CALL_MAGIC);
    if (!judge_caller(c)) /* a minute may have passed */
        return;
    if (!find_subject(c)) { /* removed while the body was received */
        call_answer_problem(c, 404, CALL_NOT_FOUND);
        return;
    }
    if (!query_parse(c, c->route->parameters,
                     c->is_operator || c->route->subject != SUBJECT_NONE)) {
        /* 404 and 415 come before 400. */
        if (c->route->subject == SUBJECT_REWARD && c->account_no)
            callback_get_one(c); /* answers 404 or 400 */
        else if (!c->route->request_schema || !c->r->body.n || call_check_media(c))
            call_answer_invalid_query(c);
        return;
    }
    bool needs_account =
        c->route->subject == SUBJECT_ACCOUNT || c->route->subject == SUBJECT_REWARD;
    if (needs_account && !c->account_no) {
        problem_add(&c->problems, STR("partnerId"), "required",
                    "An operator's key must say whose account it means.");
        call_answer_invalid_query(c);
        return;
    }
    set_deadline(c);
    if (c->route->flags & ROUTE_PACKED &&
        accept_coding(http_header_list(r, "accept-encoding"), true) == CODING_NONE) {
        buf_add_c(&c->headers, "Vary: Accept, Accept-Encoding\r\n");
        call_answer_problem(c, 406,
                            "This path supports Content-Encoding zstd, gzip or identity only.");
    } else if (idempotency_read(c) && take_use(c)) {
        c->route->handle(c);
    }
}
