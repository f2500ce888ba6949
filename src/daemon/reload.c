/* Applies changed settings at SIGHUP, all or none: first everything that may fail is made, then
 * each thread gets its part, then the old parts are freed. Which settings: OPTION_IS_RELOADED
 * (cli/option_table.c). The control thread and the mailer may be busy for long: they get copies,
 * and nothing waits for them. */
#include "daemon/daemon_inside.h"

#include "base/alloc.h"
#include "base/log.h"
#include "http/access_log.h"
#include "net/tls.h"
#include "oidc/oidc.h"
#include "services/certificate_watch.h"
#include "services/control.h"

#include <stdlib.h>

/* Made from files, which may fail. */
struct reload {
    struct ssl_ctx_st *tls; /* the listener's */
    struct access_log *access_log;
    struct providers providers;
    bool has_rules, has_authorities; /* to be passed on */
    struct tls_authorities *authorities;
    struct ssl_ctx_st *client_tls; /* of the authorities */
};

/* --- what may fail ---------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_list(const struct cidr *a, size_t a_count, const struct cidr *b, size_t b_count)
{
    return a_count == b_count && (a_count == 0 || memcmp(a, b, a_count * sizeof *a) == 0);
}

static bool same_rules(const struct destination_rules *a, const struct destination_rules *b)
{
    return same_list(a->allowed, a->allowed_count, b->allowed, b->allowed_count) &&
           same_list(a->denied, a->denied_count, b->denied, b->denied_count);
}

static bool make_tls(const struct daemon *d, const struct daemon_options *next, struct reload *r,
                     char **ret_why)
{
    if (!d->tls != !next->tls_cert_file) {
        *ret_why = xprintf("tls-cert: only a restart turns TLS on or off");
        return false;
    }
    if (d->tls)
        r->tls = tls_server_new(next->tls_cert_file, next->tls_key_file, d->options.http2, ret_why);
    return !d->tls || r->tls;
}

/* The same file may have new content; the system's authorities are read only at the start. */
static bool make_authorities(const struct daemon *d, const struct daemon_options *next,
                             struct reload *r, char **ret_why)
{
    r->has_authorities = next->ca_file || d->options.ca_file;
    if (!r->has_authorities)
        return true;
    r->authorities = tls_authorities_new(next->ca_file);
    r->client_tls = sender_make_tls(r->authorities, d->options.http2, ret_why);
    return r->client_tls;
}

/* The present log if it has the same path: then the file is opened again. */
static bool make_access_log(const struct daemon *d, const struct daemon_options *next,
                            struct reload *r, char **ret_why)
{
    r->access_log = d->access_log;
    if (same_text(d->options.access_log, next->access_log))
        return !d->access_log || access_log_reopen(d->access_log, ret_why);
    r->access_log = next->access_log ? access_log_open(next->access_log, ret_why) : NULL;
    return !next->access_log || r->access_log;
}

static bool make(const struct daemon *d, const struct daemon_options *next, struct reload *r,
                 char **ret_why)
{
    *r = (struct reload){
        .providers.passwords = true,
        .has_rules = !same_rules(&d->options.rules, &next->rules),
    };
    return (!next->sign_in_file || providers_read(&r->providers, next->sign_in_file, ret_why)) &&
           make_tls(d, next, r, ret_why) && make_authorities(d, next, r, ret_why) &&
           make_access_log(d, next, r, ret_why);
}

static void drop(struct reload *r)
{
    providers_free(&r->providers);
    tls_context_free(r->tls);
    tls_context_free(r->client_tls);
    tls_authorities_free(r->authorities);
}

/* --- handing over ----------------------------------------------------------------------------- */

static void take_options(struct daemon_options *o, const struct daemon_options *next)
{
    o->tls_cert_file = next->tls_cert_file;
    o->tls_key_file = next->tls_key_file;
    o->sign_in_file = next->sign_in_file;
    o->access_log = next->access_log;
    o->access_log_probes = next->access_log_probes;
    o->trusted_proxies = next->trusted_proxies;
    o->trusted_proxy_count = next->trusted_proxy_count;
    o->reads_per_minute = next->reads_per_minute;
    o->retention = next->retention;
    o->waiting_most = next->waiting_most;
    o->disk_reserve_bytes = next->disk_reserve_bytes;
    o->schedule = next->schedule;
    o->rules = next->rules;
    o->ca_file = next->ca_file;
    o->operations_url = next->operations_url;
    o->operations_email = next->operations_email;
    o->operations_spacing_ms = next->operations_spacing_ms;
    o->daily_mail_minute = next->daily_mail_minute;
    o->mail = next->mail;
}

