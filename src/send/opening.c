/* From a name to a connected socket: resolve, throw out what may not be connected to, dial.
 *
 * The address check stands between the resolver and connect, on the very addresses that connect
 * is given: a name that answers differently the second time gains nothing (DNS rebinding). An
 * opening holds one of the sender's places for connections from its begin. */
#include "send/internal.h"

#include "base/alloc.h"
#include "net/socket.h"

#include <errno.h>
#include <stdlib.h>

struct opening {
    struct job *job;
    struct dns_query query;
    bool asking;
    struct dial dial;
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
    opening_free(opening);
    line_poke(s);
}

/* ---- which addresses */

static bool may_connect(const struct sender *s, const struct address *a)
{
    if (address_is_public(a))
        return true;
    for (size_t i = 0; i < s->options.allowed_count; i++) {
        if (cidr_covers(&s->options.allowed[i], a))
            return true;
    }
    return false;
}

/* The next source of that family, in turn; family 0 when none is configured at all. False: there
 * are sources, but none of that family, and from elsewhere nothing is sent. */
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
    struct buf text = {0};
    address_print(&text, refused);
    if (job->destination->host_is_address)
        job_settle(job, ATTEMPT_DESTINATION_REFUSED,
                   "%s is not a public address: callbacks are sent to public addresses only",
                   buf_c(&text));
    else
        job_settle(job, ATTEMPT_DESTINATION_REFUSED,
                   "The name %s resolves to %s, which is not a public address: callbacks are sent "
                   "to public addresses only",
                   job->destination->host, buf_c(&text));
    buf_free(&text);
}

/* Families take turns (RFC 8305, section 4), beginning with that of the first address. */
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

static void on_dialed(struct dial *dial, int fd, const struct address *address, int error)
{
    struct opening *opening = CONTAINER_OF(dial, struct opening, dial);
    struct job *job = opening->job;
    struct sender *s = job->sender;
    CHECK_MAGIC(job, JOB_MAGIC);
    job->address = *address;
    if (fd >= 0) {
        opening_free(opening);
        connection_open(job, fd, address);
        return;
    }
    struct buf where = {0};
    job_print_where(&where, job);
    opening_free(opening);
    line_poke(s);
    if (error == ETIMEDOUT)
        job_settle(job, ATTEMPT_CONNECT_TIMEOUT, "No connection to %s: nothing answers there",
                   buf_c(&where));
    else
        job_settle(job, error == ECONNRESET ? ATTEMPT_RESET : ATTEMPT_REFUSED,
                   "No connection to %s: %s", buf_c(&where), socket_error_text(error));
    buf_free(&where);
    job_finish(job);
}

/* May settle the job: it is then finished from its timer. */
static void dial_addresses(struct opening *opening, const struct address *from, size_t count)
{
    struct job *job = opening->job;
    struct sender *s = job->sender;
    struct dial *dial = &opening->dial;
    struct address good[LIMIT_DNS_ADDRESSES];
    const struct address *refused = NULL;
    size_t good_count = 0;
    bool v4 = pick_source(s, AF_INET, &dial->source_v4);
    bool v6 = pick_source(s, AF_INET6, &dial->source_v6);
    for (size_t i = 0; i < count; i++) {
        if (!may_connect(s, &from[i]))
            refused = &from[i];
        else if (from[i].family == AF_INET ? v4 : v6)
            good[good_count++] = from[i];
    }
    take_in_turns(dial, good, good_count);
    if (dial->address_count > 0) {
        dial->loop = s->loop;
        dial->port = job->destination->port;
        dial->done = on_dialed;
        job->address = dial->addresses[0];
        job_set_phase(job, JOB_DIALING);
        dial_start(dial);
    } else if (refused) {
        settle_none_allowed(job, refused);
    } else {
        job_settle(job, ATTEMPT_DNS,
                   "%s can only be reached over an IP version that callbacks are not sent from",
                   job->destination->host);
    }
}

/* ---- resolving */

static void settle_unresolved(struct job *job, enum dns_status status)
{
    static const char *const words[] = {
        [DNS_OK] = "",
        [DNS_NO_SUCH_NAME] = "does not exist: is it spelled right?",
        [DNS_NO_ADDRESS] = "has no address (neither A nor AAAA)",
        [DNS_NO_ANSWER] = "could not be resolved: its name servers do not answer, or fail",
        [DNS_SERVER_FAILED] = "could not be resolved: its name servers fail",
    };
    job_settle(job, ATTEMPT_DNS, "The name %s %s", job->destination->host, words[status]);
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

void opening_start(struct job *job)
{
    struct sender *s = job->sender;
    const struct destination *d = job->destination;
    struct opening *opening = xcalloc(1, sizeof *opening);
    opening->job = job;
    opening->query.done = on_resolved;
    opening->dial.loop = s->loop;
    job->opening = opening;
    s->connections++;
    job_set_phase(job, JOB_RESOLVING);
    if (d->host_is_address)
        dial_addresses(opening, &d->address, 1);
    else if (dns_look_up(s->dns, &opening->query, (struct str){d->host, d->host_bytes}))
        use_names(opening);
    else
        opening->asking = true;
}
