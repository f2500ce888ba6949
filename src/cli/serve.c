/* postbackd serve: runs the daemon until it is told to stop. */
#include "cli/command.h"
#include "cli/serve_options.h"

#include "base/log.h"
#include "daemon/supervisor.h"
#include "daemon/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* For thousands of connections: raises the limit of descriptors as far as allowed, and returns
 * it. */
static int64_t raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return INT64_MAX;
    struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    return limit.rlim_cur < INT64_MAX ? (int64_t)limit.rlim_cur : INT64_MAX;
}

/* SQLite does not report which limit stopped a write, so this warns before. */
static void warn_of_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        log_warning("file_size_limited", LOG_INT("bytes", (int64_t)limit.rlim_cur),
                    LOG_C("effect", "the server ends when a file of the store reaches this size"),
                    LOG_C("fix", "ulimit -f unlimited; of a systemd unit, LimitFSIZE=infinity"));
}

/* A core dump would contain the master key and every partner's secrets. */
static void forbid_core_dumps(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &limit);
    }
}

/* The link is a secret for a person: it is printed on a terminal, never in a log. */
static void offer_set_up(struct daemon *d)
{
    struct buf link = {0};
    if (!daemon_offer_set_up(d, &link))
        return;
    if (isatty(STDOUT_FILENO)) {
        printf(
            "\nNobody can sign in yet. To make the first admin, open within 24 hours:\n\n  %s\n\n",
            buf_c(&link));
        fflush(stdout);
    } else {
        log_info("no_users", LOG_C("fix", "postbackd user add EMAIL --role admin"));
    }
    explicit_bzero(link.p, link.n);
    buf_free(&link);
}

static int make_directory(const char *path)
{
    if (!path || mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    return command_fail(EXIT_USAGE, "store: sqlite:%s: %s", path, strerror(errno));
}

int command_serve(struct settings *s)
{
    struct daemon_options o;
    struct str why;
    if (!serve_options_read(s, &o, &why))
        return command_fail(EXIT_USAGE, "%.*s", STR_ARG(why));
    log_set(o.log_level, o.log_json);
    int status = make_directory(o.store_directory);
    if (status)
        return status;
    settings_warn(s);
    if (o.store_directory)
        warn_of_file_limit();
    umask(077); /* the store holds people's ids: nobody else's to read */
    o.descriptors = raise_descriptor_limit();
    forbid_core_dumps();
    settings_wipe_environment(environ);
    struct serve_settings running = {.first = s};
    o.reload = serve_reload;
    o.reload_context = &running;
    char *reason = NULL;
    struct daemon *d = watch_clock_is_possible(&reason) ? daemon_start(&o, &reason) : NULL;
    if (!d) {
        status = command_fail(1, "%s", reason);
        free(reason);
        return status;
    }
    offer_set_up(d);
    supervisor_tell("READY=1");
    status = daemon_run(d);
    serve_settings_free(&running);
    return status;
}
