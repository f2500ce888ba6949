/* From a name to a connected socket: resolve, remove forbidden addresses, dial.
 *
 * The address check is between the resolver and connect, on the very addresses that are connected
 * to, so a name that resolves differently the second time gains nothing (DNS rebinding). With a
 * proxy, the proxy is resolved and dialed next, and is told the checked address.
 *
 * An opening counts as one of the sender's connections from its beginning. */
#include "send/sender_internal.h"

#include "base/alloc.h"
#include "net/socket.h"
#include "send/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define PROXY_AUTHENTICATION_REQUIRED 407

struct opening {
    struct job *job;
    struct dns_query query;
    bool asking;
    struct dial dial;
    struct tunnel tunnel;
};

static void opening_free(struct opening *opening)
{
    struct sender *s = opening->job->sender;
    opening->job->opening = NULL;
    s->connections--;
    loop_free_later(s->loop, opening);
}

void opening_cancel(struct opening *opening)
{
    struct sender *s = opening->job->sender;
    if (opening->asking)
        dns_cancel(s->dns, &opening->query);
    dial_cancel(&opening->dial);
    tunnel_cancel(&opening->tunnel);
    opening_free(opening);
    line_poke(s);
}

/* ---- which addresses */

/* Why nothing is sent to the address; NULL: it is allowed. The machine's own public addresses are
 * refused, too, because connections to them would bypass its firewall. */
static const char *refusal(const struct sender *s, const struct address *a)
{
    switch (destination_judge(&s->options.rules, a)) {
    case DESTINATION_NOT_PUBLIC:
        return "is not a public address: callbacks are sent to public addresses only";
    case DESTINATION_DENIED:
        return "is an address that the operator of this service does not allow";
    case DESTINATION_PUBLIC:
        if (socket_is_own_address(a))
            return "is an address of the sending machine itself: callbacks are not sent there";
        break;
    case DESTINATION_ALLOWED: break;
    }
    return NULL;
}

/* The next source of that family, in turn; family 0 if no sources are configured. False: there are
 * sources, but none of that family, so nothing may be sent. */
static bool pick_source(struct sender *s, int family, struct address *ret)
{
    size_t count = s->options.source_count;
    *ret = (struct address){0};
    for (size_t i = 0; i < count; i++) {
        size_t place = (s->next_source + i) % count;
        if (s->options.sources[place].family != family)
            continue;
        *ret = s->options.sources[place];
        s->next_source = place + 1;
        return true;
    }
    return count == 0;
}

static void settle_none_allowed(struct job *job, const struct address *refused)
{
    const char *why = refusal(job->sender, refused);
    struct buf text = {0};
    address_print(&text, refused);
    if (job->pool->host_is_address)
        job_settle(job, ATTEMPT_DESTINATION_REFUSED, "%s %s", buf_c(&text), why);
    else
        job_settle(job, ATTEMPT_DESTINATION_REFUSED, "The name %s resolves to %s, which %s",
                   job->pool->host, buf_c(&text), why);
    buf_free(&text);
}

/* Alternates families (RFC 8305, section 4), beginning with that of the first address. */
static void take_in_turns(struct dial *dial, const struct address *from, size_t count)
{
    int family = count > 0 ? from[0].family : 0;
    size_t first = 0, second = 0;
    while (dial->address_count < LIMIT_DIAL_ADDRESSES && (first < count || second < count)) {
        bool want_first = dial->address_count % 2 == 0;
        while (first < count && from[first].family != family)
            first++;
        while (second < count && from[second].family == family)
            second++;
        if (first < count && (want_first || second >= count))
            dial->addresses[dial->address_count++] = from[first++];
        else if (second < count)
            dial->addresses[dial->address_count++] = from[second++];
    }
}

/* ---- connecting */

