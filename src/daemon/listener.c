/* Opens the listening socket, or takes it over; see listener.h. */
#include "daemon/listener.h"

#include "base/alloc.h"

int listener_open(const struct endpoint *at, int inherited_fd, char **ret_why)
{
    if (inherited_fd)
        return inherited_fd;
    int error = 0, fd = socket_listen(at, &error);
    if (fd >= 0)
        return fd;
    struct buf why = {0};
    buf_add_c(&why, "listen: ");
    endpoint_print(&why, at);
    buf_printf(&why, ": %s", socket_error_text(error));
    *ret_why = xstrdup(buf_c(&why));
    buf_free(&why);
    return -1;
}

void listener_refuse(int fd, int inherited_fd)
{
    if (fd != inherited_fd)
        (void)shutdown(fd, SHUT_RD);
}

void listener_print(struct buf *to, int fd)
{
    struct endpoint at;
    if (socket_local(fd, &at))
        endpoint_print(to, &at);
}
