/* Resolves names: see dns.h.
 *
 * A `dns_name` is one cache entry. Its look-up is under way (then c-ares holds a pointer to it, and
 * it must not be evicted), or its result is known until `expires_mono_ms`. Waiting queries are in
 * its list. c-ares calls back from inside ares_getaddrinfo (hosts file) and ares_process_fd. The
 * callback only fills the entry and puts it on `answered`; the queries are completed after c-ares
 * has returned, so that their callbacks may look up, cancel or free anything. An entry with a
 * look-up under way, on `answered` or with queries is never evicted. */
#include "net/dns.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/hash_map.h"

#include <ares.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#define DNS_MAGIC 0x444e5321u
#define DNS_TTL_MIN_MS 1000
#define DNS_TTL_MAX_MS (5 * MINUTE_MS)
#define DNS_TTL_FAILED_MS 5000
/* One second, then two, so that a name server which drops AAAA questions costs three seconds and
 * not the whole time for connecting; c-ares answers when it has both families or has given one
 * up. */
#define DNS_TRY_MS 1000
#define DNS_TRIES 2
/* c-ares gives a question up when both tries have failed, and a try also fails when a name server
 * closes the connection, or its port, over which another name was asked. So a look-up that ends
 * early without an answer is begun again. */
#define DNS_AGAIN_MS 500
#define DNS_AGAIN_WITHIN_MS 2000 /* of its begin */
/* A look-up that has waited for so long sends a check: a question that every name server answers at
 * once, whatever the name's own servers do. Without an answer to it until the look-up ends, this
 * machine's name servers are silent. */
#define DNS_CHECK_MS 1000
#define DNS_CHECK_WAIT_MS 1000 /* the least time that an answer to the check gets */
#define DNS_TTL_SILENT_MS 1000

struct dns_name {
    struct dns *dns;
    struct hash_node node;
    struct link by_use;
    struct link by_answer;
    struct link by_again;
    struct list queries; /* waiting */
    bool asking;         /* c-ares holds a pointer to it, or it is on dns->again: never evicted */
    bool answered;       /* on dns->answered: never evicted */
    enum dns_status status;
    int64_t asked_mono_ms, expires_mono_ms;
    size_t address_count;
    struct address addresses[LIMIT_DNS_ADDRESSES];
    size_t name_bytes;
    char name[];
};

struct dns_socket {
    struct io io;
    struct dns *dns;
    struct link link;
};

struct dns {
    uint32_t magic;
    struct loop *loop;
    ares_channel channel;
    struct list sockets;
    struct timer timer;
    struct hash_secret secret;
    struct hash_map names;
    struct list by_use; /* all names, the least recently used first */
    struct list answered;
    struct list again; /* look-ups to begin again, when the next timer fires */
    struct timer again_timer;
    int64_t queries;
    size_t asking;         /* look-ups under way */
    struct timer check;    /* set while look-ups are under way */
    bool checking;         /* the check is under way */
    int64_t heard_mono_ms; /* the last answer of any kind to any question */
    bool hearing;          /* c-ares is reading an answer */
};

/* ---- the cache */

static void name_free(struct dns *dns, struct dns_name *name)
{
    hash_map_remove(&dns->names, &name->node);
    list_remove(&dns->by_use, &name->by_use);
    free(name);
}

/* Evicts the least recently used entry if the cache is full. Entries in use stay; there are no more
 * of them than exchanges under way, which are bounded elsewhere. */
static void make_room(struct dns *dns)
{
    struct link *newer;
    for (struct link *at = dns->by_use.first; at && dns->by_use.count >= LIMIT_DNS_NAMES;
         at = newer) {
        struct dns_name *name = CONTAINER_OF(at, struct dns_name, by_use);
        newer = at->next;
        if (!name->asking && !name->answered && name->queries.count == 0)
            name_free(dns, name);
    }
}

static struct dns_name *name_find(const struct dns *dns, uint64_t hash, struct str host)
{
    for (struct hash_node *n = hash_map_first(&dns->names, hash); n; n = hash_map_next(n)) {
        struct dns_name *name = CONTAINER_OF(n, struct dns_name, node);
        if (str_eq((struct str){name->name, name->name_bytes}, host))
            return name;
    }
    return NULL;
}

static struct dns_name *name_get(struct dns *dns, struct str host)
{
    uint64_t hash = hash_key128(&dns->secret, host.p, host.n).lo;
    struct dns_name *name = name_find(dns, hash, host);
    if (name) {
        list_remove(&dns->by_use, &name->by_use);
        list_push(&dns->by_use, &name->by_use);
        return name;
    }
    make_room(dns);
    name = xcalloc(1, sizeof *name + host.n + 1);
    name->dns = dns;
    memcpy(name->name, host.p, host.n);
    name->name_bytes = host.n;
    hash_map_add(&dns->names, &name->node, hash);
    list_push(&dns->by_use, &name->by_use);
    return name;
}

