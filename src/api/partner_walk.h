/* Reads all partners for a route of operators: one partner after the other, the newest first. Each
 * partner is a separate request to the store, so that other requests are served in between. One
 * answer reads a bounded number of partners. */
#pragma once

#include "api/call.h"

struct partner_walk {
    struct call *c;
    uint32_t last_no;        /* of the last partner read; at first: the position to begin at */
    size_t left;             /* partners that may still be read */
    struct partner *partner; /* being read, with a reference */
    /* Asks the store about `partner`; the answer calls partner_walk_next or partner_walk_abort. */
    void (*read)(struct partner_walk *w);
    void (*end)(struct partner_walk *w, bool more); /* once, and may free w */
};

/* Reads the first partner, or ends. */
void partner_walk_begin(struct partner_walk *w);
/* Reads the next partner; or ends, if there is none, `left` is used up, or the client has gone. */
void partner_walk_next(struct partner_walk *w);
/* Ends the walk without calling `end`. */
void partner_walk_abort(struct partner_walk *w);
