/* What connections hold together: places by address and in all, the reserve, room for bodies. */
#include "http_host.h"

#include "base/limits.h"
#include "http/conn.h"
#include "http/forwarded.h"

#include <unistd.h>

static void an_address_loses_its_own_idle_connection(void)
{
    REQUIRE(host_start((struct http_server_options){.connections_per_address = 2}));
    int other = dial_from(9), fds[4];
    CHECK(serves(other, "/x"));
    for (size_t i = 0; i < 4; i++) {
        fds[i] = dial_from(5);
        CHECK(serves(fds[i], "/x"));
    }
    CHECK(is_closed(fds[0]));
    CHECK(is_closed(fds[1]));
    CHECK(serves(fds[2], "/x"));
    CHECK(serves(fds[3], "/x"));
    CHECK(serves(other, "/x"));
    for (size_t i = 0; i < 4; i++)
        close(fds[i]);
    close(other);
    host_stop();
}

static void an_address_with_nothing_idle_is_refused(void)
{
    REQUIRE(host_start((struct http_server_options){.connections_per_address = 1}));
    int busy = dial_from(5), other = dial_from(9);
    CHECK(serves(other, "/x"));
    CHECK(serves(busy, "/stream?endless"));
    int more = dial_from(5);
    buf_clear(&answer);
    CHECK(get_times(more, "503 ", 1));
    CHECK(serves(other, "/x"));
    close(busy);
    close(more);
    close(other);
    host_stop();
}

static void a_forwarded_address_is_the_one_that_counts(void)
{
    struct cidr proxy;
    REQUIRE(cidr_parse(STR("127.0.0.5/32"), &proxy));
    REQUIRE(host_start((struct http_server_options){
        .connections_per_address = 1, .trusted_proxies = &proxy, .trusted_proxy_count = 1}));
    static const char one[] = "GET /x HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n";
    static const char two[] = "GET /x HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.2\r\n\r\n";
    int first = dial_from(5), second = dial_from(5), third = dial_from(5);
    buf_clear(&answer);
    put(first, str_of(one));
    CHECK(get_times(first, "200 OK", 1));
    buf_clear(&answer);
    put(second, str_of(two));
    CHECK(get_times(second, "200 OK", 1));
    buf_clear(&answer);
    put(third, str_of(one));
    CHECK(get_times(third, "503 ", 1));
    CHECK(says("from this address"));
    buf_clear(&answer);
    put(second, str_of(two)); /* one connection may be of many, one after the other */
    CHECK(get_times(second, "200 OK", 1));
    close(first);
    close(second);
    close(third);
    host_stop();
}

static void empty_elements_of_a_list_are_none(void)
{
    static const struct {
        const char *forwarded[2], *peer;
    } rows[] = {
        {{"9.9.9.9,", NULL}, "9.9.9.9"},
        {{"1.1.1.1, 9.9.9.9, ,\t", NULL}, "9.9.9.9"},
        {{"9.9.9.9, ,10.0.0.2,", NULL}, "9.9.9.9"},
        {{"9.9.9.9", ", ,"}, "9.9.9.9"},
        {{",", ""}, "10.0.0.1"},
        {{"9.9.9.9, x,", NULL}, "10.0.0.1"},
    };
    struct cidr proxies;
    REQUIRE(cidr_parse(STR("10.0.0.0/8"), &proxies));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_header headers[] = {
            {STR("x-forwarded-proto"), STR("https,")},
            {STR("x-forwarded-for"), str_of(rows[i].forwarded[0])},
            {STR("x-forwarded-for"), str_of(rows[i].forwarded[1])},
        };
        struct http_request r = {.headers = headers, .header_count = rows[i].forwarded[1] ? 3 : 2};
        struct buf peer = {0};
        REQUIRE(address_parse(STR("10.0.0.1"), &r.peer));
        forwarded_resolve(&r, &proxies, 1);
        address_print(&peer, &r.peer);
        CHECK_CSTR(buf_c(&peer), rows[i].peer);
        CHECK(r.secure);
        buf_free(&peer);
    }
}

