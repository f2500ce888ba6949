/* The life of connections: deadlines, back-pressure, clients that leave, bounds, stopping,
 * proxies, TLS. */
#include "http_host.h"

#include "certificate.h"
#include "net/tls.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <sys/resource.h>

static void dripping_and_silence_end(void)
{
    REQUIRE(host_start((struct http_server_options){
        .header_deadline_ms = 80, .request_deadline_ms = 80, .idle_ms = 80}));
    static const char *const begins[] = {H, P "Content-Length: 1000\r\n\r\n",
                                         P "Transfer-Encoding: chunked\r\n\r\nfff\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
        int fd = dial();
        buf_clear(&answer);
        put(fd, str_of(begins[i]));
        for (int drop = 0; drop < 3000; drop++) { /* each byte comes within any idle deadline */
            put(fd, STR("a"));
            usleep(5000);
            ssize_t n = recv(fd, buf_reserve(&answer, 1000), 1000, MSG_DONTWAIT);
            if (n > 0)
                answer.n += (size_t)n;
            if (n == 0 || answer.n > 0)
                break;
        }
        CHECK(get_all(fd, &answer) || answer.n > 0);
        CHECK_EQ_INT(status(), 408);
        close(fd);
    }
    CHECK(talk(STR(""))); /* silent: closed without a word */
    CHECK_EQ_UINT(answer.n, 0);
    CHECK(talk(STR("GET /once HTTP/1.1\r\nHost: h\r\n\r\n")));
    CHECK(says("GET /once []"));
    CHECK_EQ_INT(host.handled, 1);
    host_stop();
}

