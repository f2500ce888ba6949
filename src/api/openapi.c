/* GET /openapi.json: OpenAPI 3.1, the paths printed from the table of routes, the rest from
 * openapi_components.json and openapi_webhooks.json (embedded at build time). What a route may
 * answer follows from its flags: tests/scenario/test_openapi.py asks the server for all of it. */
#include "accounts/names.h"
#include "api/internal.h"
#include "api/openapi_components.h"
#include "api/openapi_webhooks.h"
#include "api/route.h"

#include <stdio.h>

static const char *const tag_names[TAG_COUNT][2] = {
    [TAG_EVENTS] = {"Events", "What the operator's systems report."},
    [TAG_REPORTS] = {"Reports", "Reports, statements and earnings."},
    [TAG_CALLBACKS] = {"Callbacks", "The log of callbacks, resends, recoveries, the rewards feed."},
    [TAG_ENDPOINTS] = {"Endpoints", "Health of callback URLs, and trying them out."},
    [TAG_APPS] = {"Apps", "Apps, their clients and Callback Secrets."},
    [TAG_PARTNERS] = {"Partners", "Partners, and what belongs to a whole account."},
    [TAG_KEYS] = {"Keys", "API keys of a partner."},
    [TAG_PEOPLE] = {"People", "Who signs in to the dashboard, and the audit log."},
    [TAG_SESSIONS] = {"Sessions", "Signing in and out, passwords, second factors, links."},
    [TAG_OPERATION] = {"Operation", "Probes, metrics, and what only operators ask for."},
    [TAG_WEBHOOKS] = {"Webhooks", "What is sent to servers of partners and operators."},
};

static void print_tags(struct json_writer *w)
{
    json_key_array(w, "tags");
    for (size_t i = 0; i < TAG_COUNT; i++) {
        json_object(w);
        json_key_c(w, "name", tag_names[i][0]);
        json_key_c(w, "description", tag_names[i][1]);
        json_end_object(w);
    }
    json_end_array(w);
}

/* --- references --------------------------------------------------------------------------------
 */

/* {"$ref":...} to a component of that kind. */
static void print_reference(struct json_writer *w, const char *kind, struct str name)
{
    struct buf text = {0};
    buf_printf(&text, "#/components/%s/%.*s", kind, STR_ARG(name));
    json_object(w);
    json_key_string(w, "$ref", buf_str(&text));
    json_end_object(w);
    buf_free(&text);
}

static void print_content(struct json_writer *w, const char *type, const char *schema)
{
    json_key_object(w, type);
    json_key(w, "schema");
    print_reference(w, "schemas", str_of(schema));
    json_end_object(w);
}

/* --- what is asked -----------------------------------------------------------------------------
 */

static void print_path_parameters(struct json_writer *w, const struct route *route)
{
    struct str rest = str_of(route->path);
    while (rest.p) {
        struct str segment = str_cut(&rest, '/');
        if (segment.n < 3 || segment.p[0] != '{')
            continue;
        struct buf name = {0};
        buf_printf(&name, "path.%.*s", (int)segment.n - 2, segment.p + 1);
        print_reference(w, "parameters", buf_str(&name));
        buf_free(&name);
    }
}

static bool takes_if_match(const struct route *route)
{
    return route->flags & ROUTE_VERSIONED &&
           (route->method == HTTP_PATCH || route->method == HTTP_DELETE);
}

static void print_parameters(struct json_writer *w, const struct route *route)
{
    json_key_array(w, "parameters");
    print_path_parameters(w, route);
    for (const struct route_parameter *p = route->parameters; p && p->name; p++)
        print_reference(w, "parameters", str_of(p->component));
    if (route->subject != SUBJECT_NONE)
        print_reference(w, "parameters", STR("query.partnerId"));
    if (takes_if_match(route))
        print_reference(w, "parameters", STR("IfMatch"));
    if (route->flags & ROUTE_VERSIONED && route->method == HTTP_GET)
        print_reference(w, "parameters", STR("IfNoneMatch"));
    if (route->flags & ROUTE_MAKES)
        print_reference(w, "parameters", STR("IdempotencyKey"));
    json_end_array(w);
}

static void print_request(struct json_writer *w, const struct route *route)
{
    if (!route->request_schema)
        return;
    json_key_object(w, "requestBody");
    json_key_bool(w, "required", !(route->flags & ROUTE_BODY_OPTIONAL));
    json_key_object(w, "content");
    print_content(w, "application/json", route->request_schema);
    if (route->method == HTTP_PATCH)
        print_content(w, "application/merge-patch+json", route->request_schema);
    if (route->handle == events_post)
        print_content(w, "application/x-ndjson", "Lines");
    json_end_object(w);
    json_end_object(w);
}

/* --- what is answered --------------------------------------------------------------------------
 */

static void print_header(struct json_writer *w, const char *name)
{
    json_key(w, name);
    print_reference(w, "headers", str_of(name));
}

