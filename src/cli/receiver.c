/* The receiver: what a partner writes in an afternoon, on our own server. It is also the proof
 * that what we document about verifying is enough to verify. */
#include "cli/receiver.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "domain/signature.h"
#include "json/reader.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define SEEN_SLOTS (1u << 16)
#define TOLERANCE_S 300 /* of webhook-timestamp, as Standard Webhooks advises */

struct receiver {
    struct receiver_options options;
    struct loop *loop;
    struct http_server *server;
    struct json_parser *parser;
    int listen_fd;
    pthread_t thread;
    struct task stop;
    uint64_t seen[SEEN_SLOTS]; /* hashes of RewardIds; a ring per slot of one: enough to notice */
};

/* A request whose answer waits. */
struct delayed {
    struct timer timer;
    struct http_request *r;
    int status;
};

static void answer(struct http_request *r, int status)
{
    http_respond(r, status, "text/plain", STR_NONE, status < 300 ? STR("ok\n") : STR("not now\n"));
}

static void answer_late(struct timer *timer)
{
    struct delayed *d = CONTAINER_OF(timer, struct delayed, timer);
    answer(d->r, d->status);
}

static bool has_seen(struct receiver *receiver, struct str path, struct str id)
{
    uint64_t h = hash_fast(id.p, id.n) ^ (hash_fast(path.p, path.n) * 31);
    uint64_t *slot = &receiver->seen[h % SEEN_SLOTS];
    bool seen = *slot == h;
    *slot = h;
    return seen;
}

static bool check_sig(const struct json *body, struct str secret)
{
    struct str sig = json_member_text(body, "Sig"), panelist = json_member_text(body, "PanelistId");
    struct str reward_id = json_member_text(body, "RewardId");
    char hex[SIG_HEX_BYTES];
    if (sig.n != sizeof hex || !panelist.p || !reward_id.p)
        return false;
    signature_sig(panelist, reward_id, secret, hex);
    return CRYPTO_memcmp(hex, sig.p, sizeof hex) == 0;
}

static bool check_webhook(const struct http_request *r, struct str secret, int64_t now_ms)
{
    struct str id = http_header(r, "webhook-id"), at = http_header(r, "webhook-timestamp");
    struct str rest = http_header(r, "webhook-signature");
    if (!id.p || !at.n || at.n > 12)
        return false;
    int64_t seconds = 0;
    for (size_t i = 0; i < at.n; i++)
        seconds = seconds * 10 + (at.p[i] - '0');
    if (llabs(now_ms / 1000 - seconds) > TOLERANCE_S)
        return false;
    char wanted[WEBHOOK_SIGNATURE_BYTES];
    signature_webhook(secret, id, seconds, r->body, wanted);
    while (rest.p) {
        struct str one = str_cut(&rest, ' ');
        if (one.n == strlen(wanted) && CRYPTO_memcmp(one.p, wanted, one.n) == 0)
            return true;
    }
    return false;
}

static void judge(struct receiver *receiver, struct http_request *r, struct received *ret)
{
    struct json *body = NULL;
    struct str why;
    ret->path = r->path;
    ret->request = r;
    if (!json_parse(receiver->parser, &r->arena, r->body, &body, &why) || body->type != JSON_OBJECT)
        return;
    ret->reward_type = json_member_text(body, "RewardType");
    ret->reward_id = json_member_text(body, "RewardId");
    ret->reward = json_member_text(body, "Reward");
    ret->readable = ret->reward_type.p && ret->reward_id.p && ret->reward.p;
    struct str secret = receiver->options.secret_of(receiver->options.context, r->path);
    if (!ret->readable || !secret.p)
        return;
    ret->sig_good = check_sig(body, secret);
    ret->webhook_good = check_webhook(r, secret, loop_wall_ms(receiver->loop));
}

static void handle(void *context, struct http_request *r)
{
    struct receiver *receiver = context;
    struct received found = {0};
    int64_t delay_ms = 0;
    judge(receiver, r, &found);
    found.status = receiver->options.status_of(receiver->options.context, r->path, &delay_ms);
    if (found.status < 300 && found.readable)
        found.duplicate = has_seen(receiver, r->path, found.reward_id);
    if (receiver->options.received)
        receiver->options.received(receiver->options.context, &found);
    if (delay_ms <= 0) {
        answer(r, found.status);
        return;
    }
    struct delayed *d = arena_zalloc(&r->arena, sizeof *d);
    d->timer.fire = answer_late;
    d->r = r;
    d->status = found.status;
    loop_timer_set(receiver->loop, &d->timer, loop_mono_ms(receiver->loop) + delay_ms);
}

static void *run(void *context)
{
    struct receiver *receiver = context;
    loop_run(receiver->loop);
    return NULL;
}

struct receiver *receiver_start(const struct receiver_options *options, int *ret_errno)
{
    int fd = socket_listen(&options->listen, ret_errno);
    if (fd < 0)
        return NULL;
    struct receiver *receiver = xcalloc(1, sizeof *receiver);
    receiver->options = *options;
    receiver->listen_fd = fd;
    receiver->loop = loop_new(env_real());
    receiver->parser = json_parser_new();
    struct http_server_options server = {.handle = handle, .context = receiver, .listen_fd = fd};
    receiver->server = http_server_new(receiver->loop, &server);
    ASSERT(pthread_create(&receiver->thread, NULL, run, receiver) == 0);
    pthread_setname_np(receiver->thread, "receiver");
    return receiver;
}

struct endpoint receiver_address(const struct receiver *receiver)
{
    struct endpoint at = {0};
    ASSERT(socket_local(receiver->listen_fd, &at));
    return at;
}

static void stopped(void *context)
{
    struct receiver *receiver = context;
    loop_stop(receiver->loop);
}

static void stop_on_loop(struct task *task)
{
    struct receiver *receiver = CONTAINER_OF(task, struct receiver, stop);
    http_server_stop(receiver->server, loop_mono_ms(receiver->loop) + 1000, stopped, receiver);
}

void receiver_stop(struct receiver *receiver)
{
    receiver->stop.run = stop_on_loop;
    executor_post(loop_executor(receiver->loop), &receiver->stop);
    pthread_join(receiver->thread, NULL);
    http_server_free(receiver->server);
    json_parser_free(receiver->parser);
    loop_free(receiver->loop);
    close(receiver->listen_fd);
    free(receiver);
}
