/* When a statement is given its name, and when anew. */
#include "check.h"

#include "store/postgresql/kept.h"

#include <stdio.h>
#include <string.h>

static const char *const texts[] = {"SELECT 1", "SELECT 2"};

static void a_text_has_one_name(void)
{
    struct pg_kept kept = {0};
    char first[PG_KEPT_NAME], second[PG_KEPT_NAME];
    struct pg_kept_one *one = kept_find(&kept, texts[0]), *other = kept_find(&kept, texts[1]);
    CHECK(one && other && one != other);
    CHECK(kept_find(&kept, texts[0]) == one);
    kept_name(one, first);
    kept_name(other, second);
    CHECK(strcmp(first, second) != 0);
}

static void too_many_have_none(void)
{
    struct pg_kept kept = {0};
    char text[32];
    for (int i = 0; i < PG_KEPT_MOST; i++) {
        snprintf(text, sizeof text, "SELECT %d", i);
        CHECK(kept_find(&kept, text));
    }
    CHECK(!kept_find(&kept, "SELECT"));
    CHECK(kept_find(&kept, texts[0]));
    kept_forget(&kept);
    CHECK(kept_find(&kept, "SELECT"));
}

static void a_plan_is_as_old_as_its_tables(void)
{
    struct pg_kept_one one = {0};
    CHECK_EQ_INT(kept_use(&one, 1, 0), KEPT_GIVE);
    CHECK_EQ_INT(kept_use(&one, 1, 0), KEPT_USE);
    CHECK_EQ_INT(kept_use(&one, 2000, 0), KEPT_GIVE_ANEW); /* made with two rows: of no use */
    CHECK_EQ_INT(kept_use(&one, 2000, 0), KEPT_USE);
    CHECK_EQ_INT(kept_use(&one, 1000, 0), KEPT_GIVE_ANEW);
    CHECK_EQ_INT(kept_use(&one, 1, 9999), KEPT_USE);
    CHECK_EQ_INT(kept_use(&one, 1, 10000), KEPT_GIVE_ANEW);
    CHECK_EQ_INT(kept_use(&one, 1, 10001), KEPT_USE);
    kept_learn(&one, one.there, true, false); /* the server did not take it */
    CHECK_EQ_INT(kept_use(&one, 1, 10002), KEPT_GIVE);
}

static void no_name_is_given_twice(void)
{
    struct pg_kept_one one = {.hash = 1};
    char first[PG_KEPT_NAME], second[PG_KEPT_NAME], dropped[PG_KEPT_NAME];
    CHECK_EQ_INT(kept_use(&one, 1, 0), KEPT_GIVE);
    kept_name(&one, first);
    CHECK_EQ_INT(kept_use(&one, 1, 0), KEPT_USE);
    kept_name(&one, second);
    CHECK(strcmp(first, second) == 0);
    CHECK_EQ_INT(kept_use(&one, 1, 10000), KEPT_GIVE_ANEW);
    kept_name(&one, second);
    kept_name_before(&one, dropped);
    CHECK(strcmp(first, second) != 0);
    CHECK(strcmp(first, dropped) == 0);
}

/* As when the disk is full: what failed came before the name was dropped. */
static void a_trip_that_fails_leaves_the_name(void)
{
    struct pg_kept_one one = {.hash = 1};
    char first[PG_KEPT_NAME], now[PG_KEPT_NAME], dropped[PG_KEPT_NAME];
    CHECK_EQ_INT(kept_use(&one, 1, 0), KEPT_GIVE);
    kept_name(&one, first);
    kept_learn(&one, 1, true, true);
    for (int i = 0; i < 2; i++) { /* twice in one trip */
        CHECK_EQ_INT(kept_use(&one, 1, 10000 * (i + 1)), KEPT_GIVE_ANEW);
    }
    kept_learn(&one, 2, false, false);
    kept_learn(&one, 3, false, false);
    kept_name(&one, now);
    CHECK(strcmp(first, now) == 0);
    CHECK_EQ_INT(kept_use(&one, 1, 20001), KEPT_GIVE_ANEW);
    kept_name_before(&one, dropped);
    kept_name(&one, now);
    CHECK(strcmp(first, dropped) == 0);
    CHECK(strcmp(first, now) != 0);
}

static void names_hold_where_the_server_is_asked_directly(void)
{
    struct pg_kept kept = {0};
    CHECK(!kept_holds(&kept));
    kept.is_direct = true;
    CHECK(kept_holds(&kept));
    kept.is_refused = true;
    kept_forget(&kept);
    kept.is_direct = true;
    CHECK(!kept_holds(&kept)); /* on no later connection either */
}

int main(void)
{
    RUN(a_text_has_one_name);
    RUN(too_many_have_none);
    RUN(a_plan_is_as_old_as_its_tables);
    RUN(no_name_is_given_twice);
    RUN(a_trip_that_fails_leaves_the_name);
    RUN(names_hold_where_the_server_is_asked_directly);
    return check_done("kept");
}