static const struct refusal_response {
    int status; /* 0: any other */
    const char *component, *description, *header;
} refusal_responses[] = {
    {304, "NotModified", "If-None-Match names this version.", "ETag"},
    {400, "BadRequest",
     "A parameter or the body is wrong; errors says which field and why. Nothing was changed.",
     NULL},
    {401, "Unauthorized", "The key, session, password or code is missing or wrong.",
     "WWW-Authenticate"},
    {403, "Forbidden", "The key or role may not do this, or the account is disabled.", NULL},
    {404, "NotFound", "No such object in this account.", NULL},
    {406, "NotAcceptable", "Accept-Encoding allows none of zstd, gzip and identity.", NULL},
    {409, "Conflict", "The present state does not allow it; detail says why.", NULL},
    {412, "PreconditionFailed", "The object has changed since the version that If-Match names.",
     NULL},
    {413, "ContentTooLarge", "The body is larger than this path accepts.", NULL},
    {415, "UnsupportedMediaType", "The body must be JSON in UTF-8, not encoded.", NULL},
    {417, "ExpectationFailed", "Expect has another value than 100-continue.", NULL},
    {429, "TooManyRequests",
     "The key or its account asks for more than its limits, or the server is busy. Nothing was "
     "changed.",
     "Retry-After"},
    {503, "ServiceUnavailable",
     "The server cannot answer at the moment; detail says whether anything was stored.",
     "Retry-After"},
    {0, "Problem", "Any other error.", NULL},
};

static void print_refusal_components(struct json_writer *w)
{
    json_key_object(w, "responses");
    for (size_t i = 0; i < ARRAY_LEN(refusal_responses); i++) {
        const struct refusal_response *r = &refusal_responses[i];
        json_key_object(w, r->component);
        json_key_c(w, "description", r->description);
        json_key_object(w, "headers");
        print_header(w, "X-Request-Id");
        if (r->header)
            print_header(w, r->header);
        json_end_object(w);
        if (r->status != 304) {
            json_key_object(w, "content");
            print_content(w, "application/problem+json", "Problem");
            json_end_object(w);
        }
        json_end_object(w);
    }
    json_end_object(w);
}

static bool may_refuse(const struct route *route, int status)
{
    const uint32_t flags = route->flags;
    const bool is_public = flags & ROUTE_PUBLIC, has_body = route->request_schema;
    switch (status) {
    case 304: return flags & ROUTE_VERSIONED && route->method == HTTP_GET;
    case 400: return true;
    case 401:
    case 403:
    case 429: return !is_public || route->method == HTTP_POST; /* public ones: signing in */
    case 404:
        return route->subject != SUBJECT_NONE || flags & ROUTE_NAMES_OTHERS ||
               (strchr(route->path, '{') && route->status != 303);
    case 406: return flags & ROUTE_PACKED;
    case 409: return flags & (ROUTE_CONFLICT | ROUTE_MAKES);
    case 412: return takes_if_match(route);
    case 415: return has_body;
    case 413: /* bodies are read, up to a bound, even if the route needs none */
    case 417:
    case 503:
    case 0: return true;
    default: UNREACHABLE();
    }
}

static void print_headers(struct json_writer *w, const struct route *route)
{
    static const char *const of_reads[] = {"RateLimit-Limit", "RateLimit-Remaining",
                                           "RateLimit-Reset"};
    json_key_object(w, "headers");
    print_header(w, "X-Request-Id");
    for (size_t i = 0; i < ARRAY_LEN(of_reads) && route->flags & ROUTE_LIMITED; i++)
        print_header(w, of_reads[i]);
    if (route->flags & ROUTE_VERSIONED && route->method != HTTP_DELETE)
        print_header(w, "ETag");
    if (route->status == 201 || route->status == 303 || route->handle == callbacks_recover)
        print_header(w, "Location");
    if (route->flags & ROUTE_MAKES)
        print_header(w, "Idempotency-Replayed");
    json_end_object(w);
}

static bool has_format(const struct route *route)
{
    for (const struct route_parameter *p = route->parameters; p && p->name; p++)
        if (strcmp(p->name, "format") == 0)
            return true;
    return false;
}

static void print_success(struct json_writer *w, const struct route *route, const char *status,
                          const char *description)
{
    json_key_object(w, status);
    json_key_c(w, "description", description);
    print_headers(w, route);
    if (route->response) {
        json_key_object(w, "content");
        if (strchr(route->response, '/'))
            print_content(w, route->response, "Text");
        else
            print_content(w, "application/json", route->response);
        if (has_format(route))
            print_content(w, "text/csv", "Csv");
        json_end_object(w);
    }
    json_end_object(w);
}

