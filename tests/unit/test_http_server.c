/* What the server makes of bytes: well-formed requests, refusals, sizes, bodies, pipelines. */
#include "http_host.h"

static void simple_requests(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    CHECK(talk(STR("GET /a/b?c=%20d HTTP/1.1\r\n" CLOSE)));
    CHECK_EQ_INT(status(), 200);
    CHECK(says("\r\n\r\nGET /a/b ?c=%20d []"));
    CHECK(says("Connection: close\r\nX-Extra: 1\r\nContent-Length: 19\r\n\r\n"));
    CHECK(says(" GMT\r\nContent-Type: text/plain\r\nX-Request-Id: "));
    CHECK(talk(STR("HEAD /a HTTP/1.1\r\nX-Request-ID: my-1\r\n" CLOSE)));
    CHECK(says("X-Request-Id: my-1\r\n"));
    CHECK(says("Content-Length: 10\r\n\r\n"));
    CHECK(memcmp(answer.p + answer.n - 4, "\r\n\r\n", 4) == 0);
    CHECK(talk(STR("GET / HTTP/1.1\r\nX-Request-Id: a,b\r\n" CLOSE)));
    CHECK(strstr(buf_c(&answer), "a,b") == NULL);
    CHECK(talk(STR("GET http://example.com:80?q HTTP/1.1\r\n" CLOSE)));
    CHECK(says("GET / ?q []"));
    CHECK(talk(STR("OPTIONS * HTTP/1.1\r\n" CLOSE)));
    CHECK(says("OPTIONS * []"));
    CHECK(talk(STR("PROPFIND /x HTTP/1.1\r\n" CLOSE)));
    CHECK(says("PROPFIND /x []"));
    CHECK(talk(STR("GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")));
    CHECK(says("GET /old []"));
    CHECK(talk(STR("DELETE /nothing HTTP/1.1\r\n" CLOSE)));
    CHECK_EQ_INT(status(), 204);
    CHECK(strstr(answer.p, "Content-Length") == NULL);
    CHECK(talk(STR("\r\n\r\nPUT /x HTTP/1.1\r\nContent-Length: 3\r\n" CLOSE "abc")));
    CHECK(says("PUT /x [abc]"));
    host_stop();
}

struct refusal {
    int status;
    const char *request;
};

