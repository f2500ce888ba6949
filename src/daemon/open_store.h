/* Opens the store of the options. The directory will tell it each account's cluster. NULL: *ret_why
 * (malloc'ed) is one line. */
#pragma once

#include "daemon/daemon.h"

MUST_CHECK struct store *open_store_of(const struct daemon_options *o, struct directory *directory,
                                       struct env *env, char **ret_why);
