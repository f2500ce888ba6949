/* Starts and stops the daemon's parts in the order of daemon.h. The main thread waits for signals
 * and watches the store. A store that has failed cannot be repaired in this process, because what a
 * failed sync left on disk is unknown. So the process ends, and its restart recovers from the
 * disk. */
#include "daemon/daemon_inside.h"

#include "accounts/changes.h"
#include "accounts/directory.h"
#include "api/live.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/waiter.h"
#include "daemon/listener.h"
#include "daemon/load_objects.h"
#include "daemon/master_key.h"
#include "daemon/notify_operations.h"
#include "daemon/open_store.h"
#include "daemon/peer_changes.h"
#include "daemon/servers.h"
#include "daemon/signals.h"
#include "daemon/supervisor.h"
#include "daemon/watch.h"
#include "http/access_log.h"
#include "net/tls.h"
#include "oidc/oidc.h"
#include "people/people.h"
#include "services/books_watch.h"
#include "services/certificate_watch.h"
#include "services/control.h"
#include "services/link_mail.h"
#include "services/recovery.h"
#include "services/reseal.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STOP_GRACE_MS 5000 /* for requests: the least TimeoutSeconds plus 2 s */

/* --- start ---------------------------------------------------------------------------------- */

static struct object_owners object_owners(const struct daemon *d)
{
    return (struct object_owners){.directory = d->directory,
                                  .accounts = d->accounts,
                                  .people = d->people,
                                  .recoveries = d->recoveries,
                                  .idempotency = d->idempotency,
                                  .operations = d->operations};
}

/* The key file made by this start does not open the store's secrets: the right key is missing. */
static void refuse_without_key(struct daemon *d, char **ret_why)
{
    char *missing = master_key_missing(d->options.store_directory), *why = *ret_why;
    master_key_file_unmake(d->options.store_directory);
    *ret_why = xprintf("%s (%s)", missing, why);
    free(missing);
    free(why);
}

static bool load_accounts(struct daemon *d, char **ret_why)
{
    struct accounts_options options = {
        .directory = d->directory,
        .env = d->env,
        .rules = d->options.rules,
        .cluster_count = (uint32_t)d->options.cluster_count + 1,
        .sends_mail = d->options.mail.url != NULL,
    };
    bool has_key = d->options.master_key.p || master_key_file_is_there(d->options.store_directory);
    if (!master_key_load(d->options.master_key, d->options.second_master_key,
                         d->options.store_directory, d->env, &options.vault, ret_why))
        return false;
    struct people_options people = {.env = d->env, .vault = options.vault};
    d->accounts = accounts_new(&options);
    d->people = people_new(&people);
    d->live = live_new();
    explicit_bzero(&options.vault, sizeof options.vault);
    explicit_bzero(&people.vault, sizeof people.vault);
    if (d->options.mail.url)
        d->mailer = mailer_new(&d->options.mail);
    d->operations = operations_new(&(struct operations_options){
        .env = d->env,
        .store = d->store,
        .directory = d->directory,
        .accounts = d->accounts,
        .operator_url = d->options.operations_url,
        .operator_email = d->options.operations_email,
        .public_url = d->options.public_url,
        .mailer = d->mailer,
        .people = d->people,
        .spacing_ms = d->options.operations_spacing_ms,
        .daily_minute = d->options.daily_mail_minute,
    });
    struct object_owners owners = object_owners(d);
    bool good = load_objects(d->store, &owners, ret_why);
    if (!good && !has_key)
        refuse_without_key(d, ret_why);
    if (good && !d->options.master_key.p)
        master_key_file_warn(d->options.store_directory);
    if (good && d->options.operator_key.p)
        directory_set_operator_key(d->directory, d->options.operator_key);
    return good;
}

static bool open_store(struct daemon *d, char **ret_why)
{
    d->directory = directory_new();
    d->recoveries = recoveries_new(d->env);
    d->idempotency = idempotency_new(d->env);
    d->store = open_store_of(&d->options, d->directory, d->env, ret_why);
    return d->store && load_accounts(d, ret_why);
}

