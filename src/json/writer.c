/* JSON out, minified. Only what RFC 8259 says must be escaped is escaped; other UTF-8 is raw. Where
 * a text is not UTF-8, though every way in refuses or mends such text, U+FFFD is written: a
 * document that nobody can read again would cost more than one wrong character. */
#include "json/writer.h"

#include "json/reader.h"

#define DEPTH_MAX 32

static void before_value(struct json_writer *w)
{
    if (w->need_comma && !w->after_key)
        buf_add_char(w->to, ',');
    w->after_key = false;
    w->need_comma = true;
}

static void open(struct json_writer *w, char bracket)
{
    before_value(w);
    ASSERT(w->depth < DEPTH_MAX);
    w->depth++;
    w->need_comma = false;
    buf_add_char(w->to, bracket);
}

static void close(struct json_writer *w, char bracket)
{
    ASSERT(w->depth > 0 && !w->after_key);
    w->depth--;
    w->need_comma = true;
    buf_add_char(w->to, bracket);
}

static void quoted(struct buf *to, struct str s)
{
    static const char from[] = "\"\\\b\f\n\r\t", into[] = "\"\\bfnrt";
    buf_add_char(to, '"');
    size_t plain = 0; /* start of what has not been copied yet */
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= 0x80) {
            size_t bytes = str_utf8_sequence(s, i);
            if (bytes) {
                i += bytes - 1;
                continue;
            }
        } else if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        buf_add(to, s.p + plain, i - plain);
        plain = i + 1;
        if (c >= 0x80) {
            buf_add_c(to, "\xef\xbf\xbd");
            continue;
        }
        const char *known = c ? strchr(from, c) : NULL;
        if (known) {
            buf_add(to, (char[]){'\\', into[known - from]}, 2);
        } else {
            buf_add_c(to, "\\u00");
            buf_add_hex(to, &c, 1);
        }
    }
    buf_add(to, s.p + plain, s.n - plain);
    buf_add_char(to, '"');
}

void json_write_to(struct json_writer *w, struct buf *to)
{
    *w = (struct json_writer){.to = to};
}

void json_object(struct json_writer *w)
{
    open(w, '{');
}

void json_end_object(struct json_writer *w)
{
    close(w, '}');
}

void json_array(struct json_writer *w)
{
    open(w, '[');
}

void json_end_array(struct json_writer *w)
{
    close(w, ']');
}

void json_key(struct json_writer *w, const char *name)
{
    json_key_str(w, str_of(name));
}

void json_key_object(struct json_writer *w, const char *name)
{
    json_key(w, name);
    json_object(w);
}

void json_key_array(struct json_writer *w, const char *name)
{
    json_key(w, name);
    json_array(w);
}

void json_key_string(struct json_writer *w, const char *name, struct str s)
{
    json_key(w, name);
    json_string(w, s);
}

void json_key_string_if(struct json_writer *w, const char *name, struct str s)
{
    if (s.p)
        json_key_string(w, name, s);
}

void json_key_c(struct json_writer *w, const char *name, const char *s)
{
    json_key(w, name);
    json_c(w, s);
}

void json_key_int(struct json_writer *w, const char *name, int64_t v)
{
    json_key(w, name);
    json_int(w, v);
}

void json_key_int_or_null(struct json_writer *w, const char *name, int64_t v)
{
    if (v)
        json_key_int(w, name, v);
    else
        json_key_c(w, name, NULL);
}

void json_key_bool(struct json_writer *w, const char *name, bool v)
{
    json_key(w, name);
    json_bool(w, v);
}

void json_key_raw(struct json_writer *w, const char *name, struct str json)
{
    json_key(w, name);
    json_raw(w, json);
}

void json_key_str(struct json_writer *w, struct str name)
{
    ASSERT(w->depth > 0);
    before_value(w);
    quoted(w->to, name);
    buf_add_char(w->to, ':');
    w->after_key = true;
}

void json_string(struct json_writer *w, struct str s)
{
    if (!s.p) {
        json_null(w);
        return;
    }
    before_value(w);
    quoted(w->to, s);
}

void json_c(struct json_writer *w, const char *s)
{
    json_string(w, str_of(s));
}

void json_int(struct json_writer *w, int64_t v)
{
    before_value(w);
    buf_add_int(w->to, v);
}

void json_bool(struct json_writer *w, bool v)
{
    before_value(w);
    buf_add_c(w->to, v ? "true" : "false");
}

void json_null(struct json_writer *w)
{
    before_value(w);
    buf_add_c(w->to, "null");
}

void json_raw(struct json_writer *w, struct str json)
{
    before_value(w);
    buf_add_str(w->to, json);
}

void json_scalar(struct json_writer *w, const struct json *value)
{
    enum json_type type = value ? value->type : JSON_NULL;
    switch (type) {
    case JSON_STRING: json_string(w, value->text); break;
    case JSON_NUMBER: json_raw(w, value->text); break;
    case JSON_TRUE:
    case JSON_FALSE: json_bool(w, type == JSON_TRUE); break;
    default: json_null(w); break;
    }
}
