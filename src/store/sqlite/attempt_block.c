/* Writes and reads chunks, which store repeated texts only once. A text is split at the lines that
 * can be printed from other facts (attempt_block.h). All lines between two of these are one
 * literal, so that headers that never change are found as a whole. */
#include "store/sqlite/attempt_block.h"

#include <stdlib.h>

#include "store/sqlite/attempt_pieces.h"

#define CHUNK_HEAD_BYTES 4
#define TEXTS 5

/* --- writing ---------------------------------------------------------------------------------- */

void attempt_chunk_begin(struct attempt_chunk *c)
{
    c->begin = c->out.n;
    c->before_ms = 0;
    c->literal_count = 0;
    memset(c->heads, 0, sizeof c->heads);
    memset(buf_reserve(&c->out, CHUNK_HEAD_BYTES), 0, CHUNK_HEAD_BYTES);
    c->out.n += CHUNK_HEAD_BYTES;
}

void attempt_chunk_end(struct attempt_chunk *c)
{
    size_t n = c->out.n - c->begin - CHUNK_HEAD_BYTES;
    ASSERT(n <= UINT32_MAX);
    for (int i = 0; i < CHUNK_HEAD_BYTES; i++)
        c->out.p[c->begin + (size_t)i] = (char)(n >> (8 * i));
}

/* A hash of a few bytes: a chunk has few literals, and candidates are compared whole. */
static size_t literal_hash(struct str text)
{
    uint64_t first = 0, last = 0;
    size_t n = text.n < 8 ? text.n : 8;
    memcpy(&first, text.p, n);
    memcpy(&last, text.p + text.n - n, n);
    uint64_t h = (first ^ last * 0x9e3779b97f4a7c15u ^ text.n) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 55);
}

static void put_literal(struct attempt_chunk *c, struct str text)
{
    if (text.n == 0)
        return;
    uint16_t *head = &c->heads[literal_hash(text)];
    for (uint32_t at = *head; at != 0; at = c->literals[at - 1].next) {
        if (str_eq(c->literals[at - 1].text, text)) {
            piece_put(&c->out, PIECE_LITERAL + (at - 1) * 2 + 1);
            return;
        }
    }
    piece_put(&c->out, PIECE_LITERAL + (uint64_t)text.n * 2);
    buf_add_str(&c->out, text);
    if (c->literal_count == ATTEMPT_LITERALS)
        return;
    c->literals[c->literal_count++] = (struct attempt_literal){text, *head};
    *head = (uint16_t)c->literal_count;
}

static void put_text(struct attempt_chunk *c, struct str text)
{
    if (!text.p) {
        piece_put(&c->out, PIECE_ABSENT);
        return;
    }
    put_literal(c, text);
    piece_put(&c->out, PIECE_END);
}

static void put_lines(struct attempt_chunk *c, struct str text, const struct attempt *a,
                      const struct attempt_facts *facts)
{
    if (!text.p) {
        piece_put(&c->out, PIECE_ABSENT);
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
        put_literal(c, literal);
        bool told = piece_put_line(c, line, a, facts);
        literal = told ? (struct str){rest.p, 0} : line;
    }
    put_literal(c, literal);
    piece_put(&c->out, PIECE_END);
}

static void put_numbers(struct attempt_chunk *c, uint64_t id, const struct attempt *a)
{
    piece_put(&c->out, id % ATTEMPT_BLOCK_IDS);
    piece_put_signed(&c->out, a->number);
    piece_put(&c->out, a->manual);
    piece_put_signed(&c->out, (int64_t)((uint64_t)a->at_ms - (uint64_t)c->before_ms));
    piece_put_signed(&c->out, a->duration_ms);
    piece_put_signed(&c->out, a->status);
    piece_put(&c->out, a->class);
    c->before_ms = a->at_ms;
}

