/* Money: read, multiplied, divided and printed without losing a millionth. */
#include "domain/money.h"

#include "check.h"

static enum money_parse parse(const char *text, int64_t *ret)
{
    return money_parse(str_of(text), ret);
}

/* The millionths of a text that must be readable. */
static int64_t micros(const char *text)
{
    int64_t value = INT64_MIN;
    CHECK_EQ_INT(parse(text, &value), MONEY_OK);
    return value;
}

static void check_print(int64_t amount, int min_digits, const char *want)
{
    struct buf narrow = {0}, wide = {0};
    money_print(&narrow, amount, min_digits);
    money_print_wide(&wide, amount, min_digits);
    CHECK_STR(narrow, want);
    CHECK_STR(wide, want);
    buf_free(&narrow);
    buf_free(&wide);
}

static void reads_exact_decimals(void)
{
    CHECK_EQ_INT(micros("0"), 0);
    CHECK_EQ_INT(micros("-0"), 0);
    CHECK_EQ_INT(micros("-0.000"), 0);
    CHECK_EQ_INT(micros("0e999999999999999999999"), 0);
    CHECK_EQ_INT(micros("1"), 1000000);
    CHECK_EQ_INT(micros("-1.5"), -1500000);
    CHECK_EQ_INT(micros("1.1"), 1100000);
    CHECK_EQ_INT(micros("1.10"), 1100000);
    CHECK_EQ_INT(micros("0.35"), 350000);
    CHECK_EQ_INT(micros("0.000001"), 1);
    CHECK_EQ_INT(micros("1000000"), 1000000000000);
    CHECK_EQ_INT(micros("1000000000.000001"), 1000000000000001);
    CHECK_EQ_INT(micros("1.0000000000000000000000000"), 1000000);
    CHECK_EQ_INT(micros("10.0000000e-1"), 1000000);
}

static void reads_exponents(void)
{
    CHECK_EQ_INT(micros("5e-06"), 5);
    CHECK_EQ_INT(micros("1E2"), 100000000);
    CHECK_EQ_INT(micros("1e+2"), 100000000);
    CHECK_EQ_INT(micros("12.5e1"), 125000000);
    CHECK_EQ_INT(micros("1000e-3"), 1000000);
    CHECK_EQ_INT(micros("100000000000000000000e-20"), 1000000);
    CHECK_EQ_INT(micros("0.00000000000000000001e20"), 1000000);
    CHECK_EQ_INT(micros("1e000000000000000000000000000001"), 10000000);
}

static void refuses_what_is_too_fine_or_too_large(void)
{
    int64_t untouched = 42;
    static const char *const fine[] = {"0.0000001",
                                       "1.0000001",
                                       "1e-7",
                                       "5e-999999999999999999",
                                       "1e-400",
                                       "15e-7",
                                       "1e-9223372036854775808"};
    for (size_t i = 0; i < ARRAY_LEN(fine); i++)
        CHECK_EQ_INT(parse(fine[i], &untouched), MONEY_TOO_FINE);
    static const char *const large[] = {"1e400",
                                        "1e999999999999999999999999",
                                        "9223372036854.775808",
                                        "-9223372036854.775808",
                                        "99999999999999999999999999999999",
                                        "9223372036855",
                                        "1e13"};
    for (size_t i = 0; i < ARRAY_LEN(large); i++)
        CHECK_EQ_INT(parse(large[i], &untouched), MONEY_TOO_LARGE);
    CHECK_EQ_INT(untouched, 42);
    CHECK_EQ_INT(micros("9223372036854.775807"), INT64_MAX);
    CHECK_EQ_INT(micros("-9223372036854.775807"), -INT64_MAX);
    CHECK_EQ_INT(micros("1e12"), 1000000000000000000);
}

