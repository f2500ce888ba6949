/* The server, its handler, and the client. */
#include "http_host.h"

#include <arpa/inet.h>
#include <unistd.h>

struct host host;

static void answer_text(struct http_request *r)
{
    struct buf text = {0};
    buf_printf(&text, "%.*s %.*s", STR_ARG(r->method_text), STR_ARG(r->path));
    if (r->query.p)
        buf_printf(&text, " ?%.*s", STR_ARG(r->query));
    if (r->body.n < 100)
        buf_printf(&text, " [%.*s]", STR_ARG(r->body));
    else
        buf_printf(&text, " [%zu bytes]", r->body.n);
    http_respond(r, 200, "text/plain", STR("X-Extra: 1\r\n"), buf_str(&text));
    buf_free(&text);
}

/* The server is freed while requests are held, but the loop goes on until each is answered: a
 * request whose handler never answers is never freed. */
static void stop_if_none_held(void)
{
    if (host.server_is_freed && host.held == 0)
        loop_stop(host.loop);
}

static void held_is_answered(void)
{
    host.held--;
    stop_if_none_held();
}

static void fire_later(struct timer *t)
{
    struct later *l = CONTAINER_OF(t, struct later, timer);
    struct http_request *r = l->r;
    if (r->gone)
        host.gone_seen++;
    answer_text(r);
    held_is_answered();
}

static void fire_when_gone(struct timer *t)
{
    struct later *l = CONTAINER_OF(t, struct later, timer);
    if (l->r->gone || host.told)
        fire_later(t);
    else
        loop_timer_set(l->r->loop, t, loop_mono_ms(l->r->loop) + 1);
}

static void next_piece(struct http_request *r)
{
    struct later *l = r->context;
    if (r->gone) {
        host.gone_seen++;
        http_respond_end(r);
        held_is_answered();
    } else if (l->pieces_left-- > 0) {
        http_respond_piece(r, (struct str){l->fill, sizeof l->fill}, next_piece);
    } else {
        http_respond_end(r);
        held_is_answered();
    }
}

/* The head and one piece, then no end. */
static void cut_short(struct http_request *r)
{
    host.gone_seen += r->gone;
    http_respond_abort(r);
    held_is_answered();
}

static void hold(struct later *l, void (*fire)(struct timer *), int64_t for_ms)
{
    host.held++;
    l->timer.fire = fire;
    loop_timer_set(l->r->loop, &l->timer, loop_mono_ms(l->r->loop) + for_ms);
}

static void answer_who(struct http_request *r)
{
    struct buf text = {0};
    address_print(&text, &r->peer);
    buf_add_c(&text, r->secure ? " secure" : " plain");
    http_respond(r, 200, NULL, STR_NONE, buf_str(&text));
    buf_free(&text);
}

void handle(void *context, struct http_request *r)
{
    CHECK_MAGIC(r, HTTP_REQUEST_MAGIC);
    ASSERT(context == &host);
    host.handled++;
    bool good = true;
    for (size_t i = 0; i < r->body.n; i++)
        good = good && r->body.p[i] == (char)('a' + i % 23);
    host.bodies_good += r->body.n > 0 && good;
    struct later *l = arena_zalloc(&r->arena, sizeof *l);
    l->r = r;
    r->context = l;
    memset(l->fill, 'x', sizeof l->fill);
    if (str_is(r->path, "/later")) {
        hold(l, fire_later, 30);
    } else if (str_is(r->path, "/when-gone") || str_is(r->path, "/when-told")) {
        hold(l, fire_when_gone, 0);
    } else if (str_is(r->path, "/at-stop")) {
        host.held++;
        l->timer.fire = fire_later;
        host.at_stop = l;
    } else if (str_is(r->path, "/late")) {
        hold(l, fire_later, 30);
        http_respond_by(r, loop_mono_ms(r->loop), "not known yet");
    } else if (str_is(r->path, "/stream")) {
        host.held++;
        l->pieces_left = str_is(r->query, "endless") ? INT_MAX : 100;
        http_respond_begin(r, 200, "text/csv", STR_NONE);
        next_piece(r);
    } else if (str_is(r->path, "/cut")) {
        host.held++;
        http_respond_begin(r, 200, "text/csv", STR_NONE);
        http_respond_piece(r, STR("half"), cut_short);
    } else if (str_is(r->path, "/who")) {
        answer_who(r);
    } else if (str_is(r->path, "/big")) {
        http_respond(r, 200, "text/plain", STR_NONE, (struct str){l->fill, sizeof l->fill});
    } else if (str_is(r->path, "/nothing")) {
        http_respond(r, 204, NULL, STR_NONE, STR(""));
    } else {
        answer_text(r);
    }
}

static int headers_in(void *context, struct http_request *r)
{
    ASSERT(context == &host);
    r->known = str_is(r->path, "/known") || str_is(r->path, "/other");
    r->account_no = str_is(r->path, "/other") ? 2 : 1;
    if (str_is(r->path, "/small"))
        r->body_max_bytes = 1000;
    if (str_is(r->path, "/stranger") && http_is_crowded(r)) {
        http_respond(r, 503, "text/plain", STR_NONE, STR("crowded"));
        return 1;
    }
    if (!str_is(r->path, "/secret"))
        return 0;
    http_respond(r, 401, "text/plain", STR_NONE, STR("no key"));
    return 1;
}

static void *host_thread(void *unused)
{
    (void)unused;
    host.thread_id = gettid();
    loop_run(host.loop);
    return NULL;
}

