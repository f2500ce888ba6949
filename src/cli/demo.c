/* postbackd demo: a real daemon as a child process, a receiver that verifies, simulated traffic
 * over the public API, and a live summary. A script could do all of it. */
#include "cli/demo.h"
#include "cli/command.h"

#include "daemon/daemon.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRAFFIC_PAUSE_NS 200000000
#define SUMMARY_PAUSE_S 1
#define START_TRIES 100

struct demo {
    struct demo_world world;
    struct receiver *receiver;
    pid_t child;
    char store[4096], log[4200];
    pthread_t traffic;
};

/* --- the child -------------------------------------------------------------------------------- */

static bool start_child(struct demo *d, struct str listen)
{
    char store[4200];
    snprintf(store, sizeof store, "sqlite:%s", d->store);
    setenv("POSTBACKD_OPERATOR_KEY", d->world.operator_key, 1);
    fflush(stdout); /* otherwise the child would print the buffered text again */
    d->child = fork();
    if (d->child < 0)
        return false;
    if (d->child == 0) {
        /* The child's standard output must not be a terminal, on which it would print a link for
         * the first admin. */
        if (!freopen(d->log, "a", stderr) || !freopen("/dev/null", "w", stdout))
            _exit(127);
        execl("/proc/self/exe", "postbackd", "serve", "--listen", listen.p, "--store", store,
              "--allow-destination", "127.0.0.0/8", "--log-format", "json", "--reads-per-minute",
              "100000", (char *)NULL);
        _exit(127);
    }
    return true;
}

/* True if nobody listens there. */
static bool is_free(const struct endpoint *at)
{
    int error = 0, fd = socket_listen(at, &error);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* The daemon's address: as requested, otherwise the usual port, otherwise any free one. */
static struct str choose_listen(const struct settings *s, const struct endpoint *at)
{
    struct str listen = settings_text(s, OPTION_LISTEN);
    if (s->of[OPTION_LISTEN].count || is_free(at))
        return listen;
    printf("%.*s is in use: the demo takes another port.\n", STR_ARG(listen));
    return STR("127.0.0.1:0");
}

/* Reads the address from the child's log. */
static bool find_address(struct demo *d)
{
    for (int tries = 0; tries < START_TRIES; tries++) {
        char line[2048];
        FILE *f = fopen(d->log, "r");
        while (f && fgets(line, sizeof line, f)) {
            char *at = strstr(line, "\"event\":\"listening\"");
            at = at ? strstr(at, "\"address\":\"") : NULL;
            if (at && sscanf(at, "\"address\":\"%50[^\"]", line) == 1) {
                fclose(f);
                snprintf(d->world.api_url, sizeof d->world.api_url, "http://%.50s", line);
                return true;
            }
        }
        if (f)
            fclose(f);
        if (waitpid(d->child, NULL, WNOHANG) == d->child) {
            d->child = 0;
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    return false;
}

static void stop_child(struct demo *d)
{
    if (d->child <= 0)
        return;
    kill(d->child, SIGTERM);
    waitpid(d->child, NULL, 0);
}

/* --- the store of one run -----------------------------------------------------------------------
 */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static bool make_store(struct demo *d)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(d->store, sizeof d->store, "%s/postbackd-demo-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(d->store))
        return false;
    snprintf(d->log, sizeof d->log, "%s/daemon.log", d->store);
    return true;
}

/* --- the run
 * --------------------------------------------------------------------------------------- */

static void *run_traffic(void *context)
{
    struct demo *d = context;
    struct client_session *c = client_open(str_of(d->world.api_url), str_of(d->world.operator_key));
    struct rng rng;
    uint64_t seed;
    env_random(env_real(), &seed, sizeof seed);
    rng_seed(&rng, seed);
    while (!d->world.stopping) {
        if (!demo_send_traffic(&d->world, c, &rng))
            sleep(1);
        nanosleep(&(struct timespec){.tv_nsec = TRAFFIC_PAUSE_NS}, NULL);
    }
    client_close(c);
    return NULL;
}

static bool start_receiver(struct demo *d)
{
    struct receiver_options o = {
        .secret_of = demo_secret_of,
        .status_of = demo_status_of,
        .received = demo_received,
        .context = &d->world,
    };
    int error = 0;
    ASSERT(endpoint_parse(STR("127.0.0.1:0"), &o.listen));
    d->receiver = receiver_start(&o, &error);
    if (!d->receiver)
        return false;
    struct endpoint at = receiver_address(d->receiver);
    struct buf text = {0};
    endpoint_print(&text, &at);
    snprintf(d->world.receiver_url, sizeof d->world.receiver_url, "http://%s", buf_c(&text));
    buf_free(&text);
    return true;
}

/* Until a signal, `seconds` (0: for ever), or the child's end. */
static int show_until_stopped(struct demo *d, int64_t seconds)
{
    struct client_session *c = client_open(str_of(d->world.api_url), STR_NONE);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    bool terminal = isatty(STDOUT_FILENO);
    int status = 0;
    for (int64_t second = 0; !seconds || second <= seconds; second++) {
        if (terminal || second % 5 == 0 || second == seconds)
            demo_print_summary(&d->world, c, terminal && second > 0);
        if (sigtimedwait(&set, NULL, &(struct timespec){.tv_sec = SUMMARY_PAUSE_S}) > 0)
            break;
        if (waitpid(d->child, NULL, WNOHANG) == d->child) {
            d->child = 0;
            status = command_fail(1, "demo: the server ended; its log is %s", d->log);
            break;
        }
    }
    client_close(c);
    return status;
}

static int run(struct demo *d, int64_t seconds)
{
    struct client_session *c = client_open(str_of(d->world.api_url), str_of(d->world.operator_key));
    struct rng rng;
    rng_seed(&rng, (uint64_t)d->world.started_ms);
    demo_print_step("Making three partners with six apps, and people who may sign in.");
    bool good = demo_make_accounts(&d->world, c) && demo_make_people(&d->world, c) &&
                demo_make_history(&d->world, c, &rng);
    client_close(c);
    if (!good)
        return 1;
    demo_print_welcome(&d->world);
    ASSERT(pthread_create(&d->traffic, NULL, run_traffic, d) == 0);
    int status = show_until_stopped(d, seconds);
    d->world.stopping = true;
    pthread_join(d->traffic, NULL);
    return status;
}

int command_demo(struct settings *s)
{
    static struct demo d;
    struct str why;
    struct endpoint at;
    int64_t seconds;
    if (!settings_int(s, OPTION_SECONDS, 0, 1000000, &seconds, &why) ||
        !settings_listen(s, &at, &why))
        return command_fail(EXIT_USAGE, "%.*s", STR_ARG(why));
    if (!make_store(&d))
        return command_fail(1, "demo: no store can be made: %s", strerror(errno));
    demo_world_init(&d.world, env_real());
    daemon_block_signals();
    int status = 1;
    demo_print_step("Starting a receiver and a server.");
    struct str listen = choose_listen(s, &at);
    if (!start_receiver(&d))
        command_fail(1, "demo: the receiver cannot listen.");
    else if (!start_child(&d, listen) || !find_address(&d))
        command_fail(1, "demo: the server did not start; is %.*s in use? Its log is %s",
                     STR_ARG(listen), d.log);
    else
        status = run(&d, seconds);
    stop_child(&d);
    if (d.receiver)
        receiver_stop(d.receiver);
    if (status == 0) /* otherwise its log says why */
        nftw(d.store, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return status;
}
