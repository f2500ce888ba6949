/* GET /openapi.json: OpenAPI 3.1, the paths printed from the table of routes, the schemas from
 * openapi_components.json (embedded at build time). A test walks it against the daemon. */
#include "accounts/names.h"
#include "api/internal.h"
#include "api/openapi_components.h"
#include "api/route.h"

static const char *method_name(enum http_method m)
{
    switch (m) {
    case HTTP_GET: return "get";
    case HTTP_POST: return "post";
    case HTTP_PATCH: return "patch";
    case HTTP_DELETE: return "delete";
    default: UNREACHABLE();
    }
}

static void print_parameter(struct json_writer *w, struct str name, const char *in, bool required)
{
    json_object(w);
    json_key_string(w, "name", name);
    json_key_c(w, "in", in);
    json_key_bool(w, "required", required);
    json_key(w, "schema");
    json_raw(w, STR("{\"type\":\"string\"}"));
    json_end_object(w);
}

static void print_parameters(struct json_writer *w, const struct route *route)
{
    json_key_array(w, "parameters");
    struct str rest = str_of(route->path);
    while (rest.p) {
        struct str segment = str_cut(&rest, '/');
        if (segment.n > 2 && segment.p[0] == '{')
            print_parameter(w, (struct str){segment.p + 1, segment.n - 2}, "path", true);
    }
    for (const char *const *p = route->parameters; p && *p; p++)
        print_parameter(w, str_of(*p), "query", route->flags & ROUTE_QUERY_REQUIRED);
    if (route->subject != SUBJECT_NONE)
        print_parameter(w, STR("partnerId"), "query", false);
    json_end_array(w);
}

static void print_reference(struct json_writer *w, const char *type, const char *schema)
{
    struct buf text = {0};
    buf_printf(&text, "{\"%s\":{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}}", type, schema);
    json_raw(w, buf_str(&text));
    buf_free(&text);
}

static void print_problem(struct json_writer *w, const char *status, const char *description)
{
    json_key_object(w, status);
    json_key_c(w, "description", description);
    json_key(w, "content");
    print_reference(w, "application/problem+json", "Problem");
    json_end_object(w);
}

static void print_responses(struct json_writer *w, const struct route *route)
{
    json_key_object(w, "responses");
    char status[8] = {(char)('0' + route->status / 100), (char)('0' + route->status / 10 % 10),
                      (char)('0' + route->status % 10)};
    json_key_object(w, status);
    json_key_c(w, "description", route->summary);
    if (route->response_schema) {
        json_key(w, "content");
        print_reference(w, "application/json", route->response_schema);
    }
    json_end_object(w);
    if (route->request_schema)
        print_problem(w, "413", "The body is larger than this path accepts.");
    if (!(route->flags & ROUTE_PUBLIC))
        print_problem(w, "429",
                      "The key or its account asks for more than its limits; Retry-After says when "
                      "to send it again.");
    print_problem(w, "default", "An error, as RFC 9457 describes it.");
    json_end_object(w);
}

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

static void print_operation(struct json_writer *w, const struct route *route)
{
    json_key(w, method_name(route->method));
    json_object(w);
    json_key_c(w, "summary", route->summary);
    print_security(w, route);
    print_parameters(w, route);
    if (route->request_schema) {
        json_key_object(w, "requestBody");
        json_key_bool(w, "required", !(route->flags & ROUTE_BODY_OPTIONAL));
        json_key(w, "content");
        print_reference(w, "application/json", route->request_schema);
        json_end_object(w);
    }
    print_responses(w, route);
    json_end_object(w);
}

static bool same_path(size_t a, size_t b)
{
    return str_eq(str_of(api_routes[a].path), str_of(api_routes[b].path));
}

/* All methods of one path stand together, wherever the table has them. */
static void print_paths(struct json_writer *w)
{
    json_key_object(w, "paths");
    for (size_t i = 0; i < api_route_count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= same_path(k, i);
        if (seen)
            continue;
        json_key(w, api_routes[i].path);
        json_object(w);
        for (size_t k = i; k < api_route_count; k++)
            if (same_path(i, k))
                print_operation(w, &api_routes[k]);
        json_end_object(w);
    }
    json_end_object(w);
}

static void print_info(struct json_writer *w, const struct api_options *o)
{
    json_key_c(w, "openapi", "3.1.0");
    json_key_object(w, "info");
    json_key_c(w, "title", "postbackd");
    json_key_c(w, "version", o->version);
    json_key_c(
        w, "description",
        "Receives events, computes exact rewards, sends signed callbacks and serves five reports.");
    json_end_object(w);
    if (o->public_url.p) {
        json_key_array(w, "servers");
        json_object(w);
        json_key_string(w, "url", o->public_url);
        json_end_object(w);
        json_end_array(w);
    }
    /* Partners allow-list these; empty means whatever address the operating system picks. */
    json_key_array(w, "x-egress-addresses");
    for (size_t i = 0; i < o->source_count; i++) {
        struct buf text = {0};
        address_print(&text, &o->sources[i]);
        json_string(w, buf_str(&text));
        buf_free(&text);
    }
    json_end_array(w);
}

void openapi_get(struct call *c)
{
    struct buf body = {0};
    struct json_writer w;
    json_write_to(&w, &body);
    json_object(&w);
    print_info(&w, &c->api->options);
    print_paths(&w);
    json_key(&w, "components");
    json_raw(&w, (struct str){(const char *)openapi_components, sizeof openapi_components});
    json_end_object(&w);
    call_answer_json(c, 200, &body);
    buf_free(&body);
}