static void reload_on_loop(struct task *task)
{
    struct loop_thread *thread = CONTAINER_OF(task, struct loop_thread, reload);
    const struct daemon *d = thread->daemon;
    if (d->tls)
        http_server_set_tls(thread->server, d->tls);
    http_server_set_access_log(thread->server, d->access_log);
    http_server_set_trusted_proxies(thread->server, d->options.trusted_proxies,
                                    d->options.trusted_proxy_count);
    if (d->reload->has_rules || d->reload->has_authorities)
        sender_change(thread->sender, &d->options.rules, d->reload->client_tls);
    delivery_set_schedule(d->delivery, (size_t)(thread - d->loop_threads), &d->options.schedule);
    thread->reload.run = waiter_wake;
    executor_post(&thread->daemon->waiter.executor, &thread->reload);
}

static void reload_loops(struct daemon *d, const struct reload *r)
{
    bool outgoing = r->has_rules || r->has_authorities;
    struct operations_change operations = {
        .done.run = waiter_wake,
        .reply_to = &d->waiter.executor,
        .operator_url = d->options.operations_url,
        .operator_email = d->options.operations_email,
        .spacing_ms = d->options.operations_spacing_ms,
        .daily_minute = d->options.daily_mail_minute,
        .rules = outgoing ? &d->options.rules : NULL,
        .tls = r->client_tls,
    };
    d->reload = r;
    for (size_t i = 0; i < d->loop_thread_count; i++) {
        d->loop_threads[i].reload.run = reload_on_loop;
        executor_post(loop_executor(d->loop_threads[i].loop), &d->loop_threads[i].reload);
    }
    operations_change(d->operations, &operations);
    for (size_t i = 0; i < d->loop_thread_count + 1; i++)
        waiter_wait(&d->waiter);
    d->reload = NULL;
}

struct rules_change {
    struct task task;
    struct accounts *accounts;
    struct destination_rules rules;
};

static void change_rules(struct task *task)
{
    struct rules_change *change = CONTAINER_OF(task, struct rules_change, task);
    accounts_set_rules(change->accounts, &change->rules);
    destination_rules_free(&change->rules);
    free(change);
}

static void reload_accounts(struct daemon *d)
{
    struct rules_change *change = xcalloc(1, sizeof *change);
    change->task = (struct task){.run = change_rules, .owner = OWNER_DAEMON};
    change->accounts = d->accounts;
    change->rules = destination_rules_copy(&d->options.rules);
    control_post(d->control, &change->task);
}

/* A changed period starts a purge at once: so it is set only if it has changed. */
static void reload_store(struct daemon *d, const struct daemon_options *next)
{
    const struct daemon_options *o = &d->options;
    if (memcmp(&o->retention, &next->retention, sizeof o->retention) == 0 &&
        o->waiting_most == next->waiting_most && o->disk_reserve_bytes == next->disk_reserve_bytes)
        return;
    store_set_bounds(d->store, &(struct store_bounds){
                                   .retention = next->retention,
                                   .waiting_most = next->waiting_most,
                                   .disk_reserve_bytes = next->disk_reserve_bytes,
                               });
    api_set_bodies_days(d->api, next->retention.bodies_days);
}

static void log_files(const struct daemon *d)
{
    if (d->tls)
        log_info("certificate_reloaded", LOG_C("file", d->options.tls_cert_file));
    if (d->access_log)
        log_info("access_log_reopened", LOG_C("file", d->options.access_log));
}

bool daemon_reload(struct daemon *d, const struct daemon_options *next, char **ret_why)
{
    CHECK_MAGIC(d, DAEMON_MAGIC);
    struct reload r;
    if (!make(d, next, &r, ret_why)) {
        drop(&r);
        return false;
    }
    reload_store(d, next);
    struct ssl_ctx_st *old_tls = d->tls;
    struct access_log *old_access_log = d->access_log;
    take_options(&d->options, next);
    d->tls = r.tls;
    d->access_log = r.access_log;
    if (d->access_log)
        access_log_set_probes(d->access_log, d->options.access_log_probes);
    oidc_set(d->oidc, &r.providers, d->options.ca_file, &d->options.rules);
    reload_loops(d, &r);
    reload_accounts(d);
    if (d->mailer && d->options.mail.url)
        mailer_change(d->mailer, &d->options.mail);
    api_set_reads_per_minute(d->api, d->options.reads_per_minute);
    if (d->tls)
        certificate_watch_set_listener(d->certificates, tls_server_expires_ms(d->tls));
    r.tls = old_tls; /* the servers keep what their connections still use */
    if (r.has_authorities) {
        struct tls_authorities *old_authorities = d->authorities;
        d->authorities = r.authorities;
        r.authorities = old_authorities;
    }
    drop(&r);
    if (old_access_log != d->access_log)
        access_log_close(old_access_log);
    log_files(d);
    return true;
}
