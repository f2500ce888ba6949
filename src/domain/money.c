/* Exact decimal money.
 *
 * An amount is a whole number of millionths in 64 bits; products and sums use 128 bits.
 * money_reward rounds a reward to the app's decimals, and no other function rounds one. Parsing
 * never loops over an exponent, it only moves the point, so "1e999999999" costs the same as "1". */
#include "domain/money.h"

#define MICRO_DIGITS 6
#define INT64_DIGITS 19 /* digits of INT64_MAX */

static const int64_t power_of_ten[INT64_DIGITS] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
};

/* The parts of a JSON number: where its digits are and how far the exponent moves the point. */
struct number_text {
    bool negative;
    const char *digits; /* from the first digit to the last before the exponent; may hold '.' */
    size_t digits_n;
    size_t fraction_n; /* of them after the point */
    int64_t exponent;  /* saturated far beyond any valid amount */
};

static size_t count_digits(struct str s, size_t from)
{
    size_t i = from;
    while (i < s.n && char_is_digit(s.p[i]))
        i++;
    return i - from;
}

static bool scan_exponent(struct str s, size_t at, int64_t *ret_exponent)
{
    bool negative = at < s.n && s.p[at] == '-';
    if (at < s.n && (s.p[at] == '-' || s.p[at] == '+'))
        at++;
    size_t n = count_digits(s, at);
    if (n == 0 || at + n != s.n)
        return false;
    int64_t value = 0;
    for (; at < s.n; at++)
        if (value < INT64_C(1000000000000))
            value = value * 10 + (s.p[at] - '0');
    *ret_exponent = negative ? -value : value;
    return true;
}

/* RFC 8259, section 6: no leading zeros, no '+', a digit on both sides of the point. */
static bool scan_number(struct str s, struct number_text *ret)
{
    struct number_text t = {0};
    size_t at = 0;
    if (s.n > 0 && s.p[0] == '-') {
        t.negative = true;
        at = 1;
    }
    size_t whole_n = count_digits(s, at);
    if (whole_n == 0 || (whole_n > 1 && s.p[at] == '0'))
        return false;
    t.digits = s.p + at;
    at += whole_n;
    if (at < s.n && s.p[at] == '.') {
        t.fraction_n = count_digits(s, at + 1);
        if (t.fraction_n == 0)
            return false;
        at += 1 + t.fraction_n;
    }
    t.digits_n = (size_t)(s.p + at - t.digits);
    if (at < s.n) {
        if ((s.p[at] != 'e' && s.p[at] != 'E') || !scan_exponent(s, at + 1, &t.exponent))
            return false;
    }
    *ret = t;
    return true;
}

enum money_parse money_parse(struct str text, int64_t *ret_micros)
{
    struct number_text t;
    if (!text.p || !scan_number(text, &t))
        return MONEY_INVALID;

    /* value = digits x 10^scale millionths; zeros at both ends are not significant. */
    int64_t scale = t.exponent - (int64_t)t.fraction_n + MICRO_DIGITS;
    const char *first = t.digits, *end = t.digits + t.digits_n;
    while (first < end && (*first == '0' || *first == '.'))
        first++;
    while (end > first && (end[-1] == '0' || end[-1] == '.')) {
        end--;
        if (*end == '0')
            scale++;
    }
    if (first == end) {
        *ret_micros = 0;
        return MONEY_OK;
    }
    if (scale < 0)
        return MONEY_TOO_FINE;

    /* every step below multiplies a value of at least 1, so it ends or overflows */
    int64_t value = 0;
    for (; first < end; first++) {
        if (*first == '.')
            continue;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *first - '0', &value))
            return MONEY_TOO_LARGE;
    }
    if (scale >= INT64_DIGITS || __builtin_mul_overflow(value, power_of_ten[scale], &value))
        return MONEY_TOO_LARGE;
    *ret_micros = t.negative ? -value : value;
    return MONEY_OK;
}

void money_print_wide(struct buf *to, __int128 micros, int min_digits)
{
    ASSERT(min_digits >= 0 && min_digits <= MICRO_DIGITS);
    char text[48]; /* 39 digits of 2^127, point, sign */
    char *at = text + sizeof text;
    unsigned __int128 u = micros < 0 ? 0 - (unsigned __int128)micros : (unsigned __int128)micros;

    bool printing = false;
    for (int digit = MICRO_DIGITS; digit > 0; digit--) {
        char c = (char)('0' + (int)(u % 10));
        u /= 10;
        printing = printing || c != '0' || digit <= min_digits;
        if (printing)
            *--at = c;
    }
    if (printing)
        *--at = '.';
    do {
        *--at = (char)('0' + (int)(u % 10));
        u /= 10;
    } while (u);
    if (micros < 0)
        *--at = '-';
    buf_add(to, at, (size_t)(text + sizeof text - at));
}

void money_print(struct buf *to, int64_t micros, int min_digits)
{
    ASSERT(min_digits >= 0 && min_digits <= MICRO_DIGITS);
    char text[24]; /* 19 digits, point, sign */
    char *at = text + sizeof text;
    uint64_t u = micros < 0 ? 0 - (uint64_t)micros : (uint64_t)micros;
    uint64_t whole = u / (uint64_t)MICROS_PER_UNIT;
    uint32_t fraction = (uint32_t)(u % (uint64_t)MICROS_PER_UNIT);

    bool printing = false;
    for (int digit = MICRO_DIGITS; digit > 0; digit--) {
        char c = (char)('0' + fraction % 10);
        fraction /= 10;
        printing = printing || c != '0' || digit <= min_digits;
        if (printing)
            *--at = c;
    }
    if (printing)
        *--at = '.';
    do {
        *--at = (char)('0' + whole % 10);
        whole /= 10;
    } while (whole);
    if (micros < 0)
        *--at = '-';
    buf_add(to, at, (size_t)(text + sizeof text - at));
}

/* n / d rounded half away from zero; d > 0. Compares the remainder instead of adding d / 2 to n, to
 * avoid an overflow. */
static __int128 divide_rounded(__int128 n, __int128 d)
{
    __int128 q = n / d, rest = n % d;
    __int128 size = rest < 0 ? -rest : rest;
    if (size >= d - size)
        q += n < 0 ? -1 : 1;
    return q;
}

bool money_reward(int64_t revenue_micros, int64_t currency_micros, int decimals,
                  int64_t *ret_reward_micros)
{
    ASSERT(decimals >= 0 && decimals <= MICRO_DIGITS);
    __int128 product = (__int128)revenue_micros * currency_micros; /* in 10^-12 units */
    __int128 rounded = divide_rounded(product, power_of_ten[2 * MICRO_DIGITS - decimals]);
    int64_t unit = power_of_ten[MICRO_DIGITS - decimals];
    /* checked before the multiplication, which could overflow */
    if (rounded > MONEY_MAX_REWARD_MICROS / unit || rounded < -MONEY_MAX_REWARD_MICROS / unit)
        return false;
    *ret_reward_micros = (int64_t)rounded * unit;
    return true;
}

int64_t money_divide(__int128 sum_micros, int64_t count)
{
    ASSERT(count > 0);
    __int128 q = divide_rounded(sum_micros, count);
    if (q > INT64_MAX)
        return INT64_MAX;
    if (q < INT64_MIN)
        return INT64_MIN;
    return (int64_t)q;
}
