/* The link that makes the first admin, at --public-url or the address of the listening socket. The
 * token is behind '#', which clients never send: so no log on the way contains it. */
#include "daemon/daemon_inside.h"
#include "daemon/listener.h"
#include "people/people.h"

bool daemon_offer_set_up(struct daemon *d, struct buf *ret_link)
{
    CHECK_MAGIC(d, DAEMON_MAGIC);
    char token[TOKEN_BYTES + 1];
    struct str public_url = str_trim_end(d->options.public_url, '/');
    if (people_any(d->people))
        return false;
    people_offer_set_up(d->people, token);
    if (public_url.n) {
        buf_add_str(ret_link, public_url);
    } else {
        buf_add_c(ret_link, d->tls ? "https://" : "http://");
        listener_print(ret_link, d->listen_fd);
    }
    buf_printf(ret_link, "/link#%s", token);
    explicit_bzero(token, sizeof token);
    return true;
}