/* Whoever has an IPv6 site has 65,536 networks of 2^64 addresses each. */
static void a_site_is_one_address(void)
{
    static const char *const from[] = {"2001:db8:1:1::1", "2001:db8:1:ffff::2", "2001:db8:2:1::1",
                                       "::ffff:192.0.2.1", "::ffff:192.0.2.2"};
    static const char *const says_what[] = {"200 OK", "503 ", "200 OK", "200 OK", "200 OK"};
    struct cidr proxy;
    REQUIRE(cidr_parse(STR("127.0.0.5/32"), &proxy));
    REQUIRE(host_start((struct http_server_options){
        .connections_per_address = 1, .trusted_proxies = &proxy, .trusted_proxy_count = 1}));
    int fds[ARRAY_LEN(from)];
    for (size_t i = 0; i < ARRAY_LEN(from); i++) {
        struct buf request = {0};
        buf_printf(&request, "GET /x HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: %s\r\n\r\n", from[i]);
        fds[i] = dial_from(5);
        buf_clear(&answer);
        put(fds[i], buf_str(&request));
        CHECK(get_times(fds[i], says_what[i], 1));
        buf_free(&request);
    }
    for (size_t i = 0; i < ARRAY_LEN(from); i++)
        close(fds[i]);
    host_stop();
}

static void strangers_that_idle_go_first(void)
{
    REQUIRE(host_start((struct http_server_options){.connections_max = 3}));
    int known = dial(), stranger = dial(), busy = dial();
    CHECK(serves(known, "/known"));
    CHECK(serves(stranger, "/x"));
    CHECK(serves(busy, "/stream?endless"));
    int fresh = dial();
    CHECK(serves(fresh, "/known"));
    CHECK(is_closed(stranger));
    int late = dial(); /* nobody else is idle now */
    CHECK(serves(late, "/x"));
    CHECK(is_closed(known));
    CHECK(serves(fresh, "/x"));
    close(known);
    close(stranger);
    close(busy);
    close(fresh);
    close(late);
    host_stop();
}

static void the_reserve_is_for_those_who_are_known(void)
{
    REQUIRE(
        host_start((struct http_server_options){.connections_max = 3, .connections_reserved = 1}));
    int busy[2] = {dial(), dial()};
    CHECK(serves(busy[0], "/stream?endless"));
    CHECK(serves(busy[1], "/stream?endless"));
    int last = dial();
    buf_clear(&answer);
    put(last, STR("GET /stranger HTTP/1.1\r\nHost: h\r\n\r\n"));
    CHECK(get_times(last, "503 ", 1));
    CHECK(serves(last, "/known"));
    CHECK(serves(last, "/stranger")); /* who is known is no stranger any more */
    close(busy[0]);
    close(busy[1]);
    close(last);
    host_stop();
}

static void wait_until_waited(int64_t count)
{
    while (http_get_numbers().bodies_waited < count)
        usleep(1000);
}

/* The first holds the room, the second waits; what is small or fits beside it goes on. */
static void a_body_waits_for_room(void)
{
    int64_t waited = http_get_numbers().bodies_waited;
    REQUIRE(host_start((struct http_server_options){.buffers_max_bytes = 1 << 20}));
    int first = begin_post(5, 500000, 1000);
    while (http_get_numbers().buffer_bytes < 500000)
        usleep(1000);
    int second = begin_post(6, 400000, 1000);
    wait_until_waited(waited + 1);
    end_post(begin_post(7, 20000, 100), 20000, 100);
    CHECK_EQ_INT(host.handled, 1);
    end_post(first, 500000, 1000);
    end_post(second, 400000, 1000);
    CHECK_EQ_INT(host.handled, 3);
    CHECK_EQ_INT(host.bodies_good, 3);
    host_stop();
    CHECK_EQ_INT(http_get_numbers().buffer_bytes, 0);
}

static void an_address_has_half_of_the_room(void)
{
    int64_t waited = http_get_numbers().bodies_waited;
    REQUIRE(host_start((struct http_server_options){.buffers_max_bytes = 2 << 20, .stall_ms = 1}));
    int first = begin_post(5, 500000, 1000);
    while (http_get_numbers().buffer_bytes < 500000)
        usleep(1000);
    int second = begin_post(5, 400000, 1000);
    wait_until_waited(waited + 1);
    end_post(begin_post(6, 600000, 1000), 600000, 1000);
    CHECK_EQ_INT(host.handled, 1);
    end_post(first, 500000, 1000);
    end_post(second, 400000, 1000);
    host_stop();
}

static void waiting_has_an_end(void)
{
    int64_t waited = http_get_numbers().bodies_waited;
    REQUIRE(host_start(
        (struct http_server_options){.buffers_max_bytes = 1 << 20, .header_deadline_ms = 300}));
    int first = begin_post(5, 500000, 1000);
    while (http_get_numbers().buffer_bytes < 500000)
        usleep(1000);
    int second = begin_post(6, 400000, 1000);
    wait_until_waited(waited + 1);
    buf_clear(&answer);
    CHECK(get_all(second, &answer));
    CHECK_EQ_INT(status(), 503);
    CHECK(says("Retry-After: ") && says("buffers"));
    end_post(first, 500000, 1000);
    close(second);
    int third = begin_post(6, 400000, 1000); /* nothing of the refused one is held */
    end_post(third, 400000, 1000);
    host_stop();
    CHECK_EQ_INT(http_get_numbers().buffer_bytes, 0);
}

