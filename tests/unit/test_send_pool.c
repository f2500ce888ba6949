/* Connections: how many, to which of several addresses, from which, and for how long. */
#include "check.h"

#include "name_server.h"
#include "post.h"

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define MANY 5

static struct sender_numbers numbers(void)
{
    struct sender_numbers n;
    sender_get_numbers(post.sender, &n);
    return n;
}

static void slow_answer(struct receiver *r, int fd, int number)
{
    (void)number;
    while (receiver_read_request(r, fd)) {
        usleep(30000);
        receiver_say(fd, OK_EMPTY);
    }
}

static void start_all(struct receiver *receivers, struct exchange *all, int64_t timeout_ms)
{
    char url[64];
    for (int i = 0; i < MANY; i++) {
        snprintf(url, sizeof url, "http://127.0.0.1:%u/", receivers[i].port);
        post_start(&all[i], url, timeout_ms);
        CHECK(numbers().connections <= 2);
    }
}

static void bound_makes_exchanges_wait(void)
{
    struct receiver receivers[MANY] = {0};
    struct exchange all[MANY] = {0};
    struct sender_options options = post_options("127.0.0.0/8");
    options.connections_max = 2;
    post_open_with(&options);
    for (int i = 0; i < MANY; i++) {
        receivers[i].serve = slow_answer;
        receiver_start(&receivers[i]);
    }
    start_all(receivers, all, 5000);
    loop_run(post.loop);
    for (int i = 0; i < MANY; i++)
        CHECK_EQ_INT(all[i].class, ATTEMPT_OK);
    /* Idle ones made room: five destinations, two connections. */
    CHECK(numbers().connections <= 2);
    CHECK_EQ_INT(numbers().opened, MANY);
    for (int i = 0; i < MANY; i++) {
        exchange_free_results(&all[i]);
        receiver_stop(&receivers[i]);
    }
    post_close();
}

static void answers_once(struct receiver *r, int fd, int number)
{
    (void)number;
    if (receiver_read_request(r, fd))
        receiver_say(fd, OK_EMPTY);
    receiver_wait_for_end(fd);
}

static void waiting_has_a_deadline_too(void)
{
    struct receiver receivers[MANY] = {0};
    struct exchange all[MANY] = {0};
    struct sender_options options = post_options("127.0.0.0/8");
    int unsent = 0;
    options.connections_max = 2;
    for (int i = 0; i < MANY; i++) {
        receivers[i].serve = answers_once;
        receiver_start(&receivers[i]);
    }
    post_open_with(&options);
    for (int i = 0; i < 2; i++) { /* connected already: sent at once, however late the loop runs */
        post_to("http://127.0.0.1:%u/", receivers[i].port, 5000);
        exchange_free_results(&post.x);
        post.x = (struct exchange){0};
    }
    start_all(receivers, all, 200);
    sender_flush(post.sender);
    sender_cancel(post.sender, &all[3]); /* in line */
    post.under_way--;
    loop_run(post.loop);
    for (int i = 0; i < MANY; i++) {
        if (i != 3)
            CHECK_EQ_INT(all[i].class, ATTEMPT_TIMEOUT);
        unsent += strstr(all[i].detail, "nothing was sent") != NULL;
    }
    CHECK_EQ_INT(unsent, 2);
    CHECK_EQ_INT(numbers().connections, 0);
    for (int i = 0; i < MANY; i++) {
        exchange_free_results(&all[i]);
        receiver_stop(&receivers[i]);
    }
    post_close();
}

static _Atomic int said;

static void counts_what_it_says(struct receiver *r, int fd, int number)
{
    (void)number;
    while (receiver_read_request(r, fd)) {
        receiver_say(fd, OK_EMPTY);
        atomic_fetch_add(&said, 1);
    }
}

/* The thread is held up until long after the deadline, but the answer has come before it. */
static void what_came_in_time_is_no_timeout(void)
{
    struct receiver r = {.serve = counts_what_it_says};
    char url[64];
    post_open("127.0.0.0/8", NULL, NULL);
    receiver_start(&r);
    post_to("http://127.0.0.1:%u/", r.port, 5000);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", r.port);
    post_start(&post.x, url, 20); /* on the idle connection */
    sender_flush(post.sender);    /* sent at once */
    while (atomic_load(&said) < 2)
        usleep(1000);
    usleep(40000);
    loop_run(post.loop);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK(post.x.reused_connection);
    receiver_stop(&r);
    post_close();
}

static void idle_connections_end(void)
{
    struct receiver r = {.text = OK_EMPTY};
    struct sender_options options = post_options("127.0.0.0/8");
    options.idle_ms = 50;
    post_open_with(&options);
    receiver_start(&r);
    post_to("http://127.0.0.1:%u/", r.port, 5000);
    CHECK_EQ_INT(numbers().idle_connections, 1);
    post_pause(200);
    CHECK_EQ_INT(numbers().connections, 0);
    receiver_stop(&r);
    post_close();
    options.idle_ms = 30000;
    options.idle_per_destination = 0;
    post_open_with(&options);
    receiver_start(&r);
    post_to("http://127.0.0.1:%u/", r.port, 5000);
    CHECK_EQ_INT(numbers().connections, 0);
    receiver_stop(&r);
    post_close();
}

