/* Connects to one of several addresses: see dial.h. */
#include "send/dial.h"

#include "domain/local_fault.h"
#include "net/socket.h"

#include <errno.h>
#include <unistd.h>

#define HEAD_START_MS 250

static const struct address *source_for(const struct dial *dial, const struct address *to)
{
    const struct address *source = to->family == AF_INET ? &dial->source_v4 : &dial->source_v6;
    return source->family != 0 ? source : NULL;
}

static void try_close(struct dial *dial, struct dial_try *try)
{
    if (try->io.fd < 0)
        return;
    loop_unwatch(dial->loop, &try->io);
    close(try->io.fd);
    try->io.fd = -1;
    dial->under_way--;
}

bool dial_has_no_way(const struct dial *dial, const struct address *to, int error)
{
    /* without a source of its own, IPv6 that is switched off answers this, too */
    bool is_off = error == EADDRNOTAVAIL && to->family != AF_INET && !source_for(dial, to);
    return is_off || error == ENETUNREACH || error == EAFNOSUPPORT;
}

/* How much an error says about the receiver. If the network has answered for one address, that
 * counts, and not what this machine lacks for another. An address to which there is no way says
 * least. */
static int weight_of(const struct dial *dial, size_t place, int error)
{
    if (error == 0 || dial_has_no_way(dial, &dial->addresses[place], error))
        return 0;
    return local_fault_of_error(error) ? 1 : 2;
}

static void note_failed(struct dial *dial, size_t place, int error)
{
    if (weight_of(dial, place, error) < weight_of(dial, dial->failed_worst, dial->error))
        return;
    dial->error = error;
    dial->failed_worst = place;
}

static void on_connected(struct io *io, int events);

/* Starts the next address that does not fail at once. */
static void try_next(struct dial *dial)
{
    while (dial->begun < dial->address_count) {
        struct dial_try *try = &dial->tries[dial->begun];
        struct endpoint to = {dial->addresses[dial->begun++], dial->port};
        int error = 0, fd = socket_connect(&to, source_for(dial, &to.address), &error);
        if (fd >= 0) {
            *try = (struct dial_try){.io = {.fd = fd, .ready = on_connected}, .dial = dial};
            dial->under_way++;
            loop_watch(dial->loop, &try->io, IO_WRITE);
            break;
        }
        note_failed(dial, dial->begun - 1, error);
    }
    if (dial->under_way == 0) /* all failed: reported by the timer, never from dial_start */
        loop_timer_set(dial->loop, &dial->timer, loop_mono_ms(dial->loop));
    else if (dial->begun < dial->address_count)
        loop_timer_set(dial->loop, &dial->timer, loop_mono_ms(dial->loop) + HEAD_START_MS);
    else
        loop_timer_clear(dial->loop, &dial->timer);
}

static void on_timer(struct timer *timer)
{
    struct dial *dial = CONTAINER_OF(timer, struct dial, timer);
    if (dial->under_way == 0 && dial->begun == dial->address_count)
        dial->done(dial, -1, &dial->addresses[dial->failed_worst], dial->error);
    else
        try_next(dial);
}

static void on_connected(struct io *io, int events)
{
    (void)events;
    struct dial_try *try = CONTAINER_OF(io, struct dial_try, io);
    struct dial *dial = try->dial;
    size_t place = (size_t)(try - dial->tries);
    int error = socket_connect_error(io->fd);
    if (error != 0) {
        try_close(dial, try);
        note_failed(dial, place, error);
        try_next(dial);
        return;
    }
    int fd = io->fd;
    loop_unwatch(dial->loop, io);
    io->fd = -1;
    dial->under_way--;
    dial_cancel(dial);
    dial->done(dial, fd, &dial->addresses[place], 0);
}

void dial_start(struct dial *dial)
{
    ASSERT(dial->address_count > 0 && dial->address_count <= LIMIT_DIAL_ADDRESSES);
    dial->timer.fire = on_timer;
    for (size_t i = 0; i < dial->address_count; i++)
        dial->tries[i].io.fd = -1;
    try_next(dial);
}

void dial_cancel(struct dial *dial)
{
    for (size_t i = 0; i < dial->begun; i++)
        try_close(dial, &dial->tries[i]);
    loop_timer_clear(dial->loop, &dial->timer);
}