static void a_client_that_does_not_read_is_cut(void)
{
    REQUIRE(host_start((struct http_server_options){.request_deadline_ms = 80}));
    int fd = dial();
    int small = 4096;
    ASSERT(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    put(fd, STR("GET /stream?endless HTTP/1.1\r\n" CLOSE));
    for (int i = 0; i < 2000 && host.gone_seen == 0; i++)
        usleep(5000);
    CHECK_EQ_INT(host.gone_seen, 1);
    close(fd);
    host_stop();
}

static void streams_are_chunked(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    CHECK(talk(STR("GET /stream HTTP/1.1\r\n" CLOSE)));
    CHECK(says("Transfer-Encoding: chunked\r\n\r\n4e20\r\nxxx"));
    CHECK(memcmp(answer.p + answer.n - 7, "\r\n0\r\n\r\n", 7) == 0);
    CHECK(answer.n > 100 * 20000);
    CHECK(talk(STR("GET /stream HTTP/1.0\r\n\r\n")));
    CHECK(strstr(answer.p, "chunked") == NULL);
    const char *body = strstr(answer.p, "\r\n\r\n");
    CHECK(body && strlen(body) == 4 + 100 * 20000);
    /* What is cut short cannot be taken for the whole. */
    (void)talk(STR("GET /cut HTTP/1.1\r\nHost: h\r\n\r\n"));
    CHECK(says("4\r\nhalf\r\n"));
    CHECK(strstr(buf_c(&answer), "\r\n0\r\n") == NULL);
    CHECK_EQ_INT(host.gone_seen, 0);
    CHECK(talk(STR("HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\nGET /next HTTP/1.1\r\n" CLOSE)));
    CHECK(says("chunked\r\n\r\nHTTP/1.1 200 OK"));
    CHECK(says("GET /next []"));
    host_stop();
}

static void clients_that_leave_are_forgotten(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    struct linger reset = {1, 0};
    static const char *const requests[] = {"GET /when-gone HTTP/1.1\r\n",
                                           "GET /stream?endless HTTP/1.1\r\n"};
    for (size_t i = 0; i < 2; i++) {
        int fd = dial();
        put(fd, str_of(requests[i]));
        put(fd, STR(CLOSE));
        while (host.handled < (int)i + 1)
            usleep(1000);
        ASSERT(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
        close(fd);
        for (int wait = 0; wait < 2000 && host.gone_seen < (int)i + 1; wait++)
            usleep(5000);
        CHECK_EQ_INT(host.gone_seen, (int)i + 1);
    }
    /* One that only ends its sending gets its answer. */
    int fd = dial();
    put(fd, STR("GET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n"
                "GET /unfinished"));
    shutdown(fd, SHUT_WR);
    buf_clear(&answer);
    CHECK(get_all(fd, &answer));
    CHECK(says("GET /later []"));
    CHECK(says("GET /2 []"));
    CHECK(strstr(answer.p, "unfinished") == NULL);
    close(fd);
    host_stop();
}

static void handlers_that_are_late_are_spoken_for(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    for (int i = 0; i < 3; i++) {
        CHECK(talk(
            STR("GET /late HTTP/1.1\r\nHost: h\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n")));
        CHECK_EQ_INT(status(), 503);
        CHECK(says("Retry-After: ") && says("not known yet") && says("Connection: close"));
        CHECK(strstr(answer.p, "GET /") == NULL);
        CHECK_EQ_INT(host.gone_seen, i + 1);
    }
    host_stop();
}

static void too_many_connections_are_told(void)
{
    REQUIRE(host_start((struct http_server_options){.connections_max = 2}));
    int fds[2];
    for (size_t i = 0; i < 2; i++) {
        fds[i] = dial();
        buf_clear(&answer);
        put(fds[i], STR("GET /stream?endless HTTP/1.1\r\nHost: h\r\n\r\n"));
        CHECK(get_times(fds[i], "200 OK", 1));
    }
    CHECK(talk(STR("GET /y HTTP/1.1\r\nHost: h\r\n\r\n")));
    CHECK_EQ_INT(status(), 503);
    CHECK(says("Retry-After: "));
    close(fds[0]);
    bool served = false;
    for (int i = 0; i < 400 && !served; i++) {
        served = talk(STR("GET /y HTTP/1.1\r\n" CLOSE)) && status() == 200;
        usleep(5000);
    }
    CHECK(served);
    close(fds[1]);
    host_stop();
}

static int64_t loop_turns(void)
{
    struct loop_timings t;
    int64_t count = 0;
    loop_get_timings(&t);
    for (int i = 0; i < TIMING_BUCKETS; i++)
        count += t.turn.counts[i];
    return count;
}

static void want_of_descriptors_does_not_spin(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    /* Room for the client's descriptor, none for the server's. */
    struct rlimit old, tight;
    int next = dup(0);
    close(next);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &old) == 0);
    tight = old;
    tight.rlim_cur = (rlim_t)next + 1;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    int fd = dial();
    put(fd, STR("GET /x HTTP/1.1\r\n" CLOSE));
    int64_t begin_us = timing_now_us(), turns = loop_turns();
    usleep(100000); /* a loop that spins turns thousands of times */
    turns = loop_turns() - turns;
    CHECK_EQ_INT(host.handled, 0);
    CHECK(turns < 20 + (timing_now_us() - begin_us) / 10000); /* it tries every 100 ms */
    REQUIRE(setrlimit(RLIMIT_NOFILE, &old) == 0);
    buf_clear(&answer);
    CHECK(get_all(fd, &answer));
    CHECK(says("GET /x []"));
    close(fd);
    host_stop();
}

struct extra {
    struct loop *loop;
    struct http_server *server;
    pthread_t thread;
    struct task stop;
};

static void *extra_thread(void *argument)
{
    struct extra *e = argument;
    loop_run(e->loop);
    return NULL;
}

static void extra_stopped(void *context)
{
    struct extra *e = context;
    http_server_free(e->server);
    loop_stop(e->loop);
}

static void extra_stop(struct task *task)
{
    struct extra *e = CONTAINER_OF(task, struct extra, stop);
    http_server_stop(e->server, loop_mono_ms(e->loop), extra_stopped, e);
}

static void loops_share_one_socket(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    struct extra extras[2] = {0};
    struct http_server_options options = {
        .handle = handle, .context = &host, .listen_fd = host.listen_fd};
    for (size_t i = 0; i < ARRAY_LEN(extras); i++) {
        extras[i].loop = loop_new(env_real());
        extras[i].server = http_server_new(extras[i].loop, &options);
        extras[i].stop.run = extra_stop;
        REQUIRE(pthread_create(&extras[i].thread, NULL, extra_thread, &extras[i]) == 0);
    }
    for (int i = 0; i < 100; i++) {
        CHECK(talk(STR("GET /x HTTP/1.1\r\n" CLOSE)));
        CHECK_EQ_INT(status(), 200);
    }
    /* Whoever is left serves: no loop keeps a connection from the others. */
    for (size_t i = 0; i < ARRAY_LEN(extras); i++) {
        executor_post(loop_executor(extras[i].loop), &extras[i].stop);
        pthread_join(extras[i].thread, NULL);
        loop_free(extras[i].loop);
        CHECK(talk(STR("GET /x HTTP/1.1\r\n" CLOSE)));
    }
    CHECK_EQ_INT(host.handled, 102);
    host_stop();
}

