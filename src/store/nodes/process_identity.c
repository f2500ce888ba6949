/* Process numbers are reused, so the start time tells processes apart. In doubt (a machine without
 * a boot id, a process whose files are hidden) a process counts as alive. */
#include "store/nodes/process_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The first line of a small file of the kernel; "?" if it cannot be read. */
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

/* When a process was started, in clock ticks since boot; 0: unknown. */
static unsigned long long started_at(int pid)
{
    char path[40], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    read_line(path, line, sizeof line);
    const char *at = strrchr(line, ')'); /* the name before it may hold any character */
    unsigned long long ticks = 0;
    if (!at)
        return 0;
    for (int field = 2; *at && field < 22; at++)
        field += *at == ' ';
    for (; *at >= '0' && *at <= '9'; at++)
        ticks = ticks * 10 + (unsigned)(*at - '0');
    return ticks;
}

/* The part of a name before the process. It has the process namespace, because two containers of
 * one machine do not see each other's processes. */
static void name_machine(char *to, size_t room)
{
    char boot[64], space[64];
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[n > 0 ? n : 0] = '\0';
    snprintf(to, room, "%s %s", boot, space);
}

void process_identity(char ret[PROCESS_IDENTITY_BYTES])
{
    char machine[130];
    name_machine(machine, sizeof machine);
    snprintf(ret, PROCESS_IDENTITY_BYTES, "%s %d %llu", machine, (int)getpid(),
             started_at((int)getpid()));
}

bool process_is_gone(struct str holder)
{
    char machine[130], name[PROCESS_IDENTITY_BYTES];
    name_machine(machine, sizeof machine);
    size_t n = strlen(machine);
    if (machine[0] == '?')
        return false; /* a machine without a boot id cannot be told from another */
    if (holder.n >= sizeof name || holder.n <= n || memcmp(holder.p, machine, n) != 0)
        return false;
    memcpy(name, holder.p, holder.n);
    name[holder.n] = '\0';
    char *rest;
    long pid = strtol(name + n, &rest, 10);
    unsigned long long started = strtoull(rest, NULL, 10), now = started_at((int)pid);
    if (pid <= 0 || now)
        return pid <= 0 || now != started;
    /* The process is gone or hidden: /proc may lack other users' processes (hidepid,
     * ProtectProc). */
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}
