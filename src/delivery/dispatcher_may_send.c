/* Decides, right before a request is written, whether it may still be sent. Other processes may
 * have taken over the shard, erased the panelist or changed settings since the attempt began. What
 * happens to an attempt whose request is already written: delivery/dispatcher_attempt.c. Reversals
 * wait for their originals before they get here: domain/callback_life.h.
 *
 * The process may have been stopped at any moment since the tick began, and connecting may have
 * taken seconds. So the sender asks right before it writes a request, and the clock is read then.
 *
 * The order of the reads matters. The end of the lease and of the last look at other processes'
 * changes is read before the clock: if the process is stopped between the two reads, the answer is
 * no. Erasures and lapses are read after that end, because store/postgresql/nodes.c reports them
 * before it moves the end.
 *
 * A store that only one process uses has no leases. Its requests are not checked here. */
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
