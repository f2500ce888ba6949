/* Arithmetic, and numbers in a fixed order of bytes. */
#include "base/arithmetic.h"
#include "base/bytes.h"

#include "check.h"

static void division_rounds_down(void)
{
    CHECK_EQ_INT(floor_div(7, 7), 1);
    CHECK_EQ_INT(floor_div(6, 7), 0);
    CHECK_EQ_INT(floor_div(0, 7), 0);
    CHECK_EQ_INT(floor_div(-1, 7), -1);
    CHECK_EQ_INT(floor_div(-7, 7), -1);
    CHECK_EQ_INT(floor_div(-8, 7), -2);
}

static void one_of_two(void)
{
    CHECK_EQ_INT(int64_max(-1, 2), 2);
    CHECK_EQ_INT(int64_max(2, -1), 2);
    CHECK_EQ_INT(int64_min(-1, 2), -1);
    CHECK_EQ_INT(int64_min(2, -1), -1);
}

static void bytes_have_a_fixed_order(void)
{
    static const char le32[] = "\x04\x03\x02\x81", le64[] = "\x08\x07\x06\x05\x04\x03\x02\x81",
                      be64[] = "\x81\x02\x03\x04\x05\x06\x07\x08";
    const uint64_t number = 0x8102030405060708u;
    char at[9] = {0};
    put_le32(at + 1, 0x81020304u);
    CHECK(memcmp(at + 1, le32, 4) == 0 && at[0] == 0 && at[5] == 0);
    CHECK_EQ_UINT(get_le32(at + 1), 0x81020304u);
    put_le64(at + 1, number);
    CHECK(memcmp(at + 1, le64, 8) == 0 && at[0] == 0);
    CHECK_EQ_UINT(get_le64(at + 1), number);
    put_be64(at + 1, number);
    CHECK(memcmp(at + 1, be64, 8) == 0 && at[0] == 0);
    CHECK_EQ_UINT(get_be64(at + 1), number);
    CHECK_EQ_UINT(get_be32(at + 1), 0x81020304u);
    put_be32(at + 1, 0x04030281u);
    CHECK(memcmp(at + 1, le32, 4) == 0);
}

int main(void)
{
    RUN(division_rounds_down);
    RUN(one_of_two);
    RUN(bytes_have_a_fixed_order);
    return check_done("arithmetic");
}
