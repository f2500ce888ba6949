/* postbackd receive: a partner's receiver for trying things. One line per callback. */
#include "cli/command.h"
#include "cli/receiver.h"

#include "daemon/daemon.h"
#include "daemon/listener.h"
#include "domain/money.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

struct receiving {
    struct str secret;
    int status;
    int64_t delay_ms;
    int64_t fail_millionths; /* share of requests to fail */
    bool prints;             /* also prints headers and bodies */
    struct rng rng;
};

static struct str secret_of(void *context, struct str path)
{
    (void)path;
    return ((struct receiving *)context)->secret;
}

static int status_of(void *context, struct str path, int64_t *ret_delay_ms)
{
    struct receiving *r = context;
    (void)path;
    *ret_delay_ms = r->delay_ms;
    bool fails = (int64_t)rng_below(&r->rng, MICROS_PER_UNIT) < r->fail_millionths;
    return fails ? 503 : r->status;
}

/* Unchanged, for checking signatures by hand; on a terminal as plain text. */
static void print_text(struct str text)
{
    if (!isatty(STDOUT_FILENO)) {
        fwrite(text.p, 1, text.n, stdout);
        puts("");
        return;
    }
    do {
        struct str line = str_cut(&text, '\n');
        command_say(stdout, "%.*s", STR_ARG(line));
    } while (text.p);
}

static void print_request(const struct http_request *r)
{
    for (size_t i = 0; i < r->header_count; i++)
        command_say(stdout, "%.*s: %.*s", STR_ARG(r->headers[i].name),
                    STR_ARG(r->headers[i].value));
    puts("");
    if (r->method == HTTP_GET) /* the query is signed instead of a body */
        command_say(stdout, "%.*s%s%.*s", STR_ARG(r->path), r->query.p ? "?" : "",
                    STR_ARG(r->query));
    else
        print_text(r->body);
    puts("");
}

static void print_line(void *context, const struct received *r)
{
    const struct receiving *receiving = context;
    if (!r->readable)
        command_say(stdout,
                    "%d %.*s: without RewardType, RewardId and Reward  webhook-signature %s",
                    r->status, STR_ARG(r->path), r->webhook_good ? "ok" : "WRONG");
    else
        command_say(stdout, "%d %.*s %.*s Reward %.*s  Sig %s  webhook-signature %s%s", r->status,
                    STR_ARG(r->reward_type), STR_ARG(r->reward_id), STR_ARG(r->reward),
                    r->sig_good ? "ok" : "WRONG", r->webhook_good ? "ok" : "WRONG",
                    r->duplicate ? "  (came before)" : "");
    if (receiving->prints)
        print_request(r->request);
    fflush(stdout);
}

/* A share of all requests, in millionths. */
static bool parse_share(struct str text, int64_t *ret_millionths)
{
    return money_parse(text, ret_millionths) == MONEY_OK && *ret_millionths >= 0 &&
           *ret_millionths <= MICROS_PER_UNIT;
}

int command_receive(struct settings *s)
{
    struct receiving r = {.secret = settings_text(s, OPTION_SECRET)};
    struct receiver_options o = {
        .secret_of = secret_of, .status_of = status_of, .received = print_line, .context = &r};
    struct str why;
    int64_t status;
    int error = 0;
    if (!r.secret.p)
        return command_fail(EXIT_USAGE, "receive needs --secret, the app's Callback Secret.");
    if (!settings_listen(s, &o.listen, &why) ||
        !settings_int(s, OPTION_STATUS, 200, 599, &status, &why) ||
        !settings_int(s, OPTION_DELAY, 0, 600000, &r.delay_ms, &why))
        return command_fail(EXIT_USAGE, "%.*s", STR_ARG(why));
    if (!parse_share(settings_text(s, OPTION_FAIL_RATE), &r.fail_millionths))
        return command_fail(EXIT_USAGE, "fail-rate: a share from 0 to 1, such as 0.2.");
    r.status = (int)status;
    r.prints = str_is(settings_text(s, OPTION_PRINT), "true");
    uint64_t seed;
    env_random(env_real(), &seed, sizeof seed);
    rng_seed(&r.rng, seed);

    daemon_block_signals();
    struct buf at = {0};
    struct receiver *receiver = receiver_start(&o, &error);
    if (!receiver) {
        listener_print_fault(&at, &o.listen, error);
        return command_fail(1, "%s", buf_c(&at));
    }
    struct endpoint address = receiver_address(receiver);
    endpoint_print(&at, &address);
    printf("receiving on http://%s/ - stop with Ctrl-C\n", buf_c(&at));
    fflush(stdout);
    buf_free(&at);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    int signal;
    sigwait(&set, &signal);
    receiver_stop(receiver);
    return 0;
}