static void query_fill(struct dns_query *query, const struct dns_name *name)
{
    query->status = name->status;
    query->address_count = name->address_count;
    memcpy(query->addresses, name->addresses, name->address_count * sizeof name->addresses[0]);
}

/* ---- answers of c-ares */

static enum dns_status status_of(int ares_status)
{
    switch (ares_status) {
    case ARES_ENOTFOUND:
    case ARES_EBADNAME:
    case ARES_ENONAME: return DNS_NO_SUCH_NAME;
    case ARES_ENODATA: return DNS_NO_ADDRESS;
    case ARES_ETIMEOUT:
    case ARES_ECONNREFUSED: return DNS_NO_ANSWER;
    case ARES_EFILE: /* no descriptor is free */
    case ARES_ENOMEM: return DNS_SILENT;
    default: return DNS_SERVER_FAILED;
    }
}

/* No server that is asked answers: a refused connection tells that at once, a time-out only after
 * the check. Versions of c-ares that give up after a SERVFAIL report it like a refused connection.
 */
static bool is_silence(const struct dns_name *name, int ares_status)
{
    const struct dns *dns = name->dns;
    return (ares_status == ARES_ECONNREFUSED && dns->heard_mono_ms < name->asked_mono_ms) ||
           (ares_status == ARES_ETIMEOUT && dns_is_silent(dns, name->asked_mono_ms));
}

