/* The loops' HTTP servers. */
#pragma once

#include "daemon/daemon_inside.h"

void servers_make(struct daemon *d); /* after the senders and delivery */