static void stop_answers_what_is_in_flight(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    int idle = dial(), busy = dial();
    buf_clear(&answer);
    put(idle, STR("GET /x HTTP/1.1\r\nHost: h\r\n\r\n"));
    CHECK(get_times(idle, "GET /x []", 1));
    put(busy, STR("GET /at-stop HTTP/1.1\r\nHost: h\r\n\r\n"));
    while (host.handled < 2)
        usleep(1000);
    host_begin_stop(20000);
    buf_clear(&answer);
    CHECK(get_all(idle, &answer));
    CHECK_EQ_UINT(answer.n, 0);
    CHECK(get_all(busy, &answer));
    CHECK(says("GET /at-stop []"));
    CHECK(says("Connection: close\r\n"));
    host_join();
    close(idle);
    close(busy);
}

static void stop_has_a_deadline(void)
{
    REQUIRE(host_start((struct http_server_options){0}));
    int fd = dial();
    put(fd, STR("GET /later HTTP/1.1\r\n"));
    usleep(10000);
    host_begin_stop(50);
    buf_clear(&answer);
    /* Reset, where the stop came before the server had read what was sent. */
    CHECK(get_all(fd, &answer) || errno == ECONNRESET);
    host_join();
    CHECK_EQ_INT(host.handled, 0);
    close(fd);
}

static void clients_behind_proxies_are_seen(void)
{
    struct cidr trusted[] = {{{AF_INET, {127, 0, 0, 0}}, 8}, {{AF_INET, {10, 0, 0, 0}}, 8}};
    REQUIRE(host_start(
        (struct http_server_options){.trusted_proxies = trusted, .trusted_proxy_count = 2}));
    static const char *const cases[][2] = {
        {"", "127.0.0.1 plain"},
        {"X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7 plain"},
        {"X-Forwarded-For: 198.51.100.1, 192.0.2.7\r\n", "192.0.2.7 plain"},
        {"X-Forwarded-For: 192.0.2.7, 10.1.1.1\r\n", "192.0.2.7 plain"},
        {"X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-For: 10.1.1.1\r\n", "192.0.2.7 plain"},
        {"X-Forwarded-For: evil, 10.1.1.1\r\n", "10.1.1.1 plain"},
        {"X-Forwarded-For: 192.0.2.7:4711\r\n", "192.0.2.7 plain"},
        {"X-Forwarded-For: [2001:db8::1]:4711\r\n", "2001:db8::1 plain"},
        {"X-Forwarded-Proto: https\r\n", "127.0.0.1 secure"},
        {"X-Forwarded-Proto: https, http\r\n", "127.0.0.1 plain"},
        {"X-Forwarded-Proto: http, https, ,\r\n", "127.0.0.1 secure"},
        {"X-Forwarded-Proto: http\r\nX-Forwarded-Proto: https\r\n", "127.0.0.1 secure"},
        {"X-Forwarded-Proto: https\r\nX-Forwarded-Proto: \r\n", "127.0.0.1 plain"},
        {"X-Forwarded-Proto: https\r\nX-Forwarded-Proto: ,\r\n", "127.0.0.1 plain"},
    };
    struct buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_clear(&b);
        buf_printf(&b, "GET /who HTTP/1.1\r\n%s" CLOSE, cases[i][0]);
        CHECK(talk(buf_str(&b)));
        CHECK(says(cases[i][1]));
    }
    host_stop();
    REQUIRE(host_start((struct http_server_options){0}));
    CHECK(talk(STR("GET /who HTTP/1.1\r\nX-Forwarded-For: 192.0.2.7\r\n"
                   "X-Forwarded-Proto: https\r\n" CLOSE)));
    CHECK(says("127.0.0.1 plain"));
    buf_free(&b);
    host_stop();
}