static bool open_listener(struct daemon *d, char **ret_why)
{
    const struct daemon_options *o = &d->options;
    d->listen_fd = listener_open(&o->listen, o->inherited_fd, ret_why);
    if (d->listen_fd >= 0 && o->tls_cert_file)
        d->tls = tls_server_new(o->tls_cert_file, o->tls_key_file, o->http2, ret_why);
    if (d->listen_fd < 0 || (o->tls_cert_file && !d->tls))
        return false;
    if (d->options.access_log)
        d->access_log = access_log_open(d->options.access_log, ret_why);
    if (d->access_log)
        access_log_set_probes(d->access_log, d->options.access_log_probes);
    return !d->options.access_log || d->access_log;
}

static void events_taken(void *context, const struct intake_batch *batch, size_t rejected)
{
    struct daemon *d = context;
    if (batch->count)
        live_accepted(d->live, batch);
    api_count_rejected(d->api, rejected);
}

static bool make_bus(struct daemon *d, char **ret_why)
{
    if (!d->options.bus.topics)
        return true;
    d->bus = bus_new(&(struct bus_options){.settings = d->options.bus,
                                           .env = d->env,
                                           .store = d->store,
                                           .directory = d->directory,
                                           .hash_secret = store_hash_secret(d->store),
                                           .taken = events_taken,
                                           .context = d},
                     ret_why);
    return d->bus != NULL;
}

static bool make_rewards_feed(struct daemon *d, char **ret_why)
{
    if (!d->options.bus.rewards_topic)
        return true;
    d->rewards_feed = rewards_feed_new(&d->options.bus, d->env, d->store, d->directory, ret_why);
    return d->rewards_feed != NULL;
}

static bool make_oidc(struct daemon *d, char **ret_why)
{
    struct providers providers = {.passwords = true};
    d->oidc = oidc_new(&(struct oidc_options){.env = d->env, .proxy = d->options.proxy});
    if (d->options.sign_in_file && !providers_read(&providers, d->options.sign_in_file, ret_why)) {
        providers_free(&providers);
        return false;
    }
    oidc_set(d->oidc, &providers, d->options.ca_file, &d->options.rules);
    return true;
}

static bool make_senders(struct daemon *d, char **ret_why)
{
    static char agent[64];
    d->descriptors = descriptors_share(d->options.descriptors, (size_t)d->options.loops);
    snprintf(agent, sizeof agent, "postbackd/%s", d->options.version);
    struct sender_options options = {
        .rules = d->options.rules,
        .sources = d->options.sources,
        .source_count = d->options.source_count,
        .authorities = d->authorities,
        .dns_server = d->options.dns_server,
        .proxy = d->options.proxy,
        .user_agent = agent,
        .http2 = d->options.http2,
        .connections_max = (int32_t)d->descriptors.out_per_loop,
        .idle_per_destination = LIMIT_IDLE_CONNECTIONS_PER_DESTINATION,
        .idle_ms = LIMIT_IDLE_CONNECTION_OUT_MS,
    };
    d->loop_thread_count = (size_t)d->options.loops;
    d->loop_threads = xcalloc(d->loop_thread_count, sizeof *d->loop_threads);
    for (size_t i = 0; i < d->loop_thread_count; i++) {
        struct loop_thread *thread = &d->loop_threads[i];
        thread->daemon = d;
        thread->loop = loop_new(d->env);
        thread->sender = sender_new(thread->loop, &options, ret_why);
        if (!thread->sender)
            return false;
    }
    return operations_prepare(d->operations, &options, ret_why);
}

static void on_lane_state(void *context, const struct lane_notice *notice)
{
    struct daemon *d = context;
    live_endpoint(d->live, notice->app->terms.account_no, notice->app->app_no);
    notify_lane(d->operations, notice);
}

static void on_certificate(void *context, const struct app *app, enum lane_kind kind,
                           int64_t expires_ms, bool soon)
{
    struct daemon *d = context;
    notify_certificate(d->operations, app, kind, expires_ms, soon);
}

static void on_books_change(void *context, bool wrong, const char *example)
{
    struct daemon *d = context;
    notify_books(d->operations, wrong, example, env_wall_ms(d->env));
}

