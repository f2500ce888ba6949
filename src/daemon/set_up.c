/* The token stands behind '#', which no client sends to a server: no log on the way has it. */
#include "daemon/set_up.h"

#include "daemon/listener.h"

void set_up_print_link(struct buf *to, struct people *people, struct str public_url, bool tls,
                       int listen_fd)
{
    char token[TOKEN_BYTES + 1];
    people_offer_set_up(people, token);
    while (public_url.n && public_url.p[public_url.n - 1] == '/')
        public_url.n--;
    if (public_url.n) {
        buf_add_str(to, public_url);
    } else {
        buf_add_c(to, tls ? "https://" : "http://");
        listener_print(to, listen_fd);
    }
    buf_printf(to, "/link#%s", token);
    explicit_bzero(token, sizeof token);
}
