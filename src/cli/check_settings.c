/* postbackd check: checks what `serve` would find at its start, without starting; one line each. It
 * changes nothing, and may run beside a server with the same settings. */
#include "cli/command.h"
#include "cli/serve_options.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/log.h"
#include "daemon/master_key.h"
#include "domain/url.h"
#include "net/tls.h"
#include "oidc/provider.h"
#include "store/store_open.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The findings so far. */
struct findings {
    int failed;
};

static void say(struct findings *f, bool good, const char *what, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
static void say(struct findings *f, bool good, const char *what, const char *fmt, ...)
{
    struct buf line = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&line, fmt, ap);
    va_end(ap);
    command_say(stdout, "%-6s  %-13s  %s", good ? "ok" : "failed", what, buf_c(&line));
    buf_free(&line);
    f->failed += !good;
}

/* The reason may begin with the option's name, for starts and reloads of the server. */
static void say_why(struct findings *f, const char *what, char *why)
{
    size_t n = strlen(what);
    bool is_named = strncmp(why, what, n) == 0 && strncmp(why + n, ": ", 2) == 0;
    say(f, false, what, "%s", is_named ? why + n + 2 : why);
    free(why);
}

/* --- what listens ----------------------------------------------------------------------------- */

static void check_listen(struct findings *f, const struct daemon_options *o)
{
    struct buf at = {0};
    int error = 0;
    endpoint_print(&at, &o->listen);
    int fd = o->inherited_fd ? -1 : socket_listen(&o->listen, &error);
    if (o->inherited_fd)
        say(f, true, "listen", "the socket that was passed");
    else if (fd >= 0)
        say(f, true, "listen", "%s is free", buf_c(&at));
    else if (error == EADDRINUSE) /* usually by a server with the same settings */
        say(f, true, "listen", "%s is in use: a server can only start when it is free", buf_c(&at));
    else
        say(f, false, "listen", "%s: %s", buf_c(&at), socket_error_text(error));
    if (fd >= 0)
        close(fd);
    buf_free(&at);
}

static void check_certificate(struct findings *f, const struct daemon_options *o)
{
    char *why = NULL, day[16] = "";
    if (!o->tls_cert_file) {
        say(f, true, "tls-cert", "none: plain HTTP");
        return;
    }
    struct ssl_ctx_st *tls = tls_server_new(o->tls_cert_file, o->tls_key_file, o->http2, &why);
    if (!tls) {
        say_why(f, "tls-cert", why);
        return;
    }
    int64_t expires_ms = tls_server_expires_ms(tls);
    time_t expires = (time_t)(expires_ms / 1000);
    struct tm tm;
    strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&expires, &tm));
    bool good = expires_ms > env_wall_ms(env_real());
    say(f, good, "tls-cert", "%s %s on %s", o->tls_cert_file, good ? "expires" : "expired", day);
    tls_context_free(tls);
}

/* The start makes a missing file, in a directory that must exist. */
static bool can_be_made(const char *path)
{
    char *copy = xstrdup(path);
    bool good = access(dirname(copy), W_OK | X_OK) == 0;
    free(copy);
    return good;
}

static void check_access_log(struct findings *f, const struct daemon_options *o)
{
    const char *file = o->access_log;
    struct stat at;
    if (!file)
        return;
    if (strcmp(file, "-") == 0)
        say(f, true, "access-log", "standard error");
    else if (stat(file, &at) == 0 && S_ISDIR(at.st_mode))
        say(f, false, "access-log", "%s: %s", file, strerror(EISDIR));
    else if (access(file, W_OK) == 0 || (errno == ENOENT && can_be_made(file)))
        say(f, true, "access-log", "%s", file);
    else
        say(f, false, "access-log", "%s: %s", file, strerror(errno));
}

static void check_sign_in(struct findings *f, const struct daemon_options *o)
{
    struct providers providers;
    char *why = NULL;
    if (!o->sign_in_file)
        return;
    if (providers_read(&providers, o->sign_in_file, &why))
        say(f, true, "sign-in-file", "%s: %zu provider%s", o->sign_in_file, providers.count,
            providers.count == 1 ? "" : "s");
    else
        say_why(f, "sign-in-file", why);
    providers_free(&providers);
}

static void check_authorities(struct findings *f, const struct daemon_options *o)
{
    char *why = NULL;
    struct tls_authorities *authorities = tls_authorities_new(o->ca_file);
    struct ssl_ctx_st *tls = tls_client_new(authorities, false, &why);
    if (tls)
        say(f, true, "ca-file", "%s", o->ca_file ? o->ca_file : "the system's");
    else
        say_why(f, "ca-file", why);
    tls_context_free(tls);
    tls_authorities_free(authorities);
}

/* Does not ask the brokers: a start does not need them. */
static void check_intake(struct findings *f, const struct daemon_options *o)
{
    char *why = NULL;
    bool is_used = o->bus.topics || o->bus.rewards_topic;
    if (is_used && !bus_settings_try(&o->bus, &why)) {
        say_why(f, o->bus.topics ? "intake" : "rewards-feed", why);
        return;
    }
    if (o->bus.topics)
        say(f, true, "intake", "kafka:%s, settings in %s", o->bus.topics, o->bus.config_file);
    if (o->bus.rewards_topic)
        say(f, true, "rewards-feed", "kafka:%s, settings in %s", o->bus.rewards_topic,
            o->bus.config_file);
}

