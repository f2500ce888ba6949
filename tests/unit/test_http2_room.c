/* HTTP/2 from clients: what streams and sessions hold together with others, and who goes where room
 * is short (test_http_room.c has the same over HTTP/1.1). */
#include "http2_client.h"

#include "base/limits.h"

#include <signal.h>
#include <unistd.h>

#define NEVER_MS 600000

static void waiting_for_room_has_an_end(void)
{
    struct client c;
    REQUIRE(host_start_http2((struct http_server_options){.buffers_max_bytes = 1 << 20,
                                                          .header_deadline_ms = 500,
                                                          .request_deadline_ms = NEVER_MS,
                                                          .idle_ms = NEVER_MS}));
    connect_http2(&c, 65535);
    add_request(&c, 1, "POST", "/first", "600000", NGHTTP2_FLAG_END_HEADERS);
    add_request(&c, 3, "POST", "/second", "600000", NGHTTP2_FLAG_END_HEADERS);
    add_frame(&c, NGHTTP2_DATA, 0, 3, STR("held until there is room"));
    add_request(&c, 5, "POST", "/small", "3", NGHTTP2_FLAG_END_HEADERS);
    add_frame(&c, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 5, STR("abc"));
    CHECK(send_out(&c));
    CHECK_EQ_INT(outcome(&c, 5), 200);
    CHECK_EQ_INT(outcome(&c, 3), 503);
    CHECK(memmem(c.streams[3].body.p, c.streams[3].body.n, "buffers", 7));
    disconnect(&c);
    host_stop();
    CHECK_EQ_INT(http_get_numbers().buffer_bytes, 0);
}

/* What of the bound is used is known when the answer of a request that came later is here. */
static void check_bound(struct client *c, uint32_t stream, int64_t most)
{
    CHECK_EQ_INT(ask(c, stream), 200);
    CHECK(http_get_numbers().buffer_bytes <= most);
}

/* Answers that nobody takes fill the buffers: the oldest are given up, whoever waits for them, and
 * who comes then is served. A key protects those of its account's share only. */
static void answers_not_taken_shut_nobody_out(void)
{
    static const char *paths[] = {"/x", "/known", "/known"};
    static const int64_t stall_known_ms[] = {NEVER_MS, 1, NEVER_MS};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct client stalled[8], fresh;
        REQUIRE(host_start_http2((struct http_server_options){.buffers_max_bytes = 1 << 16,
                                                              .stall_known_ms = stall_known_ms[i],
                                                              .header_deadline_ms = NEVER_MS,
                                                              .request_deadline_ms = NEVER_MS,
                                                              .idle_ms = NEVER_MS}));
        for (size_t k = 0; k < ARRAY_LEN(stalled); k++) {
            connect_http2(&stalled[k], 0);
            add_get(&stalled[k], 1, paths[i]);
            CHECK(send_out(&stalled[k]));
            take_what_comes(&stalled[k], 20);
        }
        connect_http2(&fresh, 65535);
        CHECK_EQ_INT(ask(&fresh, 1), 200);
        check_bound(&fresh, 3, 1 << 16);
        for (size_t k = 0; k < ARRAY_LEN(stalled); k++)
            disconnect(&stalled[k]);
        disconnect(&fresh);
        host_stop();
        CHECK_EQ_INT(http_get_numbers().buffer_bytes, 0);
    }
}

/* Answers that wait for their clients for longest: of one who is known, of a stranger who takes
 * some now and then. Strangers who come later and take nothing go before them. */
