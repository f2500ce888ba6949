/* Receivers' answers through the sender's own reader. The first byte says in how large pieces the
 * rest arrives; whatever the pieces, the answer must come out the same, within its bounds. */
#include "fuzz.h"

#include "base/check.h"
#include "send/receiver_answer.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct answer answer;
    struct buf headers, body;
    enum answer_result result;
    size_t used;
};

static void check_bounds(const struct reading *r)
{
    ASSERT(r->headers.n <= LIMIT_ATTEMPT_HEADER_BYTES * 2); /* ": " and "\n" are added */
    ASSERT(r->body.n <= LIMIT_ATTEMPT_BODY_KEPT_BYTES);
    ASSERT(r->answer.head_bytes <= LIMIT_ATTEMPT_HEADER_BYTES);
    ASSERT(r->answer.headers_complete == (r->answer.status != 0));
    ASSERT(!r->answer.headers_complete || (r->answer.status >= 200 && r->answer.status <= 599));
    ASSERT(r->result != ANSWER_DONE || r->answer.headers_complete);
    ASSERT(r->result == ANSWER_DONE || !r->answer.keep_alive);
}

/* Each piece is a copy of its own, so that the address sanitizer sees a look outside of it. */
static void read_in_pieces(struct reading *r, const uint8_t *data, size_t n, size_t piece)
{
    answer_begin(&r->answer, &r->headers, &r->body);
    r->result = ANSWER_MORE;
    r->used = 0;
    while (r->used < n && r->result == ANSWER_MORE) {
        size_t part = n - r->used < piece ? n - r->used : piece, used = 0;
        char *copy = malloc(part);
        ASSERT(copy);
        memcpy(copy, data + r->used, part);
        r->result = answer_feed(&r->answer, copy, part, &used);
        free(copy);
        ASSERT(used <= part);
        ASSERT(r->result != ANSWER_MORE || used == part);
        r->used += used;
    }
    check_bounds(r);
}

static void check_same(const struct reading *a, const struct reading *b)
{
    ASSERT(a->result == b->result);
    ASSERT(a->answer.status == b->answer.status);
    if (a->answer.headers_complete)
        ASSERT(str_eq(buf_str(&a->headers), buf_str(&b->headers)));
    if (a->result != ANSWER_DONE)
        return;
    ASSERT(str_eq(buf_str(&a->body), buf_str(&b->body)));
    ASSERT(a->answer.keep_alive == b->answer.keep_alive && a->used == b->used);
}

static void use_headers(const struct reading *r)
{
    struct buf why = {0};
    struct str value = header_value(buf_str(&r->headers), "Retry-After");
    if (value.p)
        ASSERT(retry_after_ms(value, header_value(buf_str(&r->headers), "Date"),
                              INT64_C(1763726400000)) >= -1);
    if (r->result == ANSWER_BAD) {
        answer_print_why(&why, &r->answer);
        ASSERT(why.n > 0);
    }
    buf_free(&why);
}

static void reading_free(struct reading *r)
{
    buf_free(&r->headers);
    buf_free(&r->body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct reading whole = {0}, pieces = {0};
    if (data_bytes < 2)
        return 0;
    size_t piece = (size_t)data[0] + 1;
    read_in_pieces(&whole, data + 1, data_bytes - 1, data_bytes);
    read_in_pieces(&pieces, data + 1, data_bytes - 1, piece);
    check_same(&whole, &pieces);
    use_headers(&whole);
    reading_free(&whole);
    reading_free(&pieces);
    return 0;
}
