/* Opens the store that the options name. The directory tells it the cluster of each account from
 * then on. NULL: *ret_why (malloc'ed) says why, in one line. */
#pragma once

#include "daemon/daemon.h"

MUST_CHECK struct store *open_store_of(const struct daemon_options *o, struct directory *directory,
                                       struct env *env, char **ret_why);
