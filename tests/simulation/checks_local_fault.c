/* A try that a fault of this machine prevents is no try: no attempt of the callback is used up (the
 * witness does not count it), neither the lane nor the host is judged by it, and the lane waits for
 * a second before the next one. */
#include "sim.h"

void checks_held(struct sim *sim, const struct delivery_attempt *t, int loop)
{
    const struct lane_witness *l = &sim->lanes[t->lane->no];
    bool known =
        l->held_loop == loop && l->fault_ms > l->moved_ms && l->fault_ms > sim->life_began_ms;
    if (known && l->under_way == 0 && sim->mono_ms < l->held_ms)
        sim_found(sim, CHECK_LOCAL_FAULT, "lane %llu is tried %lld ms too soon after a local fault",
                  (unsigned long long)t->lane->no, (long long)(l->held_ms - sim->mono_ms));
}

void checks_fault_ended(struct sim *sim, const struct ending *e)
{
    struct lane_witness *l = &sim->lanes[e->lane];
    const struct window *w = &e->at->window;
    if (l->held_loop != e->loop || sim->mono_ms >= l->held_ms)
        l->held_ms = sim->mono_ms + SECOND;
    l->held_loop = e->loop;
    l->fault_ms = sim->mono_ms;
    if (w->suspended != e->window.suspended || w->failed_run != e->window.failed_run ||
        w->size < e->window.size)
        sim_found(sim, CHECK_LOCAL_FAULT, "lane %llu is judged by a local fault",
                  (unsigned long long)e->lane);
    /* a lane that has moved may have left a destination that is gone now */
    if (e->at->destination == e->destination &&
        (e->destination->failed_run != e->failed_run || e->destination->dead != e->was_dead))
        sim_found(sim, CHECK_LOCAL_FAULT, "host %d is judged by a local fault", e->host);
}
