/* The options with which `serve` runs, and which `check` checks. */
#pragma once

#include "cli/option.h"
#include "daemon/daemon.h"

/* Opens and makes nothing, so that a mistake leaves nothing behind. Texts are in the settings'
 * arena. False: *ret_why is one clear line in it. */
MUST_CHECK bool serve_options_read(struct settings *s, struct daemon_options *o,
                                   struct str *ret_why);
/* Only those of --store-cluster, for a --store of that URI (NULL: another kind). */
MUST_CHECK bool serve_options_read_clusters(struct settings *s, struct daemon_options *o,
                                            const char *store_uri, struct str *ret_why);

/* A running server's settings: at its start, and since the last SIGHUP. */
struct serve_settings {
    const struct settings *first;
    struct settings *now; /* NULL: no SIGHUP yet */
};
/* For daemon_options.reload: context is the struct serve_settings. */
void serve_reload(void *context, struct daemon *daemon);
/* After the daemon has ended. */
void serve_settings_free(struct serve_settings *s);
