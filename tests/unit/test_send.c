/* Exchanges over plain HTTP with receivers of every kind, in this process on loopback. */
#include "check.h"

#include "post.h"

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

/* One post to one receiver that answers so. */
static void answered(const char *text, int64_t timeout_ms)
{
    struct receiver r = {.text = text};
    receiver_start(&r);
    post_to("http://127.0.0.1:%u/cb?a=1", r.port, timeout_ms);
    receiver_stop(&r);
}

static void served(void (*serve)(struct receiver *r, int fd, int number), const char *text,
                   int64_t timeout_ms)
{
    struct receiver r = {.serve = serve, .text = text};
    receiver_start(&r);
    post_to("http://127.0.0.1:%u/cb", r.port, timeout_ms);
    receiver_stop(&r);
}

/* ---- what is sent */

static void request_is_as_written(void)
{
    char want[600];
    struct receiver r = {.text = "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 2\r\n\r\nhi"};
    receiver_start(&r);
    post_to("http://127.0.0.1:%u/cb?a=1&b=%20", r.port, 5000);
    receiver_stop(&r);
    snprintf(want, sizeof want,
             "POST /cb?a=1&b=%%20 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
             "User-Agent: postbackd/test\r\nContent-Type: application/json\r\n"
             "Accept-Encoding: identity\r\nwebhook-id: r-1\r\nContent-Length: 11\r\n\r\n"
             "{\"Sig\":\"x\"}",
             r.port);
    CHECK_CSTR(r.request, want);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_EQ_INT(post.x.status, 200);
    CHECK_CSTR(post.x.detail, "");
    CHECK_STR(post.x.response_headers, "X-A: b\nContent-Length: 2\n");
    CHECK_STR(post.x.response_body, "hi");
    CHECK_EQ_INT(post.x.retry_after_ms, -1);
    snprintf(want, sizeof want,
             "Host: 127.0.0.1:%u\nUser-Agent: postbackd/test\nContent-Type: application/json\n"
             "Accept-Encoding: identity\nwebhook-id: r-1\nContent-Length: 11\n",
             r.port);
    CHECK_STR(post.x.request_headers, want);
}

static void credentials_are_sent_and_masked(void)
{
    struct receiver r = {.text = OK_EMPTY};
    receiver_start(&r);
    post_to("http://user:p%40ss@127.0.0.1:%u/", r.port, 5000);
    receiver_stop(&r);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK(strstr(r.request, "\r\nAuthorization: Basic dXNlcjpwQHNz\r\n") != NULL);
    const char *log = buf_c(&post.x.request_headers);
    CHECK(strstr(log, "\nAuthorization: Basic ***\n") != NULL);
    CHECK(strstr(log, "dXNlcjpwQHNz") == NULL);
}

#define LARGE_BYTES ((size_t)8 << 20)

static void reads_slowly(struct receiver *r, int fd, int number)
{
    static char some[1 << 16];
    size_t n = 0;
    ssize_t got;
    (void)number;
    while (n < LARGE_BYTES && (got = recv(fd, some, sizeof some, 0)) > 0) {
        n += (size_t)got;
        usleep(100);
    }
    if (n >= LARGE_BYTES && some[0] == 'x')
        receiver_say(fd, r->text);
}

static void post_large(void (*serve)(struct receiver *r, int fd, int number))
{
    struct receiver r = {.serve = serve, .text = OK_EMPTY};
    char *body = malloc(LARGE_BYTES), url[64];
    memset(body, 'x', LARGE_BYTES);
    receiver_start(&r);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", r.port);
    post_start(&post.x, url, 5000);
    sender_cancel(post.sender, &post.x);
    post.x.body = (struct str){body, LARGE_BYTES};
    sender_start(post.sender, &post.x);
    loop_run(post.loop);
    free(body);
    receiver_stop(&r);
}

static void request_larger_than_the_socket_takes(void)
{
    post_large(reads_slowly);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    post_large(NULL); /* closes with most of it unread */
    CHECK_EQ_INT(post.x.class, ATTEMPT_RESET);
}

/* ---- connections are kept */

static void connection_is_reused(void)
{
    struct receiver r = {.text = OK_EMPTY};
    struct sender_numbers numbers;
    receiver_start(&r);
    for (int i = 0; i < 3; i++) {
        post_to("http://127.0.0.1:%u/", r.port, 5000);
        CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
        CHECK_EQ_INT(post.x.reused_connection, i > 0);
    }
    CHECK_EQ_INT(r.accepted, 1);
    CHECK_EQ_INT(r.requests, 3);
    sender_get_numbers(post.sender, &numbers);
    CHECK_EQ_INT(numbers.idle_connections, 1);
    CHECK_EQ_INT(numbers.reused, 2);
    receiver_stop(&r);
}

