/* Amounts from outside: what is read prints to a text that reads as the same amount, and the
 * rounded product is never further from the exact one than half a unit. */
#include "fuzz.h"

#include "domain/money.h"

static void check_round_trip(int64_t micros, int min_digits)
{
    struct buf text = {0};
    int64_t back = 0;
    money_print(&text, micros, min_digits);
    ASSERT(money_parse(buf_str(&text), &back) == MONEY_OK);
    ASSERT(back == micros);
    buf_free(&text);
}

static void check_product(int64_t revenue, int64_t currency, int decimals)
{
    int64_t reward, unit = 1;
    for (int i = decimals; i < 6; i++)
        unit *= 10;
    if (!money_reward(revenue, currency, decimals, &reward))
        return;
    __int128 off = (__int128)reward * MICROS_PER_UNIT - (__int128)revenue * currency;
    ASSERT(2 * (off < 0 ? -off : off) <= (__int128)unit * MICROS_PER_UNIT);
    ASSERT(reward % unit == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    /* "AMOUNT,AMOUNT": the second serves as the ratio. */
    struct str rest = {(const char *)data, data_bytes};
    struct str first = data_bytes ? str_cut(&rest, ',') : STR_NONE;
    int digits = (int)(data_bytes % 7);
    int64_t a = INT64_MIN, b = INT64_MIN;
    enum money_parse parsed = money_parse(first, &a);
    ASSERT((parsed == MONEY_OK) == (a != INT64_MIN));
    if (parsed == MONEY_OK)
        check_round_trip(a, digits);
    if (money_parse(rest, &b) == MONEY_OK && parsed == MONEY_OK)
        check_product(a, b, digits);
    return 0;
}
