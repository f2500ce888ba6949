/* Opens the listening socket, or takes it over; see listener.h. */
#include "daemon/listener.h"

#include "base/alloc.h"

void listener_print_fault(struct buf *to, const struct endpoint *at, int error)
{
    buf_add_c(to, "listen: ");
    endpoint_print(to, at);
    buf_printf(to, ": %s", socket_error_text(error));
}

int listener_open(const struct endpoint *at, int inherited_fd, char **ret_why)
{
    if (inherited_fd)
        return inherited_fd;
    int error = 0, fd = socket_listen(at, &error);
    if (fd >= 0)
        return fd;
    struct buf why = {0};
    listener_print_fault(&why, at, error);
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