static void closes_after_one(struct receiver *r, int fd, int number)
{
    if (receiver_read_request(r, fd))
        receiver_say(fd, OK_EMPTY);
    if (number == 0) {
        receiver_read_request(r, fd); /* and closes on it without a byte, sooner or later */
        if (r->text)
            usleep((useconds_t)atoi(r->text) * 1000);
        if (r->context)
            receiver_reset(fd);
    } else {
        receiver_wait_for_end(fd);
    }
}

static void stale(bool reset, const char *after_ms)
{
    struct receiver r = {.serve = closes_after_one, .context = reset ? &r : NULL, .text = after_ms};
    receiver_start(&r);
    post_to("http://127.0.0.1:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    post_to("http://127.0.0.1:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK(!post.x.reused_connection);
    CHECK_EQ_INT(r.accepted, 2);
    CHECK_EQ_INT(r.requests, 3);
    receiver_stop(&r);
}

static void stale_connection_is_tried_again(void)
{
    stale(false, NULL);
    stale(true, NULL);
    /* The second connection has its own time to connect in. */
    post.connect_timeout_ms = 200;
    stale(false, "400");
    post.connect_timeout_ms = 0;
}

static void says_nothing_twice(struct receiver *r, int fd, int number)
{
    if (number == 0 && receiver_read_request(r, fd))
        receiver_say(fd, OK_EMPTY);
    receiver_read_request(r, fd);
}

static void fresh_connection_is_not_tried_again(void)
{
    struct receiver r = {.serve = says_nothing_twice};
    receiver_start(&r);
    post_to("http://127.0.0.1:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    post_to("http://127.0.0.1:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_RESET);
    CHECK_EQ_INT(r.accepted, 2);
    receiver_stop(&r);
}

static void connection_close_is_obeyed(void)
{
    struct receiver r = {.text = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"};
    struct sender_numbers numbers;
    receiver_start(&r);
    post_to("http://127.0.0.1:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    sender_get_numbers(post.sender, &numbers);
    CHECK_EQ_INT(numbers.connections, 0);
    receiver_stop(&r);
}

static void surplus_bytes_cost_the_connection(void)
{
    struct sender_numbers numbers;
    answered(OK_EMPTY OK_EMPTY, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    sender_get_numbers(post.sender, &numbers);
    CHECK_EQ_INT(numbers.connections, 0);
}

/* ---- no answer */

static void resets_at_once(struct receiver *r, int fd, int number)
{
    (void)number;
    receiver_read_request(r, fd);
    if (r->text)
        receiver_say(fd, r->text);
    receiver_reset(fd);
}

static void closes(struct receiver *r, int fd, int number)
{
    (void)number;
    receiver_read_request(r, fd);
    receiver_say(fd, r->text);
}

static void resets_and_closes(void)
{
    served(resets_at_once, NULL, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_RESET);
    CHECK(post_says("reset the connection without an answer"));
    served(closes, "", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_RESET);
    CHECK(post_says("closed the connection without an answer"));
    served(closes, "HTTP/1.1 200 OK\r\nX:", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_RESET);
    CHECK(post_says("in the middle of its answer's headers"));
    CHECK_EQ_INT(post.x.status, 0);
}

static void nothing_listens(void)
{
    int fd;
    unsigned port = receiver_listen(&fd, "127.0.0.1", 1);
    close(fd);
    post_to("http://127.0.0.1:%u/", port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_REFUSED);
    CHECK(post_says("connection refused"));
    CHECK(post_says("127.0.0.1 port "));
}

static void connect_times_out(void)
{
    /* A full queue of connections not accepted: the kernel drops what comes next. */
    int listen_fd, fillers[4];
    unsigned port = receiver_listen(&listen_fd, "127.0.0.1", 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
    for (int i = 0; i < 4; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fillers[i], (struct sockaddr *)&at, sizeof at);
    }
    post_to("http://127.0.0.1:%u/", port, 300);
    CHECK_EQ_INT(post.x.class, ATTEMPT_CONNECT_TIMEOUT);
    CHECK(post_says("within 0.3 s"));
    for (int i = 0; i < 4; i++)
        close(fillers[i]);
    close(listen_fd);
}

static void silent(struct receiver *r, int fd, int number)
{
    (void)number;
    receiver_read_request(r, fd);
    if (r->text)
        receiver_say(fd, r->text);
    receiver_wait_for_end(fd);
}

static void drips(struct receiver *r, int fd, int number)
{
    (void)number;
    receiver_read_request(r, fd);
    receiver_say(fd, r->text);
    while (send(fd, "x", 1, MSG_NOSIGNAL) == 1)
        usleep(20000);
}

static void too_slow(void)
{
    served(silent, NULL, 200);
    CHECK_EQ_INT(post.x.class, ATTEMPT_TIMEOUT);
    CHECK(post_says("sent no answer within 0.2 s"));
    CHECK(post.x.duration_ms >= 200);
    served(silent, "HTTP/1.1 200 OK\r\n", 1000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_TIMEOUT);
    CHECK(post_says("headers were not complete"));
    served(drips, "HTTP/1.1 200 OK\r\nX: ", 300);
    CHECK_EQ_INT(post.x.class, ATTEMPT_TIMEOUT);
}

/* ---- answers that are none */

static void not_http(void)
{
    answered("SSH-2.0-OpenSSH_9.2\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_PROTOCOL);
    CHECK(post_says("begins with \"SSH-2.0-OpenSSH"));
    answered("\x15\x03\x03\x00\x02\x02\x0a", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_PROTOCOL);
    CHECK(post_says("https://"));
    answered("HTTP/2.0 200 OK\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_PROTOCOL);
    answered("HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_PROTOCOL);
    CHECK(post_says("(101)"));
    answered("HTTP/1.1 600 What\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_PROTOCOL);
}

static void conflicting_lengths(void)
{
    answered("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_PROTOCOL);
    answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
             5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_PROTOCOL);
    answered("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_PROTOCOL);
}

static void repeats(struct receiver *r, int fd, int number)
{
    (void)number;
    receiver_read_request(r, fd);
    if (r->context)
        receiver_say(fd, r->context);
    size_t n = strlen(r->text);
    while (send(fd, r->text, n, MSG_NOSIGNAL) == (ssize_t)n)
        continue;
}

static void endless_headers_and_interims(void)
{
    struct receiver r = {.serve = repeats, .context = "HTTP/1.1 200 OK\r\n", .text = "A: b\r\n"};
    receiver_start(&r);
    post_to("http://127.0.0.1:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_PROTOCOL);
    CHECK(post_says("its header is longer than 32768 bytes"));
    CHECK(post.x.response_headers.n <= LIMIT_ATTEMPT_HEADER_BYTES);
    receiver_stop(&r);
    served(repeats, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_PROTOCOL);
    CHECK(post_says("without end"));
}

static void interim_answers_are_skipped(void)
{
    answered("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
             "HTTP/1.1 201 Created\r\nA: b\r\nContent-Length: 1\r\n\r\nz",
             5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_EQ_INT(post.x.status, 201);
    CHECK_STR(post.x.response_headers, "A: b\nContent-Length: 1\n");
    CHECK_STR(post.x.response_body, "z");
}

/* ---- bodies: ignored, and bounded */

static void endless_body(void)
{
    struct receiver r = {
        .serve = repeats, .context = "HTTP/1.1 200 OK\r\n\r\n", .text = "0123456789abcdef"};
    receiver_start(&r);
    post_to("http://127.0.0.1:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_EQ_INT(post.x.status, 200);
    CHECK_EQ_UINT(post.x.response_body.n, LIMIT_ATTEMPT_BODY_KEPT_BYTES);
    CHECK(memcmp(post.x.response_body.p, "0123456789abcdef", 16) == 0);
    receiver_stop(&r);
}

static void body_after_2xx_does_not_matter(void)
{
    served(silent, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", 1000); /* too slow */
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_STR(post.x.response_body, "ab");
    CHECK(post.x.duration_ms >= 1000);
    served(closes, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", 5000); /* too short */
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_STR(post.x.response_body, "ab");
    served(resets_at_once, "HTTP/1.1 202 OK\r\nContent-Length: 9\r\n\r\n", 5000);
    CHECK(post.x.class == ATTEMPT_OK || post.x.class == ATTEMPT_RESET); /* the reset may overtake */
    answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    answered("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nX-Empty:\r\nY: z\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_STR(post.x.response_headers, "Content-Length: 5\nX-Empty: \nY: z\n");
}

static void body_forms(void)
{
    answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n"
             "Trailer: dropped\r\n\r\n",
             5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_STR(post.x.response_body, "abcde");
    CHECK_STR(post.x.response_headers, "Transfer-Encoding: chunked\n");
    served(closes, "HTTP/1.0 200 OK\r\n\r\nold", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_STR(post.x.response_body, "old");
    /* Never decompressed: kept as it came. */
    answered("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08z",
             5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_STR(post.x.response_body, "\x1f\x8b\x08z");
}

static void long_body_is_drained_for_reuse(void)
{
    struct buf text = {0};
    buf_add_c(&text, "HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n");
    for (int i = 0; i < 40000; i++)
        buf_add_char(&text, 'x');
    struct receiver r = {.text = buf_c(&text)};
    struct sender_numbers numbers;
    receiver_start(&r);
    for (int i = 0; i < 3; i++) {
        post_to("http://127.0.0.1:%u/", r.port, 5000);
        CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
        CHECK_EQ_INT(post.x.reused_connection, i > 0);
        CHECK_EQ_UINT(post.x.response_body.n, LIMIT_ATTEMPT_BODY_KEPT_BYTES);
        sender_get_numbers(post.sender, &numbers);
        for (int wait = 0; wait < 500 && numbers.idle_connections == 0; wait++) {
            post_pause(10);
            sender_get_numbers(post.sender, &numbers);
        }
    }
    CHECK_EQ_INT(numbers.connections, 1);
    CHECK_EQ_INT(r.accepted, 1);
    receiver_stop(&r);
    buf_free(&text);
}

/* ---- failures by status */

static void redirects_are_not_followed(void)
{
    answered("HTTP/1.1 301 Moved\r\nLocation: https://new.example/cb?x=1\r\nContent-Length: 0\r\n"
             "\r\n",
             5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_REDIRECT);
    CHECK_EQ_INT(post.x.status, 301);
    CHECK(post_says("https://new.example/cb?x=1"));
    answered("HTTP/1.1 308 Moved\r\nlocation: /other\r\nContent-Length: 0\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_REDIRECT);
    CHECK(post_says("http://127.0.0.1:"));
    CHECK(post_says("/other"));
    answered("HTTP/1.1 307 Go\r\nLocation: //other.test/x\r\nContent-Length: 0\r\n\r\n", 5000);
    CHECK(post_says("this URL instead: http://other.test/x"));
    answered("HTTP/1.1 307 Moved\r\nLocation: ../y?z=a://b\r\nContent-Length: 0\r\n\r\n", 5000);
    CHECK(post_says("the URL that this leads to from the current one instead: ../y?z=a://b"));
    answered("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_REDIRECT);
    CHECK(post_says("without a Location"));
}

static void statuses(void)
{
    answered("HTTP/1.1 410 Gone\r\nContent-Length: 3\r\n\r\nbye", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_GONE);
    CHECK_STR(post.x.response_body, "bye");
    answered("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_STATUS);
    CHECK_EQ_INT(post.x.status, 404);
    CHECK(post_says("404"));
    CHECK_EQ_INT(post.x.retry_after_ms, -1);
    served(silent, "HTTP/1.1 500 Oops\r\nContent-Length: 9\r\n\r\nab", 1000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_STATUS);
    CHECK_STR(post.x.response_body, "ab");
    CHECK(post_says("too slow"));
}

static void retry_after(void)
{
    answered("HTTP/1.1 429 Slow\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_STATUS);
    CHECK_EQ_INT(post.x.retry_after_ms, 120000);
    CHECK_STR(str_of(post.x.detail), "Answered 429 and asked to wait 120 s");
    answered("HTTP/1.1 503 Down\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n", 5000);
    CHECK_STR(str_of(post.x.detail), "Answered 503 and asked to wait 86400 s");
    answered("HTTP/1.1 503 Down\r\nRetry-After: 123456789\r\nContent-Length: 0\r\n\r\n", 5000);
    CHECK_STR(str_of(post.x.detail),
              "Answered 503 and asked to wait 123456789 s, which counts as 24 h");
    answered("HTTP/1.1 503 Down\r\nDate: Fri, 31 Dec 2100 23:59:59 GMT\r\n"
             "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n",
             5000);
    CHECK_STR(str_of(post.x.detail),
              "Answered 503 and asked to wait 249268320000 s, which counts as 24 h");
    answered("HTTP/1.1 503 Down\r\nRetry-After: Fri, 31 Dec 2100 23:59:59 GMT\r\n"
             "Content-Length: 0\r\n\r\n",
             5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_STATUS);
    int64_t at = INT64_C(4133980799000) - loop_wall_ms(post.loop);
    CHECK(post.x.retry_after_ms > at - 60000 && post.x.retry_after_ms <= at + 60000);
    /* by the clock of the receiver, which is years off */
    answered("HTTP/1.1 503 Down\r\nDate: Fri, 31 Dec 2100 23:58:59 GMT\r\n"
             "Retry-After: Fri, 31 Dec 2100 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n",
             5000);
    CHECK_EQ_INT(post.x.retry_after_ms, 60000);
    answered("HTTP/1.1 503 Down\r\nRetry-After: Sunday, 06-Nov-94 08:49:37 GMT\r\n"
             "date: Sun Nov  6 08:49:27 1994\r\nContent-Length: 0\r\n\r\n",
             5000);
    CHECK_EQ_INT(post.x.retry_after_ms, 10000);
    answered("HTTP/1.1 503 Down\r\nDate: Fri, 31 Dec 2100 23:59:59 GMT\r\n"
             "Retry-After: Fri, 31 Dec 2100 23:58:59 GMT\r\nContent-Length: 0\r\n\r\n",
             5000);
    CHECK_EQ_INT(post.x.retry_after_ms, 0);
    answered("HTTP/1.1 503 Down\r\nDate: today\r\n"
             "Retry-After: Fri, 31 Dec 2100 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n",
             5000);
    CHECK(post.x.retry_after_ms > at - 60000 && post.x.retry_after_ms <= at + 60000);
    answered("HTTP/1.1 503 Down\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.retry_after_ms, -1);
    answered("HTTP/1.1 503 Down\r\nRetry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
             "Content-Length: 0\r\n\r\n",
             5000);
    CHECK_EQ_INT(post.x.retry_after_ms, 0);
    answered("HTTP/1.1 500 Oops\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n", 5000);
    CHECK_EQ_INT(post.x.retry_after_ms, -1);
}

/* ---- addresses */

static void addresses_are_checked(void)
{
    static const char *const urls[] = {"http://10.0.0.1:9/", "http://169.254.169.254/latest",
                                       "http://[::1]:9/",    "http://[::ffff:10.0.0.1]:9/",
                                       "http://0.0.0.0:9/",  "http://192.168.1.1/"};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        post_to(urls[i], 0, 5000);
        CHECK_EQ_INT(post.x.class, ATTEMPT_DESTINATION_REFUSED);
        CHECK(post_says("not a public address"));
    }
}

/* ---- several at once */

static void cancelled(void)
{
    struct receiver r = {.serve = silent};
    struct exchange a = {0}, b = {0};
    struct sender_numbers numbers;
    char url[64];
    receiver_start(&r);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", r.port);
    post_start(&a, url, 5000); /* connecting */
    sender_cancel(post.sender, &a);
    post_start(&a, url, 5000);
    post_start(&b, url, 200);
    post.under_way -= 2; /* until b is done */
    loop_run(post.loop);
    CHECK_EQ_INT(b.class, ATTEMPT_TIMEOUT);
    sender_cancel(post.sender, &a); /* waiting for its answer */
    sender_get_numbers(post.sender, &numbers);
    CHECK_EQ_INT(numbers.connections, 0);
    exchange_free_results(&a);
    exchange_free_results(&b);
    receiver_stop(&r);
}

int main(void)
{
    post_open("127.0.0.0/8", NULL, NULL);
    RUN(request_is_as_written);
    RUN(credentials_are_sent_and_masked);
    RUN(request_larger_than_the_socket_takes);
    RUN(connection_is_reused);
    RUN(stale_connection_is_tried_again);
    RUN(fresh_connection_is_not_tried_again);
    RUN(connection_close_is_obeyed);
    RUN(surplus_bytes_cost_the_connection);
    RUN(resets_and_closes);
    RUN(nothing_listens);
    RUN(connect_times_out);
    RUN(too_slow);
    RUN(not_http);
    RUN(conflicting_lengths);
    RUN(endless_headers_and_interims);
    RUN(interim_answers_are_skipped);
    RUN(endless_body);
    RUN(body_after_2xx_does_not_matter);
    RUN(body_forms);
    RUN(long_body_is_drained_for_reuse);
    RUN(redirects_are_not_followed);
    RUN(statuses);
    RUN(retry_after);
    RUN(addresses_are_checked);
    RUN(cancelled);
    post_close();
    return check_done("send");
}
