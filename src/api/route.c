/* Finds the route of a path by a linear search. The table is short: a search takes a few hundred
 * nanoseconds, little beside the rest of a request, and nothing has to be built at the start. */
#include "api/route.h"

#include "api/query.h"

static bool is_slot(struct str segment)
{
    return segment.n > 1 && segment.p[0] == '{';
}

/* Compares segment by segment; slots take any non-empty segment. */
static bool matches(const char *pattern, struct str path, struct str raw_ids[2], size_t *ret_count)
{
    struct str left = str_of(pattern), right = path;
    size_t count = 0;
    while (left.p && right.p) {
        struct str want = str_cut(&left, '/');
        struct str have = str_cut(&right, '/');
        if (is_slot(want)) {
            if (!have.n)
                return false;
            raw_ids[count++] = have;
        } else if (!str_eq(want, have)) {
            return false;
        }
    }
    *ret_count = count;
    return !left.p && !right.p;
}

/* A path that equals a row of the table is that row, not another row's slot (OpenAPI 3.1, Paths
 * Object): /callbacks/recover is no RewardId, but /callbacks/%72ecover is. */
static bool is_literal(struct str path)
{
    for (size_t i = 0; i < api_route_count; i++)
        if (str_is(path, api_routes[i].path))
            return true;
    return false;
}

static bool is_path_of(const struct route *route, struct str path, bool literal, struct str raw[2],
                       size_t *ret_count)
{
    return (!literal || str_is(path, route->path)) && matches(route->path, path, raw, ret_count);
}

static bool serves(const struct route *route, enum http_method method)
{
    return route->method == method || (method == HTTP_HEAD && route->method == HTTP_GET);
}

const struct route *route_find(struct arena *arena, enum http_method method, struct str path,
                               struct str ids[2], bool *ret_path_known)
{
    *ret_path_known = false;
    bool literal = is_literal(path);
    for (size_t i = 0; i < api_route_count; i++) {
        const struct route *route = &api_routes[i];
        struct str raw[2];
        size_t count = 0;
        if (!is_path_of(route, path, literal, raw, &count))
            continue;
        *ret_path_known = true;
        if (!serves(route, method))
            continue;
        ids[0] = ids[1] = STR_NONE;
        for (size_t k = 0; k < count; k++)
            if (!query_decode(arena, raw[k], false, &ids[k]))
                ids[k] = STR(""); /* names nothing: 404 at its look-up */
        return route;
    }
    return NULL;
}

const char *route_below(struct str path)
{
    if (!str_has_prefix(path, "/api/v1/"))
        return NULL;
    size_t root = strlen("/api/v1");
    struct str rest = {path.p + root, path.n - root};
    for (size_t i = 0; i < api_route_count; i++) {
        const char *id_end = strrchr(api_routes[i].path, '}');
        if (rest.n && id_end && str_is(rest, id_end + 1))
            return api_routes[i].path;
    }
    return NULL;
}

void route_print_allow(struct buf *to, struct str path)
{
    bool first = true, literal = is_literal(path);
    for (int m = 0; m < HTTP_OTHER; m++) {
        for (size_t i = 0; i < api_route_count; i++) {
            struct str raw[2];
            size_t count;
            if ((int)api_routes[i].method != m ||
                !is_path_of(&api_routes[i], path, literal, raw, &count))
                continue;
            buf_printf(to, "%s%s%s", first ? "" : ", ", http_method_name(api_routes[i].method),
                       m == HTTP_GET ? ", HEAD" : "");
            first = false;
            break;
        }
    }
}