/* The requests over TLS, with a blocking client. */
static bool talk_tls(struct ssl_ctx_st *client, struct str request)
{
    buf_clear(&answer);
    int fd = dial();
    SSL *tls = tls_client_stream(client, "localhost", NULL, NULL, NULL);
    SSL_set_fd(tls, fd);
    size_t n = 0;
    bool good = SSL_connect(tls) == 1;
    while (good && request.n > 0) {
        good = SSL_write_ex(tls, request.p, request.n, &n) == 1;
        request = (struct str){request.p + n, request.n - n};
    }
    while (good && SSL_read_ex(tls, buf_reserve(&answer, 16384), 16384, &n) == 1)
        answer.n += n;
    good = good && SSL_get_shutdown(tls) == SSL_RECEIVED_SHUTDOWN;
    SSL_free(tls);
    close(fd);
    (void)buf_c(&answer);
    return good;
}

static void run_set_tls(struct task *task)
{
    http_server_set_tls(host.server, host.options.tls_context);
    free(task);
}

static void tls_is_served_and_reloaded(void)
{
    struct certificate first, second;
    REQUIRE(certificate_make(&first, "DNS:localhost", 86400));
    REQUIRE(certificate_make(&second, "DNS:localhost", 86400));
    char *why = NULL;
    struct ssl_ctx_st *server_first = tls_server_new(first.cert, first.key, true, &why);
    struct ssl_ctx_st *server_second = tls_server_new(second.cert, second.key, true, &why);
    struct ssl_ctx_st *trusts_first = client_trusting(first.cert, &why);
    struct ssl_ctx_st *trusts_second = client_trusting(second.cert, &why);
    REQUIRE(server_first && server_second && trusts_first && trusts_second);
    REQUIRE(host_start((struct http_server_options){.tls_context = server_first}));
    CHECK(talk_tls(trusts_first, STR("GET /who HTTP/1.1\r\n" CLOSE)));
    CHECK(says("127.0.0.1 secure"));
    CHECK(talk_tls(trusts_first, STR("GET /stream HTTP/1.1\r\n" CLOSE)));
    CHECK(answer.n > 100 * 20000);
    struct buf b = {0};
    buf_add_c(&b, "POST /b HTTP/1.1\r\nContent-Length: 500000\r\n" CLOSE);
    add_body(&b, 0, 500000);
    CHECK(talk_tls(trusts_first, buf_str(&b)));
    CHECK(says("[500000 bytes]"));
    CHECK_EQ_INT(host.bodies_good, 1);
    buf_free(&b);
    CHECK(!talk_tls(trusts_second, STR("GET /who HTTP/1.1\r\n" CLOSE)));
    host.options.tls_context = server_second;
    struct task *task = xcalloc(1, sizeof *task);
    task->run = run_set_tls;
    executor_post(loop_executor(host.loop), task);
    bool reloaded = false;
    for (int i = 0; i < 400 && !reloaded; i++) {
        reloaded = talk_tls(trusts_second, STR("GET /who HTTP/1.1\r\n" CLOSE));
        usleep(5000);
    }
    CHECK(reloaded);
    /* Plain HTTP to a TLS port is closed, not waited for. */
    talk(STR("GET / HTTP/1.1\r\n\r\n"));
    CHECK(strstr(answer.p, "HTTP/1.1") == NULL);
    host_stop();
    tls_context_free(server_first);
    tls_context_free(server_second);
    tls_context_free(trusts_first);
    tls_context_free(trusts_second);
    certificate_remove(&first);
    certificate_remove(&second);
}

int main(void)
{
    RUN(dripping_and_silence_end);
    RUN(a_client_that_does_not_read_is_cut);
    RUN(streams_are_chunked);
    RUN(clients_that_leave_are_forgotten);
    RUN(handlers_that_are_late_are_spoken_for);
    RUN(too_many_connections_are_told);
    RUN(want_of_descriptors_does_not_spin);
    RUN(loops_share_one_socket);
    RUN(stop_answers_what_is_in_flight);
    RUN(stop_has_a_deadline);
    RUN(clients_behind_proxies_are_seen);
    RUN(tls_is_served_and_reloaded);
    buf_free(&answer);
    return check_done("http_conn");
}