static void disable_lane(void *context, uint32_t app_no, enum lane_kind kind, struct str url)
{
    struct daemon *d = context;
    control_disable_lane(d->control, app_no, kind, url);
}

static void gone_settled(void *context, uint32_t app_no, enum lane_kind kind)
{
    struct daemon *d = context;
    delivery_gone_settled(d->delivery, app_no, kind);
}

static void app_changed(void *context, uint32_t app_no)
{
    struct daemon *d = context;
    delivery_app_changed(d->delivery, app_no);
}

static void refresh_object(void *context, struct arena *arena, const struct object_part *object)
{
    struct daemon *d = context;
    peer_changes_refresh(&d->peer_changes, arena, object);
}

static void watch_store(struct daemon *d)
{
    d->peer_changes = (struct peer_changes){
        .api = d->api,
        .executor = loop_executor(d->loop_threads[0].loop),
        .owners = object_owners(d),
        .delivery = d->delivery,
        .control = d->control,
    };
    peer_changes_watch(&d->peer_changes, d->store);
}

static void on_outcomes_durable(void *context, const struct outcome *items, size_t count)
{
    struct daemon *d = context;
    live_outcomes(d->live, items, count);
}

static void make_delivery(struct daemon *d)
{
    struct loop **loops = xcalloc(d->loop_thread_count, sizeof(struct loop *));
    struct sender **senders = xcalloc(d->loop_thread_count, sizeof(struct sender *));
    for (size_t i = 0; i < d->loop_thread_count; i++) {
        loops[i] = d->loop_threads[i].loop;
        senders[i] = d->loop_threads[i].sender;
    }
    struct delivery_options options = {
        .loops = loops,
        .senders = senders,
        .loop_count = d->loop_thread_count,
        .store = d->store,
        .directory = d->directory,
        .schedule = d->options.schedule,
        .allowance_total = d->descriptors.attempts_per_loop,
        .disable_lane = disable_lane,
        .on_lane_state = on_lane_state,
        .on_certificate = on_certificate,
        .on_outcomes_durable = on_outcomes_durable,
        .context = d,
    };
    d->delivery = delivery_new(&options);
    d->watchdog = watchdog_start(loops, d->loop_thread_count);
    free(loops);
    free(senders);
}

static void make_api(struct daemon *d)
{
    d->control = control_new(&(struct control_options){
        .env = d->env,
        .accounts = d->accounts,
        .store = d->store,
        .directory = d->directory,
        .idempotency = d->idempotency,
        .app_changed = app_changed,
        .gone_settled = gone_settled,
        .refresh = refresh_object,
        .context = d,
    });
    d->books = books_watch_new(d->env, d->store, d->directory);
    books_watch_set_callback(d->books, on_books_change, d);
    d->certificates = certificate_watch_new(d->env, d->directory);
    notify_of_own_certificates(d);
    if (d->tls)
        certificate_watch_set_listener(d->certificates, tls_server_expires_ms(d->tls));
    d->link_mail = link_mail_new(&(struct link_mail_options){
        .env = d->env,
        .store = d->store,
        .control = d->control,
        .people = d->people,
        .directory = d->directory,
        .oidc = d->oidc,
        .mailer = d->mailer,
        .public_url = d->options.public_url,
    });
    d->api = api_new(&(struct api_options){
        .env = d->env,
        .store = d->store,
        .directory = d->directory,
        .delivery = d->delivery,
        .accounts = d->accounts,
        .control = d->control,
        .recoveries = d->recoveries,
        .books = d->books,
        .operations = d->operations,
        .certificates = d->certificates,
        .people = d->people,
        .link_mail = d->link_mail,
        .oidc = d->oidc,
        .live = d->live,
        .bus = d->bus,
        .rewards_feed = d->rewards_feed,
        .hash_secret = store_hash_secret(d->store),
        .sources = d->options.sources,
        .source_count = d->options.source_count,
        .reads_per_minute = d->options.reads_per_minute,
        .bodies_days = d->options.retention.bodies_days,
        .public_url = d->options.public_url,
        .version = d->options.version,
    });
}

