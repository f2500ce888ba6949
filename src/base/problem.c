/* Collects the faults of one input; see problem.h. */
#include "base/problem.h"

#include "base/buf.h"

void problem_add(struct problems *to, struct str field, const char *code, const char *detail_fmt,
                 ...)
{
    struct buf text = {0};
    va_list ap;
    va_start(ap, detail_fmt);
    buf_vprintf(&text, detail_fmt, ap);
    va_end(ap);

    struct problem *p = arena_zalloc(to->arena, sizeof *p);
    p->field = arena_str(to->arena, field);
    p->code = code;
    p->detail = arena_str(to->arena, buf_str(&text));
    buf_free(&text);

    if (to->last)
        to->last->next = p;
    else
        to->first = p;
    to->last = p;
    to->count++;
}

void problems_join(struct problems *to, const struct problems *more)
{
    if (!more->first)
        return;
    if (to->last)
        to->last->next = more->first;
    else
        to->first = more->first;
    to->last = more->last;
    to->count += more->count;
}
