/* The protocol of sd_listen_fds(3) and sd_notify(3).
 *
 * The watchdog's round: a task goes from loop to loop and back to the first, whose timer begins
 * the next one. All of its state is the first loop's. */
#include "daemon/supervisor.h"

#include "base/alloc.h"
#include "base/str.h"
#include "base/waiter.h"
#include "net/socket.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WATCHDOG_MAGIC 0x3A7C4D06u
#define FIRST_FD 3 /* SD_LISTEN_FDS_START */

/* A decimal number from the environment; 0: none. */
static int64_t number_of(const char *name)
{
    uint64_t n;
    return str_parse_uint(str_of(getenv(name)), INT64_MAX, &n) ? (int64_t)n : 0;
}

bool supervisor_socket(int *ret_fd, const char **ret_why)
{
    int64_t count = number_of("LISTEN_PID") == getpid() ? number_of("LISTEN_FDS") : 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (count > 1) {
        *ret_why = "the service manager hands over more than one socket; only one is supported.";
        return false;
    }
    if (count == 1 && !socket_adopt(FIRST_FD)) {
        *ret_why = "what the service manager hands over is no listening TCP socket.";
        return false;
    }
    *ret_fd = count == 1 ? FIRST_FD : 0;
    return true;
}

void supervisor_tell(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t n = path ? strlen(path) : 0;
    if (n < 2 || n >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(to.sun_path, path, n);
    if (path[0] == '@') /* an abstract name begins with a NUL */
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    close(fd);
}

void supervisor_tell_reloading(struct env *env)
{
    char state[80];
    /* Rounded up: systemd ignores a time before its request. */
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%lld",
             (long long)(env_mono_ms(env) + 1) * 1000);
    supervisor_tell(state);
}

/* --- watchdog ------------------------------------------------------------------------------- */

struct watchdog {
    uint32_t magic;
    size_t count, at; /* loops, and the round's present one */
    int64_t every_ms;
    bool under_way, ending;
    struct timer next_round;
    struct task round, end;
    struct waiter ended;
    struct loop *loops[];
};

static void end_here(struct watchdog *w)
{
    w->end.run = waiter_wake;
    executor_post(&w->ended.executor, &w->end);
}

static void round_over(struct watchdog *w)
{
    w->under_way = false;
    supervisor_tell("WATCHDOG=1");
    if (w->ending)
        end_here(w);
    else
        loop_timer_set(w->loops[0], &w->next_round, loop_mono_ms(w->loops[0]) + w->every_ms);
}

static void take_turn(struct task *task)
{
    struct watchdog *w = CONTAINER_OF(task, struct watchdog, round);
    CHECK_MAGIC(w, WATCHDOG_MAGIC);
    if (w->at == 0) {
        round_over(w);
        return;
    }
    w->at = (w->at + 1) % w->count;
    executor_post(loop_executor(w->loops[w->at]), &w->round);
}

static void begin_round(struct timer *timer)
{
    struct watchdog *w = CONTAINER_OF(timer, struct watchdog, next_round);
    CHECK_MAGIC(w, WATCHDOG_MAGIC);
    w->under_way = true;
    w->at = 1 % w->count;
    executor_post(loop_executor(w->loops[w->at]), &w->round);
}

static void end_on_loop(struct task *task)
{
    struct watchdog *w = CONTAINER_OF(task, struct watchdog, end);
    CHECK_MAGIC(w, WATCHDOG_MAGIC);
    w->ending = true;
    loop_timer_clear(w->loops[0], &w->next_round);
    if (!w->under_way)
        end_here(w);
}

struct watchdog *watchdog_start(struct loop *const *loops, size_t count)
{
    int64_t micros = number_of("WATCHDOG_USEC"), pid = number_of("WATCHDOG_PID");
    if (micros == 0 || (pid != 0 && pid != getpid()))
        return NULL;
    struct watchdog *w = xcalloc(1, sizeof *w + count * sizeof(struct loop *));
    w->magic = WATCHDOG_MAGIC;
    w->count = count;
    memcpy(w->loops, loops, count * sizeof(struct loop *));
    w->every_ms = micros / 3000 + 1; /* a third, so that one late report does not end the process */
    w->next_round.fire = begin_round;
    w->round.run = take_turn;
    w->end.run = end_on_loop;
    waiter_init(&w->ended);
    loop_timer_set(w->loops[0], &w->next_round, loop_mono_ms(w->loops[0]));
    return w;
}

void watchdog_end(struct watchdog *w)
{
    if (!w)
        return;
    CHECK_MAGIC(w, WATCHDOG_MAGIC);
    executor_post(loop_executor(w->loops[0]), &w->end);
    waiter_wait(&w->ended);
    waiter_free(&w->ended);
    w->magic = 0;
    free(w);
}
