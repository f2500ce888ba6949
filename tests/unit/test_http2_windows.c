/* HTTP/2 from clients: however a client opens its windows, its answers come whole, in frames that
 * are no smaller than they must be; and paying back what came is no flood. */
#include "http2_client.h"

#include <signal.h>

#define NEVER_MS 600000
#define STREAM_BYTES                                                                               \
    (100 * (int64_t)sizeof((struct later *)0)->fill) /* of "/stream", in 100 pieces */

/* window_wait_ms 0: the usual one. */
static void begin(struct client *c, uint32_t window, int64_t window_wait_ms)
{
    REQUIRE(host_start_http2((struct http_server_options){.header_deadline_ms = NEVER_MS,
                                                          .request_deadline_ms = NEVER_MS,
                                                          .idle_ms = NEVER_MS,
                                                          .window_wait_ms = window_wait_ms}));
    connect_http2(c, window);
}

static void end(struct client *c)
{
    CHECK_EQ_INT(c->goaway, -1);
    disconnect(c);
    host_stop();
}

static void add_window(struct client *c, uint32_t window)
{
    char setting[6] = {0,           NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0, 0, (char)(window >> 8),
                       (char)window};
    add_frame(c, NGHTTP2_SETTINGS, 0, 0, (struct str){setting, sizeof setting});
    CHECK(send_out(c));
}

static void frames_that_are_paid_back_one_by_one_stay_large(void)
{
    enum { STREAMS = 6, FRAMES_OF_PIECE = 6 }; /* two, if the window is large */
    struct client c;
    begin(&c, 65535, NEVER_MS); /* however slow the client is on a busy machine */
    c.window_opened = true;
    for (uint32_t i = 0; i < STREAMS; i++)
        add_get(&c, 2 * i + 1, "/stream");
    CHECK(send_out(&c));
    for (uint32_t i = 0; i < STREAMS; i++)
        CHECK_EQ_INT(outcome(&c, 2 * i + 1), 200);
    CHECK_EQ_INT(c.data_bytes, STREAMS * STREAM_BYTES);
    CHECK(c.data_frames <= STREAMS * 100 * FRAMES_OF_PIECE);
    end(&c);
}

static void tiny_windows_get_everything(void)
{
    static const uint32_t windows[] = {1, 2, 999, 4095};
    for (size_t i = 0; i < ARRAY_LEN(windows); i++) {
        struct client c;
        begin(&c, windows[i], 0);
        c.window_opened = true;
        add_get(&c, 1, "/big");
        CHECK(send_out(&c));
        CHECK_EQ_INT(outcome(&c, 1), 200);
        CHECK_EQ_INT(c.data_bytes, STREAM_BYTES / 100);
        end(&c);
    }
}

static void windows_that_shrink_get_everything(void)
{
    static const uint32_t windows[] = {100, 65535, 1, 3000, 0, 20000};
    struct client c;
    begin(&c, 65535, 0);
    c.window_opened = true;
    for (uint32_t i = 1; i <= 5; i += 2)
        add_get(&c, i, "/stream");
    CHECK(send_out(&c));
    for (size_t i = 0; i < ARRAY_LEN(windows); i++) { /* the first ones leave less than nothing */
        int64_t until = c.data_bytes + (windows[i] > 1 ? 100000 : 0);
        add_window(&c, windows[i]);
        while (c.data_bytes < until && next_frame(&c)) {
        }
    }
    for (uint32_t i = 1; i <= 5; i += 2)
        CHECK_EQ_INT(outcome(&c, i), 200);
    CHECK_EQ_INT(c.data_bytes, 3 * STREAM_BYTES);
    end(&c);
}

/* So there may be a rest of a window that no piece fits into, and nothing will be paid back. */
static void a_window_that_is_paid_back_when_it_is_used_up(void)
{
    enum { PAID_BYTES = 1000 };
    struct client c;
    int64_t granted = 65535;
    begin(&c, 65535, 0);
    add_get(&c, 1, "/stream");
    CHECK(send_out(&c));
    while (!c.streams[1].ended && next_frame(&c)) {
        if (c.data_bytes < granted)
            continue;
        granted += PAID_BYTES;
        add_number_frame(&c, NGHTTP2_WINDOW_UPDATE, 0, PAID_BYTES);
        add_number_frame(&c, NGHTTP2_WINDOW_UPDATE, 1, PAID_BYTES);
        CHECK(send_out(&c));
    }
    CHECK_EQ_INT(c.data_bytes, STREAM_BYTES);
    end(&c);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    RUN(frames_that_are_paid_back_one_by_one_stay_large);
    RUN(tiny_windows_get_everything);
    RUN(windows_that_shrink_get_everything);
    RUN(a_window_that_is_paid_back_when_it_is_used_up);
    host_forget_http2();
    return check_done("http2_windows");
}
