/* A table of client addresses, hashed with a secret: nobody can choose addresses that meet in one
 * bucket. An entry exists as long as a connection of its address does, so the bound on connections
 * bounds the table. */
#include "http/peers.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BUCKETS 1024u

struct peers {
    struct hash_secret secret;
    struct peer *buckets[BUCKETS];
};

struct peers *peers_new(void)
{
    struct peers *peers = xcalloc(1, sizeof *peers);
    env_random(env_real(), &peers->secret, sizeof peers->secret);
    return peers;
}

void peers_free(struct peers *peers)
{
    for (size_t i = 0; i < BUCKETS; i++)
        ASSERT(!peers->buckets[i]);
    free(peers);
}

static struct peer **find(struct peers *peers, const uint8_t key[PEER_KEY_BYTES])
{
    struct key128 hash = hash_key128(&peers->secret, key, PEER_KEY_BYTES);
    struct peer **place = &peers->buckets[hash.lo % BUCKETS];
    while (*place && memcmp((*place)->key, key, PEER_KEY_BYTES) != 0)
        place = &(*place)->next;
    return place;
}

struct peer *peers_enter(struct peers *peers, const struct address *address)
{
    uint8_t key[PEER_KEY_BYTES] = {(uint8_t)address->family};
    struct str site = address_site(address);
    memcpy(key + 1, site.p, site.n);
    struct peer **place = find(peers, key);
    if (!*place) {
        *place = xcalloc(1, sizeof **place);
        memcpy((*place)->key, key, sizeof key);
    }
    (*place)->connections++;
    return *place;
}

void peers_leave(struct peers *peers, struct peer *peer)
{
    if (--peer->connections > 0)
        return;
    ASSERT(peer->idle.count == 0 && peer->body_bytes == 0);
    struct peer **place = find(peers, peer->key);
    ASSERT(*place == peer);
    *place = peer->next;
    free(peer);
}
