/* The listening socket: opened here, or handed over by the service manager. */
#pragma once

#include "base/check.h"
#include "net/socket.h"

/* The caller closes it. inherited_fd: used instead of opening one; 0: none. -1: *ret_why
 * (malloc'ed) is one clear line. */
MUST_CHECK int listener_open(const struct endpoint *at, int inherited_fd, char **ret_why);
/* Appends the line that says why an address cannot be listened on. */
void listener_print_fault(struct buf *to, const struct endpoint *at, int error);
/* Refuses connections from now on; otherwise they would wait, unanswered, while attempts under way
 * end. Connections to a service manager's socket wait for the next process. The caller still closes
 * it. */
void listener_refuse(int fd, int inherited_fd);
/* Appends the actual address: the kernel has replaced port 0. */
void listener_print(struct buf *to, int fd);
