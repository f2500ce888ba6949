/* The link with which the first admin is made. */
#pragma once

#include "people/people.h"

/* Offers a new one and prints it, where the outside reaches the page: public_url, or what the
 * listening socket is bound to. */
void set_up_print_link(struct buf *to, struct people *people, struct str public_url, bool tls,
                       int listen_fd);
