/* HTTP/2 from clients: each deadline that HTTP/1.1 has (test_http_conn.c) holds
 * for a stream and for its connection, and who is slow costs the other streams and the other
 * connections nothing. Then how a connection ends: what cannot be written, or is flooded, neither
 * spins nor is read for nothing. */
#include "http2_client.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define NEVER_MS 600000

#define BODY_FRAME "\0\0\1\0\0\0\0\0\1x" /* one byte */
#define BODY_FRAME_BYTES (sizeof BODY_FRAME - 1)

/* Sends it byte by byte, so that each byte comes within any deadline, until the stream or the
 * connection has ended; beside: requests from this stream on, between the frames of a body. */
static void drip(struct client *c, struct str bytes, uint32_t slow, uint32_t beside)
{
    for (size_t i = 0; i < bytes.n && !c->ended && c->goaway < 0; i++) {
        buf_add(&c->out, bytes.p + i, 1);
        if (!send_out(c))
            break;
        take_what_comes(c, 5);
        if (slow && (c->streams[slow].ended || c->streams[slow].reset >= 0))
            return;
        if (beside && (i + 1) % BODY_FRAME_BYTES == 0 && beside < CLIENT_STREAMS - 2) {
            CHECK_EQ_INT(ask(c, beside), 200);
            beside += 2;
        }
    }
}

static void slow_headers_end_their_connection(void)
{
    struct client c, neighbour;
    static const int begins[] = {0, NGHTTP2_FLAG_END_STREAM};
    REQUIRE(host_start_http2((struct http_server_options){
        .header_deadline_ms = 500, .request_deadline_ms = NEVER_MS, .idle_ms = NEVER_MS}));
    connect_http2(&neighbour, 65535);
    for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
        connect_http2(&c, 65535);
        CHECK_EQ_INT(ask(&c, 1), 200);
        /* One HEADERS frame that comes in bits; or one that is whole, and CONTINUATION in bits. */
        add_request(&c, 3, "GET", "/slow", "", begins[i]);
        struct buf rest = {0};
        buf_add(&rest, "\0\x30\0\x9\4\0\0\0\3", FRAME_HEAD_BYTES);
        for (int k = 0; k < 3000; k++)
            buf_add(&rest, "\0\1x\1y", 5);
        if (i == 0)
            buf_clear(&c.out);
        if (i == 0)
            memcpy(rest.p, "\0\x30\0\1\4\0\0\0\3", FRAME_HEAD_BYTES);
        drip(&c, buf_str(&rest), 3, 0);
        CHECK_EQ_INT(outcome(&c, 3), -1000);
        CHECK_EQ_INT(ask(&neighbour, (uint32_t)(2 * i + 1)), 200);
        buf_free(&rest);
        disconnect(&c);
    }
    int fd = dial(); /* it never begins its handshake */
    buf_clear(&answer);
    CHECK(get_all(fd, &answer));
    close(fd);
    CHECK_EQ_INT(ask(&neighbour, 9), 200);
    disconnect(&neighbour);
    host_stop();
}

static void slow_bodies_end_their_stream(void)
{
    static const char *const lengths[] = {"1000", ""};
    struct client c;
    REQUIRE(host_start_http2((struct http_server_options){
        .header_deadline_ms = NEVER_MS, .request_deadline_ms = 500, .idle_ms = NEVER_MS}));
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        struct buf body = {0}; /* so many frames of one byte, each sent byte by byte */
        for (int k = 0; k < 900; k++)
            buf_add(&body, BODY_FRAME, BODY_FRAME_BYTES);
        do { /* again, where a slow machine comes to no request beside it in time */
            connect_http2(&c, 65535);
            add_request(&c, 1, "POST", "/slow", lengths[i], NGHTTP2_FLAG_END_HEADERS);
            drip(&c, buf_str(&body), 1, 3);
            CHECK_EQ_INT(outcome(&c, 1), 408);
            disconnect(&c);
        } while (host.handled == 0);
        buf_free(&body);
        /* And a whole frame, then nothing. */
        connect_http2(&c, 65535);
        add_request(&c, 1, "POST", "/slow", lengths[i], NGHTTP2_FLAG_END_HEADERS);
        add_frame(&c, NGHTTP2_DATA, 0, 1, STR("xyz"));
        CHECK(send_out(&c));
        CHECK_EQ_INT(ask(&c, 3), 200);
        CHECK_EQ_INT(outcome(&c, 1), 408);
        add_frame(&c, NGHTTP2_DATA, 0, 1, STR("too late"));
        CHECK_EQ_INT(ask(&c, 5), 200);
        while (c.streams[1].reset < 0 && next_frame(&c)) {
        }
        CHECK_EQ_INT(c.streams[1].reset, NGHTTP2_NO_ERROR); /* it was let come for a while */
        CHECK_EQ_INT(ask(&c, 7), 200);
        disconnect(&c);
    }
    /* Trailers that do not end. */
    connect_http2(&c, 65535);
    add_request(&c, 1, "POST", "/slow", "", NGHTTP2_FLAG_END_HEADERS);
    add_frame(&c, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, STR("\0\1x\1y"));
    CHECK(send_out(&c));
    CHECK_EQ_INT(outcome(&c, 1), 408);
    disconnect(&c);
    host_stop();
}

