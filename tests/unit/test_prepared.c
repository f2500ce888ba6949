/* When a statement is given its name, and when anew. */
#include "check.h"

#include "store/postgresql/prepared.h"

#include <stdio.h>
#include <string.h>

static const char *const texts[] = {"SELECT 1", "SELECT 2"};

static void a_text_has_one_name(void)
{
    struct pg_prepared prepared = {0};
    char first[PG_PREPARED_NAME_BYTES], second[PG_PREPARED_NAME_BYTES];
    struct pg_prepared_statement *one = prepared_find(&prepared, texts[0]),
                                 *other = prepared_find(&prepared, texts[1]);
    CHECK(one && other && one != other);
    CHECK(prepared_find(&prepared, texts[0]) == one);
    prepared_name(one, first);
    prepared_name(other, second);
    CHECK(strcmp(first, second) != 0);
}

static void too_many_have_none(void)
{
    struct pg_prepared prepared = {0};
    char text[32];
    for (int i = 0; i < PG_PREPARED_MOST; i++) {
        snprintf(text, sizeof text, "SELECT %d", i);
        CHECK(prepared_find(&prepared, text));
    }
    CHECK(!prepared_find(&prepared, "SELECT"));
    CHECK(prepared_find(&prepared, texts[0]));
    prepared_forget(&prepared);
    CHECK(prepared_find(&prepared, "SELECT"));
}

static void a_plan_is_as_old_as_its_tables(void)
{
    struct pg_prepared_statement one = {0};
    CHECK_EQ_INT(prepared_use(&one, 1, 0), PREPARE_FIRST);
    CHECK_EQ_INT(prepared_use(&one, 1, 0), PREPARE_NOT);
    CHECK_EQ_INT(prepared_use(&one, 2000, 0), PREPARE_AGAIN); /* made with two rows: of no use */
    CHECK_EQ_INT(prepared_use(&one, 2000, 0), PREPARE_NOT);
    CHECK_EQ_INT(prepared_use(&one, 1000, 0), PREPARE_AGAIN);
    CHECK_EQ_INT(prepared_use(&one, 1, 9999), PREPARE_NOT);
    CHECK_EQ_INT(prepared_use(&one, 1, 10000), PREPARE_AGAIN);
    CHECK_EQ_INT(prepared_use(&one, 1, 10001), PREPARE_NOT);
    prepared_learn(&one, one.there, true, false); /* the server did not take it */
    CHECK_EQ_INT(prepared_use(&one, 1, 10002), PREPARE_FIRST);
}

static void no_name_is_given_twice(void)
{
    struct pg_prepared_statement one = {.hash = 1};
    char first[PG_PREPARED_NAME_BYTES], second[PG_PREPARED_NAME_BYTES],
        dropped[PG_PREPARED_NAME_BYTES];
    CHECK_EQ_INT(prepared_use(&one, 1, 0), PREPARE_FIRST);
    prepared_name(&one, first);
    CHECK_EQ_INT(prepared_use(&one, 1, 0), PREPARE_NOT);
    prepared_name(&one, second);
    CHECK(strcmp(first, second) == 0);
    CHECK_EQ_INT(prepared_use(&one, 1, 10000), PREPARE_AGAIN);
    prepared_name(&one, second);
    prepared_old_name(&one, dropped);
    CHECK(strcmp(first, second) != 0);
    CHECK(strcmp(first, dropped) == 0);
}

/* As when the disk is full: what failed came before the name was dropped. */
static void a_trip_that_fails_leaves_the_name(void)
{
    struct pg_prepared_statement one = {.hash = 1};
    char first[PG_PREPARED_NAME_BYTES], now[PG_PREPARED_NAME_BYTES],
        dropped[PG_PREPARED_NAME_BYTES];
    CHECK_EQ_INT(prepared_use(&one, 1, 0), PREPARE_FIRST);
    prepared_name(&one, first);
    prepared_learn(&one, 1, true, true);
    for (int i = 0; i < 2; i++) { /* twice in one trip */
        CHECK_EQ_INT(prepared_use(&one, 1, 10000 * (i + 1)), PREPARE_AGAIN);
    }
    prepared_learn(&one, 2, false, false);
    prepared_learn(&one, 3, false, false);
    prepared_name(&one, now);
    CHECK(strcmp(first, now) == 0);
    CHECK_EQ_INT(prepared_use(&one, 1, 20001), PREPARE_AGAIN);
    prepared_old_name(&one, dropped);
    prepared_name(&one, now);
    CHECK(strcmp(first, dropped) == 0);
    CHECK(strcmp(first, now) != 0);
}

static void names_hold_where_the_server_is_asked_directly(void)
{
    struct pg_prepared prepared = {0};
    CHECK(!prepared_is_usable(&prepared));
    prepared.is_direct = true;
    CHECK(prepared_is_usable(&prepared));
    prepared.is_refused = true;
    prepared_forget(&prepared);
    prepared.is_direct = true;
    CHECK(!prepared_is_usable(&prepared)); /* on no later connection either */
}

int main(void)
{
    RUN(a_text_has_one_name);
    RUN(too_many_have_none);
    RUN(a_plan_is_as_old_as_its_tables);
    RUN(no_name_is_given_twice);
    RUN(a_trip_that_fails_leaves_the_name);
    RUN(names_hold_where_the_server_is_asked_directly);
    return check_done("prepared");
}
