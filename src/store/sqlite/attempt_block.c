/* Writes and reads blocks of attempts; their texts are those of packed/text_pieces.h. */
#include "store/sqlite/attempt_block.h"

#include "base/bytes.h"

#include <stdlib.h>

#define CHUNK_HEAD_BYTES 4
#define TEXTS 5

/* --- writing ---------------------------------------------------------------------------------- */

void attempt_chunk_begin(struct attempt_chunk *c)
{
    struct buf *out = &c->texts.out;
    c->begin = out->n;
    c->before_ms = 0;
    text_writer_begin(&c->texts);
    memset(buf_reserve(out, CHUNK_HEAD_BYTES), 0, CHUNK_HEAD_BYTES);
    out->n += CHUNK_HEAD_BYTES;
}

void attempt_chunk_end(struct attempt_chunk *c)
{
    size_t n = c->texts.out.n - c->begin - CHUNK_HEAD_BYTES;
    ASSERT(n <= UINT32_MAX);
    put_le32(c->texts.out.p + c->begin, (uint32_t)n);
}

static void put_numbers(struct attempt_chunk *c, uint64_t id, const struct attempt *a)
{
    struct buf *out = &c->texts.out;
    number_put(out, id % ATTEMPT_BLOCK_IDS);
    number_put_signed(out, a->number);
    number_put(out, a->manual);
    number_put_signed(out, (int64_t)((uint64_t)a->at_ms - (uint64_t)c->before_ms));
    number_put_signed(out, a->duration_ms);
    number_put_signed(out, a->status);
    number_put(out, a->class);
    c->before_ms = a->at_ms;
}

void attempt_chunk_add(struct attempt_chunk *c, uint64_t id, const struct attempt *a,
                       const struct attempt_facts *facts)
{
    put_numbers(c, id, a);
    text_put(&c->texts, a->url);
    text_put(&c->texts, a->detail);
    text_put_lines(&c->texts, a->request_headers, a, facts);
    text_put_lines(&c->texts, a->response_headers, a, facts);
    text_put(&c->texts, a->response_body);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct chunk_walk {
    struct text_reader texts;
    int64_t before_ms;
};

/* Opens the next chunk of a block. False: there is none. */
static bool next_chunk(struct number_reader *block, struct chunk_walk *ret)
{
    struct str head = number_get_bytes(block, CHUNK_HEAD_BYTES);
    if (block->bad)
        return false;
    struct str bytes = number_get_bytes(block, get_le32(head.p));
    ret->texts.in = number_reader_of(bytes);
    ret->texts.literal_count = 0;
    ret->before_ms = 0;
    return !block->bad;
}

static bool get_numbers(struct chunk_walk *w, unsigned *ret_low, struct attempt *a)
{
    struct number_reader *r = &w->texts.in;
    if (r->at == r->end)
        return false;
    *ret_low = (unsigned)number_get(r);
    a->number = (int32_t)number_get_signed(r);
    a->manual = number_get(r) != 0;
    a->at_ms = (int64_t)((uint64_t)w->before_ms + (uint64_t)number_get_signed(r));
    a->duration_ms = (int32_t)number_get_signed(r);
    a->status = (int32_t)number_get_signed(r);
    uint64_t class = number_get(r);
    r->bad |= class >= ATTEMPT_CLASSES;
    a->class = r->bad ? ATTEMPT_OK : (enum attempt_class) class;
    w->before_ms = a->at_ms;
    return !r->bad;
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
            struct str bytes = text_get(&w->texts, &a, facts, &text, wanted);
            if (wanted)
                *places[i] = arena_str(reading->arena, bytes);
        }
        if (wanted && !w->texts.in.bad)
            reading->visit(reading->context, of, &a);
    }
    buf_free(&text);
}

static void read_block(struct str block, const struct attempts_query *reading)
{
    struct number_reader all = number_reader_of(block);
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

void attempt_block_erase(struct str block, uint64_t id, struct attempt_chunk *ret)
{
    struct number_reader all = number_reader_of(block);
    struct chunk_walk walk;
    struct attempt a = {0};
    unsigned low;
    buf_clear(&ret->texts.out);
    attempt_chunk_begin(ret);
    while (next_chunk(&all, &walk)) {
        while (get_numbers(&walk, &low, &a)) {
            put_numbers(ret, low, &a);
            bool erased = low == id % ATTEMPT_BLOCK_IDS;
            size_t first = ATTEMPT_DETAILS_ERASED & 1u << a.class ? 1 : 2; /* texts[1]: detail */
            for (size_t i = 0; i < TEXTS; i++)
                text_copy(&walk.texts, &ret->texts, erased && i >= first);
        }
    }
    attempt_chunk_end(ret);
}
