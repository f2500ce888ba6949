/* The receiver, as a partner would write it, on our own HTTP server. It also proves that our
 * documented way of verifying is sufficient. */
#include "cli/receiver.h"

#include "api/query.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "domain/request_format.h"
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
    int listen_fd;
    pthread_t thread;
    struct task stop;
    uint64_t seen[SEEN_SLOTS]; /* hashes of RewardIds, one per slot: enough to notice duplicates */
};

/* A request with a delayed answer. */
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

/* Fields of a JSON body, a form or a query. */
struct callback_fields {
    struct str sig, panelist_id, reward_type, reward_id, reward;
};

static void read_json(const struct json *body, struct callback_fields *ret)
{
    ret->sig = json_member_text(body, "Sig");
    ret->panelist_id = json_member_text(body, "PanelistId");
    ret->reward_type = json_member_text(body, "RewardType");
    ret->reward_id = json_member_text(body, "RewardId");
    ret->reward = json_member_text(body, "Reward");
}

static void read_pairs(struct arena *arena, struct str pairs, struct callback_fields *ret)
{
    const struct {
        const char *name;
        struct str *value;
    } known[] = {{"Sig", &ret->sig},
                 {"PanelistId", &ret->panelist_id},
                 {"RewardType", &ret->reward_type},
                 {"RewardId", &ret->reward_id},
                 {"Reward", &ret->reward}};
    while (pairs.p) {
        struct parameter given;
        bool is_good = query_decode_pair(arena, str_cut(&pairs, '&'), &given);
        for (size_t i = 0; is_good && i < ARRAY_LEN(known); i++)
            if (given.value.p && str_is(given.name, known[i].name))
                *known[i].value = given.value;
    }
}

static void read_fields(struct http_request *r, struct callback_fields *ret)
{
    struct json *body = NULL;
    struct str why;
    if (r->method == HTTP_GET)
        read_pairs(&r->arena, r->query, ret);
    else if (str_has_prefix(http_header(r, "content-type"),
                            request_format_content_type(REQUEST_FORM)))
        read_pairs(&r->arena, r->body, ret);
    else if (json_parse(&r->arena, r->body, &body, &why) && body->type == JSON_OBJECT)
        read_json(body, ret);
}

static bool check_sig(const struct callback_fields *f, struct str secret)
{
    char hex[SIG_HEX_BYTES];
    if (f->sig.n != sizeof hex || !f->panelist_id.p || !f->reward_id.p)
        return false;
    signature_sig(f->panelist_id, f->reward_id, secret, hex);
    return CRYPTO_memcmp(hex, f->sig.p, sizeof hex) == 0;
}

/* The text that webhook-signature covers: the body; for a GET, path and query. */
static struct str signed_text(struct http_request *r)
{
    if (r->method != HTTP_GET)
        return r->body;
    char *to = arena_alloc(&r->arena, r->path.n + 1 + r->query.n);
    memcpy(to, r->path.p, r->path.n);
    to[r->path.n] = '?';
    if (r->query.n)
        memcpy(to + r->path.n + 1, r->query.p, r->query.n);
    return (struct str){to, r->path.n + (r->query.p ? 1 + r->query.n : 0)};
}

static bool check_webhook(struct http_request *r, struct str secret, int64_t now_ms)
{
    struct str id = http_header(r, "webhook-id"), at = http_header(r, "webhook-timestamp");
    struct str rest = http_header(r, "webhook-signature");
    uint64_t number;
    /* the text is signed, so it must be the number's own spelling */
    if (!id.p || at.n > 12 || !str_parse_uint(at, INT64_MAX, &number) || at.p[0] == '0')
        return false;
    int64_t seconds = (int64_t)number;
    if (llabs(now_ms / 1000 - seconds) > TOLERANCE_S)
        return false;
    char wanted[WEBHOOK_SIGNATURE_BYTES];
    signature_webhook(secret, id, seconds, signed_text(r), wanted);
    while (rest.p) {
        struct str one = str_cut(&rest, ' ');
        if (one.n == strlen(wanted) && CRYPTO_memcmp(one.p, wanted, one.n) == 0)
            return true;
    }
    return false;
}

static void judge(struct receiver *receiver, struct http_request *r, struct received *ret)
{
    struct callback_fields f = {0};
    ret->path = r->path;
    ret->request = r;
    read_fields(r, &f);
    ret->reward_type = f.reward_type;
    ret->reward_id = f.reward_id;
    ret->reward = f.reward;
    ret->readable = ret->reward_type.p && ret->reward_id.p && ret->reward.p;
    struct str secret = receiver->options.secret_of(receiver->options.context, r->path);
    if (!secret.p)
        return;
    ret->sig_good = check_sig(&f, secret);
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
    loop_free(receiver->loop);
    close(receiver->listen_fd);
    free(receiver);
}