static void *run_loop(void *context)
{
    struct loop_thread *thread = context;
    loop_run(thread->loop);
    return NULL;
}

static void say_listening(const struct daemon *d)
{
    struct buf text = {0};
    listener_print(&text, d->listen_fd);
    log_info("listening", LOG_STR("address", buf_str(&text)), LOG_C("tls", d->tls ? "yes" : "no"),
             LOG_C("store", d->options.store_uri ? "postgresql" : d->options.store_directory),
             LOG_INT("loops", d->loop_thread_count), LOG_C("version", d->options.version));
    buf_free(&text);
}

static void start_threads(struct daemon *d)
{
    struct lane_backlog *lanes = NULL;
    size_t count = store_backlog(d->store, &lanes);
    delivery_recover(d->delivery, lanes, count);
    free(lanes);
    watch_store(d);
    store_start(d->store, delivery_sink(d->delivery));
    for (size_t i = 0; i < d->loop_thread_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "loop-%zu", i);
        ASSERT(pthread_create(&d->loop_threads[i].thread, NULL, run_loop, &d->loop_threads[i]) ==
               0);
        pthread_setname_np(d->loop_threads[i].thread, name);
    }
    operations_start(d->operations);
    recoveries_start(d->recoveries, d->store, d->delivery);
    api_set_accepting(d->api, true);
    if (d->bus)
        bus_start(d->bus, d->control);
    rewards_feed_start(d->rewards_feed, d->control);
    d->watch = watch_new(d->env, d->store, d->directory);
    d->reseal = reseal_new(d->control, d->accounts, d->people);
    say_listening(d);
}

static void free_parts(struct daemon *d);

struct daemon *daemon_start(const struct daemon_options *options, char **ret_why)
{
    struct daemon *d = xcalloc(1, sizeof *d);
    d->magic = DAEMON_MAGIC;
    d->options = *options;
    d->env = env_real();
    d->listen_fd = -1;
    waiter_init(&d->waiter);
    d->authorities = tls_authorities_new(d->options.ca_file);
    if (!open_listener(d, ret_why) || !make_oidc(d, ret_why) || !open_store(d, ret_why) ||
        !make_senders(d, ret_why) || !make_bus(d, ret_why) || !make_rewards_feed(d, ret_why)) {
        free_parts(d);
        return NULL;
    }
    make_delivery(d);
    make_api(d);
    servers_make(d);
    start_threads(d);
    return d;
}

/* --- run ------------------------------------------------------------------------------------ */

static void reload(struct daemon *d)
{
    char *why = NULL;
    if (d->options.reload)
        d->options.reload(d->options.reload_context, d);
    else if (!daemon_reload(d, &d->options, &why))
        log_error("reload_failed", LOG_C("reason", why));
    free(why);
}

/* --- stop ----------------------------------------------------------------------------------- */

static void server_stopped(void *context)
{
    struct loop_thread *thread = context;
    thread->stop_server.run = waiter_wake;
    executor_post(&thread->daemon->waiter.executor, &thread->stop_server);
}

static void stop_server_on_loop(struct task *task)
{
    struct loop_thread *thread = CONTAINER_OF(task, struct loop_thread, stop_server);
    int64_t deadline_ms = loop_mono_ms(thread->loop) + STOP_GRACE_MS;
    http_server_stop(thread->server, deadline_ms, server_stopped, thread);
    listener_refuse(thread->daemon->listen_fd, thread->daemon->options.inherited_fd);
}

/* Attempts and requests under way end at the same time, and no attempt starts meanwhile: so the
 * longest one of them bounds the time. False: the store failed meanwhile, so outcomes may not be
 * durable. */
