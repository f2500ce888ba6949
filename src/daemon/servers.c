/* Makes each loop's HTTP server. */
#include "daemon/servers.h"

#include "base/limits.h"
#include "http/server.h"

static size_t body_tick_bytes(void *context)
{
    const struct loop_thread *thread = context;
    const struct daemon *d = thread->daemon;
    bool behind = delivery_is_behind(d->delivery, (size_t)(thread - d->loop_threads));
    return behind ? LIMIT_BODY_TICK_BEHIND_BYTES : SIZE_MAX;
}

void servers_make(struct daemon *d)
{
    for (size_t i = 0; i < d->loop_thread_count; i++) {
        struct loop_thread *thread = &d->loop_threads[i];
        thread->api = api_loop_new(d->api, thread->loop);
        struct http_server_options options = {
            .handle = api_handle,
            .headers_in = api_headers_in,
            .context = thread->api,
            .body_tick_bytes = body_tick_bytes,
            .body_context = thread,
            .connections_max = d->descriptors.in_per_loop,
            .connections_per_address = d->descriptors.in_per_loop / 4,
            .listen_fd = d->listen_fd,
            .tls_context = d->tls,
            .access_log = d->access_log,
            .trusted_proxies = d->options.trusted_proxies,
            .trusted_proxy_count = d->options.trusted_proxy_count,
            .buffers_max_bytes = http_buffers_part(d->loop_thread_count),
        };
        thread->server = http_server_new(thread->loop, &options);
    }
    descriptors_warn(&d->descriptors, d->options.descriptors);
}
