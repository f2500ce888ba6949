/* The servers that a store's URI names, and which of them was the primary last.
 *
 * libpq tries servers in the URI's order and waits for seconds if one is frozen or its machine is
 * gone. So the connections of a store share what each finds out: the last primary is tried first,
 * one connection at a time tries a server that did not answer, and a connection that waits for a
 * replaced server gives up (pg_hosts_moved_from). */
#pragma once

#include "base/check.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PG_HOSTS_MOST 16
#define PG_TRY_AGAIN_MS 3000 /* how long a server that did not answer is not tried again */

struct pg_host {
    char *name, *address, *port;     /* address NULL: resolve the name */
    atomic_llong not_before_mono_ms; /* when to try it again; 0: it has answered */
};

struct pg_hosts {
    int count; /* 0: the URI names one server, and libpq reads it */
    struct pg_host hosts[PG_HOSTS_MOST];
    atomic_int primary; /* -1: not found yet */
};

void pg_hosts_init(struct pg_hosts *h, const char *uri);
void pg_hosts_free(struct pg_hosts *h);
/* The index of the n-th server to try. */
int pg_hosts_nth(struct pg_hosts *h, int n);
/* True if the server is to be tried now; the caller then calls pg_hosts_tried. */
MUST_CHECK bool pg_hosts_try(struct pg_hosts *h, int host, int64_t now_mono_ms);
/* `before`: the primary when the try began. If another primary was found since, that one stays: the
 * try may have begun before the change. */
void pg_hosts_tried(struct pg_hosts *h, int host, int before, bool good, int64_t took_ms,
                    int64_t now_mono_ms);
/* True if another server than `host` is the primary, or if none has been found yet. */
bool pg_hosts_moved_from(struct pg_hosts *h, int host);