static void answers_that_are_taken_slowly_come_whole(void)
{
    struct client known, slow, stalled[8];
    REQUIRE(host_start_http2((struct http_server_options){.buffers_max_bytes = 20 << 14,
                                                          .stall_known_ms = NEVER_MS,
                                                          .header_deadline_ms = NEVER_MS,
                                                          .request_deadline_ms = NEVER_MS,
                                                          .idle_ms = NEVER_MS}));
    connect_http2(&known, 0);
    add_get(&known, 1, "/known");
    CHECK(send_out(&known));
    connect_http2(&slow, 0);
    add_get(&slow, 1, "/big");
    CHECK(send_out(&slow));
    for (size_t k = 0; k < ARRAY_LEN(stalled); k++) {
        connect_http2(&stalled[k], 0);
        add_get(&stalled[k], 1, "/big");
        CHECK(send_out(&stalled[k]));
        take_what_comes(&stalled[k], 5);
        add_number_frame(&slow, NGHTTP2_WINDOW_UPDATE, 1, 1);
        CHECK(send_out(&slow));
        take_what_comes(&slow, 5);
    }
    add_number_frame(&known, NGHTTP2_WINDOW_UPDATE, 1, 1000);
    add_number_frame(&slow, NGHTTP2_WINDOW_UPDATE, 1, 30000);
    CHECK(send_out(&known) && send_out(&slow));
    CHECK_EQ_INT(outcome(&known, 1), 200);
    CHECK_EQ_INT(outcome(&slow, 1), 200);
    CHECK(outcome(&stalled[0], 1) < 0);
    for (size_t k = 0; k < ARRAY_LEN(stalled); k++)
        disconnect(&stalled[k]);
    disconnect(&known);
    disconnect(&slow);
    host_stop();
}

/* The oldest body gets a byte now and then: those of other streams that get none make room. */
static void bodies_that_get_on_come_whole(void)
{
    struct client slow, stalled;
    REQUIRE(host_start_http2((struct http_server_options){.buffers_max_bytes = 20 << 14,
                                                          .stall_ms = 1,
                                                          .header_deadline_ms = NEVER_MS,
                                                          .request_deadline_ms = NEVER_MS,
                                                          .idle_ms = NEVER_MS}));
    connect_http2(&slow, 65535);
    connect_http2(&stalled, 65535);
    add_request(&slow, 1, "POST", "/slow", "16000", NGHTTP2_FLAG_END_HEADERS);
    struct buf body = {0};
    add_body(&body, 0, 16000);
    size_t sent = 0;
    for (uint32_t k = 1; k < CLIENT_STREAMS; k += 2, sent++) {
        add_request(&stalled, k, "POST", "/stalled", "16000", NGHTTP2_FLAG_END_HEADERS);
        add_frame(&stalled, NGHTTP2_DATA, 0, k, STR("x"));
        add_frame(&slow, NGHTTP2_DATA, 0, 1, (struct str){body.p + sent, 1});
        CHECK(send_out(&stalled) && send_out(&slow));
        take_what_comes(&stalled, 3);
    }
    CHECK_EQ_INT(outcome(&stalled, 1), -NGHTTP2_INTERNAL_ERROR);
    add_frame(&slow, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1,
              (struct str){body.p + sent, body.n - sent});
    CHECK(send_out(&slow));
    CHECK_EQ_INT(outcome(&slow, 1), 200);
    CHECK_EQ_INT(host.bodies_good, 1);
    buf_free(&body);
    disconnect(&slow);
    disconnect(&stalled);
    host_stop();
}

/* A stream's place is made by closing the session's only other stream, and there is one place too
 * few even then: a session that is worked on does not become idle, and closed, by that. */
static void a_session_outlives_the_streams_that_make_place(void)
{
    struct client c;
    REQUIRE(host_start_http2((struct http_server_options){.connections_max = 2,
                                                          .connections_reserved = 1,
                                                          .connections_per_address = 2,
                                                          .header_deadline_ms = NEVER_MS,
                                                          .request_deadline_ms = NEVER_MS,
                                                          .idle_ms = NEVER_MS}));
    connect_http2(&c, 65535);
    add_request(&c, 1, "POST", "/x", "10", NGHTTP2_FLAG_END_HEADERS);
    add_frame(&c, NGHTTP2_DATA, 0, 1, STR("x"));
    CHECK(send_out(&c));
    take_what_comes(&c, 20);
    CHECK_EQ_INT(ask(&c, 3), 200);
    CHECK_EQ_INT(outcome(&c, 1), -NGHTTP2_INTERNAL_ERROR);
    CHECK_EQ_INT(ask(&c, 5), 200);
    disconnect(&c);
    host_stop();
}