static void those_that_leave_give_room_back(void)
{
    int64_t waited = http_get_numbers().bodies_waited;
    REQUIRE(host_start((struct http_server_options){.buffers_max_bytes = 1 << 20}));
    int first = begin_post(5, 500000, 1000);
    while (http_get_numbers().buffer_bytes < 500000)
        usleep(1000);
    int second = begin_post(6, 400000, 1000), third = begin_post(7, 400000, 1000);
    wait_until_waited(waited + 2);
    close(second); /* while it waits, unseen until it has room */
    close(first);
    end_post(third, 400000, 1000);
    host_stop();
    CHECK_EQ_INT(http_get_numbers().buffer_bytes, 0);
}

#define STALLED 300

/* Bodies that do not get on, and more that wait for room: the older ones make room for others. */
static void strangers_that_stall_shut_nobody_out(void)
{
    int64_t waited = http_get_numbers().bodies_waited;
    REQUIRE(host_start((struct http_server_options){.buffers_max_bytes = 2 << 20}));
    int stalled[STALLED];
    for (int i = 0; i < STALLED; i++)
        stalled[i] = begin_post_to("body", 5 + i % 2, 16000, 1);
    wait_until_waited(waited + 1);
    int fresh = dial_from(9);
    CHECK(serves(fresh, "/known"));
    end_post(begin_post_to("known", 9, 60000, 100), 60000, 100);
    end_post(begin_post(9, 16000, 100), 16000, 100);
    for (int i = 0; i < STALLED; i++)
        close(stalled[i]);
    close(fresh);
    host_stop();
    CHECK_EQ_INT(http_get_numbers().buffer_bytes, 0);
}

/* The two oldest bodies, of a stranger who sends a byte now and then, and of one who is known and
 * sends none: those of strangers who send none make room. */
static void slow_bodies_stay_where_others_stall(void)
{
    REQUIRE(host_start((struct http_server_options){.buffers_max_bytes = 1 << 18, .stall_ms = 1}));
    int slow = begin_post(9, 16000, 1), known = begin_post_to("known", 9, 16000, 1), stalled[40];
    for (int i = 0; i < 40; i++) {
        stalled[i] = begin_post(5, 16000, 1);
        usleep(2000);
        put(slow, (struct str){&"abcdefghijklmnopqrstuvw"[(i + 1) % 23], 1});
        usleep(2000);
    }
    CHECK(is_closed(stalled[0]));
    end_post(slow, 16000, 41);
    end_post(known, 16000, 1);
    CHECK_EQ_INT(host.bodies_good, 2);
    for (int i = 0; i < 40; i++)
        close(stalled[i]);
    host_stop();
}

/* A key does not hold a place for who stalls: after a while it is another's. */
static void who_is_known_stalls_for_a_while(void)
{
    static const int64_t stall_known_ms[] = {600000, 1};
    for (size_t i = 0; i < ARRAY_LEN(stall_known_ms); i++) {
        REQUIRE(host_start((struct http_server_options){.connections_max = 2,
                                                        .stall_known_ms = stall_known_ms[i]}));
        int stalled[2];
        for (int k = 0; k < 2; k++) { /* the second is the younger one */
            int64_t before = http_get_numbers().buffer_bytes;
            stalled[k] = begin_post_to("known", 5 + k, 40000, 1);
            while (http_get_numbers().buffer_bytes < before + 40000)
                usleep(1000);
        }
        usleep(2000);
        int fresh = dial_from(9);
        if (i == 0) {
            buf_clear(&answer);
            CHECK(get_times(fresh, "503 ", 1));
            end_post(stalled[0], 40000, 1);
        } else {
            CHECK(serves(fresh, "/x"));
            CHECK(is_closed(stalled[0]));
            close(stalled[0]);
        }
        end_post(stalled[1], 40000, 1);
        close(fresh);
        host_stop();
    }
}

enum { IDLE, STALLED_BODY, WAITS_FOR_ROOM };

static int begin_waiting(int how, int from)
{
    struct http_numbers before = http_get_numbers();
    int fd = how == IDLE ? dial_from(from) : begin_post_to("known", from, 60000, 1);
    if (how == IDLE)
        CHECK(serves(fd, "/known"));
    while (how == STALLED_BODY && http_get_numbers().buffer_bytes < before.buffer_bytes + 60000)
        usleep(1000);
    if (how == WAITS_FOR_ROOM)
        wait_until_waited(before.bodies_waited + 1);
    return fd;
}

