/* A state machine over bytes; copies runs of data whole. Line ends must be CR LF everywhere, and
 * sizes plain hexadecimal: with leniency two readers could see two different requests. */
#include "http/chunked.h"

#include "base/limits.h"

/* 16^7 is more than any body may have. */
#define SIZE_DIGITS_MAX 7

enum {
    SIZE,
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER_BEGIN, /* of a line */
    TRAILER,
    TRAILER_LF,
    END_LF,
};

static bool line_char(char c)
{
    return (unsigned char)c >= 0x20 ? c != 0x7f : c == '\t';
}

static enum chunked_result take_size(struct chunked *c, char byte)
{
    int digit = hex_value(byte);
    if (digit >= 0) {
        if (++c->digits > SIZE_DIGITS_MAX)
            return CHUNKED_TOO_LARGE;
        c->chunk_left = c->chunk_left * 16 + (uint64_t)digit;
        return CHUNKED_MORE;
    }
    if (c->digits == 0)
        return CHUNKED_MALFORMED;
    if (byte == '\r')
        c->state = SIZE_LF;
    else if (byte == ';')
        c->state = EXTENSION;
    else
        return CHUNKED_MALFORMED;
    c->line_bytes = 0;
    return CHUNKED_MORE;
}

static enum chunked_result take_line(struct chunked *c, char byte, int at_cr)
{
    if (byte == '\r') {
        c->state = at_cr;
        return CHUNKED_MORE;
    }
    if (!line_char(byte))
        return CHUNKED_MALFORMED;
    c->line_bytes++;
    if (c->state == EXTENSION && c->line_bytes > CHUNKED_EXTENSION_BYTES_MAX)
        return CHUNKED_LONG_EXTENSION;
    if (c->state == TRAILER && c->line_bytes > LIMIT_HEADER_BYTES)
        return CHUNKED_LONG_TRAILERS;
    return CHUNKED_MORE;
}

static void begin_size(struct chunked *c)
{
    c->state = SIZE;
    c->digits = 0;
    c->chunk_left = 0;
}

static enum chunked_result expect(struct chunked *c, char byte, char want, int next)
{
    if (byte != want)
        return CHUNKED_MALFORMED;
    c->state = next;
    return CHUNKED_MORE;
}

static enum chunked_result take_byte(struct chunked *c, char byte)
{
    switch (c->state) {
    case SIZE: return take_size(c, byte);
    case EXTENSION: return take_line(c, byte, SIZE_LF);
    case SIZE_LF:
        c->line_bytes = 0;
        return expect(c, byte, '\n', c->chunk_left ? DATA : TRAILER_BEGIN);
    case DATA_CR: return expect(c, byte, '\r', DATA_LF);
    case DATA_LF:
        if (byte != '\n')
            return CHUNKED_MALFORMED;
        begin_size(c);
        return CHUNKED_MORE;
    case TRAILER_BEGIN:
        if (byte == '\r')
            return expect(c, byte, '\r', END_LF);
        if (byte == ' ' || byte == '\t')
            return CHUNKED_MALFORMED;
        c->state = TRAILER;
        return take_line(c, byte, TRAILER_LF);
    case TRAILER: return take_line(c, byte, TRAILER_LF);
    case TRAILER_LF: return expect(c, byte, '\n', TRAILER_BEGIN);
    case END_LF: return byte == '\n' ? CHUNKED_END : CHUNKED_MALFORMED;
    default: UNREACHABLE();
    }
}

enum chunked_result chunked_decode(struct chunked *c, const char *p, size_t n, struct buf *body,
                                   size_t max_bytes, size_t *ret_used)
{
    size_t at = 0;
    while (at < n) {
        if (c->state == DATA) {
            size_t run = c->chunk_left < n - at ? (size_t)c->chunk_left : n - at;
            buf_add(body, p + at, run);
            at += run;
            c->chunk_left -= run;
            if (c->chunk_left == 0)
                c->state = DATA_CR;
            continue;
        }
        enum chunked_result result = take_byte(c, p[at++]);
        if (result == CHUNKED_MORE && c->state == DATA && c->chunk_left > max_bytes - body->n)
            result = CHUNKED_TOO_LARGE;
        if (result != CHUNKED_MORE) {
            *ret_used = at;
            return result;
        }
    }
    *ret_used = at;
    return CHUNKED_MORE;
}