static void refuses_what_is_no_json_number(void)
{
    static const char *const bad[] = {
        "",    " ",  "+1",    "01",    "-01", "00",    "1.",  ".5",    "-",   "-.5", "1.e1",
        "e1",  "1e", "1e+",   "1e-",   "1 ",  " 1",    "1,5", "1.2.3", "0x1", "NaN", "Inf",
        "--1", "1-", "1e1.5", "1e1e1", "١",   "1_000", "$1",  "1.5f",  "nul",
    };
    int64_t untouched = 42;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!CHECK_EQ_INT(parse(bad[i], &untouched), MONEY_INVALID))
            printf("    for \"%s\"\n", bad[i]);
    CHECK_EQ_INT(money_parse(STR_NONE, &untouched), MONEY_INVALID);
    CHECK_EQ_INT(money_parse((struct str){"1\0", 2}, &untouched), MONEY_INVALID);
    CHECK_EQ_INT(untouched, 42);
}

static void reads_very_long_texts_in_one_pass(void)
{
    struct buf text = {0};
    int64_t value = 42;
    buf_add_char(&text, '1');
    for (int i = 0; i < 100000; i++)
        buf_add_char(&text, '0');
    CHECK_EQ_INT(money_parse(buf_str(&text), &value), MONEY_TOO_LARGE);
    buf_add_c(&text, "e-100000");
    CHECK_EQ_INT(money_parse(buf_str(&text), &value), MONEY_OK);
    CHECK_EQ_INT(value, 1000000);
    buf_free(&text);
}

static void prints_at_least_so_many_digits(void)
{
    check_print(125000000, 2, "125.00");
    check_print(12500, 2, "0.0125");
    check_print(-1500000, 2, "-1.50");
    check_print(72000000, 0, "72");
    check_print(72000000, 1, "72.0");
    check_print(72000000, 6, "72.000000");
    check_print(72100000, 0, "72.1");
    check_print(72123456, 0, "72.123456");
    check_print(0, 0, "0");
    check_print(0, 2, "0.00");
    check_print(-1, 2, "-0.000001");
    check_print(1, 0, "0.000001");
    check_print(-100000, 0, "-0.1");
    check_print(INT64_MAX, 2, "9223372036854.775807");
    check_print(INT64_MIN, 2, "-9223372036854.775808");
}

static void prints_sums_beyond_64_bits(void)
{
    struct buf text = {0};
    money_print_wide(&text, (__int128)INT64_MAX * 1000000, 2);
    CHECK_STR(text, "9223372036854775807.00");
    buf_clear(&text);
    __int128 least = (__int128)1 << 126;
    least = -least - least;
    money_print_wide(&text, least, 0);
    CHECK_STR(text, "-170141183460469231731687303715884.105728");
    buf_free(&text);
}

static int64_t reward(const char *revenue, const char *currency, int decimals)
{
    int64_t value = INT64_MIN;
    CHECK(money_reward(micros(revenue), micros(currency), decimals, &value));
    return value;
}

static void rounds_rewards_half_away_from_zero(void)
{
    CHECK_EQ_INT(reward("0.35", "205.714286", 2), 72000000);
    CHECK_EQ_INT(reward("1.1", "100", 2), 110000000);
    CHECK_EQ_INT(reward("0.005", "1", 2), 10000);
    CHECK_EQ_INT(reward("0.004999", "1", 2), 0);
    CHECK_EQ_INT(reward("-0.005", "1", 2), -10000);
    CHECK_EQ_INT(reward("-0.004999", "1", 2), 0);
    CHECK_EQ_INT(reward("0.5", "1", 0), 1000000);
    CHECK_EQ_INT(reward("1.5", "1", 0), 2000000);
    CHECK_EQ_INT(reward("2.5", "1", 0), 3000000);
    CHECK_EQ_INT(reward("2.499999", "1", 0), 2000000);
    CHECK_EQ_INT(reward("0.000001", "0.5", 6), 1);
    CHECK_EQ_INT(reward("0.000001", "0.499999", 6), 0);
    CHECK_EQ_INT(reward("-0.000001", "0.5", 6), -1);
    static const char *const by_decimals[] = {"12",      "12.3",     "12.35",    "12.346",
                                              "12.3457", "12.34568", "12.345679"};
    for (int d = 0; d <= 6; d++)
        CHECK_EQ_INT(reward("12.345679", "1", d), micros(by_decimals[d]));
}

