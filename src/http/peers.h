/* Who is connected to one server: client addresses with their connections. An address is what one
 * party can be expected to have to itself: a whole IPv4 address, the /64 of an IPv6 one. Of the
 * loop's thread. */
#pragma once

#include "base/list.h"
#include "domain/url.h"

struct peer {
    struct peer *next; /* the table's */
    uint8_t key[9];    /* family, then 4 or 8 bytes of the address */
    int64_t connections;
    int64_t body_bytes; /* room that its requests' bodies have */
    struct list idle;   /* its connections that hold no request, the one idle for longest first */
};

struct peers;

struct peers *peers_new(void);
void peers_free(struct peers *peers); /* nobody is connected any more */
/* The address's, with one connection more. */
struct peer *peers_enter(struct peers *peers, const struct address *address);
void peers_leave(struct peers *peers, struct peer *peer);
