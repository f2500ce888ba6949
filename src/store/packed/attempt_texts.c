/* Packs and reads what an attempt sent and got: see attempt_texts.h. */
#include "store/packed/attempt_texts.h"

void attempt_packer_free(struct attempt_packer *p)
{
    buf_free(&p->writer.out);
    text_packer_free(&p->text);
}

struct str attempt_texts_pack(struct attempt_packer *p, const struct attempt *a,
                              const struct attempt_facts *facts)
{
    struct text_writer *w = &p->writer;
    if (!a->request_headers.p && !a->response_headers.p && !a->response_body.p)
        return STR_NONE;
    buf_clear(&w->out);
    text_writer_begin(w);
    text_put_lines(w, a->request_headers, a, facts);
    text_put_lines(w, a->response_headers, a, facts);
    text_put(w, a->response_body);
    return text_pack(&p->text, buf_str(&w->out));
}

bool attempt_texts_read(struct str packed, const struct attempt_facts *facts, struct arena *arena,
                        struct attempt *a)
{
    struct str *const places[] = {&a->request_headers, &a->response_headers, &a->response_body};
    struct text_reader r = {0};
    struct buf text = {0};
    struct str plain;
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        *places[i] = STR_NONE;
    if (!packed.p)
        return true;
    if (!text_unpack(packed, arena, &plain))
        return false;
    r.in = number_reader_of(plain);
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        *places[i] = arena_str(arena, text_get(&r, a, facts, &text, true));
    buf_free(&text);
    for (size_t i = 0; r.in.bad && i < ARRAY_LEN(places); i++)
        *places[i] = STR_NONE;
    return !r.in.bad;
}
