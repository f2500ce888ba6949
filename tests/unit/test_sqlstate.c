/* Which errors pass, which break the connection, and that any other one is refused. */
#include "check.h"

#include "base/check.h"
#include "store/postgresql/refusals.h"

#include <stdio.h>
#include <string.h>

static void known_ones_pass_or_lose_the_connection(void)
{
    static const char *const passing[] = {"40001", "40P01", "55P03", "55006", "57014", "53100"};
    static const char *const lost[] = {"08006", "57P01", "57P03", "25P03", "25006", "40003"};
    for (size_t i = 0; i < ARRAY_LEN(passing); i++)
        CHECK_EQ_INT(sqlstate_fate(passing[i]), PG_NOT_NOW);
    for (size_t i = 0; i < ARRAY_LEN(lost); i++)
        CHECK_EQ_INT(sqlstate_fate(lost[i]), PG_LOST);
}

static void any_other_is_refused(void)
{
    static const char *const refused[] = {"0A000", "22021", "23505", "42P01", "58P01",
                                          "P0001", "XX000", "ZZZZZ", ""};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        CHECK_EQ_INT(sqlstate_fate(refused[i]), PG_REFUSED);
    CHECK(sqlstate_is_of_data("22021"));
    CHECK(!sqlstate_is_of_data("23505"));
    CHECK(sqlstate_is_internal("XX000"));
    CHECK(!sqlstate_is_internal("58030"));
}

static void the_last_one_is_remembered(void)
{
    struct pg_refusals r = {0};
    char state[SQLSTATE_BYTES];
    CHECK_EQ_INT(refusals_last(&r, state), -1);
    CHECK(state[0] == 0);
    refusals_note(&r, "XX000", "why");
    refusals_note(&r, "0A000", "why");
    CHECK(refusals_last(&r, state) >= 0);
    CHECK(strcmp(state, "0A000") == 0);
    CHECK_EQ_INT(atomic_load(&r.count), 2);
}

int main(void)
{
    RUN(known_ones_pass_or_lose_the_connection);
    RUN(any_other_is_refused);
    RUN(the_last_one_is_remembered);
    return check_done("sqlstate");
}