static void on_tunnel(struct tunnel *tunnel, int fd, int status)
{
    struct opening *opening = CONTAINER_OF(tunnel, struct opening, tunnel);
    struct job *job = opening->job;
    struct sender *s = job->sender;
    struct buf where = {0};
    CHECK_MAGIC(job, JOB_MAGIC);
    opening_free(opening);
    if (status >= 200 && status <= 299) {
        connection_open(job, fd, &tunnel->target.address);
        return;
    }
    close(fd);
    line_poke(s);
    job_print_where(&where, job);
    /* A proxy that asks who we are is at fault itself. With other answers, or none, it may tell
     * that it could not reach the receiver. */
    if (status == PROXY_AUTHENTICATION_REQUIRED)
        job->x->local_fault = LOCAL_FAULT_PROXY;
    if (status == 0)
        job_settle(job, ATTEMPT_RESET, "The proxy on the way to %s ended the connection",
                   buf_c(&where));
    else
        job_settle(job, ATTEMPT_REFUSED, "No connection to %s: the proxy on the way answered %d",
                   buf_c(&where), status);
    buf_free(&where);
    job_finish(job);
}

/* A machine that sends callbacks needs IPv4: most receivers have nothing else. So without an IPv4
 * route to the Internet, what cannot be reached is this machine's fault. With one, a receiver that
 * only has IPv6 on a machine without IPv6, or whose network alone has no route, is at fault itself:
 * its callbacks could wait for ever. */
static bool is_cut_off(int family)
{
    return !socket_has_route(AF_INET) && (family == AF_INET || !socket_has_route(AF_INET6));
}

static enum local_fault local_fault_of(const struct sender *s, const struct dial *dial,
                                       const struct address *to, int error)
{
    bool no_way = dial_has_no_way(dial, to, error);
    enum local_fault fault = local_fault_of_error(error);
    if (fault && (!no_way || socket_has_route(to->family)))
        return fault;
    if (no_way && is_cut_off(to->family))
        return LOCAL_FAULT_ROUTE;
    return s->has_proxy ? LOCAL_FAULT_PROXY : LOCAL_FAULT_NONE;
}

static void fail_dial(struct job *job, const struct address *address, int error)
{
    struct sender *s = job->sender;
    struct buf where = {0};
    if (s->has_proxy) {
        buf_add_c(&where, "this service's own proxy");
    } else {
        job->address = *address;
        job_print_where(&where, job);
    }
    if (error == ETIMEDOUT)
        job_settle(job, ATTEMPT_CONNECT_TIMEOUT, "No connection to %s: nothing answers there",
                   buf_c(&where));
    else
        job_settle(job, error == ECONNRESET ? ATTEMPT_RESET : ATTEMPT_REFUSED,
                   "No connection to %s: %s", buf_c(&where), socket_error_text(error));
    buf_free(&where);
    job_finish(job);
}

static void on_dialed(struct dial *dial, int fd, const struct address *address, int error)
{
    struct opening *opening = CONTAINER_OF(dial, struct opening, dial);
    struct job *job = opening->job;
    struct sender *s = job->sender;
    CHECK_MAGIC(job, JOB_MAGIC);
    if (fd >= 0 && s->has_proxy) {
        job_set_phase(job, JOB_TUNNEL);
        tunnel_start(&opening->tunnel, fd);
        return;
    }
    if (fd < 0)
        job->x->local_fault = local_fault_of(s, dial, address, error);
    opening_free(opening);
    if (fd >= 0) {
        connection_open(job, fd, address);
        return;
    }
    line_poke(s);
    fail_dial(job, address, error);
}

/* Dials the first addresses that a source can be bound for. May settle the job, which its timer
 * then finishes. */
static void dial_begin(struct opening *opening, const struct address *from, size_t count,
                       uint16_t port)
{
    struct job *job = opening->job;
    struct dial *dial = &opening->dial;
    struct address good[LIMIT_DNS_ADDRESSES];
    size_t good_count = 0;
    bool v4 = pick_source(job->sender, AF_INET, &dial->source_v4);
    bool v6 = pick_source(job->sender, AF_INET6, &dial->source_v6);
    for (size_t i = 0; i < count; i++) {
        if (from[i].family == AF_INET ? v4 : v6)
            good[good_count++] = from[i];
    }
    take_in_turns(dial, good, good_count);
    if (dial->address_count == 0) {
        job_settle(job, ATTEMPT_DNS,
                   "%s can only be reached over an IP version that callbacks are not sent from",
                   job->pool->host);
        return;
    }
    dial->port = port;
    dial->done = on_dialed;
    job_set_phase(job, JOB_DIALING);
    dial_start(dial);
}

