/* Copies and erases the texts of an attempt; see outcome.h. */
#include "store/outcome.h"

void attempt_keep(struct attempt *a, struct arena *arena)
{
    a->url = arena_str(arena, a->url);
    a->detail = arena_str(arena, a->detail);
    a->request_headers = arena_str(arena, a->request_headers);
    a->response_headers = arena_str(arena, a->response_headers);
    a->response_body = arena_str(arena, a->response_body);
}

void attempt_erase(struct attempt *a)
{
    a->request_headers = a->response_headers = a->response_body = STR_NONE;
    if (ATTEMPT_DETAILS_ERASED & 1u << a->class)
        a->detail = STR_NONE;
}
