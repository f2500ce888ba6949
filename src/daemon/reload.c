/* SIGHUP: what a running daemon can take anew. Whatever may fail is made first, so that a reload
 * changes all of it or nothing; then each loop is handed its part, and only when all of them have
 * it is the old one freed. */
#include "daemon/daemon_inside.h"

#include "base/log.h"
#include "http/access_log.h"
#include "net/tls.h"
#include "oidc/oidc.h"
#include "services/certificate_watch.h"

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool make_tls(const struct daemon *d, const struct daemon_options *next,
                     struct ssl_ctx_st **ret, char **ret_why)
{
    *ret = NULL;
    if (!d->tls != !next->tls_cert_file) {
        *ret_why = xprintf("tls-cert: only a restart turns TLS on or off");
        return false;
    }
    if (d->tls)
        *ret = tls_server_new(next->tls_cert_file, next->tls_key_file, ret_why);
    return !d->tls || *ret;
}

/* *ret is the one there is where it has the same path: that one is opened anew. */
static bool make_access_log(const struct daemon *d, const struct daemon_options *next,
                            struct access_log **ret, char **ret_why)
{
    *ret = d->access_log;
    if (same_text(d->options.access_log, next->access_log))
        return !d->access_log || access_log_reopen(d->access_log, ret_why);
    *ret = NULL;
    if (next->access_log)
        *ret = access_log_open(next->access_log, ret_why);
    return !next->access_log || *ret;
}

static void reload_on_loop(struct task *task)
{
    struct lap *lap = CONTAINER_OF(task, struct lap, reload);
    const struct daemon *d = lap->daemon;
    if (d->tls)
        http_server_set_tls(lap->server, d->tls);
    http_server_set_access_log(lap->server, d->access_log);
    http_server_set_trusted_proxies(lap->server, d->options.trusted_proxies,
                                    d->options.trusted_proxy_count);
    lap->reload.run = waiter_wake;
    executor_post(&lap->daemon->waiter.executor, &lap->reload);
}

static void reload_loops(struct daemon *d)
{
    for (size_t i = 0; i < d->lap_count; i++) {
        d->laps[i].reload.run = reload_on_loop;
        executor_post(loop_executor(d->laps[i].loop), &d->laps[i].reload);
    }
    for (size_t i = 0; i < d->lap_count; i++)
        waiter_wait(&d->waiter);
}

bool daemon_reload(struct daemon *d, const struct daemon_options *next, char **ret_why)
{
    CHECK_MAGIC(d, DAEMON_MAGIC);
    struct ssl_ctx_st *tls, *old_tls = d->tls;
    struct access_log *access_log, *old_access_log = d->access_log;
    struct providers providers = {.passwords = true};
    if (next->sign_in_file && !providers_read(&providers, next->sign_in_file, ret_why)) {
        providers_free(&providers);
        return false;
    }
    if (!make_tls(d, next, &tls, ret_why)) {
        providers_free(&providers);
        return false;
    }
    if (!make_access_log(d, next, &access_log, ret_why)) {
        tls_context_free(tls);
        providers_free(&providers);
        return false;
    }
    oidc_set(d->oidc, &providers);
    d->options.sign_in_file = next->sign_in_file;
    d->tls = tls;
    d->access_log = access_log;
    if (access_log)
        access_log_set_probes(access_log, next->access_log_probes);
    d->options.tls_cert_file = next->tls_cert_file;
    d->options.tls_key_file = next->tls_key_file;
    d->options.access_log = next->access_log;
    d->options.trusted_proxies = next->trusted_proxies;
    d->options.trusted_proxy_count = next->trusted_proxy_count;
    reload_loops(d);
    api_set_reads_per_minute(d->api, next->reads_per_minute);
    tls_context_free(old_tls); /* the servers keep what their connections still use */
    if (old_access_log != access_log)
        access_log_close(old_access_log);
    if (tls) {
        certificate_watch_set_listener(d->certificates, tls_server_expires_ms(tls));
        log_info("certificate_reloaded", LOG_C("file", d->options.tls_cert_file));
    }
    if (access_log)
        log_info("access_log_reopened", LOG_C("file", d->options.access_log));
    return true;
}
