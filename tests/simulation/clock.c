/* The wall clock jumps, is stepped by little, drifts, and is put right again, while monotonic time
 * runs on; and what is looked at then: no callback in the store is due later than its slot of the
 * schedule allows, whatever the clock said when that was recorded. */
#include "sim.h"

#include "domain/acceptance_times.h"

/* The dispatcher's clock may be ahead by so much, and what is late by no more is let be. */
#define TOLERANCE_MS (2 * ACCEPTANCE_HELD_MS + SECOND)

static void set(struct sim *sim, int64_t ahead_ms, int64_t drift_ppm)
{
    struct sim_clock *c = &sim->clock;
    int64_t by_ms = ahead_ms - sim_ahead(sim);
    if (by_ms > 0)
        c->forward_ms += by_ms;
    c->ahead_ms = ahead_ms;
    c->drift_ppm = drift_ppm;
    c->drifts_from_ms = c->set_ms = sim->mono_ms;
    sim_trace(sim, "the clock moves by %lld ms, is %lld s ahead and drifts by %lld ppm",
              (long long)by_ms, (long long)(ahead_ms / SECOND), (long long)drift_ppm);
}

void clock_forward(struct sim *sim, int64_t by_ms)
{
    set(sim, sim_ahead(sim) + by_ms, 0);
}

void clock_mend(struct sim *sim)
{
    if (sim->clock.moves)
        set(sim, 0, 0);
}

void clock_touch(struct sim *sim)
{
    static const int64_t most[] = {10 * SECOND, HOUR, 2 * DAY, 60 * DAY};
    int64_t ahead_ms = sim_ahead(sim);
    if (!sim->clock.moves)
        return;
    switch (sim_below(sim, 6)) {
    case 0:
    case 1: set(sim, ahead_ms + sim_below(sim, most[sim_below(sim, ARRAY_LEN(most))]), 0); break;
    case 2: set(sim, ahead_ms + sim_below(sim, 20 * SECOND) - 10 * SECOND, 0); break;
    case 3: set(sim, ahead_ms, sim_below(sim, 1001) - 500); break;
    case 4: set(sim, ahead_ms - sim_below(sim, most[sim_below(sim, 3)]), 0); break;
    default: clock_mend(sim); break;
    }
}

static bool is_late(const struct sim *sim, const struct entry *e, const struct witness *w)
{
    int64_t most_ms = schedule_wait_most_ms(&sim->schedule, &e->life.place);
    int64_t lane_ms = sim->lanes[w->lane].asked_until_ms;
    int64_t asked_ms = (w->asked_until_ms > lane_ms ? w->asked_until_ms : lane_ms) - sim->mono_ms;
    return e->life.place.due_ms - sim_wall(sim) >
           (asked_ms > most_ms ? asked_ms : most_ms) + TOLERANCE_MS;
}

static void check_entry(struct sim *sim, const struct entry *e, struct witness *w)
{
    if (!is_late(sim, e, w)) {
        w->late_since_ms = 0;
        return;
    }
    if (w->late_since_ms == 0)
        w->late_since_ms = sim->mono_ms;
    int64_t since_ms = w->late_since_ms > sim->clock.set_ms ? w->late_since_ms : sim->clock.set_ms;
    if (!w->late_excused && sim->mono_ms - since_ms > CLOCK_GRACE_MS)
        sim_found(sim, CHECK_CLOCK, "account %u event %llu in slot %d is due in %lld ms",
                  e->event.account_no, (unsigned long long)e->event.event_no, e->life.place.slot,
                  (long long)(e->life.place.due_ms - sim_wall(sim)));
}

void checks_clock(struct sim *sim)
{
    for (uint32_t account = 1; account <= sim->shard_count; account++) {
        const struct memory_store *m = memory_of(sim->shards[account - 1].store);
        for (size_t i = 0; i < m->waiting_count; i++) {
            const struct entry *e = m->waiting[i].entry;
            check_entry(sim, e, sim_witness(sim, account, e->event.event_no));
        }
    }
}

/* Of a clock that was put back just now the next process knows nothing. */
void checks_clock_crashed(struct sim *sim)
{
    for (uint32_t account = 1; account <= sim->shard_count; account++) {
        const struct memory_store *m = memory_of(sim->shards[account - 1].store);
        for (size_t i = 0; i < m->waiting_count; i++) {
            struct witness *w = sim_witness(sim, account, m->waiting[i].event_no);
            w->late_excused |= is_late(sim, m->waiting[i].entry, w);
        }
    }
}