static void says_who_came(struct receiver *r, int fd, int number)
{
    struct sockaddr_in peer;
    socklen_t n = sizeof peer;
    char text[128], address[INET_ADDRSTRLEN];
    (void)number;
    ASSERT(getpeername(fd, (struct sockaddr *)&peer, &n) == 0);
    inet_ntop(AF_INET, &peer.sin_addr, address, sizeof address);
    snprintf(text, sizeof text,
             "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(address), address);
    if (receiver_read_request(r, fd))
        receiver_say(fd, text);
}

static void source_addresses_take_turns(void)
{
    struct receiver r = {.serve = says_who_came};
    struct address sources[2];
    struct sender_options options = post_options("::/0");
    REQUIRE(address_parse(STR("127.0.0.5"), &sources[0]));
    REQUIRE(address_parse(STR("127.0.0.6"), &sources[1]));
    struct cidr all[2];
    REQUIRE(cidr_parse(STR("127.0.0.0/8"), &all[0]) && cidr_parse(STR("::1/128"), &all[1]));
    options.rules.allowed = all;
    options.rules.allowed_count = 2;
    options.sources = sources;
    options.source_count = 2;
    post_open_with(&options);
    receiver_start(&r);
    for (int i = 0; i < 4; i++) {
        post_to("http://127.0.0.1:%u/", r.port, 5000);
        CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
        CHECK_STR(post.x.response_body, i % 2 ? "127.0.0.6" : "127.0.0.5");
    }
    /* Never from elsewhere: partners let in the addresses they were told. */
    post_to("http://[::1]:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DNS);
    CHECK(post_says("IP version that callbacks are not sent from"));
    receiver_stop(&r);
    post_close();
}

static const struct name_record records[] = {
    {.name = "refusing.test", .addresses = {"127.0.0.3", "127.0.0.1"}, .ttl_s = 60},
    {.name = "dead.test", .addresses = {"127.0.0.2", "127.0.0.1"}, .ttl_s = 60},
    {.name = "all-refusing.test", .addresses = {"127.0.0.3", "127.0.0.4"}, .ttl_s = 60},
    {0},
};

static void addresses_are_tried_in_turn(void)
{
    struct receiver r = {.serve = says_who_came};
    struct name_server server = {0};
    int fillers[4], dead_fd = socket(AF_INET, SOCK_STREAM, 0);
    name_server_start(&server, records);
    post_open("127.0.0.0/8", NULL, server.where);
    receiver_start(&r);
    /* The same port of another address: a full queue, from which nothing comes back. */
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(r.port)};
    inet_pton(AF_INET, "127.0.0.2", &at.sin_addr);
    REQUIRE(bind(dead_fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(dead_fd, 0) == 0);
    for (int i = 0; i < 4; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fillers[i], (struct sockaddr *)&at, sizeof at);
    }
    post_to("http://refusing.test:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    post_to("http://dead.test:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    post_to("http://all-refusing.test:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_REFUSED);
    CHECK(post_says("all-refusing.test (127.0.0."));
    for (int i = 0; i < 4; i++)
        close(fillers[i]);
    close(dead_fd);
    receiver_stop(&r);
    post_close();
    name_server_stop(&server);
}

static void ends_late(struct receiver *r, int fd, int number)
{
    (void)number;
    receiver_read_request(r, fd);
    receiver_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab");
    usleep(2 * LIMIT_ATTEMPT_BODY_WAIT_MS * 1000);
    receiver_say(fd, "c");
    receiver_wait_for_end(fd);
}

static void slow_body_is_read_behind_the_success(void)
{
    struct sender_options options = post_options("127.0.0.0/8");
    post_open_with(&options);
    for (int wants = 0; wants < 2; wants++) {
        struct receiver r = {.serve = ends_late};
        receiver_start(&r);
        post.x.wants_body = wants;
        post_to("http://127.0.0.1:%u/", r.port, 30000);
        CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
        CHECK_STR(post.x.response_body, wants ? "abc" : "ab");
        for (int wait = 0; wait < 500 && numbers().idle_connections == 0; wait++)
            post_pause(10);
        CHECK_EQ_INT(numbers().idle_connections, 1); /* read to its end, not closed */
        receiver_stop(&r);
        post_pause(100);
    }
    post.x.wants_body = false;
    post_close();
}

static int asked;

static bool only_the_second(struct exchange *x)
{
    (void)x;
    return ++asked == 2;
}

/* Asked right before the request is written: on a new connection, and on an idle one. */
static void what_may_not_be_sent_is_not_written(void)
{
    struct receiver r = {.serve = counts_what_it_says};
    post_open("127.0.0.0/8", NULL, NULL);
    receiver_start(&r);
    atomic_store(&said, 0);
    post.x.may_send = only_the_second;
    for (int i = 1; i <= 3; i++) {
        post_to("http://127.0.0.1:%u/", r.port, 5000);
        CHECK_EQ_INT(asked, i);
        CHECK_EQ_INT(post.x.is_withheld, i != 2);
    }
    CHECK_EQ_INT(atomic_load(&said), 1);
    CHECK_EQ_INT(numbers().connections, 0); /* the one it would have taken is closed */
    post.x.may_send = NULL;
    post_to("http://127.0.0.1:%u/", r.port, 5000);
    CHECK(!post.x.is_withheld);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    receiver_stop(&r);
    post_close();
}

int main(void)
{
    RUN(bound_makes_exchanges_wait);
    RUN(waiting_has_a_deadline_too);
    RUN(what_came_in_time_is_no_timeout);
    RUN(idle_connections_end);
    RUN(source_addresses_take_turns);
    RUN(addresses_are_tried_in_turn);
    RUN(slow_body_is_read_behind_the_success);
    RUN(what_may_not_be_sent_is_not_written);
    return check_done("send_pool");
}
