/* TLS sessions for resumption: the newest one of each destination; at most LIMIT_TLS_SESSIONS, the
 * oldest is dropped. They outlive connections and destinations, because that is when they are
 * useful: resuming halves the cost of a handshake. After LIMIT_TLS_SESSION_MS the certificate is
 * verified again. The key has the verified name and the client identity, so that a session never
 * counts for another name or client. */
#include "send/sender_internal.h"

#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/list.h"
#include "net/tls.h"

#include <stdlib.h>

struct session_entry {
    struct hash_node node;
    struct link by_age;
    struct ssl_session_st *session;
    int64_t since_mono_ms;
    uint16_t port;
    uint8_t identity[32]; /* the client identity it was made with */
    size_t host_bytes;
    char host[];
};

struct sessions {
    struct sender *sender;
    struct hash_map entries;
    struct list by_age; /* the oldest first */
};

static uint64_t hash_of(const struct sessions *sessions, const struct host_pool *d)
{
    return hash_key128(&sessions->sender->secret, d->host, d->host_bytes).lo ^ d->port;
}

static struct session_entry *find(const struct sessions *sessions, const struct host_pool *d)
{
    struct hash_node *n = hash_map_first(&sessions->entries, hash_of(sessions, d));
    for (; n; n = hash_map_next(n)) {
        struct session_entry *entry = CONTAINER_OF(n, struct session_entry, node);
        if (entry->port == d->port && entry->host_bytes == d->host_bytes &&
            memcmp(entry->host, d->host, d->host_bytes) == 0 &&
            memcmp(entry->identity, d->identity, sizeof d->identity) == 0)
            return entry;
    }
    return NULL;
}

static void drop(struct sessions *sessions, struct session_entry *entry)
{
    hash_map_remove(&sessions->entries, &entry->node);
    list_remove(&sessions->by_age, &entry->by_age);
    tls_session_free(entry->session);
    free(entry);
}

static void drop_oldest(struct sessions *sessions)
{
    drop(sessions, CONTAINER_OF(sessions->by_age.first, struct session_entry, by_age));
}

struct sessions *sessions_new(struct sender *s)
{
    struct sessions *sessions = xcalloc(1, sizeof *sessions);
    sessions->sender = s;
    return sessions;
}

void sessions_free(struct sessions *sessions)
{
    while (sessions->by_age.count > 0)
        drop_oldest(sessions);
    hash_map_free(&sessions->entries);
    free(sessions);
}

struct ssl_session_st *sessions_find(struct sessions *sessions, const struct host_pool *d)
{
    struct session_entry *entry = find(sessions, d);
    if (!entry)
        return NULL;
    if (entry->since_mono_ms + LIMIT_TLS_SESSION_MS <= loop_mono_ms(sessions->sender->loop)) {
        drop(sessions, entry);
        return NULL;
    }
    return entry->session;
}

void sessions_put(struct sessions *sessions, const struct host_pool *d,
                  struct ssl_session_st *session, bool resumed)
{
    int64_t since = loop_mono_ms(sessions->sender->loop);
    struct session_entry *entry = find(sessions, d);
    if (entry) {
        if (resumed) /* the certificate was verified when the first session of this line was made */
            since = entry->since_mono_ms;
        drop(sessions, entry);
    } else if (sessions->by_age.count >= LIMIT_TLS_SESSIONS) {
        drop_oldest(sessions);
    }
    entry = xcalloc(1, sizeof *entry + d->host_bytes);
    entry->session = session;
    entry->since_mono_ms = since;
    entry->port = d->port;
    entry->host_bytes = d->host_bytes;
    memcpy(entry->identity, d->identity, sizeof entry->identity);
    memcpy(entry->host, d->host, d->host_bytes);
    hash_map_add(&sessions->entries, &entry->node, hash_of(sessions, d));
    list_push(&sessions->by_age, &entry->by_age);
}
