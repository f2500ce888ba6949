/* JSON out: a small writer over a buffer that places commas and escapes strings.
 *
 *     json_object(&w); json_key_string(&w, "Report", s); json_end_object(&w);
 *
 * The caller balances its calls; nesting is bounded by 32 and asserted. */
#pragma once

#include "base/buf.h"

struct json;

struct json_writer {
    struct buf *to;
    uint32_t depth;
    bool need_comma;
    bool after_key;
};

void json_write_to(struct json_writer *w, struct buf *to);
void json_object(struct json_writer *w);
void json_end_object(struct json_writer *w);
void json_array(struct json_writer *w);
void json_end_array(struct json_writer *w);
void json_key(struct json_writer *w, const char *name);
/* A member: the key, and its value or the beginning of it. */
void json_key_object(struct json_writer *w, const char *name);
void json_key_array(struct json_writer *w, const char *name);
void json_key_string(struct json_writer *w, const char *name, struct str s);    /* absent: null */
void json_key_string_if(struct json_writer *w, const char *name, struct str s); /* absent: none */
void json_key_c(struct json_writer *w, const char *name, const char *s);        /* NULL: null */
void json_key_int(struct json_writer *w, const char *name, int64_t v);
void json_key_int_or_null(struct json_writer *w, const char *name, int64_t v); /* 0: null */
void json_key_bool(struct json_writer *w, const char *name, bool v);
void json_key_money(struct json_writer *w, const char *name, __int128 micros, int min_digits);
void json_key_time(struct json_writer *w, const char *name, int64_t ms);
void json_key_time_or_null(struct json_writer *w, const char *name, int64_t ms); /* 0: null */
/* Of a URL: what url_masked makes of it. Absent: null. */
void json_key_url_masked(struct json_writer *w, const char *name, struct str url);
void json_key_raw(struct json_writer *w, const char *name, struct str json); /* already JSON */
void json_key_str(struct json_writer *w, struct str name);                   /* of any text */
void json_string(struct json_writer *w, struct str s); /* absent prints null */
void json_c(struct json_writer *w, const char *s);     /* NULL prints null */
void json_int(struct json_writer *w, int64_t v);
void json_bool(struct json_writer *w, bool v);
void json_null(struct json_writer *w);
void json_money(struct json_writer *w, __int128 micros, int min_digits);
void json_time(struct json_writer *w, int64_t ms); /* quoted, as domain/clock.h prints it */
void json_scalar(struct json_writer *w, const struct json *value); /* NULL prints null */
void json_raw(struct json_writer *w, struct str json);             /* already JSON */
