/* Collects the faults of one input; see problem.h. Its bounds keep an input with many faults from
 * causing a longer answer than itself. */
#include "base/problem.h"

#include "base/buf.h"

static bool is_full(const struct problems *problems)
{
    return problems->count >= (problems->most ? problems->most : LIMIT_PROBLEMS);
}

static void append(struct problems *to, struct problem *p)
{
    if (to->last)
        to->last->next = p;
    else
        to->first = p;
    to->last = p;
    to->count++;
}

void problem_add(struct problems *to, struct str field, const char *code, const char *detail_fmt,
                 ...)
{
    if (is_full(to)) {
        to->left_out++;
        return;
    }
    struct buf text = {0};
    va_list ap;
    va_start(ap, detail_fmt);
    buf_vprintf(&text, detail_fmt, ap);
    va_end(ap);

    struct problem *p = arena_zalloc(to->arena, sizeof *p);
    p->field = arena_str(to->arena, str_utf8_prefix(field, LIMIT_PROBLEM_TEXT_BYTES));
    p->code = code;
    p->detail = arena_str(to->arena, str_utf8_prefix(buf_str(&text), LIMIT_PROBLEM_TEXT_BYTES));
    buf_free(&text);
    append(to, p);
}

void problems_join(struct problems *to, struct problems *more)
{
    struct problem *next;
    to->left_out += more->left_out;
    for (struct problem *p = more->first; p; p = next) {
        next = p->next;
        p->next = NULL;
        if (is_full(to))
            to->left_out++;
        else
            append(to, p);
    }
}