static bool address_of(const struct sockaddr *from, struct address *ret)
{
    *ret = (struct address){.family = from->sa_family};
    if (from->sa_family == AF_INET)
        memcpy(ret->bytes, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    else if (from->sa_family == AF_INET6)
        memcpy(ret->bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
    else
        return false;
    return true;
}

static void name_take(struct dns_name *name, const struct ares_addrinfo *found)
{
    int64_t ttl_ms = DNS_TTL_MAX_MS;
    name->address_count = 0;
    for (const struct ares_addrinfo_node *node = found->nodes; node; node = node->ai_next) {
        struct address address;
        if (name->address_count == LIMIT_DNS_ADDRESSES || !address_of(node->ai_addr, &address))
            continue;
        name->addresses[name->address_count++] = address;
        int64_t node_ms = (int64_t)node->ai_ttl * 1000;
        ttl_ms = node_ms < ttl_ms ? node_ms : ttl_ms;
    }
    name->status = name->address_count > 0 ? DNS_OK : DNS_NO_ADDRESS;
    ttl_ms = ttl_ms < DNS_TTL_MIN_MS ? DNS_TTL_MIN_MS : ttl_ms;
    name->expires_mono_ms = loop_mono_ms(name->dns->loop) + ttl_ms;
}

static bool ends_early(const struct dns_name *name, int ares_status)
{
    int64_t took_ms = loop_mono_ms(name->dns->loop) - name->asked_mono_ms;
    return (ares_status == ARES_ECONNREFUSED || ares_status == ARES_ETIMEOUT) &&
           !name->dns->hearing && !is_silence(name, ares_status) && took_ms < DNS_AGAIN_WITHIN_MS;
}

static void on_answer(void *arg, int ares_status, int timeouts, struct ares_addrinfo *found)
{
    (void)timeouts;
    struct dns_name *name = arg;
    struct dns *dns = name->dns;
    if (ends_early(name, ares_status)) {
        list_push(&dns->again, &name->by_again);
        if (dns->again_timer.heap_place == 0)
            loop_timer_set(dns->loop, &dns->again_timer, loop_mono_ms(dns->loop) + DNS_AGAIN_MS);
        return;
    }
    name->asking = false;
    dns->asking--;
    if (ares_status == ARES_EDESTRUCTION)
        return; /* dns_free */
    if (ares_status == ARES_SUCCESS && found) {
        name_take(name, found);
    } else {
        name->status = ares_status == ARES_SUCCESS ? DNS_NO_ADDRESS : status_of(ares_status);
        if (is_silence(name, ares_status))
            name->status = DNS_SILENT;
        name->address_count = 0;
        name->expires_mono_ms =
            loop_mono_ms(dns->loop) +
            (name->status == DNS_SILENT ? DNS_TTL_SILENT_MS : DNS_TTL_FAILED_MS);
    }
    if (found)
        ares_freeaddrinfo(found);
    if (!name->answered)
        list_push(&dns->answered, &name->by_answer);
    name->answered = true;
}

static void query_unlink(struct dns_query *query)
{
    list_remove(&query->name->queries, &query->link);
    query->name = NULL;
}

static void tell_askers(struct dns *dns)
{
    while (dns->answered.count > 0) {
        struct dns_name *name = CONTAINER_OF(dns->answered.first, struct dns_name, by_answer);
        while (name->queries.count > 0) {
            struct dns_query *query = CONTAINER_OF(name->queries.first, struct dns_query, link);
            query_fill(query, name);
            query_unlink(query);
            query->done(query);
        }
        list_remove(&dns->answered, &name->by_answer);
        name->answered = false;
    }
}

/* ---- sockets and time of c-ares */

static void arm_timer(struct dns *dns)
{
    struct timeval left;
    if (ares_timeout(dns->channel, NULL, &left) == NULL) {
        loop_timer_clear(dns->loop, &dns->timer);
        return;
    }
    int64_t left_ms = (int64_t)left.tv_sec * 1000 + (left.tv_usec + 999) / 1000;
    loop_timer_set(dns->loop, &dns->timer, loop_mono_ms(dns->loop) + left_ms);
}

static void process(struct dns *dns, int read_fd, int write_fd)
{
    ares_process_fd(dns->channel, read_fd, write_fd);
    arm_timer(dns);
    tell_askers(dns);
}

static void on_socket(struct io *io, int events)
{
    struct dns_socket *socket = CONTAINER_OF(io, struct dns_socket, io);
    int bytes = 0;
    /* An answer of any kind. A reported error has no bytes, and c-ares must still find it. */
    struct dns *dns = socket->dns;
    dns->hearing = ioctl(io->fd, FIONREAD, &bytes) == 0 && bytes > 0;
    if (dns->hearing)
        dns->heard_mono_ms = loop_mono_ms(dns->loop);
    process(dns, events & IO_READ ? io->fd : ARES_SOCKET_BAD,
            events & IO_WRITE ? io->fd : ARES_SOCKET_BAD);
    dns->hearing = false;
}

static void on_timer(struct timer *timer)
{
    process(CONTAINER_OF(timer, struct dns, timer), ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

static struct dns_socket *socket_find(const struct dns *dns, ares_socket_t fd)
{
    for (struct link *at = dns->sockets.first; at; at = at->next) {
        struct dns_socket *socket = CONTAINER_OF(at, struct dns_socket, link);
        if (socket->io.fd == fd)
            return socket;
    }
    return NULL;
}

static void on_socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
    struct dns *dns = arg;
    struct dns_socket *socket = socket_find(dns, fd);
    if (!readable && !writable) {
        if (socket) {
            list_remove(&dns->sockets, &socket->link);
            loop_unwatch(dns->loop, &socket->io);
            loop_free_later(dns->loop, socket);
        }
        return;
    }
    if (!socket) {
        socket = xcalloc(1, sizeof *socket);
        socket->dns = dns;
        socket->io.fd = fd;
        socket->io.ready = on_socket;
        list_push(&dns->sockets, &socket->link);
    }
    loop_watch(dns->loop, &socket->io, (readable ? IO_READ : 0) | (writable ? IO_WRITE : 0));
}

/* ---- asking */

static void ask(struct dns *dns, struct dns_name *name)
{
    struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    ares_getaddrinfo(dns->channel, name->name, NULL, &hints, on_answer, name);
    arm_timer(dns);
    /* Found in the hosts file: other queries are completed in the next tick. */
    if (dns->answered.count > 0)
        loop_timer_set(dns->loop, &dns->timer, loop_mono_ms(dns->loop));
}

static void again_fire(struct timer *timer)
{
    struct dns *dns = CONTAINER_OF(timer, struct dns, again_timer);
    for (size_t left = dns->again.count; left > 0; left--)
        ask(dns, CONTAINER_OF(list_pop(&dns->again), struct dns_name, by_again));
}

/* ---- the check of the name servers */

/* Asks which name servers the root has: no name server asks elsewhere for that. on_socket sees
 * whether there is an answer. c-ares has a new function for questions since 1.28 (Debian 13), where
 * the old one is deprecated. */
#if ARES_VERSION >= 0x011c00
static void on_check(void *arg, ares_status_t status, size_t timeouts,
                     const ares_dns_record_t *answer)
{
    struct dns *dns = arg;
    (void)status, (void)timeouts, (void)answer;
    dns->checking = false;
}

static void ask_check(struct dns *dns)
{
    (void)ares_query_dnsrec(dns->channel, ".", ARES_CLASS_IN, ARES_REC_TYPE_NS, on_check, dns,
                            NULL);
}
#else
#define QUERY_CLASS_IN 1
#define QUERY_TYPE_NS 2

static void on_check(void *arg, int status, int timeouts, unsigned char *answer, int bytes)
{
    struct dns *dns = arg;
    (void)status, (void)timeouts, (void)answer, (void)bytes;
    dns->checking = false;
}

static void ask_check(struct dns *dns)
{
    ares_query(dns->channel, ".", QUERY_CLASS_IN, QUERY_TYPE_NS, on_check, dns);
}
#endif

static void check_fire(struct timer *timer)
{
    struct dns *dns = CONTAINER_OF(timer, struct dns, check);
    int64_t now = loop_mono_ms(dns->loop);
    if (dns->asking == 0)
        return;
    loop_timer_set(dns->loop, &dns->check, now + DNS_CHECK_MS);
    if (dns->checking || now - dns->heard_mono_ms < DNS_CHECK_MS)
        return;
    dns->checking = true;
    ask_check(dns);
    arm_timer(dns);
}

bool dns_is_silent(const struct dns *dns, int64_t since_mono_ms)
{
    return dns->heard_mono_ms < since_mono_ms &&
           loop_mono_ms(dns->loop) - since_mono_ms >= DNS_CHECK_MS + DNS_CHECK_WAIT_MS;
}

/* ---- public */

static pthread_once_t library_once = PTHREAD_ONCE_INIT;
static int library_status;

static void library_init(void)
{
    library_status = ares_library_init(ARES_LIB_INIT_ALL);
}

struct dns *dns_new(struct loop *loop, const char *server, const char **ret_why)
{
    pthread_once(&library_once, library_init);
    struct dns *dns = xcalloc(1, sizeof *dns);
    dns->magic = DNS_MAGIC;
    dns->loop = loop;
    dns->timer.fire = on_timer;
    dns->check.fire = check_fire;
    dns->again_timer.fire = again_fire;
    dns->heard_mono_ms = loop_mono_ms(loop) - DNS_CHECK_MS;
    env_random(loop_env(loop), dns->secret.bytes, sizeof dns->secret.bytes);
    struct ares_options options = {.timeout = DNS_TRY_MS,
                                   .tries = DNS_TRIES,
                                   .sock_state_cb = on_socket_state,
                                   .sock_state_cb_data = dns};
    int mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
#ifdef ARES_OPT_QUERY_CACHE
    options.qcache_max_ttl = 0; /* this cache is enough, and it is bounded */
    mask |= ARES_OPT_QUERY_CACHE;
#endif
    if (library_status != ARES_SUCCESS ||
        ares_init_options(&dns->channel, &options, mask) != ARES_SUCCESS) {
        free(dns);
        *ret_why = "the resolver cannot be set up: is /etc/resolv.conf readable?";
        return NULL;
    }
    if (server && ares_set_servers_ports_csv(dns->channel, server) != ARES_SUCCESS) {
        ares_destroy(dns->channel);
        free(dns);
        *ret_why = "the name server must be given as ADDRESS or ADDRESS:PORT";
        return NULL;
    }
    return dns;
}

void dns_free(struct dns *dns)
{
    CHECK_MAGIC(dns, DNS_MAGIC);
    ares_destroy(dns->channel); /* calls on_answer and on_socket_state for what is open */
    struct link *link;
    while ((link = list_pop(&dns->sockets)) != NULL) {
        struct dns_socket *gone = CONTAINER_OF(link, struct dns_socket, link);
        loop_unwatch(dns->loop, &gone->io);
        free(gone);
    }
    loop_timer_clear(dns->loop, &dns->timer);
    loop_timer_clear(dns->loop, &dns->check);
    loop_timer_clear(dns->loop, &dns->again_timer);
    while ((link = dns->by_use.first) != NULL) {
        struct dns_name *name = CONTAINER_OF(link, struct dns_name, by_use);
        ASSERT(name->queries.count == 0);
        name_free(dns, name);
    }
    hash_map_free(&dns->names);
    free(dns);
}

bool dns_look_up(struct dns *dns, struct dns_query *query, struct str host)
{
    CHECK_MAGIC(dns, DNS_MAGIC);
    struct dns_name *name = name_get(dns, host);
    if (!name->asking && name->expires_mono_ms <= loop_mono_ms(dns->loop)) {
        name->asking = true;
        name->asked_mono_ms = loop_mono_ms(dns->loop);
        dns->queries++;
        dns->asking++;
        if (dns->check.heap_place == 0)
            loop_timer_set(dns->loop, &dns->check, name->asked_mono_ms + DNS_CHECK_MS);
        ask(dns, name);
    }
    if (!name->asking && name->queries.count == 0) {
        query_fill(query, name);
        query->name = NULL;
        return true;
    }
    query->name = name;
    query->link = (struct link){0};
    list_push(&name->queries, &query->link);
    return false;
}

void dns_cancel(struct dns *dns, struct dns_query *query)
{
    CHECK_MAGIC(dns, DNS_MAGIC);
    if (query->name)
        query_unlink(query);
}

int64_t dns_queries(const struct dns *dns)
{
    CHECK_MAGIC(dns, DNS_MAGIC);
    return dns->queries;
}