static void on_proxy_resolved(struct dns_query *query)
{
    struct opening *opening = CONTAINER_OF(query, struct opening, query);
    struct job *job = opening->job;
    CHECK_MAGIC(job, JOB_MAGIC);
    opening->asking = false;
    if (query->status == DNS_OK) {
        dial_begin(opening, query->addresses, query->address_count, job->sender->proxy.port);
        return;
    }
    job->x->local_fault =
        query->status == DNS_SILENT ? LOCAL_FAULT_NAME_SERVERS : LOCAL_FAULT_PROXY;
    job_settle(job, ATTEMPT_DNS, "The name of this service's own proxy could not be resolved");
}

static void dial_proxy(struct opening *opening, const struct address *target)
{
    struct job *job = opening->job;
    struct sender *s = job->sender;
    opening->tunnel.loop = s->loop;
    opening->tunnel.target = (struct endpoint){*target, job->pool->port};
    opening->tunnel.userinfo = s->proxy.userinfo;
    opening->tunnel.done = on_tunnel;
    opening->query.done = on_proxy_resolved;
    if (s->proxy.host_is_address)
        dial_begin(opening, &s->proxy.address, 1, s->proxy.port);
    else if (dns_look_up(s->dns, &opening->query, s->proxy.host))
        on_proxy_resolved(&opening->query);
    else
        opening->asking = true;
}

static void dial_addresses(struct opening *opening, const struct address *from, size_t count)
{
    struct job *job = opening->job;
    struct address good[LIMIT_DNS_ADDRESSES];
    size_t good_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!refusal(job->sender, &from[i]))
            good[good_count++] = from[i];
    }
    if (good_count == 0) {
        settle_none_allowed(job, &from[0]);
        return;
    }
    job->address = good[0];
    if (job->sender->has_proxy)
        dial_proxy(opening, &good[0]);
    else
        dial_begin(opening, good, good_count, job->pool->port);
}

/* ---- resolving */

static void settle_unresolved(struct job *job, enum dns_status status)
{
    static const char *const words[] = {
        [DNS_OK] = "",
        [DNS_NO_SUCH_NAME] = "does not exist: is it spelled right?",
        [DNS_NO_ADDRESS] = "has no address (neither A nor AAAA)",
        [DNS_NO_ANSWER] = "could not be resolved: its name servers do not answer, or fail",
        [DNS_SILENT] = "could not be resolved: this service's own name servers do not answer",
        [DNS_SERVER_FAILED] = "could not be resolved: its name servers fail",
    };
    if (status == DNS_SILENT)
        job->x->local_fault = LOCAL_FAULT_NAME_SERVERS;
    job_settle(job, ATTEMPT_DNS, "The name %s %s", job->pool->host, words[status]);
}

static void use_names(struct opening *opening)
{
    const struct dns_query *query = &opening->query;
    if (query->status == DNS_OK)
        dial_addresses(opening, query->addresses, query->address_count);
    else
        settle_unresolved(opening->job, query->status);
}

static void on_resolved(struct dns_query *query)
{
    struct opening *opening = CONTAINER_OF(query, struct opening, query);
    CHECK_MAGIC(opening->job, JOB_MAGIC);
    opening->asking = false;
    use_names(opening);
}

/* Of an opening whose time is up. */
enum local_fault opening_local_fault(const struct opening *opening)
{
    const struct job *job = opening->job;
    if (opening->asking && dns_is_silent(job->sender->dns, job->started_mono_ms))
        return LOCAL_FAULT_NAME_SERVERS;
    bool is_proxys = job->sender->has_proxy &&
                     (job->phase == JOB_DIALING || opening->query.done == on_proxy_resolved);
    return is_proxys ? LOCAL_FAULT_PROXY : LOCAL_FAULT_NONE;
}

void opening_start(struct job *job)
{
    struct sender *s = job->sender;
    const struct host_pool *d = job->pool;
    struct opening *opening = xcalloc(1, sizeof *opening);
    opening->job = job;
    opening->query.done = on_resolved;
    opening->dial.loop = s->loop;
    job->opening = opening;
    job->generation = s->generation;
    s->connections++;
    job_set_phase(job, JOB_RESOLVING);
    if (d->host_is_address)
        dial_addresses(opening, &d->address, 1);
    else if (dns_look_up(s->dns, &opening->query, (struct str){d->host, d->host_bytes}))
        use_names(opening);
    else
        opening->asking = true;
}