/* A body of one byte so far, then one of the same session that waits for room and uses up the
 * window of both. There is no place left. */
static void begin_held_up(struct client *c, const char *path)
{
    struct buf body = {0};
    add_body(&body, 0, 8192); /* a frame fits into one record of TLS */
    connect_http2(c, 65535);
    add_frame(c, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, STR("")); /* of the streams' windows */
    add_request(c, 1, "POST", path, "10", NGHTTP2_FLAG_END_HEADERS);
    add_frame(c, NGHTTP2_DATA, 0, 1, STR("a"));
    CHECK(send_out(c));
    int64_t waited = http_get_numbers().bodies_waited;
    add_request(c, 3, "POST", path, "800000", NGHTTP2_FLAG_END_HEADERS);
    for (size_t left = LIMIT_HTTP2_WINDOW_BYTES - 1, n; left > 0; left -= n) {
        n = left < body.n ? left : body.n;
        add_frame(c, NGHTTP2_DATA, 0, 3, (struct str){body.p, n});
        CHECK(send_out(c));
    }
    buf_free(&body);
    while (http_get_numbers().bodies_waited == waited ||
           http_get_numbers().buffer_bytes < LIMIT_HTTP2_WINDOW_BYTES)
        usleep(1000);
    usleep(2000); /* stall_known_ms, and more */
}

/* Whose client cannot send is not closed for that, unless nobody knows who it is; once the client
 * can send, it is closed for not sending. */
static void streams_held_up_by_their_session_stay(void)
{
    struct client c;
    struct http_server_options options = {.connections_max = 3,
                                          .buffers_max_bytes = 2 << 20,
                                          .stall_known_ms = 1,
                                          .header_deadline_ms = 300,
                                          .request_deadline_ms = NEVER_MS,
                                          .idle_ms = NEVER_MS};
    for (int ends = 0; ends < 2; ends++) {
        REQUIRE(host_start_http2(options));
        begin_held_up(&c, "/known");
        CHECK_EQ_INT(ask(&c, 5), -NGHTTP2_REFUSED_STREAM);
        CHECK_EQ_INT(outcome(&c, 3), 503);
        if (ends) {
            add_frame(&c, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, STR("bcdefghij"));
            CHECK(send_out(&c));
            CHECK_EQ_INT(outcome(&c, 1), 200);
        } else {
            usleep(2000);
            add_get(&c, 7, "/later"); /* these two take the places of 3, which is over, and of 1 */
            add_get(&c, 9, "/x");
            CHECK(send_out(&c));
            CHECK_EQ_INT(outcome(&c, 9), 200);
            CHECK_EQ_INT(outcome(&c, 1), -NGHTTP2_INTERNAL_ERROR);
        }
        disconnect(&c);
        host_stop();
    }
    REQUIRE(host_start_http2(options));
    begin_held_up(&c, "/x");
    CHECK_EQ_INT(ask(&c, 5), 200);
    CHECK_EQ_INT(outcome(&c, 1), -NGHTTP2_INTERNAL_ERROR);
    disconnect(&c);
    host_stop();
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    RUN(waiting_for_room_has_an_end);
    RUN(answers_not_taken_shut_nobody_out);
    RUN(answers_that_are_taken_slowly_come_whole);
    RUN(bodies_that_get_on_come_whole);
    RUN(a_session_outlives_the_streams_that_make_place);
    RUN(streams_held_up_by_their_session_stay);
    host_forget_http2();
    buf_free(&answer);
    return check_done("http2_room");
}
