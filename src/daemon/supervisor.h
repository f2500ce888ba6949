/* The service manager that started this process, such as systemd: takes the listening socket from
 * it (sd_listen_fds(3)), and sends it the daemon's state (sd_notify(3)).
 *
 * Both are a few environment variables and a datagram: less than a library. Without these variables
 * nothing here does anything. */
#pragma once

#include "base/check.h"
#include "net/loop.h"

/* The socket handed over to this process; 0: none. False: *ret_why (static) says what is wrong with
 * it. Clears the variables: call it once. */
MUST_CHECK bool supervisor_socket(int *ret_fd, const char **ret_why);

/* Sends lines of NAME=VALUE, such as "READY=1" or "STOPPING=1". Any thread, never blocks; ignores a
 * manager that does not listen. */
void supervisor_tell(const char *state);
/* Reports to systemd that a reload begins; READY=1 ends it. */
void supervisor_tell_reloading(struct env *env);

/* Reports to the supervisor that the process is alive, as often as it asks (WATCHDOG_USEC), each
 * time after every loop has made a turn, so that a hanging loop is noticed. The main thread is not
 * checked, because it may wait for an unavailable database. NULL: nobody asks. Start it before the
 * loops run, end it while they run. The list of loops is copied. */
struct watchdog *watchdog_start(struct loop *const *loops, size_t count);
void watchdog_end(struct watchdog *watchdog); /* waits for the loops; accepts NULL */
