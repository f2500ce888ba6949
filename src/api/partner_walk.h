/* Reads all partners for a route of operators: one partner after the other, the newest first. Each
 * partner is a separate request to the store, so that other requests are served in between. One
 * answer reads a bounded number of partners. */
#pragma once

#include "api/call.h"

struct partner_walk {
    struct call *c;
    uint32_t last_no;        /* of the partner that was read last; at first: where to begin */
    size_t left;             /* partners that may still be read */
    struct partner *partner; /* being read; a reference */
    /* Asks the store about `partner`; when that has been answered, partner_walk_next or _abort. */
    void (*read)(struct partner_walk *w);
    void (*end)(struct partner_walk *w, bool more); /* once, and may free w */
};

/* Reads the first partner, or ends. */
void partner_walk_begin(struct partner_walk *w);
/* Goes on to the next one, or ends: there is none, no more may be read, or the client has gone. */
void partner_walk_next(struct partner_walk *w);
/* Leaves the walk without its end. */
void partner_walk_abort(struct partner_walk *w);
