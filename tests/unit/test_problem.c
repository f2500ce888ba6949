/* A list of problems is bounded, however many faults an input has and however long they are. */
#include "check.h"

#include "base/buf.h"
#include "base/problem.h"

static struct arena arena;

static void add_many(struct problems *to, int count, char first)
{
    for (int i = 0; i < count; i++) {
        char name[2] = {(char)(first + i), 0};
        problem_add(to, str_of(name), "invalid", "detail %d", i);
    }
}

static int listed(const struct problems *of)
{
    int n = 0;
    for (const struct problem *p = of->first; p; p = p->next)
        n++;
    CHECK_EQ_INT((int)of->count, n);
    return n;
}

static void more_than_the_limit_is_left_out(void)
{
    struct problems found = {.arena = &arena};
    add_many(&found, LIMIT_PROBLEMS + 5, 'a');
    CHECK_EQ_INT(listed(&found), LIMIT_PROBLEMS);
    CHECK_EQ_INT((int)found.left_out, 5);
    CHECK_STR(found.first->field, "a");
    CHECK_STR(found.first->detail, "detail 0");
}

static void joined_lists_have_the_same_limit(void)
{
    struct problems found = {.arena = &arena}, more = {.arena = &arena};
    add_many(&found, LIMIT_PROBLEMS - 2, 'a');
    add_many(&more, 5, 'A');
    problems_join(&found, &more);
    CHECK_EQ_INT(listed(&found), LIMIT_PROBLEMS);
    CHECK_STR(found.last->field, "B");
    CHECK_EQ_INT((int)found.left_out, 3);
    problems_join(&found, &(struct problems){.arena = &arena, .left_out = 4});
    CHECK_EQ_INT(listed(&found), LIMIT_PROBLEMS);
    CHECK_EQ_INT((int)found.left_out, 7);
    struct problems one = {.arena = &arena, .most = 1};
    add_many(&one, 3, 'a');
    CHECK(listed(&one) == 1 && one.left_out == 2);
}

static void texts_are_cut_between_characters(void)
{
    struct problems found = {.arena = &arena};
    struct buf name = {0};
    for (int i = 0; i < LIMIT_PROBLEM_TEXT_BYTES; i++)
        buf_add_c(&name, "\xc3\xbc");
    buf_add_c(&name, "");
    problem_add(&found, buf_str(&name), "invalid", "'%.*s'", STR_ARG(buf_str(&name)));
    CHECK_EQ_INT((int)found.first->field.n, LIMIT_PROBLEM_TEXT_BYTES);
    CHECK_EQ_INT((int)found.first->detail.n, LIMIT_PROBLEM_TEXT_BYTES - 1);
    CHECK(str_is_utf8(found.first->field) && str_is_utf8(found.first->detail));
    buf_free(&name);
}

int main(void)
{
    RUN(more_than_the_limit_is_left_out);
    RUN(joined_lists_have_the_same_limit);
    RUN(texts_are_cut_between_characters);
    arena_free(&arena);
    return check_done("problem");
}
