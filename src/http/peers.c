/* A table of client addresses and accounts. An entry exists as long as a connection of its address
 * or account does, so the bound on connections bounds the table. */
#include "http/peers.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct peers {
    struct hash_secret secret;
    struct hash_map map;
};

struct peers *peers_new(void)
{
    struct peers *peers = xcalloc(1, sizeof *peers);
    env_random(env_real(), &peers->secret, sizeof peers->secret);
    return peers;
}

void peers_free(struct peers *peers)
{
    ASSERT(peers->map.count == 0);
    hash_map_free(&peers->map);
    free(peers);
}

static struct peer *find(const struct peers *peers, uint64_t hash, const uint8_t *key)
{
    for (struct hash_node *n = hash_map_first(&peers->map, hash); n; n = hash_map_next(n)) {
        struct peer *peer = CONTAINER_OF(n, struct peer, node);
        if (memcmp(peer->key, key, PEER_KEY_BYTES) == 0)
            return peer;
    }
    return NULL;
}

static struct peer *enter(struct peers *peers, const uint8_t *key)
{
    uint64_t hash = hash_key128(&peers->secret, key, PEER_KEY_BYTES).lo;
    struct peer *peer = find(peers, hash, key);
    if (!peer) {
        peer = xcalloc(1, sizeof *peer);
        memcpy(peer->key, key, PEER_KEY_BYTES);
        hash_map_add(&peers->map, &peer->node, hash);
    }
    peer->connections++;
    return peer;
}

struct peer *peers_enter(struct peers *peers, const struct address *address)
{
    uint8_t key[PEER_KEY_BYTES] = {(uint8_t)address->family};
    struct str site = address_site(address);
    memcpy(key + 1, site.p, site.n);
    return enter(peers, key);
}

struct peer *peers_enter_account(struct peers *peers, uint32_t account_no)
{
    uint8_t key[PEER_KEY_BYTES] = {0};
    memcpy(key + 1, &account_no, sizeof account_no);
    struct peer *account = enter(peers, key);
    account->account_no = account_no;
    return account;
}

void peers_leave(struct peers *peers, struct peer *peer)
{
    if (--peer->connections > 0)
        return;
    ASSERT(peer->closable.count == 0 && peer->body_bytes == 0);
    ASSERT(peer->in_share == 0 && peer->buffer_bytes == 0);
    hash_map_remove(&peers->map, &peer->node);
    free(peer);
}