void attempt_chunk_add(struct attempt_chunk *c, uint64_t id, const struct attempt *a,
                       const struct attempt_facts *facts)
{
    put_numbers(c, id, a);
    put_text(c, a->url);
    put_text(c, a->detail);
    put_lines(c, a->request_headers, a, facts);
    put_lines(c, a->response_headers, a, facts);
    put_text(c, a->response_body);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct chunk_walk {
    struct piece_reader in;
    int64_t before_ms;
    uint32_t literal_count;
    struct str literals[ATTEMPT_LITERALS];
};

/* Opens the next chunk of a block. False: there is none. */
static bool next_chunk(struct piece_reader *block, struct chunk_walk *ret)
{
    struct str head = piece_get_bytes(block, CHUNK_HEAD_BYTES);
    if (block->bad)
        return false;
    uint32_t n = 0;
    for (int i = 0; i < CHUNK_HEAD_BYTES; i++)
        n |= (uint32_t)(unsigned char)head.p[i] << (8 * i);
    struct str bytes = piece_get_bytes(block, n);
    const unsigned char *at = (const unsigned char *)bytes.p;
    ret->in = (struct piece_reader){at, at + bytes.n, false};
    ret->before_ms = 0;
    ret->literal_count = 0;
    return !block->bad;
}

static bool get_numbers(struct chunk_walk *w, unsigned *ret_low, struct attempt *a)
{
    struct piece_reader *r = &w->in;
    if (r->at == r->end)
        return false;
    *ret_low = (unsigned)piece_get(r);
    a->number = (int32_t)piece_get_signed(r);
    a->manual = piece_get(r) != 0;
    a->at_ms = (int64_t)((uint64_t)w->before_ms + (uint64_t)piece_get_signed(r));
    a->duration_ms = (int32_t)piece_get_signed(r);
    a->status = (int32_t)piece_get_signed(r);
    uint64_t class = piece_get(r);
    r->bad |= class >= ATTEMPT_CLASSES;
    a->class = r->bad ? ATTEMPT_OK : (enum attempt_class) class;
    w->before_ms = a->at_ms;
    return !r->bad;
}

static struct str get_literal(struct chunk_walk *w, uint64_t piece)
{
    uint64_t v = (piece - PIECE_LITERAL) / 2;
    if (piece % 2 == 0) {
        struct str text = piece_get_bytes(&w->in, v);
        if (w->literal_count < ATTEMPT_LITERALS)
            w->literals[w->literal_count++] = text;
        return text;
    }
    if (v < w->literal_count)
        return w->literals[v];
    w->in.bad = true;
    return (struct str){"", 0};
}

/* wanted: into the buffer; otherwise skipped. */
static struct str get_text(struct chunk_walk *w, const struct attempt *a,
                           const struct attempt_facts *facts, struct buf *text, bool wanted)
{
    struct piece_reader *r = &w->in;
    buf_clear(text);
    for (bool first = true; !r->bad; first = false) {
        uint64_t piece = piece_get(r);
        if (piece == PIECE_END)
            return buf_str(text);
        if (piece == PIECE_ABSENT) {
            r->bad |= !first;
            return STR_NONE;
        }
        if (piece >= PIECE_LITERAL) {
            struct str literal = get_literal(w, piece);
            if (wanted)
                buf_add_str(text, literal);
        } else {
            piece_print(text, (enum attempt_piece)piece, r, a, facts);
        }
    }
    return STR_NONE;
}

static void text_places(struct attempt *a, struct str *ret_places[TEXTS])
{
    ret_places[0] = &a->url;
    ret_places[1] = &a->detail;
    ret_places[2] = &a->request_headers;
    ret_places[3] = &a->response_headers;
    ret_places[4] = &a->response_body;
}

/* The attempts to read, and the facts of their events. */
struct attempts_query {
    unsigned low;                      /* ATTEMPT_BLOCK_IDS: those of all events */
    const struct attempt_facts *facts; /* of one event, or of each in the block */
    struct arena *arena;
    attempt_of_visitor visit;
    void *context;
};

static void read_chunk(struct chunk_walk *w, const struct attempts_query *reading)
{
    struct attempt a;
    struct buf text = {0};
    unsigned of;
    bool all = reading->low == ATTEMPT_BLOCK_IDS;
    while (a = (struct attempt){0}, get_numbers(w, &of, &a)) {
        struct str *places[TEXTS];
        bool wanted = all || of == reading->low;
        const struct attempt_facts *facts = &reading->facts[all && of < ATTEMPT_BLOCK_IDS ? of : 0];
        text_places(&a, places);
        for (size_t i = 0; i < TEXTS; i++) {
            struct str bytes = get_text(w, &a, facts, &text, wanted);
            if (wanted)
                *places[i] = arena_str(reading->arena, bytes);
        }
        if (wanted && !w->in.bad)
            reading->visit(reading->context, of, &a);
    }
    buf_free(&text);
}

static struct piece_reader reader_of(struct str block)
{
    const unsigned char *at = (const unsigned char *)block.p;
    return (struct piece_reader){at, at + block.n, false};
}

static void read_block(struct str block, const struct attempts_query *reading)
{
    struct piece_reader all = reader_of(block);
    struct chunk_walk walk;
    while (next_chunk(&all, &walk))
        read_chunk(&walk, reading);
}

struct visiting_one {
    attempt_visitor visit;
    void *context;
};

static void visit_one(void *context, unsigned low, const struct attempt *a)
{
    const struct visiting_one *one = context;
    (void)low;
    one->visit(one->context, a);
}

void attempt_block_read(struct str block, uint64_t id, const struct attempt_facts *facts,
                        struct arena *arena, attempt_visitor visit, void *context)
{
    struct visiting_one one = {visit, context};
    read_block(block,
               &(struct attempts_query){id % ATTEMPT_BLOCK_IDS, facts, arena, visit_one, &one});
}

void attempt_block_read_all(struct str block, const struct attempt_facts facts[ATTEMPT_BLOCK_IDS],
                            struct arena *arena, attempt_of_visitor visit, void *context)
{
    read_block(block, &(struct attempts_query){ATTEMPT_BLOCK_IDS, facts, arena, visit, context});
}

/* --- erasing ---------------------------------------------------------------------------------- */

/* Copies a text piece by piece, which needs no facts. */
static void copy_text(struct chunk_walk *from, struct attempt_chunk *to, bool erased)
{
    struct piece_reader *r = &from->in;
    struct buf none = {0};
    if (erased)
        piece_put(&to->out, PIECE_ABSENT);
    while (!r->bad) {
        uint64_t piece = piece_get(r);
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

void attempt_block_erase(struct str block, uint64_t id, struct attempt_chunk *ret)
{
    struct piece_reader all = reader_of(block);
    struct chunk_walk walk;
    struct attempt a = {0};
    unsigned low;
    buf_clear(&ret->out);
    attempt_chunk_begin(ret);
    while (next_chunk(&all, &walk)) {
        while (get_numbers(&walk, &low, &a)) {
            put_numbers(ret, low, &a);
            bool erased = low == id % ATTEMPT_BLOCK_IDS;
            size_t first = ATTEMPT_DETAILS_ERASED & 1u << a.class ? 1 : 2; /* texts[1]: detail */
            for (size_t i = 0; i < TEXTS; i++)
                copy_text(&walk, ret, erased && i >= first);
        }
    }
    attempt_chunk_end(ret);
}
