/* The servers that a store's URI names, and which of them was the primary last.
 *
 * libpq tries servers in the URI's order, and each attempt waits for seconds where one is frozen or
 * its machine is gone. So the connections of a store share what each finds out: the last primary is
 * tried first, a server that did not answer is tried by one connection at a time, and whoever waits
 * for a server that has been replaced gives up (pg_hosts_moved_from). */
#pragma once

#include "base/check.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PG_HOSTS_MOST 16

struct pg_host {
    char *name, *address, *port;     /* address NULL: that of the name */
    atomic_llong not_before_mono_ms; /* to be tried again; 0: it did answer */
};

struct pg_hosts {
    int count; /* 0: libpq reads the URI alone, as it names one server */
    struct pg_host hosts[PG_HOSTS_MOST];
    atomic_int primary; /* -1: none was found yet */
};

void pg_hosts_init(struct pg_hosts *h, const char *uri);
void pg_hosts_free(struct pg_hosts *h);
/* The n-th to be tried. */
int pg_hosts_nth(struct pg_hosts *h, int n);
/* Whether it is to be tried now; if so, pg_hosts_tried follows. */
MUST_CHECK bool pg_hosts_try(struct pg_hosts *h, int host, int64_t now_mono_ms);
/* `before`: the primary as it was when the try began; one that was found since stays, as the try
 * may have begun before that became it. */
void pg_hosts_tried(struct pg_hosts *h, int host, int before, bool good, int64_t took_ms,
                    int64_t now_mono_ms);
/* Another server than `host` was found to be the primary since. */
bool pg_hosts_moved_from(struct pg_hosts *h, int host);
