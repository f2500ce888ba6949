/* The HTTP server of receivers for benchmarks: one thread, keep-alive, one request of a connection
 * at a time. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

struct peer {
    int fd;
    struct buf in;
    int64_t read_us;     /* wall clock, when the last bytes came */
    void *answers_later; /* the program's; until it is NULL again, no further request is handled */
};

struct receiver {
    uint32_t address; /* to listen on, host byte order */
    /* `head` begins with the method; `body` ends with the request. Answers by receiver_answer, or
     * sets peer->answers_later. */
    void (*request)(struct peer *p, const char *head, const char *body);
    /* May be NULL: the peer, which answers later, has gone. */
    void (*gone)(struct peer *p);
    /* May be NULL: does what is due, and returns after how many milliseconds it is called again;
     * negative: when something has come. */
    int (*due)(void);
};

void receiver_answer(struct peer *p, const char *body);
/* Handles the requests that have come whole; after answers_later has become NULL. */
void receiver_serve(const struct receiver *r, struct peer *p);
/* Returns the program's exit status, if it cannot listen. */
int receiver_run(const struct receiver *r, const char *port);
