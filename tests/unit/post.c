/* A loop and a sender for one exchange at a time. */
#include "post.h"

struct post post;

struct sender_options post_options(const char *allowed)
{
    static struct cidr cidr;
    struct sender_options options = {.user_agent = "postbackd/test",
                                     .connections_max = 64,
                                     .idle_per_destination = 8,
                                     .idle_ms = 30000};
    if (allowed) {
        ASSERT(cidr_parse(str_of(allowed), &cidr));
        options.rules.allowed = &cidr;
        options.rules.allowed_count = 1;
    }
    return options;
}

void post_open_with(const struct sender_options *options)
{
    char *why = NULL;
    struct sender_options all = *options;
    all.authorities = tls_authorities_new(post.ca_file);
    post.loop = loop_new(env_real());
    post.sender = sender_new(post.loop, &all, &why);
    tls_authorities_free(all.authorities);
    if (!post.sender)
        printf("no sender: %s\n", why);
    ASSERT(post.sender);
}

void post_open(const char *allowed, const char *ca_file, const char *dns_server)
{
    struct sender_options options = post_options(allowed);
    options.dns_server = dns_server;
    post.ca_file = ca_file;
    post_open_with(&options);
}

void post_close(void)
{
    exchange_free_results(&post.x);
    post.x = (struct exchange){0};
    sender_free(post.sender);
    loop_free(post.loop);
    arena_free(&post.arena);
    post.ca_file = NULL;
}

static void post_done(struct exchange *x)
{
    (void)x;
    if (--post.under_way == 0)
        loop_stop(post.loop);
}

static struct url *post_url(const char *text)
{
    const char *why = NULL;
    struct url *url = arena_alloc(&post.arena, sizeof *url);
    if (!url_parse(&post.arena, str_of(text), url, &why)) {
        printf("%s: %s\n", text, why);
        abort();
    }
    return url;
}

void post_start(struct exchange *x, const char *url, int64_t timeout_ms)
{
    x->url = post_url(url);
    x->headers = STR("webhook-id: r-1\r\n");
    x->body = STR("{\"Sig\":\"x\"}");
    x->timeout_ms = timeout_ms;
    x->connect_timeout_ms = post.connect_timeout_ms ? post.connect_timeout_ms : timeout_ms;
    x->done = post_done;
    post.under_way++;
    sender_start(post.sender, x);
}

void post_to(const char *url_format, unsigned port, int64_t timeout_ms)
{
    struct buf url = {0};
    const char *mark = strstr(url_format, "%u");
    buf_add(&url, url_format, mark ? (size_t)(mark - url_format) : strlen(url_format));
    if (mark) {
        buf_add_int(&url, port);
        buf_add_c(&url, mark + 2);
    }
    post_start(&post.x, buf_c(&url), timeout_ms);
    loop_run(post.loop);
    buf_free(&url);
}

bool post_says(const char *part)
{
    if (strstr(post.x.detail, part))
        return true;
    printf("detail is: %s\n", post.x.detail);
    return false;
}

static void post_pause_over(struct timer *timer)
{
    (void)timer;
    loop_stop(post.loop);
}

void post_pause(int64_t ms)
{
    struct timer timer = {.fire = post_pause_over};
    loop_timer_set(post.loop, &timer, env_mono_ms(env_real()) + ms);
    loop_run(post.loop);
}
