/* What a receiver says over HTTP/2, through the sender's own half of the connection: three
 * requests, then bytes. The first byte says in how large pieces they arrive, the second what is
 * done meanwhile: a stream forgotten, another begun. Whatever comes, every stream stays within its
 * bounds, its outcome never changes, and what is broken stays broken. */
#include "fuzz.h"

#include "base/check.h"
#include "send/h2.h"

#include <stdlib.h>
#include <string.h>

#define STREAMS 4
#define FRAME_BYTES 16384 /* the one that passes the window is still told */

struct watched {
    struct h2_stream h2;
    struct buf headers, body;
    enum h2_end end;
    int status;
    bool is_open;
};

static void begin(struct h2 *h2, struct watched *w)
{
    static const struct h2_header lines[] = {
        {{":method", 7}, {"POST", 4}, false},     {{":scheme", 7}, {"https", 5}, false},
        {{":authority", 10}, {"a.ex", 4}, false}, {{":path", 5}, {"/cb", 3}, false},
        {{"webhook-id", 10}, {"r-1", 3}, true},   {{"content-length", 14}, {"4", 1}, false},
    };
    w->h2 =
        (struct h2_stream){.headers = &w->headers, .body = &w->body, .request_body = {"{\"\"}", 4}};
    w->end = H2_OPEN;
    w->status = 0;
    w->is_open = h2_submit(h2, &w->h2, lines, ARRAY_LEN(lines));
}

static void check_stream(struct watched *w)
{
    const struct h2_stream *h2 = &w->h2;
    ASSERT(w->headers.n <= LIMIT_ATTEMPT_HEADER_BYTES);
    ASSERT(w->body.n <= LIMIT_ATTEMPT_BODY_KEPT_BYTES);
    ASSERT(h2->head_bytes <= LIMIT_ATTEMPT_HEADER_BYTES);
    ASSERT(h2->body_bytes <= LIMIT_ATTEMPT_BODY_DRAINED_BYTES + FRAME_BYTES);
    ASSERT(h2->headers_complete == (h2->status != 0));
    ASSERT(!h2->headers_complete || (h2->status >= 200 && h2->status <= 599));
    ASSERT(h2->end != H2_ENDED || h2->headers_complete);
    ASSERT(w->end == H2_OPEN || w->end == h2->end);
    ASSERT(w->status == 0 || w->status == h2->status);
    w->end = h2->end;
    w->status = h2->status;
    if (h2->end == H2_BAD) {
        struct buf why = {0};
        h2_stream_print_why(&why, h2);
        ASSERT(why.n > 0);
        buf_free(&why);
    }
}

static void go_on(struct h2 *h2, struct watched *all, struct buf *output)
{
    struct h2_stream *stream;
    do {
        while ((stream = h2_next(h2)) != NULL)
            check_stream(CONTAINER_OF(stream, struct watched, h2));
        buf_clear(output);
        h2_output(h2, output, 4096);
    } while (output->n > 0 || h2_has_next(h2));
    for (int i = 0; i < STREAMS; i++)
        check_stream(&all[i]);
}

static void forget(struct h2 *h2, struct watched *w)
{
    if (w->is_open)
        h2_forget(h2, &w->h2);
    w->is_open = false;
    buf_clear(&w->headers);
    buf_clear(&w->body);
    w->h2 = (struct h2_stream){0};
    w->end = H2_OPEN;
    w->status = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct watched all[STREAMS] = {0};
    struct buf output = {0}, why = {0};
    bool broken = false;
    if (data_bytes < 3)
        return 0;
    size_t piece = (size_t)data[0] * 16 + 1, at = 2;
    struct h2 *h2 = h2_new(data[1] & 7);
    for (int i = 0; i < STREAMS - 1; i++)
        begin(h2, &all[i]);
    go_on(h2, all, &output);
    for (int turn = 0; at < data_bytes; turn++) {
        size_t n = data_bytes - at < piece ? data_bytes - at : piece;
        char *copy = malloc(n); /* of its own, so that a look outside of it is seen */
        ASSERT(copy);
        memcpy(copy, data + at, n);
        h2_feed(h2, copy, n);
        free(copy);
        at += n;
        if (turn == 1 && data[1] & 8)
            forget(h2, &all[0]);
        if (turn == 2 && data[1] & 16 && h2_room(h2) > 0)
            begin(h2, &all[STREAMS - 1]);
        go_on(h2, all, &output);
        ASSERT(!broken || h2_broken(h2));
        broken = h2_broken(h2);
        ASSERT(!broken || h2_room(h2) == 0);
    }
    h2_print_why(&why, h2);
    ASSERT(why.n > 0);
    for (int i = 0; i < STREAMS; i++) {
        forget(h2, &all[i]);
        buf_free(&all[i].headers);
        buf_free(&all[i].body);
    }
    h2_free(h2);
    buf_free(&output);
    buf_free(&why);
    return 0;
}