static bool stop_in_order(struct daemon *d)
{
    watch_free(d->watch);
    books_watch_stop(d->books);
    api_set_accepting(d->api, false);
    if (d->bus)
        bus_stop(d->bus);
    rewards_feed_stop(d->rewards_feed);
    oidc_abort(d->oidc);
    d->delivery_stopped.run = waiter_wake;
    delivery_stop(d->delivery, &d->waiter.executor, &d->delivery_stopped);
    for (size_t i = 0; i < d->loop_thread_count; i++) {
        d->loop_threads[i].stop_server.run = stop_server_on_loop;
        executor_post(loop_executor(d->loop_threads[i].loop), &d->loop_threads[i].stop_server);
    }
    for (size_t i = 0; i < d->loop_thread_count + 1; i++)
        waiter_wait(&d->waiter);
    bus_free(d->bus);
    d->bus = NULL;
    rewards_feed_free(d->rewards_feed);
    d->rewards_feed = NULL;
    recoveries_stop(d->recoveries);
    link_mail_stop(d->link_mail);
    store_watch(d->store, NULL);
    control_free(d->control); /* before operations: its thread reports changes to them */
    d->control = NULL;
    operations_stop(d->operations);
    reseal_free(d->reseal);
    bool has_failed = store_get_refusal(d->store) == STORE_REFUSES_FAILED;
    store_close(d->store);
    d->store = NULL;
    for (size_t i = 0; i < d->loop_thread_count; i++) {
        loop_stop(d->loop_threads[i].loop);
        pthread_join(d->loop_threads[i].thread, NULL);
    }
    return !has_failed;
}

static void free_parts(struct daemon *d)
{
    for (size_t i = 0; i < d->loop_thread_count; i++) {
        if (d->loop_threads[i].server)
            http_server_free(d->loop_threads[i].server);
        if (d->loop_threads[i].api)
            api_loop_free(d->loop_threads[i].api);
    }
    if (d->delivery)
        delivery_free(d->delivery);
    for (size_t i = 0; i < d->loop_thread_count; i++) {
        if (d->loop_threads[i].sender)
            sender_free(d->loop_threads[i].sender);
        if (d->loop_threads[i].loop)
            loop_free(d->loop_threads[i].loop);
    }
    free(d->loop_threads);
    access_log_close(d->access_log);
    if (d->api)
        api_free(d->api);
    if (d->books)
        books_watch_free(d->books);
    if (d->certificates)
        certificate_watch_free(d->certificates);
    recoveries_free(d->recoveries);
    idempotency_free(d->idempotency);
    bus_free(d->bus);
    rewards_feed_free(d->rewards_feed);
    if (d->store)
        store_close(d->store);
    mailer_free(d->mailer); /* its thread may still wake the loop of operations */
    if (d->operations)
        operations_free(d->operations);
    link_mail_free(d->link_mail);
    oidc_free(d->oidc);
    accounts_free(d->accounts);
    if (d->people)
        people_free(d->people);
    live_free(d->live);
    directory_free(d->directory);
    tls_context_free(d->tls);
    tls_authorities_free(d->authorities);
    if (d->listen_fd >= 0)
        close(d->listen_fd);
    waiter_free(&d->waiter);
    d->magic = 0;
    free(d);
}

static void log_store_failed(void)
{
    log_error(
        "store_failed",
        LOG_C("fix", "see the disk; what was acknowledged is safe: start again, it recovers"));
}

int daemon_run(struct daemon *d)
{
    CHECK_MAGIC(d, DAEMON_MAGIC);
    for (;;) {
        int signal = signals_next();
        if (signal == SIGTERM || signal == SIGINT)
            break;
        if (signal == SIGHUP) {
            supervisor_tell_reloading(d->env);
            reload(d);
            supervisor_tell("READY=1");
        }
        watch_look(d->watch);
        if (leases_first(store_leases(d->store)))
            books_watch_step(d->books);
        certificate_watch_step(d->certificates);
        reseal_step(d->reseal);
        link_mail_step(d->link_mail);
        store_look(d->store);
        if (store_get_refusal(d->store) == STORE_REFUSES_FAILED) {
            log_store_failed();
            /* The disk's state is unknown: nothing more may be written. */
            _exit(1);
        }
    }
    log_info("stopping");
    supervisor_tell("STOPPING=1");
    watchdog_end(d->watchdog);
    store_stopping(d->store);
    bool good = stop_in_order(d);
    free_parts(d);
    if (good)
        log_info("stopped");
    else
        log_store_failed();
    return good ? 0 : 1;
}