static int64_t real_wall_ms(struct env *env)
{
    (void)env;
    return env_wall_ms(env_real());
}

static int64_t moved_mono_ms(struct env *env)
{
    (void)env;
    return env_mono_ms(env_real()) + host.mono_added_ms;
}

static void real_random_bytes(struct env *env, void *to, size_t n)
{
    (void)env;
    env_random(env_real(), to, n);
}

static struct env host_env = {real_wall_ms, moved_mono_ms, real_random_bytes};

bool host_start(struct http_server_options options)
{
    struct endpoint at = {{AF_INET, {127, 0, 0, 1}}, 0}, here;
    int error = 0;
    host.listen_fd = socket_listen(&at, &error);
    if (host.listen_fd < 0 || !socket_local(host.listen_fd, &here))
        return false;
    host.port = here.port;
    host.handled = host.gone_seen = host.bodies_good = 0;
    host.mono_added_ms = 0;
    host.told = host.server_is_freed = false;
    host.held = 0;
    host.loop = loop_new(&host_env);
    options.handle = handle;
    options.headers_in = headers_in;
    options.context = &host;
    options.listen_fd = host.listen_fd;
    host.server = http_server_new(host.loop, &options);
    return pthread_create(&host.thread, NULL, host_thread, NULL) == 0;
}

static void host_stopped(void *context)
{
    ASSERT(context == &host);
    http_server_free(host.server);
    host.server_is_freed = true;
    stop_if_none_held();
}

static void run_stop(struct task *task)
{
    (void)task;
    http_server_stop(host.server, loop_mono_ms(host.loop) + host.stop_after_ms, host_stopped,
                     &host);
    if (host.at_stop)
        loop_timer_set(host.loop, &host.at_stop->timer, loop_mono_ms(host.loop));
    host.at_stop = NULL;
}

void host_begin_stop(int64_t after_ms)
{
    host.stop_after_ms = after_ms;
    host.task.run = run_stop;
    executor_post(loop_executor(host.loop), &host.task);
}

void host_join(void)
{
    pthread_join(host.thread, NULL);
    loop_free(host.loop);
    close(host.listen_fd);
}

void host_stop(void)
{
    host_begin_stop(0);
    host_join();
}

int dial(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(host.port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval t = {20, 0};
    ASSERT(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0);
    ASSERT(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t) == 0);
    ASSERT(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    return fd;
}

void put(int fd, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n <= 0)
            return; /* the server may have closed: what it answered tells */
        bytes = (struct str){bytes.p + n, bytes.n - (size_t)n};
    }
}

bool get_all(int fd, struct buf *to)
{
    for (;;) {
        ssize_t n = recv(fd, buf_reserve(to, 65536), 65536, 0);
        if (n == 0)
            return true;
        if (n < 0)
            return false;
        to->n += (size_t)n;
    }
}

struct buf answer;

bool get_times(int fd, const char *what, int count)
{
    for (;;) {
        int seen = 0;
        for (const char *p = buf_c(&answer); (p = strstr(p, what)) != NULL; p += strlen(what))
            seen++;
        if (seen >= count)
            return true;
        ssize_t n = recv(fd, buf_reserve(&answer, 65536), 65536, 0);
        if (n <= 0)
            return false;
        answer.n += (size_t)n;
    }
}

bool talk(struct str request)
{
    buf_clear(&answer);
    int fd = dial();
    put(fd, request);
    bool ended = get_all(fd, &answer);
    close(fd);
    (void)buf_c(&answer);
    return ended;
}

int status(void)
{
    return answer.n > 12 && str_has_prefix(buf_str(&answer), "HTTP/1.1 ") ? atoi(answer.p + 9) : 0;
}

bool says(const char *text)
{
    bool found = strstr(buf_c(&answer), text) != NULL;
    if (!found)
        printf("\"%s\" is not in: %s\n", text, answer.p);
    return found;
}

void add_body(struct buf *b, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        buf_add_char(b, (char)('a' + i % 23));
}

int dial_from(int last)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(host.port)};
    from.sin_addr.s_addr = htonl(0x7f000000u | (uint32_t)last);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval t = {20, 0};
    ASSERT(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0);
    ASSERT(bind(fd, (struct sockaddr *)&from, sizeof from) == 0);
    ASSERT(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    return fd;
}

bool serves(int fd, const char *path)
{
    struct buf request = {0};
    buf_clear(&answer);
    buf_printf(&request, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    put(fd, buf_str(&request));
    buf_free(&request);
    return get_times(fd, "200 OK", 1);
}

bool is_closed(int fd)
{
    buf_clear(&answer);
    return get_all(fd, &answer) && answer.n == 0;
}

int begin_post_to(const char *path, int from, size_t announced, size_t sent)
{
    int fd = dial_from(from);
    struct buf b = {0};
    buf_printf(&b, "POST /%s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", path, announced);
    add_body(&b, 0, sent);
    put(fd, buf_str(&b));
    buf_free(&b);
    return fd;
}

int begin_post(int from, size_t announced, size_t sent)
{
    return begin_post_to("body", from, announced, sent);
}

void end_post(int fd, size_t announced, size_t sent)
{
    struct buf b = {0};
    add_body(&b, sent, announced - sent);
    put(fd, buf_str(&b));
    buf_free(&b);
    buf_clear(&answer);
    CHECK(get_times(fd, "bytes]", 1));
    CHECK_EQ_INT(status(), 200);
    close(fd);
}