/* A key that comes from many addresses has every place: its connections beyond the share of its
 * account make place as a stranger's do, the first ones stay. */
static void an_account_protects_no_more_than_its_share(void)
{
    for (int how = IDLE; how <= WAITS_FOR_ROOM; how++) {
        int fds[4], all_room = -1;
        REQUIRE(host_start((struct http_server_options){
            .connections_max = 4 + (how == WAITS_FOR_ROOM),
            .connections_per_address = 2,
            .stall_known_ms = 600000,
            .buffers_max_bytes = how == WAITS_FOR_ROOM ? 963000 : 1 << 20,
        }));
        if (how == WAITS_FOR_ROOM) { /* but for less than 60,000 bytes */
            all_room = begin_post_to("stream?endless", 30, 900000, 900000);
            buf_clear(&answer);
            CHECK(get_times(all_room, "200 OK", 1));
        }
        for (int i = 0; i < 4; i++)
            fds[i] = begin_waiting(how, 5 + i);
        int fresh = dial_from(20);
        CHECK(serves(fresh, "/x"));
        CHECK(is_closed(fds[2]));
        close(all_room);
        for (int i = 0; i < 2 && how == IDLE; i++)
            CHECK(serves(fds[i], "/x"));
        for (int i = 0; i < 2 && how != IDLE; i++)
            end_post(fds[i], 60000, 1);
        for (int i = how == IDLE ? 0 : 2; i < 4; i++)
            close(fds[i]);
        close(fresh);
        host_stop();
        CHECK_EQ_INT(http_get_numbers().buffer_bytes, 0);
    }
}

/* Small bodies, from many addresses: those beyond the account's share wait, another's have room. */
static void an_account_has_half_of_the_room(void)
{
    int64_t waited = http_get_numbers().bodies_waited;
    int fds[16];
    REQUIRE(host_start((struct http_server_options){.buffers_max_bytes = 2 << 20}));
    for (int i = 0; i < 16; i++) {
        fds[i] = begin_post_to("known", 5 + i, 60000, 1);
        while (http_get_numbers().buffer_bytes < (i + 1) * 60000 &&
               http_get_numbers().bodies_waited == waited)
            usleep(1000);
    }
    wait_until_waited(waited + 3);
    end_post(begin_post_to("other", 5, 600000, 1), 600000, 1);
    for (int i = 0; i < 16; i++)
        end_post(fds[i], 60000, 1);
    CHECK_EQ_INT(http_get_numbers().bodies_waited, waited + 3);
    host_stop();
    CHECK_EQ_INT(http_get_numbers().buffer_bytes, 0);
}

static void small_bodies_go_beside_a_large_one(void)
{
    REQUIRE(host_start((struct http_server_options){.buffers_max_bytes = 1 << 20}));
    int large = begin_post_to("known", 5, 700000, 1);
    while (http_get_numbers().buffer_bytes < 700000)
        usleep(1000);
    end_post(begin_post_to("known", 6, 60000, 1), 60000, 1);
    end_post(large, 700000, 1);
    host_stop();
}

static void a_path_may_take_less(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    CHECK(talk(STR("POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n")));
    CHECK_EQ_INT(status(), 413);
    CHECK(says("takes 1000 bytes"));
    struct buf chunk = {0};
    buf_add_c(&chunk,
              "POST /small HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n");
    add_body(&chunk, 0, 2000);
    buf_add_c(&chunk, "\r\n0\r\n\r\n");
    CHECK(talk(buf_str(&chunk)));
    CHECK_EQ_INT(status(), 413);
    buf_free(&chunk);
    CHECK_EQ_INT(host.handled, 0);
    host_stop();
}

int main(void)
{
    RUN(an_address_loses_its_own_idle_connection);
    RUN(an_address_with_nothing_idle_is_refused);
    RUN(a_forwarded_address_is_the_one_that_counts);
    RUN(empty_elements_of_a_list_are_none);
    RUN(a_site_is_one_address);
    RUN(strangers_that_idle_go_first);
    RUN(the_reserve_is_for_those_who_are_known);
    RUN(a_body_waits_for_room);
    RUN(an_address_has_half_of_the_room);
    RUN(waiting_has_an_end);
    RUN(those_that_leave_give_room_back);
    RUN(strangers_that_stall_shut_nobody_out);
    RUN(slow_bodies_stay_where_others_stall);
    RUN(who_is_known_stalls_for_a_while);
    RUN(an_account_protects_no_more_than_its_share);
    RUN(an_account_has_half_of_the_room);
    RUN(small_bodies_go_beside_a_large_one);
    RUN(a_path_may_take_less);
    return check_done("http_room");
}
