/* Large bodies are read in turns: who has one, who waits, who gives it back. */
#include "http_host.h"

#include "base/limits.h"

#include <sys/socket.h>
#include <unistd.h>

#define LARGE 300000

/* So many large bodies have begun, and have asked for their turns: what is ready is read before the
 * loop waits again, so in the ticks of another connection's requests. */
static void wait_until_begun(int ping, int bodies, int ticks)
{
    while (http_get_numbers().buffer_bytes < bodies * LARGE)
        usleep(100);
    for (int i = 0; i < ticks; i++)
        CHECK(serves(ping, "/known"));
}

/* Those that are handled keep their turns, so the fifth is not read before one of them is answered.
 * Meanwhile it is not its client that stalls: whoever needs a place does not get that one. */
static void large_bodies_take_turns(void)
{
    REQUIRE(host_start((struct http_server_options){.connections_max = LIMIT_LARGE_BODIES + 2,
                                                    .connections_per_address = 5}));
    int ping = dial_from(8), fds[LIMIT_LARGE_BODIES], handled = 0;
    char byte;
    CHECK(serves(ping, "/known"));
    for (int i = 0; i < LIMIT_LARGE_BODIES; i++)
        fds[i] = begin_post_to("when-told", 5, LARGE, LARGE);
    while (host.handled < LIMIT_LARGE_BODIES + 1)
        usleep(100);
    int next = begin_post_to("known", 6, LARGE, LARGE);
    wait_until_begun(ping, LIMIT_LARGE_BODIES + 1, 4); /* accepted, its head, its turn */
    CHECK_EQ_INT(host.bodies_good, LIMIT_LARGE_BODIES);
    int more = dial_from(7);
    buf_clear(&answer);
    host.told = true;
    CHECK(get_times(next, "bytes]", 1));
    for (int i = 0; i < LIMIT_LARGE_BODIES; i++)
        handled += recv(fds[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0; /* answered, or closed */
    CHECK(handled > 0);
    CHECK_EQ_INT(host.bodies_good, LIMIT_LARGE_BODIES + 1);
    for (int i = 0; i < LIMIT_LARGE_BODIES; i++)
        close(fds[i]);
    close(ping);
    close(next);
    close(more);
    host_stop();
}

static atomic_int asked;

static size_t only_4096(void *context)
{
    ASSERT(context == &asked);
    asked++;
    return 4096;
}

/* Each read finds all that it may take, and the one after the last finds nothing. */
static void who_sends_nothing_holds_no_turn(void)
{
    static const char head[] = "POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n";
    size_t sent = 25 * 4096 - (sizeof head - 1);
    REQUIRE(host_start(
        (struct http_server_options){.body_tick_bytes = only_4096, .body_context = &asked}));
    int ping = dial_from(8), fds[LIMIT_LARGE_BODIES];
    for (int i = 0; i < LIMIT_LARGE_BODIES; i++)
        fds[i] = begin_post(5, LARGE, sent);
    wait_until_begun(ping, LIMIT_LARGE_BODIES, 40);
    end_post(begin_post(6, LARGE, 1000), LARGE, 1000);
    for (int i = 0; i < LIMIT_LARGE_BODIES; i++)
        end_post(fds[i], LARGE, sent);
    CHECK_EQ_INT(host.bodies_good, LIMIT_LARGE_BODIES + 1);
    close(ping);
    host_stop();
}

/* Bytes that come one by one, always another one before the turn is idle. */
static void who_sends_slowly_passes_the_turn_on(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    int ping = dial_from(8), fds[LIMIT_LARGE_BODIES];
    size_t sent = 100000;
    char byte;
    for (int i = 0; i < LIMIT_LARGE_BODIES; i++)
        fds[i] = begin_post(5, LARGE, sent);
    wait_until_begun(ping, LIMIT_LARGE_BODIES, 4);
    int next = begin_post(6, LARGE, LARGE);
    while (sent < LARGE - 1 && recv(next, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1) {
        for (int i = 0; i < LIMIT_LARGE_BODIES; i++)
            put(fds[i], (struct str){&"abcdefghijklmnopqrstuvw"[sent % 23], 1});
        sent++;
    }
    CHECK(sent < LARGE - 1);
    for (int i = 0; i < LIMIT_LARGE_BODIES; i++)
        end_post(fds[i], LARGE, sent);
    CHECK_EQ_INT(host.bodies_good, LIMIT_LARGE_BODIES + 1);
    close(next);
    close(ping);
    host_stop();
}

static void who_leaves_gives_the_turn_back(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    for (int round = 0; round < 3; round++) {
        int fds[2 * LIMIT_LARGE_BODIES];
        for (int i = 0; i < 2 * LIMIT_LARGE_BODIES; i++)
            fds[i] = begin_post_to("later", 5, LARGE, i % 2 ? LARGE : 100000);
        for (int i = 0; i < 2 * LIMIT_LARGE_BODIES; i++)
            close(fds[i]);
    }
    end_post(begin_post(6, LARGE, 1000), LARGE, 1000);
    host_stop();
}

static void a_tick_reads_as_much_of_a_large_body_as_it_may(void)
{
    REQUIRE(host_start(
        (struct http_server_options){.body_tick_bytes = only_4096, .body_context = &asked}));
    asked = 0;
    end_post(begin_post(5, LIMIT_SMALL_BODY_BYTES, 1000), LIMIT_SMALL_BODY_BYTES, 1000);
    CHECK_EQ_INT(asked, 0);
    end_post(begin_post(5, LARGE, 1000), LARGE, 1000);
    CHECK(asked >= LARGE / 4096 - 1);
    CHECK_EQ_INT(host.bodies_good, 2);
    host_stop();
}

/* All turns are taken by answers that nobody reads. Of the bodies of one key that wait, those
 * beyond its account's share make place. */
static void who_waits_for_turns_shuts_nobody_out(void)
{
    int fds[2 * LIMIT_LARGE_BODIES];
    REQUIRE(host_start((struct http_server_options){.connections_max = 2 * LIMIT_LARGE_BODIES,
                                                    .connections_per_address = 3}));
    for (int i = 0; i < LIMIT_LARGE_BODIES; i++)
        fds[i] = begin_post_to("stream?endless", 20 + i, LARGE, LARGE);
    while (host.handled < LIMIT_LARGE_BODIES)
        usleep(100);
    for (int i = LIMIT_LARGE_BODIES; i < 2 * LIMIT_LARGE_BODIES; i++)
        fds[i] = begin_post_to("known", 20 + i, LARGE, LARGE);
    while (http_get_numbers().buffer_bytes < 2 * LIMIT_LARGE_BODIES * LARGE)
        usleep(100);
    int fresh = dial_from(9);
    CHECK(serves(fresh, "/x"));
    for (int i = 0; i < 2 * LIMIT_LARGE_BODIES; i++)
        close(fds[i]);
    close(fresh);
    host_stop();
}

/* A minute passes at once. Of a body that waited, it is not the client that was late. */
static void a_body_that_waits_a_minute_for_its_turn_is_503(void)
{
    int fds[LIMIT_LARGE_BODIES];
    REQUIRE(host_start((struct http_server_options){0}));
    int ping = dial_from(8);
    for (int i = 0; i < LIMIT_LARGE_BODIES; i++)
        fds[i] = begin_post_to("stream?endless", 5, LARGE, LARGE);
    while (host.handled < LIMIT_LARGE_BODIES)
        usleep(100);
    int waits = begin_post_to("known", 6, LARGE, LARGE), slow = begin_post_to("known", 7, 1000, 1);
    wait_until_begun(ping, LIMIT_LARGE_BODIES + 1, 4);
    host.mono_added_ms += LIMIT_REQUEST_DEADLINE_MS;
    buf_clear(&answer);
    CHECK(get_all(waits, &answer));
    CHECK_EQ_INT(status(), 503);
    CHECK(says("too many large requests came before this one"));
    CHECK(says("Retry-After: 2\r\n"));
    buf_clear(&answer);
    CHECK(get_all(slow, &answer));
    CHECK_EQ_INT(status(), 408);
    for (int i = 0; i < LIMIT_LARGE_BODIES; i++)
        close(fds[i]);
    end_post(begin_post(6, LARGE, 1000), LARGE, 1000);
    close(waits);
    close(slow);
    close(ping);
    host_stop();
}

int main(void)
{
    RUN(large_bodies_take_turns);
    RUN(who_sends_nothing_holds_no_turn);
    RUN(who_sends_slowly_passes_the_turn_on);
    RUN(who_leaves_gives_the_turn_back);
    RUN(a_tick_reads_as_much_of_a_large_body_as_it_may);
    RUN(who_waits_for_turns_shuts_nobody_out);
    RUN(a_body_that_waits_a_minute_for_its_turn_is_503);
    return check_done("http_turns");
}