/* A session whose request is being answered. On a busy machine the request may come after idle_ms:
 * then the next session is tried. */
static void connect_and_get(struct client *c, const char *path, bool opens_window)
{
    for (;;) {
        connect_http2(c, 65535);
        c->window_opened = opens_window;
        add_get(c, 1, path);
        (void)send_out(c);
        while (!c->streams[1].status && next_frame(c)) {
        }
        if (c->streams[1].status)
            break;
        disconnect(c);
    }
    CHECK_EQ_INT(c->streams[1].status, 200);
}

static void idle_connections_end(void)
{
    struct client c, other;
    static const struct str parts[] = {
        {"", 0}, {PREFACE, 10}, {PREFACE, sizeof PREFACE - 1}, {PREFACE "\0\0\6\4", 28}};
    REQUIRE(host_start_http2((struct http_server_options){
        .header_deadline_ms = NEVER_MS, .request_deadline_ms = NEVER_MS, .idle_ms = 500}));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) { /* silent, with a part of what must come */
        connect_tls(&c);
        buf_add_str(&c.out, parts[i]);
        (void)send_out(&c);
        CHECK_EQ_INT(end_of(&c), NGHTTP2_NO_ERROR);
        disconnect(&c);
    }
    connect_and_get(&c, "/x", false);
    struct buf pings = {0}; /* which are no request */
    for (int k = 0; k < 900; k++)
        buf_add(&pings, "\0\0\10\6\0\0\0\0\0ping of.", FRAME_HEAD_BYTES + 8);
    drip(&c, buf_str(&pings), 0, 0);
    CHECK_EQ_INT(end_of(&c), NGHTTP2_NO_ERROR);
    disconnect(&c);
    buf_free(&pings);
    /* One with a stream is not idle, for however long. */
    connect_and_get(&c, "/stream?endless", true);
    for (int i = 0; i < 3; i++) {
        connect_http2(&other, 65535);
        while (!other.ended) {
            take_what_comes(&other, 0);
            CHECK(next_frame(&c));
        }
        CHECK_EQ_INT(other.goaway, NGHTTP2_NO_ERROR);
        disconnect(&other);
    }
    CHECK_EQ_INT(ask(&c, 3), 200);
    CHECK_EQ_INT(c.goaway, -1);
    disconnect(&c);
    host_stop();
}

static void wait_until_gone(int count)
{
    for (int i = 0; i < 4000 && host.gone_seen < count; i++)
        usleep(5000);
    CHECK_EQ_INT(host.gone_seen, count);
}

static void answers_that_are_not_read_end_their_stream(void)
{
    struct client c, neighbour;
    REQUIRE(host_start_http2((struct http_server_options){
        .header_deadline_ms = NEVER_MS, .request_deadline_ms = 80, .idle_ms = NEVER_MS}));
    connect_http2(&neighbour, 65535);
    connect_http2(&c, 0);
    add_get(&c, 1, "/stream?endless");
    add_get(&c, 3, "/x");
    add_number_frame(&c, NGHTTP2_WINDOW_UPDATE, 3, 1000);
    CHECK(send_out(&c));
    CHECK_EQ_INT(outcome(&c, 3), 200);
    for (int i = 0; i < 900 && c.streams[1].reset < 0; i++) { /* no deadline begins anew */
        add_number_frame(&c, NGHTTP2_WINDOW_UPDATE, 1, 1);
        (void)send_out(&c);
        take_what_comes(&c, 8);
        usleep(1000);
    }
    CHECK_EQ_INT(outcome(&c, 1), -NGHTTP2_INTERNAL_ERROR);
    CHECK_EQ_INT(ask(&neighbour, 1), 200);
    disconnect(&c);
    wait_until_gone(1);
    /* No window at all: the stream only. */
    connect_http2(&c, 0);
    add_get(&c, 1, "/whole");
    CHECK(send_out(&c));
    CHECK_EQ_INT(outcome(&c, 1), -NGHTTP2_INTERNAL_ERROR);
    add_get(&c, 3, "/x");
    add_number_frame(&c, NGHTTP2_WINDOW_UPDATE, 3, 1000);
    CHECK(send_out(&c));
    CHECK_EQ_INT(outcome(&c, 3), 200);
    disconnect(&c);
    disconnect(&neighbour);
    host_stop();
}