static const struct refusal refusals[] = {
    {400, "GET / HTTP/1.1\nHost: h\n\n"}, /* bare LF */
    {400, "GET / HTTP/1.1\r\nHost: h\n\r\n"},
    {400, H "A: b\rc\r\n\r\n"}, /* bare CR */
    {400, H "A: b\r\n folded\r\n\r\n"},
    {400, H "A : b\r\n\r\n"}, /* space before the colon */
    {400, H ": b\r\n\r\n"},
    {400, H "no colon\r\n\r\n"},
    {400, H "A\x01: b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\n\r\n"}, /* no Host */
    {400, H "Host: h\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
    {400, "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"},
    {400, "GET /\x80 HTTP/1.1\r\nHost: h\r\n\r\n"},
    {400, "GET /#f HTTP/1.1\r\nHost: h\r\n\r\n"},
    {400, "GET path HTTP/1.1\r\nHost: h\r\n\r\n"},
    {400, "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n"},
    {400, "\x16\x03\x01\r\n"}, /* TLS to a plain port */
    {501, "FROB / HTTP/1.1\r\nHost: h\r\n\r\n"},
    {505, "GET / HTTP/2.0\r\nHost: h\r\n\r\n"},
    {505, "GET / HTTP/1.2\r\nHost: h\r\n\r\n"},
    {400, P "Content-Length: 1\r\nContent-Length: 1\r\n\r\na"},
    {400, P "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"},
    {400, P "Content-Length: 1, 1\r\n\r\na"},
    {400, P "Content-Length: +1\r\n\r\na"},
    {400, P "Content-Length: -1\r\n\r\na"},
    {400, P "Content-Length: 0x1\r\n\r\na"},
    {400, P "Content-Length:\r\n\r\na"},
    {400, P "Content-Length: 99999999999999999999\r\n\r\na"},
    {413, P "Content-Length: 999999999999999999\r\n\r\na"},
    {400, P "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400, P "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"},
    {400, P "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400, "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {501, P "Transfer-Encoding: gzip\r\n\r\n"},
    {501, P "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
    {501, P "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"},
    {417, P "Expect: a-miracle\r\nContent-Length: 1\r\n\r\na"},
    {400, P "Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n"},
    {400, P "Transfer-Encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n"},
    {400, P "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n"},
    {400, P "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n"},
    {400, P "Transfer-Encoding: chunked\r\n\r\n\r\n"},
    {400, P "Transfer-Encoding: chunked\r\n\r\n-1\r\na\r\n0\r\n\r\n"},
    {400, P "Transfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n"},
    {400, P "Transfer-Encoding: chunked\r\n\r\n1;x\ny\r\na\r\n0\r\n\r\n"},
    {400, P "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\nC: d\r\n\r\n"},
    {413, P "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"},
    {413, P "Transfer-Encoding: chunked\r\n\r\n1000000\r\n"},
};

static void malformed_requests_are_refused(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        bool ended = talk(str_of(refusals[i].request));
        if (!CHECK(ended) || !CHECK_EQ_INT(status(), refusals[i].status) ||
            !CHECK(says("Content-Type: application/problem+json\r\n")) ||
            !CHECK(says("Connection: close\r\n")) || !CHECK(says("X-Request-Id: ")))
            printf("  refusals[%zu]: %s\n", i, refusals[i].request);
    }
    CHECK(talk(STR(H "A: \0\r\n\r\n")));
    CHECK_EQ_INT(status(), 400);
    CHECK(says("{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,\"detail\":\""));
    /* Nothing smuggled behind a refusal is served. */
    CHECK(talk(
        STR(P "Content-Length: 1\r\nContent-Length: 1\r\n\r\nGET /smuggled HTTP/1.1\r\n" CLOSE)));
    CHECK(strstr(answer.p, "smuggled") == NULL);
    CHECK_EQ_INT(host.handled, 0);
    host_stop();
}

static void sizes_are_bounded(void)
{
    REQUIRE(host_start((struct http_server_options){.body_max_bytes = 100000}));
    struct buf b = {0};
    buf_add_c(&b, "GET /");
    for (int i = 0; i < 9000; i++)
        buf_add_char(&b, 'a');
    CHECK(talk(buf_str(&b))); /* no need to wait for the line's end */
    CHECK_EQ_INT(status(), 414);
    CHECK(says("at most 8192 bytes"));
    buf_clear(&b);
    buf_add_c(&b, "GET / HTTP/1.1\r\nHost: h");
    for (int i = 0; i < 20000; i++)
        buf_add_c(&b, i % 1000 ? "a" : "\r\nA: ");
    CHECK(talk(buf_str(&b)));
    CHECK_EQ_INT(status(), 431);
    CHECK(says("the head is too long (at most 16384 bytes with its first line; "));
    buf_clear(&b);
    buf_add_c(&b, H);
    for (int i = 0; i < 101; i++)
        buf_add_c(&b, "A: b\r\n");
    buf_add_c(&b, "\r\n");
    CHECK(talk(buf_str(&b)));
    CHECK_EQ_INT(status(), 431);
    CHECK(says("at most 100)"));
    CHECK(talk(STR(P "Content-Length: 100001\r\n\r\n")));
    CHECK_EQ_INT(status(), 413);
    buf_clear(&b);
    buf_add_c(&b, P "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 30; i++)
        buf_printf(&b, "1000\r\n%04096d\r\n", 0);
    CHECK(talk(buf_str(&b)));
    CHECK_EQ_INT(status(), 413);
    CHECK_EQ_INT(host.handled, 0);
    buf_free(&b);
    host_stop();
}

/* A chunk's extension or a trailer field of so many bytes, and what is said of it. */
static void check_long_line(const char *begin, int bytes, const char *said)
{
    struct buf b = {0};
    buf_printf(&b, P "Transfer-Encoding: chunked\r\n\r\n%s%0*d\r\n", begin, bytes, 0);
    CHECK(talk(buf_str(&b)));
    CHECK_EQ_INT(status(), 400);
    if (!CHECK(says(said)))
        printf("  %s\n", said);
    buf_free(&b);
}

static void long_lines_of_a_chunked_body_are_named(void)
{
    REQUIRE(host_start((struct http_server_options){.body_max_bytes = 100000}));
    check_long_line("1;", 1025, "the extension of a chunk is too long (at most 1024 bytes)");
    check_long_line("0\r\nA: ", 16384, "the trailer fields are too long (at most 16384 bytes");
    check_long_line("1 ", 1, "the chunked body is malformed");
    host_stop();
}

/* The head, then as much of a body as the server takes; how much that was. */
static size_t push(struct str head, size_t most)
{
    static const char piece[65536];
    int fd = dial();
    put(fd, head);
    size_t sent = 0;
    ssize_t n = 1;
    while (sent < most && n > 0) {
        n = send(fd, piece, sizeof piece, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
    }
    buf_clear(&answer);
    (void)get_all(fd, &answer); /* it may be lost */
    close(fd);
    return sent;
}

static void refused_bodies_are_not_read(void)
{
    REQUIRE(host_start((struct http_server_options){.body_max_bytes = 1000}));
    /* More than the buffers of both sockets have room for. */
    size_t much = 256 << 20;
    CHECK(push(STR(P "Content-Length: 999999999\r\n\r\n"), much) < much);
    CHECK(push(STR("POST /secret HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999\r\n\r\n"), much) <
          much);
    CHECK(push(STR("POST /known HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999\r\n\r\n"), much) <
          much);
    /* Who sends a little more than it may is told so; a known client may send much more. */
    struct buf b = {0};
    buf_add_c(&b, P "Content-Length: 60000\r\n\r\n");
    add_body(&b, 0, 60000);
    CHECK(talk(buf_str(&b)));
    CHECK_EQ_INT(status(), 413);
    buf_clear(&b);
    buf_add_c(&b, "POST /known HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\n\r\n");
    add_body(&b, 0, 9000000);
    CHECK(talk(buf_str(&b)));
    CHECK_EQ_INT(status(), 413);
    CHECK_EQ_INT(host.handled, 0);
    buf_free(&b);
    host_stop();
}

static void bodies_arrive_whole(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    static const size_t sizes[] = {1, 99, 4000, 4096, 5000, 70000, 300000, 3000000, 8 << 20};
    struct buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        for (int chunked = 0; chunked < 2; chunked++) {
            buf_clear(&b);
            buf_add_c(&b, "POST /b HTTP/1.1\r\n");
            if (chunked)
                buf_add_c(&b, "Transfer-Encoding: Chunked\r\n" CLOSE);
            else
                buf_printf(&b, "Content-Length: %zu\r\n" CLOSE, sizes[i]);
            for (size_t at = 0, n; at < sizes[i]; at += n) {
                n = sizes[i] - at < 65000 ? sizes[i] - at : 65000;
                if (chunked)
                    buf_printf(&b, "%zX;ext=\"1\"\r\n", n);
                add_body(&b, at, n);
                if (chunked)
                    buf_add_c(&b, "\r\n");
            }
            if (chunked)
                buf_add_c(&b, "0\r\nTrailer: x\r\n\r\n");
            CHECK(talk(buf_str(&b)));
            CHECK_EQ_INT(status(), 200);
            if (sizes[i] >= 100) {
                char want[64];
                snprintf(want, sizeof want, "POST /b [%zu bytes]", sizes[i]);
                CHECK(says(want));
            }
        }
    }
    CHECK_EQ_INT(host.bodies_good, 2 * (int)ARRAY_LEN(sizes));
    buf_free(&b);
    host_stop();
}

static void pipelined_requests_are_answered_in_order(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    struct buf b = {0};
    enum { N = 3000 };
    for (int i = 0; i < N; i++) {
        if (i % 100 == 7)
            buf_printf(&b, "GET /later?%d HTTP/1.1\r\nHost: h\r\n\r\n", i);
        else if (i % 3 == 0)
            buf_printf(&b, "POST /p%d HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n%04d", i, i);
        else if (i % 3 == 1)
            buf_printf(&b,
                       "POST /p%d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "2\r\n%02d\r\n2\r\n%02d\r\n0\r\n\r\n",
                       i, i / 100, i % 100);
        else
            buf_printf(&b, "GET /p%d HTTP/1.1\r\nHost: h\r\n\r\n", i);
    }
    buf_add_c(&b, "GET /last HTTP/1.1\r\n" CLOSE);
    CHECK(talk(buf_str(&b)));
    const char *at = buf_c(&answer);
    for (int i = 0; i < N && at; i++) {
        char want[64];
        if (i % 100 == 7)
            snprintf(want, sizeof want, "GET /later ?%d []", i);
        else if (i % 3 == 2)
            snprintf(want, sizeof want, "GET /p%d []", i);
        else
            snprintf(want, sizeof want, "POST /p%d [%04d]", i, i);
        at = strstr(at, want);
        if (!CHECK(at != NULL))
            printf("  %d: %s\n", i, want);
    }
    CHECK(at && strstr(at, "GET /last []") != NULL);
    CHECK_EQ_INT(host.handled, N + 1);
    /* The same bytes one at a time. */
    int fd = dial();
    buf_clear(&answer);
    for (size_t i = 0; i < 1500; i++)
        put(fd, (struct str){b.p + i, 1});
    CHECK(get_times(fd, "HTTP/1.1 200 OK", 10));
    close(fd);
    buf_free(&b);
    host_stop();
}

static void expectations_are_met(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    int fd = dial();
    buf_clear(&answer);
    put(fd, STR(P "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"));
    CHECK(get_times(fd, "HTTP/1.1 100 Continue\r\n\r\n", 1));
    CHECK_EQ_INT(host.handled, 0);
    put(fd, STR("hello"));
    CHECK(get_times(fd, "POST / [hello]", 1));
    /* With the body there is nothing to wait for. */
    buf_clear(&answer);
    put(fd, STR(P "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi"));
    CHECK(get_times(fd, "POST / [hi]", 1));
    CHECK(strstr(answer.p, "100 Continue") == NULL);
    close(fd);
    /* Refused before the body is asked for. */
    CHECK(talk(STR(P "Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")));
    CHECK_EQ_INT(status(), 413);
    host_stop();
}

static void heads_can_be_answered_early(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    CHECK(talk(STR("POST /secret HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\nabc")));
    CHECK_EQ_INT(status(), 401);
    CHECK(says("Connection: close\r\n"));
    /* A body that is here already costs no connection. */
    CHECK(talk(STR("POST /secret HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
                   "GET /next HTTP/1.1\r\n" CLOSE)));
    CHECK_EQ_INT(status(), 401);
    CHECK(says("GET /next []"));
    CHECK_EQ_INT(host.handled, 1);
    host_stop();
}

int main(void)
{
    RUN(simple_requests);
    RUN(malformed_requests_are_refused);
    RUN(sizes_are_bounded);
    RUN(long_lines_of_a_chunked_body_are_named);
    RUN(refused_bodies_are_not_read);
    RUN(bodies_arrive_whole);
    RUN(pipelined_requests_are_answered_in_order);
    RUN(expectations_are_met);
    RUN(heads_can_be_answered_early);
    buf_free(&answer);
    return check_done("http_server");
}
