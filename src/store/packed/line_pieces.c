/* A line becomes a piece only if the piece prints the same line; where a value has several
 * spellings, the line is compared with the printed one. */
#include "store/packed/line_pieces.h"

#include "domain/clock.h"

#define LAST_DATE_S INT64_C(253402300799) /* the end of the year 9999 */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#define NAME(text)                                                                                 \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }
static const struct str line_names[PIECE_LITERAL] = {
    [PIECE_ID] = NAME("webhook-id: "),
    [PIECE_TIMESTAMP] = NAME("webhook-timestamp: "),
    [PIECE_SIGNATURE] = NAME("webhook-signature: "),
    [PIECE_NUMBER] = NAME("Postbackd-Attempt: "),
    [PIECE_EVENT_TIME] = NAME("Postbackd-Event-Time: "),
    [PIECE_DATE] = NAME("Date: "),
};

/* --- signatures ------------------------------------------------------------------------------- */

/* A digit's value + 1; 0: not a digit. */
static const unsigned char digit_places[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

static unsigned read_digit(unsigned char c, unsigned *wrong)
{
    unsigned place = digit_places[c];
    *wrong |= place == 0;
    return (place - 1) & 63;
}

static bool read_signature(struct str value, unsigned char ret[ATTEMPT_SIGNATURE_BYTES])
{
    if (value.n != ATTEMPT_SIGNATURE_TEXT || memcmp(value.p, "v1,", 3) != 0 ||
        value.p[value.n - 1] != '=')
        return false;
    /* ten times four digits for three bytes, then three digits for two bytes */
    const unsigned char *at = (const unsigned char *)value.p + 3;
    unsigned held, wrong = 0;
    for (size_t n = 0; n < ATTEMPT_SIGNATURE_BYTES - 2; n += 3) {
        held = read_digit(*at++, &wrong) << 18;
        held |= read_digit(*at++, &wrong) << 12;
        held |= read_digit(*at++, &wrong) << 6;
        held |= read_digit(*at++, &wrong);
        ret[n] = (unsigned char)(held >> 16);
        ret[n + 1] = (unsigned char)(held >> 8);
        ret[n + 2] = (unsigned char)held;
    }
    held = read_digit(*at++, &wrong) << 12;
    held |= read_digit(*at++, &wrong) << 6;
    held |= read_digit(*at, &wrong);
    ret[ATTEMPT_SIGNATURE_BYTES - 2] = (unsigned char)(held >> 10);
    ret[ATTEMPT_SIGNATURE_BYTES - 1] = (unsigned char)(held >> 2);
    return !wrong && (held & 3) == 0; /* the unused bits must be 0 to print the same text */
}

static void print_signature(struct buf *to, struct str bytes)
{
    char *at = buf_reserve(to, ATTEMPT_SIGNATURE_TEXT);
    unsigned bits = 0, held = 0;
    memcpy(at, "v1,", 3);
    at += 3;
    for (size_t i = 0; i < bytes.n; i++) {
        held = (held << 8 | (unsigned char)bytes.p[i]) & 0xffffu;
        for (bits += 8; bits >= 6; bits -= 6)
            *at++ = base64_digits[held >> (bits - 6) & 63];
    }
    *at++ = base64_digits[held << (6 - bits) & 63];
    *at = '=';
    to->n += ATTEMPT_SIGNATURE_TEXT;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The only piece that the line may be, by the bytes in which the names differ. */
static enum attempt_piece piece_of(struct str line)
{
    switch (line.p[0]) {
    case 'w':
        if (line.n < sizeof "webhook-id")
            return PIECE_LITERAL;
        return line.p[8] == 'i' ? PIECE_ID : line.p[8] == 't' ? PIECE_TIMESTAMP : PIECE_SIGNATURE;
    case 'P':
        if (line.n < sizeof "Postbackd-A")
            return PIECE_LITERAL;
        return line.p[10] == 'A' ? PIECE_NUMBER : PIECE_EVENT_TIME;
    case 'D': return PIECE_DATE;
    default: return PIECE_LITERAL;
    }
}

static bool put_id(struct buf *to, struct str value, const struct attempt_facts *facts)
{
    if (!facts->event_id.p || !str_eq(value, facts->event_id))
        return false;
    number_put(to, PIECE_ID);
    return true;
}

static bool put_timestamp(struct buf *to, struct str value, int64_t at_ms)
{
    uint64_t s;
    if (value.n > 12 || !str_parse_uint(value, INT64_MAX, &s) || value.p[0] == '0')
        return false;
    number_put(to, PIECE_TIMESTAMP);
    number_put_signed(to, (int64_t)s - at_ms / 1000);
    return true;
}

static bool put_signature(struct buf *to, struct str value)
{
    unsigned char bytes[ATTEMPT_SIGNATURE_BYTES];
    if (!read_signature(value, bytes))
        return false;
    number_put(to, PIECE_SIGNATURE);
    buf_add(to, bytes, sizeof bytes);
    return true;
}

static bool put_number(struct buf *to, struct str value, int32_t number)
{
    char text[12];
    size_t at = sizeof text;
    uint32_t left = (uint32_t)number;
    if (number < 0)
        return false;
    do {
        text[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value.n != sizeof text - at || memcmp(value.p, text + at, value.n) != 0)
        return false;
    number_put(to, PIECE_NUMBER);
    return true;
}

static bool put_event_time(struct buf *to, struct str value, const struct attempt_facts *facts)
{
    if (!facts->event_id.p)
        return false;
    /* prints to the place where the piece will be, which is shorter */
    size_t n = to->n;
    clock_print(to, facts->occurred_ms);
    bool same = to->n - n == value.n && memcmp(to->p + n, value.p, value.n) == 0;
    to->n = n;
    if (same)
        number_put(to, PIECE_EVENT_TIME);
    return same;
}

static bool read_date(struct buf *room, struct str value, struct text_date *ret)
{
    int64_t ms;
    if (!clock_parse_http_date(value, &ms) || ms < 0)
        return false;
    size_t n = room->n;
    clock_print_http_date(room, ms);
    bool same = room->n - n == value.n && memcmp(room->p + n, value.p, value.n) == 0;
    room->n = n;
    if (!same)
        return false;
    memcpy(ret->text, value.p, value.n);
    ret->n = value.n;
    ret->s = ms / 1000;
    return true;
}

/* Responses of one second have the same date, so it is parsed once. Attempts of several seconds are
 * mixed, so several dates are cached, by the last digit of their seconds. */
static bool put_date(struct text_writer *w, struct str value, int64_t at_ms)
{
    if (value.n < sizeof "0 GMT" - 1 || value.n > sizeof w->dates[0].text)
        return false;
    struct text_date *date =
        &w->dates[(unsigned char)value.p[value.n - (sizeof "0 GMT" - 1)] % TEXT_DATES];
    if (!str_eq(value, (struct str){date->text, date->n}) && !read_date(&w->out, value, date))
        return false;
    number_put(&w->out, PIECE_DATE);
    number_put_signed(&w->out, date->s - at_ms / 1000);
    return true;
}

bool piece_put_line(struct text_writer *w, struct str line, const struct attempt *a,
                    const struct attempt_facts *facts)
{
    enum attempt_piece piece = piece_of(line);
    if (piece == PIECE_LITERAL || line.p[line.n - 1] != '\n')
        return false;
    struct str name = line_names[piece];
    if (line.n <= name.n || memcmp(line.p, name.p, name.n) != 0)
        return false;
    struct str value = {line.p + name.n, line.n - name.n - 1};
    switch (piece) {
    case PIECE_ID: return put_id(&w->out, value, facts);
    case PIECE_TIMESTAMP: return put_timestamp(&w->out, value, a->at_ms);
    case PIECE_SIGNATURE: return put_signature(&w->out, value);
    case PIECE_NUMBER: return put_number(&w->out, value, a->number);
    case PIECE_EVENT_TIME: return put_event_time(&w->out, value, facts);
    default: return put_date(w, value, a->at_ms);
    }
}

/* at_ms / 1000 plus the next number; unsigned, because damaged bytes may overflow. */
static int64_t get_seconds(struct number_reader *r, const struct attempt *a)
{
    return (int64_t)((uint64_t)(a->at_ms / 1000) + (uint64_t)number_get_signed(r));
}

static void print_date(struct buf *to, int64_t s, struct number_reader *r)
{
    if (s < 0 || s > LAST_DATE_S)
        r->bad = true;
    else
        clock_print_http_date(to, s * 1000);
}

void piece_print(struct buf *to, enum attempt_piece piece, struct number_reader *r,
                 const struct attempt *a, const struct attempt_facts *facts)
{
    struct str name = line_names[piece];
    if (!name.p) {
        r->bad = true;
        return;
    }
    buf_add_str(to, name);
    switch (piece) {
    case PIECE_ID: buf_add_str(to, facts->event_id); break;
    case PIECE_TIMESTAMP: buf_add_int(to, get_seconds(r, a)); break;
    case PIECE_SIGNATURE: print_signature(to, number_get_bytes(r, ATTEMPT_SIGNATURE_BYTES)); break;
    case PIECE_NUMBER: buf_add_int(to, a->number); break;
    case PIECE_EVENT_TIME: clock_print(to, facts->occurred_ms); break;
    case PIECE_DATE: print_date(to, get_seconds(r, a), r); break;
    case PIECE_END:
    case PIECE_ABSENT:
    case PIECE_LITERAL: r->bad = true; break;
    }
    buf_add_char(to, '\n');
}

void piece_copy(struct buf *to, enum attempt_piece piece, struct number_reader *r)
{
    number_put(to, piece);
    if (piece == PIECE_TIMESTAMP || piece == PIECE_DATE)
        number_put_signed(to, number_get_signed(r));
    else if (piece == PIECE_SIGNATURE)
        buf_add_str(to, number_get_bytes(r, ATTEMPT_SIGNATURE_BYTES));
}
