/* A provider that does not answer is asked again after a pause, which grows to a bound. */
#include "base/env.h"
#include "oidc/oidc.h"

#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct waiter {
    struct executor executor;
    sem_t is_done;
};

static int64_t now_ms = 5000;

static int64_t read_clock(struct env *env)
{
    (void)env;
    return now_ms;
}

static void post(struct executor *executor, struct task *task)
{
    (void)task;
    sem_post(&CONTAINER_OF(executor, struct waiter, executor)->is_done);
}

/* A socket that is bound and does not listen: its port refuses connections. */
static int take_port(unsigned *ret_port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&a, &size) == 0);
    *ret_port = ntohs(a.sin_port);
    return fd;
}

static void set_up(struct oidc *o, unsigned port)
{
    struct providers providers;
    struct destination_rules rules = {0};
    char text[256], *why = NULL;
    snprintf(text, sizeof text,
             "{\"Providers\":[{\"Name\":\"Staff\",\"Issuer\":\"http://127.0.0.1:%u\","
             "\"ClientId\":\"c\",\"Groups\":{\"a\":\"admin\"}}]}",
             port);
    CHECK(providers_parse(&providers, str_of(text), &why));
    oidc_set(o, &providers, NULL, &rules);
}

static bool is_asked(struct oidc *o, struct waiter *w, struct arena *arena, int64_t *ret_retry_ms)
{
    struct oidc_ask ask = {.reply_to = &w->executor, .arena = arena};
    ask.client = oidc_client_at(o, 0);
    CHECK(oidc_ask(&ask));
    sem_wait(&w->is_done);
    CHECK(!ask.good && ask.is_down);
    *ret_retry_ms = ask.retry_ms;
    oidc_client_unref(ask.client);
    return strncmp(ask.why, "not asked again for ", 20) != 0;
}

static int count_down(struct oidc *o, struct arena *arena)
{
    struct str name = STR_NONE;
    size_t count = oidc_count_down(o, arena, &name);
    if (count)
        CHECK_STR(name, "Staff");
    return (int)count;
}

static void the_pause_doubles_up_to_a_minute(void)
{
    struct env env = {.wall_ms = read_clock, .mono_ms = read_clock};
    struct waiter w = {.executor.post = post};
    struct arena arena = {0};
    struct oidc *o = oidc_new(&(struct oidc_options){.env = &env});
    unsigned port = 0;
    int fd = take_port(&port);
    int64_t retry_ms, want_ms = OIDC_PAUSE_FIRST_MS;
    sem_init(&w.is_done, 0, 0);
    set_up(o, port);
    CHECK_EQ_INT(count_down(o, &arena), 0);
    for (int failures = 1; failures <= 9; failures++) {
        CHECK(is_asked(o, &w, &arena, &retry_ms));
        CHECK_EQ_INT(retry_ms, want_ms);
        now_ms += want_ms - 1;
        CHECK(!is_asked(o, &w, &arena, &retry_ms));
        CHECK_EQ_INT(retry_ms, 1);
        now_ms++;
        want_ms = want_ms * 2 < OIDC_PAUSE_LONGEST_MS ? want_ms * 2 : OIDC_PAUSE_LONGEST_MS;
    }
    CHECK_EQ_INT(want_ms, OIDC_PAUSE_LONGEST_MS);
    CHECK_EQ_INT(count_down(o, &arena), 1);
    now_ms += (int64_t)3600 * 1000;
    CHECK_EQ_INT(count_down(o, &arena), 0); /* nobody has asked for so long */
    set_up(o, port);                        /* SIGHUP forgets */
    CHECK(is_asked(o, &w, &arena, &retry_ms));
    CHECK_EQ_INT(retry_ms, OIDC_PAUSE_FIRST_MS);
    oidc_free(o);
    arena_free(&arena);
    sem_destroy(&w.is_done);
    close(fd);
}

int main(void)
{
    RUN(the_pause_doubles_up_to_a_minute);
    return check_done("oidc_pause");
}
