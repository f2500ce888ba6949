/* The one decision by the knowledge of other processes' changes: may this request be written now?
 *
 * The process may have been stopped at any moment since the tick began, and the connection may have
 * taken seconds. So the sender asks right before it writes a request, and the clock is read then.
 * The order counts. The end of the last look is read before the clock, so that a stop in between
 * ends the look. Erasures and lapses are read after that end, because whoever moves it has told of
 * them before (store/postgresql/nodes.c). A store that one process has alone has no leases, and its
 * requests are not asked for. */
#include "delivery/dispatcher.h"

bool dispatcher_may_send(struct exchange *x)
{
    const struct delivery_attempt *t = CONTAINER_OF(x, struct delivery_attempt, x);
    struct dispatcher *d = t->dispatcher;
    struct leases *l = leases_of(d->delivery->leases, t->lane->no);
    int64_t end_mono_ms = leases_end_mono_ms(l);
    return d->runtime->clock_mono_ms(d->runtime) < end_mono_ms &&
           atomic_load(&l->lapses) == t->lapses && !atomic_load(&d->inbox.has_erasure) &&
           !t->callback->may_be_erased && !leases_lost(l, t->lane->no, t->lane->fence);
}