/* A client that opens all windows and then reads nothing: what it is sent stays in the sockets. */
static void connect_deaf(struct client *c)
{
    connect_http2(c, INT32_MAX);
    add_number_frame(c, NGHTTP2_WINDOW_UPDATE, 0, INT32_MAX - 65535);
    add_get(c, 1, "/stream?endless");
    CHECK(send_out(c));
}

static void connections_that_are_not_read_end(void)
{
    struct client c, neighbour;
    REQUIRE(host_start_http2((struct http_server_options){
        .header_deadline_ms = NEVER_MS, .request_deadline_ms = 80, .idle_ms = NEVER_MS}));
    connect_http2(&neighbour, 65535);
    connect_deaf(&c);
    for (uint32_t i = 0; i < 5; i++)
        CHECK_EQ_INT(ask(&neighbour, 2 * i + 1), 200);
    wait_until_gone(1);
    CHECK_EQ_INT(end_of(&c), -1);
    disconnect(&c);
    CHECK_EQ_INT(ask(&neighbour, 21), 200);
    disconnect(&neighbour);
    host_stop();
}

static void late_handlers_are_spoken_for(void)
{
    struct client c;
    REQUIRE(host_start_http2((struct http_server_options){0}));
    connect_http2(&c, 65535);
    for (uint32_t i = 1; i < 12; i += 4) {
        add_get(&c, i, "/late");
        add_get(&c, i + 2, "/later");
        CHECK(send_out(&c));
        CHECK_EQ_INT(outcome(&c, i), 503);
        CHECK(memmem(c.streams[i].body.p, c.streams[i].body.n, "not known yet", 13));
        CHECK_EQ_INT(outcome(&c, i + 2), 200);
    }
    wait_until_gone(3);
    CHECK_EQ_INT(ask(&c, 21), 200);
    disconnect(&c);
    host_stop();
}

static atomic_int asked;

static size_t only_1000(void *context)
{
    ASSERT(context == &asked);
    asked++;
    return 1000;
}

static void a_tick_reads_as_much_of_a_session_as_it_may(void)
{
    enum { FRAME = 15000 };
    struct client c;
    struct buf body = {0};
    REQUIRE(host_start_http2(
        (struct http_server_options){.body_tick_bytes = only_1000, .body_context = &asked}));
    connect_http2(&c, 65535);
    add_request(&c, 1, "POST", "/x", "60000", NGHTTP2_FLAG_END_HEADERS);
    add_body(&body, 0, 4 * FRAME);
    CHECK(send_out(&c));
    for (size_t i = 0; i < 4; i++) {
        add_frame(&c, NGHTTP2_DATA, i < 3 ? 0 : NGHTTP2_FLAG_END_STREAM, 1,
                  (struct str){body.p + i * FRAME, FRAME});
        CHECK(send_out(&c));
    }
    CHECK_EQ_INT(outcome(&c, 1), 200);
    CHECK_EQ_INT(host.bodies_good, 1);
    CHECK(asked >= 60);
    buf_free(&body);
    disconnect(&c);
    host_stop();
}

/* ---- the end of a connection */

/* Comes back when the server has closed a connection that said nothing for header_deadline_ms. */
static void wait_a_deadline(void)
{
    int fd = dial();
    buf_clear(&answer);
    CHECK(get_all(fd, &answer));
    close(fd);
}

/* Of a hundred looks, how many found the server's thread at work, or ready to be: one that spins
 * is, whatever else the machine does. */
static int server_busy_percent(void)
{
    char path[64], line[512] = "";
    int busy = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)host.thread_id);
    for (int i = 0; i < 100; i++) {
        FILE *file = fopen(path, "re");
        ASSERT(file && fgets(line, sizeof line, file));
        fclose(file);
        const char *state = strrchr(line, ')');
        busy += state && state[2] == 'R';
        usleep(3000);
    }
    return busy;
}

static void a_farewell_that_is_not_read_does_not_spin(void)
{
    enum { STREAMS = 5 };
    struct client c;
    REQUIRE(host_start_http2((struct http_server_options){
        .header_deadline_ms = 500, .request_deadline_ms = NEVER_MS, .idle_ms = 500}));
    connect_deaf(&c);
    for (uint32_t i = 1; i < STREAMS; i++)
        add_get(&c, 2 * i + 1, "/stream?endless");
    CHECK(send_out(&c));
    for (uint32_t i = 0; i < STREAMS; i++) { /* the sockets get full, and fuller */
        wait_a_deadline();
        add_number_frame(&c, NGHTTP2_RST_STREAM, 2 * i + 1, NGHTTP2_CANCEL);
        CHECK(send_out(&c));
        wait_until_gone((int)i + 1);
    }
    wait_a_deadline();
    wait_a_deadline(); /* GOAWAY is owed since long */
    CHECK(server_busy_percent() < 50);
    CHECK_EQ_INT(end_of(&c), NGHTTP2_NO_ERROR);
    disconnect(&c);
    host_stop();
}