static void multiplies_in_128_bits(void)
{
    int64_t untouched = 42;
    CHECK_EQ_INT(reward("1000", "1000000", 2), MONEY_MAX_REWARD_MICROS);
    CHECK_EQ_INT(reward("-1000", "1000000", 0), -MONEY_MAX_REWARD_MICROS);
    CHECK_EQ_INT(reward("999.999999", "1000000", 6), 999999999000000);
    CHECK(!money_reward(micros("1000.000001"), micros("1000000"), 2, &untouched));
    CHECK(!money_reward(-micros("1000.000001"), micros("1000000"), 2, &untouched));
    CHECK(!money_reward(MONEY_MAX_REVENUE_MICROS, MONEY_MAX_CURRENCY_MICROS, 2, &untouched));
    CHECK(!money_reward(INT64_MAX, INT64_MAX, 6, &untouched));
    CHECK(!money_reward(INT64_MIN, INT64_MAX, 0, &untouched));
    CHECK(!money_reward(INT64_MIN, INT64_MIN, 0, &untouched));
    CHECK_EQ_INT(untouched, 42);
}

/* Rounding up may be what puts a reward out of range, rounding down what keeps it in. */
static void judges_the_rounded_reward(void)
{
    int64_t untouched = 42, value = 0;
    int64_t above_half = 1000000000500000, below_half = 1000000000499999;
    CHECK(!money_reward(above_half, MICROS_PER_UNIT, 0, &untouched));
    CHECK_EQ_INT(untouched, 42);
    CHECK(money_reward(below_half, MICROS_PER_UNIT, 0, &value));
    CHECK_EQ_INT(value, MONEY_MAX_REWARD_MICROS);
}

static void divides_half_away_from_zero(void)
{
    CHECK_EQ_INT(money_divide(10, 4), 3);
    CHECK_EQ_INT(money_divide(-10, 4), -3);
    CHECK_EQ_INT(money_divide(9, 4), 2);
    CHECK_EQ_INT(money_divide(-9, 4), -2);
    CHECK_EQ_INT(money_divide(1, 3), 0);
    CHECK_EQ_INT(money_divide(2, 3), 1);
    CHECK_EQ_INT(money_divide(0, 7), 0);
    CHECK_EQ_INT(money_divide(12500000, 3), 4166667);
    CHECK_EQ_INT(money_divide((__int128)INT64_MAX * 3 + 1, 3), INT64_MAX);
    CHECK_EQ_INT(money_divide((__int128)INT64_MAX * INT64_MAX, 1), INT64_MAX);
    CHECK_EQ_INT(money_divide((__int128)INT64_MIN * INT64_MAX, 1), INT64_MIN);
    CHECK_EQ_INT(money_divide(INT64_MAX, INT64_MAX), 1);
    CHECK_EQ_INT(money_divide(1, INT64_MAX), 0);
    CHECK_ABORTS((void)money_divide(1, 0));
}

static void prints_what_it_reads(void)
{
    struct buf text = {0};
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        int64_t amount = (int64_t)(x >> (x % 60));
        if (x & 64)
            amount = -amount;
        if (amount == INT64_MIN)
            amount = 0;
        buf_clear(&text);
        money_print(&text, amount, (int)(x % 7));
        int64_t back = INT64_MIN;
        if (!CHECK_EQ_INT(money_parse(buf_str(&text), &back), MONEY_OK) ||
            !CHECK_EQ_INT(back, amount))
            break;
    }
    buf_free(&text);
}

int main(void)
{
    RUN(reads_exact_decimals);
    RUN(reads_exponents);
    RUN(refuses_what_is_too_fine_or_too_large);
    RUN(refuses_what_is_no_json_number);
    RUN(reads_very_long_texts_in_one_pass);
    RUN(prints_at_least_so_many_digits);
    RUN(prints_sums_beyond_64_bits);
    RUN(rounds_rewards_half_away_from_zero);
    RUN(multiplies_in_128_bits);
    RUN(judges_the_rounded_reward);
    RUN(divides_half_away_from_zero);
    RUN(prints_what_it_reads);
    return check_done("money");
}