/* --- the store -------------------------------------------------------------------------------- */

static void count_missing(void *context, const struct store_step *step)
{
    int *missing = context;
    *missing += !step->was_made;
}

/* away: why a daemon would not use it, although it has all tables; or empty. */
static void check_postgresql(struct findings *f, const char *what, const char *uri,
                             const char *away)
{
    struct buf name = {0};
    char *why = NULL;
    int missing = 0;
    url_print_text_masked(&name, str_of(uri));
    if (!postgresql_store_migrate(uri, true, count_missing, &missing, &why))
        say_why(f, what, why);
    else if (missing)
        say(f, true, what, "%s: %d step%s of its schema to make (`postbackd migrate --dry-run`)",
            buf_c(&name), missing, missing == 1 ? "" : "s");
    else if (*away)
        say(f, false, what, "%s: %s", buf_c(&name), away);
    else
        say(f, true, what, "%s", buf_c(&name));
    buf_free(&name);
}

static void check_databases(struct findings *f, const struct daemon_options *o)
{
    const char *uris[CLUSTERS_MOST] = {o->store_uri};
    size_t count = 1 + o->cluster_count;
    for (size_t i = 1; i < count; i++)
        uris[i] = o->cluster_uris[i - 1];
    struct cluster_state *found = xcalloc(count, sizeof *found);
    postgresql_clusters_look(uris, count, found);
    for (size_t i = 0; i < count; i++)
        check_postgresql(f, i ? "store-cluster" : "store", uris[i], found[i].away);
    free(found);
    if (o->replica_uri)
        check_postgresql(f, "read-replica", o->replica_uri, "");
}

static bool has_file(const char *directory, const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", directory, name);
    bool has = access(buf_c(&path), F_OK) == 0;
    buf_free(&path);
    return has;
}

/* The journal has acknowledged events: a start never makes a new database beside it. */
static bool has_journal(const char *directory)
{
    struct buf path = {0};
    buf_printf(&path, "%s/journal", directory);
    DIR *journal = opendir(buf_c(&path));
    bool has = false;
    for (struct dirent *e; journal && !has && (e = readdir(journal));)
        has = e->d_name[0] != '.';
    if (journal)
        closedir(journal);
    buf_free(&path);
    return has;
}

static void check_sqlite(struct findings *f, const char *directory)
{
    int version = 0, known = sqlite_store_version_known();
    char *why = NULL;
    struct stat st;
    if (stat(directory, &st) != 0 && errno == ENOENT && can_be_made(directory))
        say(f, true, "store", "sqlite:%s is not there yet: the start makes it", directory);
    else if (access(directory, R_OK | W_OK | X_OK) != 0)
        say(f, false, "store", "sqlite:%s: %s", directory, strerror(errno));
    else if (!has_file(directory, "postbackd.db") && has_journal(directory))
        say(f, false, "store", "sqlite:%s has a journal and no database: put back its database",
            directory);
    else if (!sqlite_store_version(directory, &version, &why) ||
             !sqlite_store_check_files(directory, &why) ||
             (version > 0 && !sqlite_store_check_journal(directory, &why)))
        say_why(f, "store", why);
    else if (version > 0 && version < known)
        say(f, true, "store", "sqlite:%s: the start upgrades its schema from %d to %d", directory,
            version, known);
    else
        say(f, true, "store", "sqlite:%s%s", directory, version ? "" : " is empty");
}

static void check_store(struct findings *f, const struct daemon_options *o)
{
    if (o->store_directory) {
        check_sqlite(f, o->store_directory);
        return;
    }
    check_databases(f, o);
}

static void check_master_key(struct findings *f, const struct daemon_options *o)
{
    bool is_there = false;
    char *why = NULL;
    if (o->master_key.p)
        say(f, true, "master key", "POSTBACKD_MASTER_KEY");
    else if (!master_key_file_check(o->store_directory, &is_there, &why))
        say_why(f, "master key", why);
    else if (!is_there && has_file(o->store_directory, "postbackd.db"))
        say_why(f, "master key", master_key_missing(o->store_directory));
    else
        say(f, true, "master key", "%s/master.key%s", o->store_directory,
            is_there ? "" : " is not there yet: the start makes it");
}

int command_check(struct settings *s)
{
    struct daemon_options o;
    struct findings found = {0};
    struct str why;
    if (!serve_options_read(s, &o, &why))
        return command_fail(EXIT_USAGE, "%.*s", STR_ARG(why));
    log_set(o.log_level, o.log_json);
    settings_warn(s);
    say(&found, true, "settings", "all are understood");
    check_listen(&found, &o);
    check_certificate(&found, &o);
    check_access_log(&found, &o);
    check_sign_in(&found, &o);
    check_authorities(&found, &o);
    check_intake(&found, &o);
    check_store(&found, &o);
    check_master_key(&found, &o);
    return found.failed ? 1 : 0;
}
