/* Writes and reads texts of attempts, which store repeated parts only once. A text is split at the
 * lines that can be printed from other facts (text_pieces.h). All lines between two of these are
 * one literal, so that headers that never change are found as a whole. */
#include "store/packed/text_pieces.h"

#include "store/packed/line_pieces.h"

/* --- writing ---------------------------------------------------------------------------------- */

void text_writer_begin(struct text_writer *w)
{
    w->literal_count = 0;
    memset(w->heads, 0, sizeof w->heads);
}

/* A hash of a few bytes: there are few literals, and candidates are compared whole. */
static size_t literal_hash(struct str text)
{
    uint64_t first = 0, last = 0;
    size_t n = text.n < 8 ? text.n : 8;
    memcpy(&first, text.p, n);
    memcpy(&last, text.p + text.n - n, n);
    uint64_t h = (first ^ last * 0x9e3779b97f4a7c15u ^ text.n) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 55);
}

static void put_literal(struct text_writer *w, struct str text)
{
    if (text.n == 0)
        return;
    uint16_t *head = &w->heads[literal_hash(text)];
    for (uint32_t at = *head; at != 0; at = w->literals[at - 1].next) {
        if (str_eq(w->literals[at - 1].text, text)) {
            number_put(&w->out, PIECE_LITERAL + (at - 1) * 2 + 1);
            return;
        }
    }
    number_put(&w->out, PIECE_LITERAL + (uint64_t)text.n * 2);
    buf_add_str(&w->out, text);
    if (w->literal_count == TEXT_LITERALS)
        return;
    w->literals[w->literal_count++] = (struct text_literal){text, *head};
    *head = (uint16_t)w->literal_count;
}

void text_put(struct text_writer *w, struct str text)
{
    if (!text.p) {
        number_put(&w->out, PIECE_ABSENT);
        return;
    }
    put_literal(w, text);
    number_put(&w->out, PIECE_END);
}

void text_put_lines(struct text_writer *w, struct str text, const struct attempt *a,
                    const struct attempt_facts *facts)
{
    if (!text.p) {
        number_put(&w->out, PIECE_ABSENT);
        return;
    }
    /* literal: not written yet; it ends where rest begins */
    struct str literal = {text.p, 0}, rest = text;
    while (rest.n > 0) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct str line = {rest.p, end ? (size_t)(end - rest.p) + 1 : rest.n};
        rest = (struct str){rest.p + line.n, rest.n - line.n};
        if (line.p[0] != 'w' && line.p[0] != 'P' && line.p[0] != 'D') {
            literal.n += line.n;
            continue;
        }
        put_literal(w, literal);
        bool told = piece_put_line(w, line, a, facts);
        literal = told ? (struct str){rest.p, 0} : line;
    }
    put_literal(w, literal);
    number_put(&w->out, PIECE_END);
}

/* --- reading ---------------------------------------------------------------------------------- */

static struct str get_literal(struct text_reader *r, uint64_t piece)
{
    uint64_t v = (piece - PIECE_LITERAL) / 2;
    if (piece % 2 == 0) {
        struct str text = number_get_bytes(&r->in, v);
        if (r->literal_count < TEXT_LITERALS)
            r->literals[r->literal_count++] = text;
        return text;
    }
    if (v < r->literal_count)
        return r->literals[v];
    r->in.bad = true;
    return (struct str){"", 0};
}

struct str text_get(struct text_reader *r, const struct attempt *a,
                    const struct attempt_facts *facts, struct buf *text, bool wanted)
{
    buf_clear(text);
    for (bool first = true; !r->in.bad; first = false) {
        uint64_t piece = number_get(&r->in);
        if (piece == PIECE_END)
            return buf_str(text);
        if (piece == PIECE_ABSENT) {
            r->in.bad |= !first;
            return STR_NONE;
        }
        if (piece >= PIECE_LITERAL) {
            struct str literal = get_literal(r, piece);
            if (wanted)
                buf_add_str(text, literal);
        } else {
            piece_print(text, (enum attempt_piece)piece, &r->in, a, facts);
        }
    }
    return STR_NONE;
}

void text_copy(struct text_reader *from, struct text_writer *to, bool erased)
{
    struct number_reader *r = &from->in;
    struct buf none = {0};
    if (erased)
        number_put(&to->out, PIECE_ABSENT);
    while (!r->bad) {
        uint64_t piece = number_get(r);
        struct str literal = {0};
        if (piece >= PIECE_LITERAL)
            literal = get_literal(from, piece);
        if (piece >= PIECE_LITERAL && !erased)
            put_literal(to, literal);
        else if (piece < PIECE_LITERAL)
            piece_copy(erased ? &none : &to->out, (enum attempt_piece)piece, r);
        if (piece == PIECE_END || piece == PIECE_ABSENT)
            break;
    }
    buf_free(&none);
}
