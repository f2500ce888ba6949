/* The clients of one server: addresses and accounts, with their connections. An address is what one
 * party usually has to itself: an IPv4 address, or the /48 of an IPv6 address. On the loop's
 * thread. */
#pragma once

#include "base/hash_map.h"
#include "base/list.h"
#include "domain/address.h"

/* Family, then 4 or 6 bytes of the address; or 0, then an account's number. */
#define PEER_KEY_BYTES 7

struct peer {
    struct hash_node node;
    uint8_t key[PEER_KEY_BYTES];
    int64_t connections;
    int64_t body_bytes; /* room reserved for its requests' bodies */
    /* Of an address: connections that may be closed for a new one of the address, in that order. */
    struct list closable;
    /* Of an account: connections that wait within its share; bytes of all its connections. */
    uint32_t account_no;
    int64_t in_share, buffer_bytes, small_bytes; /* small_bytes: of body_bytes, in small bodies */
};

struct peers;

struct peers *peers_new(void);
void peers_free(struct peers *peers); /* without connections */
/* Adds a connection to the address's peer, and returns the peer. */
struct peer *peers_enter(struct peers *peers, const struct address *address);
struct peer *peers_enter_account(struct peers *peers, uint32_t account_no); /* likewise */
void peers_leave(struct peers *peers, struct peer *peer);
