/*
 * The JSON reader on any bytes. What it reads is written out again and must be read as the same
 * tree: a reader that lost or invented something would show here.
 */
#include "fuzz.h"

#include "base/check.h"
#include "json/reader.h"
#include "json/writer.h"

static void write_value(struct json_writer *w, const struct json *v)
{
    switch (v->type) {
    case JSON_NULL: json_null(w); break;
    case JSON_FALSE: json_bool(w, false); break;
    case JSON_TRUE: json_bool(w, true); break;
    case JSON_NUMBER: json_raw(w, v->text); break;
    case JSON_STRING: json_string(w, v->text); break;
    case JSON_ARRAY:
        json_array(w);
        for (const struct json *e = v->first; e; e = e->next)
            write_value(w, e);
        json_end_array(w);
        break;
    case JSON_OBJECT:
        json_object(w);
        for (const struct json *m = v->first; m; m = m->next) {
            /* json_key takes a C string; no name holds U+0000, so a copy is one. */
            struct arena arena = {0};
            json_key(w, arena_str(&arena, m->name).p);
            arena_free(&arena);
            write_value(w, m);
        }
        json_end_object(w);
        break;
    }
}

static void check_same(const struct json *a, const struct json *b)
{
    ASSERT(a->type == b->type && a->count == b->count);
    bool has_parts = a->type == JSON_ARRAY || a->type == JSON_OBJECT;
    ASSERT(str_eq(a->name, b->name) && (has_parts || str_eq(a->text, b->text)));
    if (has_parts) /* as it stands in its input, which may have other spaces */
        ASSERT(a->text.n >= 2 && a->text.p[0] == (a->type == JSON_ARRAY ? '[' : '{') &&
               a->text.p[a->text.n - 1] == (a->type == JSON_ARRAY ? ']' : '}'));
    ASSERT(str_is_utf8(a->name) && str_is_utf8(a->text));
    const struct json *of_b = b->first;
    uint32_t count = 0;
    for (const struct json *of_a = a->first; of_a; of_a = of_a->next, of_b = of_b->next) {
        check_same(of_a, of_b);
        count++;
    }
    ASSERT(of_b == NULL && count == a->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct arena arena = {0};
    struct json *value = NULL, *again = NULL;
    struct str why = STR_NONE;
    if (json_parse(&arena, (struct str){(const char *)data, data_bytes}, &value, &why)) {
        struct buf text = {0};
        struct json_writer w;
        json_write_to(&w, &text);
        write_value(&w, value);
        ASSERT(json_parse(&arena, buf_str(&text), &again, &why));
        check_same(value, again);
        (void)json_repeated_member(value);
        buf_free(&text);
    } else {
        ASSERT(why.n > 0);
    }
    arena_free(&arena);
    return 0;
}
