/* A holder's name ends with the process that it is, so that a restart on the same machine need not
 * wait for the lease of a process that was killed: the next one looks whether it is still there. */
#include "store/postgresql/lease.h"

#include "base/alloc.h"
#include "base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The first line of a small file of the kernel's; "?" where there is none. */
static void read_line(const char *path, char *to, size_t room)
{
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, to, room - 1);
        close(fd);
    }
    if (n <= 0) {
        snprintf(to, room, "?");
        return;
    }
    to[n] = '\0';
    to[strcspn(to, "\n")] = '\0';
}

/* When a process was started, in ticks since the machine was; 0: there is no such process. */
static unsigned long long started_at(int pid)
{
    char path[40], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    read_line(path, line, sizeof line);
    const char *at = strrchr(line, ')'); /* the name before it may hold anything */
    unsigned long long ticks = 0;
    if (!at)
        return 0;
    for (int field = 2; *at && field < 22; at++)
        field += *at == ' ';
    for (; *at >= '0' && *at <= '9'; at++)
        ticks = ticks * 10 + (unsigned)(*at - '0');
    return ticks;
}

/* Of a holder: everything up to the process. Two containers of one machine do not see each other's
 * processes, so their namespace is part of it. */
static void name_machine(char *to, size_t room)
{
    char boot[64], space[64];
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[n > 0 ? n : 0] = '\0';
    snprintf(to, room, "%s %s", boot, space);
}

static void name_holder(struct lease *lease)
{
    char machine[130];
    name_machine(machine, sizeof machine);
    snprintf(lease->holder, sizeof lease->holder, "%s %d %llu", machine, (int)getpid(),
             started_at((int)getpid()));
}

/* Whether the holder is a process of this machine and no longer there. */
static bool is_gone(struct str holder)
{
    char machine[130], name[160];
    name_machine(machine, sizeof machine);
    size_t n = strlen(machine);
    if (holder.n >= sizeof name || holder.n <= n || memcmp(holder.p, machine, n) != 0)
        return false;
    memcpy(name, holder.p, holder.n);
    name[holder.n] = '\0';
    char *rest;
    long pid = strtol(name + n, &rest, 10);
    unsigned long long started = strtoull(rest, NULL, 10);
    if (pid == getpid())
        return true; /* this process has opened and not given back: it opens one store at a time */
    return pid <= 0 || started_at((int)pid) != started;
}

/* *ret_taken false: it is held, and runs out in *ret_left_ms. */
static enum pg_fate try_to_take(struct pg *pg, struct lease *lease, bool *ret_taken,
                                int64_t *ret_left_ms)
{
    pg_begin(pg, false);
    int at = pg_exec(pg, "SELECT fence,holder,greatest(0,ceil(extract(epoch FROM"
                         " least(until,now()+interval '1 hour')-now())*1000))::bigint"
                         " FROM lease WHERE name='store' FOR UPDATE");
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_FINE)
        return fate;
    const PGresult *r = pg_result(pg, at);
    *ret_left_ms = pg_is_null(r, 0, 2) ? 0 : pg_int(r, 0, 2);
    *ret_taken = *ret_left_ms == 0 || is_gone(pg_str(r, 0, 1));
    if (!*ret_taken) {
        pg_rollback(pg);
        return PG_FINE;
    }
    lease->fence = pg_int(r, 0, 0) + 1;
    args_str(pg_args(pg), PG_TEXT, str_of(lease->holder));
    pg_query_f(pg,
               "UPDATE lease SET fence=fence+1,holder=$1,until=clock_timestamp()+interval"
               " '%d ms' WHERE name='store'",
               LEASE_MS);
    pg_commit(pg);
    return pg_sync(pg);
}

bool lease_take(struct pg *pg, struct lease *lease, char **ret_why)
{
    name_holder(lease);
    int64_t until = env_mono_ms(env_real()) + LEASE_MS + 1000;
    bool taken = false;
    int64_t left_ms = 0;
    while (pg_connect(pg) && try_to_take(pg, lease, &taken, &left_ms) == PG_FINE) {
        if (taken)
            return true;
        if (env_mono_ms(env_real()) > until) {
            *ret_why = xstrdup("another postbackd is running on this database: stop it first");
            return false;
        }
        (void)poll(NULL, 0, (int)(left_ms < 200 ? left_ms + 1 : 200));
    }
    *ret_why = xstrdup(buf_c(&pg->why));
    return false;
}

enum pg_fate lease_renew(struct pg *pg, const struct lease *lease, bool *ret_held)
{
    pg_begin(pg, false);
    args_int(pg_args(pg), PG_INT8, lease->fence);
    int at = pg_query_f(pg,
                        "UPDATE lease SET until=clock_timestamp()+interval '%d ms'"
                        " WHERE name='store' AND fence=$1 RETURNING 1",
                        LEASE_MS);
    pg_commit(pg);
    enum pg_fate fate = pg_sync(pg);
    if (fate == PG_FINE)
        *ret_held = PQntuples(pg_result(pg, at)) == 1;
    return fate;
}

void lease_give_back(struct pg *pg, const struct lease *lease)
{
    if (!pg_connect(pg))
        return; /* it runs out by itself */
    pg_begin(pg, false);
    args_int(pg_args(pg), PG_INT8, lease->fence);
    pg_query(pg, "UPDATE lease SET until='epoch' WHERE name='store' AND fence=$1");
    pg_commit(pg);
    (void)!pg_sync(pg);
}

int lease_query(struct pg *pg)
{
    return pg_exec(pg, "SELECT fence FROM lease WHERE name='store' FOR KEY SHARE");
}
