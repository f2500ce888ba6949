/* What `serve` is to run with, and `check` to look at. */
#pragma once

#include "cli/option.h"
#include "daemon/daemon.h"

/* Nothing is opened or made: a slip leaves nothing behind.
 * Texts are the settings' arena's. False: *ret_why is one clear line in it. */
MUST_CHECK bool serve_options_read(struct settings *s, struct daemon_options *o,
                                   struct str *ret_why);
/* Those of --store-cluster alone, beside a --store of that URI (NULL: another one). */
MUST_CHECK bool serve_options_read_clusters(struct settings *s, struct daemon_options *o,
                                            const char *store_uri, struct str *ret_why);

/* Of a server that runs: what it was started with, and what it has since taken at SIGHUP. */
struct serve_settings {
    const struct settings *first;
    struct settings *now; /* NULL: nothing since */
};
/* For daemon_options.reload: context is the struct serve_settings. */
void serve_reload(void *context, struct daemon *daemon);
/* Once the daemon has ended. */
void serve_settings_free(struct serve_settings *s);
