/* What `serve` is to run with, and `check` to look at. */
#pragma once

#include "cli/option.h"
#include "daemon/daemon.h"

/* Sets the log's form and level too. Nothing is opened or made: a slip leaves nothing behind.
 * Texts are the settings' arena's. False: *ret_why is one clear line in it. */
MUST_CHECK bool serve_options_read(struct settings *s, struct daemon_options *o,
                                   struct str *ret_why);
