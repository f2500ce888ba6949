/* Packed, the 24 bytes of trace id and parent id are six numbers of five digits each, in base 85
 * with the alphabet of Z85 (https://rfc.zeromq.org/spec/32/). The two hex digits of the flags
 * follow as they are. */
#include "domain/traceparent.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NUMBERS 6
#define DIGITS 5 /* 85^5 is more than 2^32 */
#define FLAGS_AT (TRACEPARENT_BYTES - 2)
#define NO_TRACE_ID "00000000000000000000" /* packed; what a body without a traceparent has */

static const char alphabet[] =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/* Where the eight hex digits of each number stand in the text. */
static const size_t places[NUMBERS] = {3, 11, 19, 27, 36, 44};

static bool is_hex(struct str s, size_t at, size_t n)
{
    for (size_t i = at; i < at + n; i++)
        if (hex_value(s.p[i]) < 0 || char_lower(s.p[i]) != s.p[i])
            return false;
    return true;
}

/* An id of zeros only is invalid. */
static bool is_id(struct str s, size_t at, size_t n)
{
    bool is_zero = true;
    for (size_t i = at; i < at + n; i++)
        is_zero &= s.p[i] == '0';
    return !is_zero && is_hex(s, at, n);
}

/* A later version may be longer. */
struct str traceparent_trace_id(struct str header)
{
    bool good = header.n >= TRACEPARENT_BYTES && header.p[2] == '-' && header.p[35] == '-' &&
                header.p[52] == '-' && is_hex(header, 0, 2) && is_id(header, 3, 32) &&
                is_id(header, 36, 16) && is_hex(header, FLAGS_AT, 2);
    bool is_first = good && str_has_prefix(header, "00");
    if (!good || str_has_prefix(header, "ff") ||
        (header.n > TRACEPARENT_BYTES && (is_first || header.p[TRACEPARENT_BYTES] != '-')))
        return STR_NONE;
    return (struct str){header.p + 3, 32};
}

static uint32_t number_at(const char *hex)
{
    uint32_t v = 0;
    for (size_t i = 0; i < 8; i++)
        v = v << 4 | (uint32_t)hex_value(hex[i]);
    return v;
}

struct str traceparent_pack(struct str header, struct arena *arena)
{
    if (!traceparent_trace_id(header).p || !str_has_prefix(header, "00"))
        return STR_NONE;
    char *packed = arena_alloc(arena, TRACEPARENT_PACKED_BYTES);
    for (size_t i = 0; i < NUMBERS; i++) {
        uint32_t v = number_at(header.p + places[i]);
        for (size_t digit = DIGITS; digit-- > 0; v /= 85)
            packed[i * DIGITS + digit] = alphabet[v % 85];
    }
    memcpy(packed + NUMBERS * DIGITS, header.p + FLAGS_AT, 2);
    return (struct str){packed, TRACEPARENT_PACKED_BYTES};
}

bool traceparent_unpack(const char packed[TRACEPARENT_PACKED_BYTES],
                        char ret_text[TRACEPARENT_BYTES + 1])
{
    uint32_t v[NUMBERS];
    if (memcmp(packed, NO_TRACE_ID, sizeof NO_TRACE_ID - 1) == 0)
        return false;
    for (size_t i = 0; i < NUMBERS; i++) {
        uint64_t number = 0;
        for (size_t digit = 0; digit < DIGITS; digit++) {
            const char *place = memchr(alphabet, packed[i * DIGITS + digit], 85);
            if (!place)
                return false;
            number = number * 85 + (uint64_t)(place - alphabet);
        }
        if (number > UINT32_MAX)
            return false;
        v[i] = (uint32_t)number;
    }
    const char *flags = packed + NUMBERS * DIGITS;
    char text[TRACEPARENT_BYTES + 1];
    snprintf(text, sizeof text, "00-%08x%08x%08x%08x-%08x%08x-%.2s", v[0], v[1], v[2], v[3], v[4],
             v[5], flags);
    if (!traceparent_trace_id((struct str){text, TRACEPARENT_BYTES}).p)
        return false;
    memcpy(ret_text, text, sizeof text);
    return true;
}