#define PING_FRAME "\0\0\10\6\0\0\0\0\0pingping" /* is to be acknowledged */
#define UNKNOWN_FRAME "\0\0\10\x77\0\0\0\0\0whatever"
#define EMPTY_DATA "\0\0\0\0\0\0\0\0\3" /* on a stream that is open */

/* As many bytes as the server takes, up to `most`. */
static size_t flood(struct client *c, struct str frame, size_t most)
{
    struct pollfd writable = {.fd = c->fd, .events = POLLOUT};
    struct buf part = {0};
    while (part.n + frame.n <= 16384)
        buf_add_str(&part, frame);
    ASSERT(fcntl(c->fd, F_SETFL, O_NONBLOCK) == 0);
    size_t sent = 0, n = 0;
    while (sent < most) {
        if (SSL_write_ex(c->tls, part.p, part.n, &n) == 1)
            sent += n;
        else if (SSL_get_error(c->tls, 0) != SSL_ERROR_WANT_WRITE || poll(&writable, 1, 1000) == 0)
            break;
    }
    ERR_clear_error();
    buf_free(&part);
    return sent;
}

static void a_flood_behind_a_farewell_is_not_read(void)
{
    enum { MOST = 128 << 20 };
    static const struct str frames[] = {{PING_FRAME, sizeof PING_FRAME - 1},
                                        {UNKNOWN_FRAME, sizeof UNKNOWN_FRAME - 1},
                                        {EMPTY_DATA, sizeof EMPTY_DATA - 1}};
    struct client c, neighbour;
    REQUIRE(host_start_http2((struct http_server_options){
        .header_deadline_ms = 500, .request_deadline_ms = NEVER_MS, .idle_ms = NEVER_MS}));
    connect_http2(&neighbour, 65535);
    for (uint32_t i = 0; i < ARRAY_LEN(frames); i++) {
        connect_deaf(&c);
        add_request(&c, 3, "POST", "/slow", "", NGHTTP2_FLAG_END_HEADERS);
        CHECK(send_out(&c));
        wait_a_deadline(); /* by now the sockets are full */
        size_t sent = flood(&c, frames[i], MOST);
        CHECK(sent < MOST);
        CHECK_EQ_INT(ask(&neighbour, 2 * i + 1), 200);
        disconnect(&c);
    }
    disconnect(&neighbour);
    host_stop();
}

static void what_is_no_part_of_a_body_has_an_end(void)
{
    enum { MOST = 64 << 20 };
    char padding[FRAME_HEAD_BYTES + 256] = "\0\1\0\0\x8\0\0\0\1\xff";
    char data[FRAME_HEAD_BYTES + 4096] = "\0\x10\0\0\0\0\0\0\1";
    const struct {
        const char *path;
        struct str frame;
    } cases[] = {
        {"/padded", {"\0\0\1\0\x8\0\0\0\1\0", FRAME_HEAD_BYTES + 1}}, /* no byte of it */
        {"/padded", {padding, sizeof padding}},
        {"/secret", {data, sizeof data}}, /* refused, and the answer finds no window */
    };
    struct client c, neighbour;
    REQUIRE(host_start_http2((struct http_server_options){0}));
    connect_http2(&neighbour, 65535);
    for (uint32_t i = 0; i < ARRAY_LEN(cases); i++) {
        connect_http2(&c, 0);
        add_request(&c, 1, "POST", cases[i].path, "", NGHTTP2_FLAG_END_HEADERS);
        CHECK(send_out(&c));
        CHECK(flood(&c, cases[i].frame, MOST) < MOST);
        CHECK_EQ_INT(ask(&neighbour, 2 * i + 1), 200);
        disconnect(&c);
    }
    disconnect(&neighbour);
    host_stop();
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    RUN(slow_headers_end_their_connection);
    RUN(slow_bodies_end_their_stream);
    RUN(idle_connections_end);
    RUN(answers_that_are_not_read_end_their_stream);
    RUN(connections_that_are_not_read_end);
    RUN(late_handlers_are_spoken_for);
    RUN(a_tick_reads_as_much_of_a_session_as_it_may);
    RUN(a_farewell_that_is_not_read_does_not_spin);
    RUN(a_flood_behind_a_farewell_is_not_read);
    RUN(what_is_no_part_of_a_body_has_an_end);
    host_forget_http2();
    buf_free(&answer);
    return check_done("http2_conn");
}
