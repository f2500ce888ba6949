/* Opens the store that the options name, which is told from then on where what is put into the
 * directory is. NULL: *ret_why (malloc'ed) is one clear line. */
#pragma once

#include "daemon/daemon.h"

MUST_CHECK struct store *open_store_of(const struct daemon_options *o, struct directory *directory,
                                       struct env *env, char **ret_why);
