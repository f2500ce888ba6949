/* The token stands behind '#', which no client sends to a server: no log on the way has it. */
#include "daemon/set_up.h"

#include "daemon/listener.h"

void set_up_print_link(struct buf *to, struct people *people, struct str public_url, bool tls,
                       int listen_fd)
{
    char token[TOKEN_BYTES + 1];
    people_offer_set_up(people, token);
    public_url = str_trim_end(public_url, '/');
    if (public_url.n) {
        buf_add_str(to, public_url);
    } else {
        buf_add_c(to, tls ? "https://" : "http://");
        listener_print(to, listen_fd);
    }
    buf_printf(to, "/link#%s", token);
    explicit_bzero(token, sizeof token);
}
