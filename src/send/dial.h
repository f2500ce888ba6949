/* Connects to one of several addresses: each has 250 ms before the next is tried in parallel, and
 * the first to connect wins (RFC 8305, sections 5 and 6, simplified). */
#pragma once

#include "base/limits.h"
#include "domain/address.h"
#include "net/loop.h"

struct dial;

struct dial_try {
    struct io io; /* fd -1: ended or not begun */
    struct dial *dial;
};

/* The caller's memory, zero-initialised, then the members up to `done` filled. */
struct dial {
    struct loop *loop;
    uint16_t port;
    size_t address_count; /* 1..LIMIT_DIAL_ADDRESSES, in the order to try them */
    struct address addresses[LIMIT_DIAL_ADDRESSES];
    /* Local address to bind, by family; family 0: none. */
    struct address source_v4, source_v6;
    /* Never called from dial_start. fd >= 0: connected to *address; the caller owns fd. -1: every
     * address failed; `error` is the most informative errno, of *address. */
    void (*done)(struct dial *dial, int fd, const struct address *address, int error);

    struct dial_try tries[LIMIT_DIAL_ADDRESSES];
    size_t begun, under_way, failed_worst;
    int error;
    struct timer timer;
};

void dial_start(struct dial *dial);
/* True if the error means that this machine cannot reach the address: no route, or no such
 * family. */
bool dial_has_no_way(const struct dial *dial, const struct address *to, int error);
void dial_cancel(struct dial *dial); /* closes all connections; done is not called */
