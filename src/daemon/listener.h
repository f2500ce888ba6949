/* The socket on which requests come in: opened here, or handed over by the service manager. */
#pragma once

#include "base/check.h"
#include "net/socket.h"

/* The caller's to close. inherited_fd: taken instead of opening one; 0: none. -1: *ret_why
 * (malloc'ed) is one clear line. */
MUST_CHECK int listener_open(const struct endpoint *at, int inherited_fd, char **ret_why);
/* From now on connections are refused at once; without this they would wait, unanswered, for as
 * long as attempts under way may take. Those to a socket of the service manager's wait for the next
 * process. To be closed all the same. */
void listener_refuse(int fd, int inherited_fd);
/* Appends the address it really has: port 0 has become one. */
void listener_print(struct buf *to, int fd);
