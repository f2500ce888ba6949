/* TLS sessions to resume: one per destination, the newest its receiver gave; at most
 * LIMIT_TLS_SESSIONS, the oldest goes. They outlive connections and destinations, because that is
 * when they are worth something: a handshake resumed costs half. After LIMIT_TLS_SESSION_MS the
 * certificate is verified anew. The key holds the name the certificate was verified for and who we
 * said we are, so that a session never vouches for another name or another client. */
#include "send/internal.h"

#include "base/alloc.h"
#include "net/tls.h"

#include <stdlib.h>

#define SESSION_BUCKETS 512

struct session_entry {
    struct session_entry *bucket_next, *older, *newer;
    struct ssl_session_st *session;
    int64_t since_mono_ms;
    uint16_t port;
    uint8_t identity[32]; /* whom the receiver knows us as by it */
    size_t host_bytes;
    char host[];
};

struct sessions {
    struct sender *sender;
    struct session_entry *oldest, *newest;
    size_t count;
    struct session_entry *buckets[SESSION_BUCKETS];
};

static struct session_entry **bucket_of(struct sessions *sessions, const char *host,
                                        size_t host_bytes, uint16_t port)
{
    struct key128 key = hash_key128(&sessions->sender->secret, host, host_bytes);
    return &sessions->buckets[(key.lo ^ port) % SESSION_BUCKETS];
}

static struct session_entry **place_of(struct sessions *sessions, const struct host_pool *d)
{
    struct session_entry **at = bucket_of(sessions, d->host, d->host_bytes, d->port);
    while (*at && ((*at)->port != d->port || (*at)->host_bytes != d->host_bytes ||
                   memcmp((*at)->host, d->host, d->host_bytes) != 0 ||
                   memcmp((*at)->identity, d->identity, sizeof d->identity) != 0))
        at = &(*at)->bucket_next;
    return at;
}

static void remove_at(struct sessions *sessions, struct session_entry **at)
{
    struct session_entry *entry = *at;
    ASSERT(entry);
    *at = entry->bucket_next;
    *(entry->older ? &entry->older->newer : &sessions->oldest) = entry->newer;
    *(entry->newer ? &entry->newer->older : &sessions->newest) = entry->older;
    sessions->count--;
    tls_session_free(entry->session);
    free(entry);
}

static void remove_oldest(struct sessions *sessions)
{
    struct session_entry *entry = sessions->oldest;
    struct session_entry **at = bucket_of(sessions, entry->host, entry->host_bytes, entry->port);
    while (*at != entry)
        at = &(*at)->bucket_next;
    remove_at(sessions, at);
}

struct sessions *sessions_new(struct sender *s)
{
    struct sessions *sessions = xcalloc(1, sizeof *sessions);
    sessions->sender = s;
    return sessions;
}

void sessions_free(struct sessions *sessions)
{
    while (sessions->oldest)
        remove_oldest(sessions);
    free(sessions);
}

struct ssl_session_st *sessions_find(struct sessions *sessions, const struct host_pool *d)
{
    struct session_entry **at = place_of(sessions, d);
    if (!*at)
        return NULL;
    if ((*at)->since_mono_ms + LIMIT_TLS_SESSION_MS <= loop_mono_ms(sessions->sender->loop)) {
        remove_at(sessions, at);
        return NULL;
    }
    return (*at)->session;
}

void sessions_put(struct sessions *sessions, const struct host_pool *d,
                  struct ssl_session_st *session, bool resumed)
{
    int64_t since = loop_mono_ms(sessions->sender->loop);
    struct session_entry **at = place_of(sessions, d);
    if (*at) {
        if (resumed) /* the certificate was verified when the first of its line was made */
            since = (*at)->since_mono_ms;
        remove_at(sessions, at);
    } else if (sessions->count >= LIMIT_TLS_SESSIONS) {
        remove_oldest(sessions);
    }
    struct session_entry *entry = xcalloc(1, sizeof *entry + d->host_bytes);
    entry->session = session;
    entry->since_mono_ms = since;
    entry->port = d->port;
    entry->host_bytes = d->host_bytes;
    memcpy(entry->identity, d->identity, sizeof entry->identity);
    memcpy(entry->host, d->host, d->host_bytes);
    at = place_of(sessions, d);
    *at = entry;
    entry->older = sessions->newest;
    *(entry->older ? &entry->older->newer : &sessions->oldest) = entry;
    sessions->newest = entry;
    sessions->count++;
}