static void print_responses(struct json_writer *w, const struct route *route)
{
    char status[12];
    json_key_object(w, "responses");
    if (route->handle == callbacks_recover)
        print_success(w, route, "200", "A dry run: how many there are.");
    snprintf(status, sizeof status, "%d", route->status);
    print_success(w, route, status, route->summary);
    for (size_t i = 0; i < ARRAY_LEN(refusal_responses); i++) {
        if (!may_refuse(route, refusal_responses[i].status))
            continue;
        snprintf(status, sizeof status, "%d", refusal_responses[i].status);
        json_key(w, refusal_responses[i].status ? status : "default");
        print_reference(w, "responses", str_of(refusal_responses[i].component));
    }
    json_end_object(w);
}

/* --- operations --------------------------------------------------------------------------------
 */

/* OpenAPI 3.1, Security Requirement Object: for keys and sessions the array names what they must
 * have, here the scope. */
static void print_way_in(struct json_writer *w, const char *name, uint32_t scope)
{
    json_object(w);
    json_key_array(w, name);
    for (size_t i = 0; i < scope_count; i++)
        if (scope == scope_names[i].bit)
            json_c(w, scope_names[i].name);
    json_end_array(w);
    json_end_object(w);
}

static void print_security(struct json_writer *w, const struct route *route)
{
    json_key_array(w, "security");
    if (!(route->flags & (ROUTE_PUBLIC | ROUTE_PERSON))) {
        print_way_in(w, "bearer", route->scope);
        print_way_in(w, "apiKey", route->scope);
    }
    if (!(route->flags & ROUTE_PUBLIC))
        print_way_in(w, "session", route->scope);
    json_end_array(w);
    if (route->flags & ROUTE_OPERATOR)
        json_key_bool(w, "x-operators-only", true);
}

/* OpenAPI has the names of methods in lower case. */
static void print_method_key(struct json_writer *w, enum http_method method)
{
    char lower[8] = {0};
    const char *name = http_method_name(method);
    for (size_t i = 0; name[i]; i++)
        lower[i] = char_lower(name[i]);
    json_key(w, lower);
}

static void print_operation(struct json_writer *w, const struct route *route)
{
    print_method_key(w, route->method);
    json_object(w);
    json_key_c(w, "operationId", route->id);
    json_key_array(w, "tags");
    json_c(w, tag_names[route->tag][0]);
    json_end_array(w);
    json_key_c(w, "summary", route->summary);
    print_security(w, route);
    print_parameters(w, route);
    print_request(w, route);
    print_responses(w, route);
    json_end_object(w);
}

static bool same_path(size_t a, size_t b)
{
    return str_eq(str_of(api_routes[a].path), str_of(api_routes[b].path));
}

/* Groups all methods of one path, in any order of the table. */
static void print_paths(struct json_writer *w)
{
    json_key_object(w, "paths");
    for (size_t i = 0; i < api_route_count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= same_path(k, i);
        if (seen)
            continue;
        json_key_object(w, api_routes[i].path);
        for (size_t k = i; k < api_route_count; k++)
            if (same_path(i, k))
                print_operation(w, &api_routes[k]);
        json_end_object(w);
    }
    json_end_object(w);
}

/* --- the document ------------------------------------------------------------------------------
 */

static void print_info(struct json_writer *w, const struct api_options *o)
{
    json_key_c(w, "openapi", "3.1.0");
    json_key_object(w, "info");
    json_key_c(w, "title", "postbackd");
    json_key_c(w, "version", o->version);
    json_key_c(
        w, "description",
        "Receives events, computes exact rewards, sends signed callbacks and serves five reports. "
        "Texts are UTF-8 without U+0000; x-max-bytes bounds their bytes. Answers may gain members; "
        "a request with an unknown one is 400.");
    json_end_object(w);
    if (o->public_url.p) {
        json_key_array(w, "servers");
        json_object(w);
        json_key_string(w, "url", o->public_url);
        json_end_object(w);
        json_end_array(w);
    }
    /* Partners allow-list these; empty: any address that the system picks. */
    json_key_array(w, "x-egress-addresses");
    for (size_t i = 0; i < o->source_count; i++) {
        struct buf text = {0};
        address_print(&text, &o->sources[i]);
        json_string(w, buf_str(&text));
        buf_free(&text);
    }
    json_end_array(w);
}

void openapi_print(struct buf *to, const struct api_options *o)
{
    struct json_writer w;
    json_write_to(&w, to);
    json_object(&w);
    print_info(&w, o);
    print_tags(&w);
    print_paths(&w);
    json_key_raw(&w, "webhooks",
                 (struct str){(const char *)openapi_webhooks, sizeof openapi_webhooks});
    json_key_object(&w, "components");
    print_refusal_components(&w);
    /* The file's members, without its braces. */
    json_raw(&w, (struct str){(const char *)openapi_components + 1, sizeof openapi_components - 2});
    json_end_object(&w);
    json_end_object(&w);
}

void openapi_get(struct call *c)
{
    call_answer_json(c, 200, &c->api->openapi);
}
