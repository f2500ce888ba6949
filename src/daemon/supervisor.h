/* The service manager that started this process, systemd or whoever speaks its protocol: the
 * listening socket that it hands over (sd_listen_fds(3)), and what it is told (sd_notify(3)).
 *
 * Both are a few variables of the environment and a datagram: less than a library. Without them
 * nothing here does anything. */
#pragma once

#include "base/check.h"
#include "net/loop.h"

/* The socket that was handed over to this very process; 0: none was. False: *ret_why (static)
 * says why what was handed over will not do. Clears the variables: ask once. */
MUST_CHECK bool supervisor_socket(int *ret_fd, const char **ret_why);

/* "READY=1", "STOPPING=1", ...: lines of NAME=VALUE. Any thread, never blocks; who does not listen
 * is not told. */
void supervisor_tell(const char *state);
/* What systemd wants to hear around reading certificates again; READY=1 ends it. */
void supervisor_tell_reloading(struct env *env);

/* Tells the supervisor that the process is alive, as often as it asks (WATCHDOG_USEC): each time
 * after every loop has taken a turn, so that one that hangs is found out. Not the main thread,
 * which may wait for a database that is away. NULL where nobody asks. Before the loops run; ended
 * while they still do. The list of loops is copied. */
struct watchdog *watchdog_start(struct loop *const *loops, size_t count);
void watchdog_end(struct watchdog *watchdog); /* waits for the loops; NULL: nothing */
