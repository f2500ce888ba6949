/* The oracle's two shortcuts, an event by its id and what waits; and the one mover of states. */
#include "memory_store/memory_store.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct memory_store *m, uint32_t account_no, struct str event_id)
{
    uint64_t hash = hash_fast(event_id.p, event_id.n) + account_no;
    return (size_t)hash & (m->by_id_slots - 1);
}

static bool is_named(const struct entry *e, uint32_t account_no, struct str event_id)
{
    return e->event.account_no == account_no && str_eq(e->event.event_id, event_id);
}

struct entry *memory_find(struct memory_store *m, uint32_t account_no, struct str event_id)
{
    if (m->by_id_slots == 0)
        return NULL;
    size_t at = slot_of(m, account_no, event_id);
    while (m->by_id[at] && !is_named(m->by_id[at], account_no, event_id))
        at = (at + 1) & (m->by_id_slots - 1);
    return m->by_id[at];
}

static void put(struct memory_store *m, struct entry *e)
{
    size_t at = slot_of(m, e->event.account_no, e->event.event_id);
    while (m->by_id[at])
        at = (at + 1) & (m->by_id_slots - 1);
    m->by_id[at] = e;
}

void memory_index(struct memory_store *m, struct entry *e)
{
    if (m->count * 2 <= m->by_id_slots) {
        put(m, e);
        return;
    }
    free(m->by_id);
    m->by_id_slots = m->by_id_slots ? m->by_id_slots * 2 : 64;
    m->by_id = xcalloc(m->by_id_slots, sizeof(struct entry *));
    for (size_t i = 0; i < m->count; i++)
        put(m, m->entries[i]);
}

/* --- what waits ------------------------------------------------------------------------------ */

static bool is_before(const struct waiting *w, lane_no lane, int64_t due_ms, uint64_t event_no)
{
    if (w->lane != lane)
        return w->lane < lane;
    return w->due_ms != due_ms ? w->due_ms < due_ms : w->event_no < event_no;
}

size_t memory_waiting_from(const struct memory_store *m, lane_no lane, int64_t due_ms,
                           uint64_t event_no)
{
    size_t low = 0, high = m->waiting_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(&m->waiting[middle], lane, due_ms, event_no))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void leave(struct memory_store *m, const struct entry *e)
{
    lane_no lane = e->life.lane;
    size_t at = memory_waiting_from(m, lane, e->life.place.due_ms, e->event.event_no);
    ASSERT(at < m->waiting_count && m->waiting[at].entry == e);
    m->waiting_count--;
    memmove(&m->waiting[at], &m->waiting[at + 1], (m->waiting_count - at) * sizeof(struct waiting));
}

static void join(struct memory_store *m, struct entry *e)
{
    struct waiting w = {e->life.lane, e->life.place.due_ms, e->event.event_no, e};
    size_t at = memory_waiting_from(m, w.lane, w.due_ms, w.event_no);
    m->waiting =
        xgrow(m->waiting, &m->waiting_capacity, m->waiting_count + 1, sizeof(struct waiting));
    memmove(&m->waiting[at + 1], &m->waiting[at], (m->waiting_count - at) * sizeof(struct waiting));
    m->waiting[at] = w;
    m->waiting_count++;
}

/* A callback's totals go up once, whatever becomes of it by resends. */
static void count_final(struct memory_store *m, struct entry *e)
{
    if (e->life.state == CALLBACK_DELIVERED && !e->was_counted_delivered) {
        e->was_counted_delivered = true;
        m->delivered++;
    }
    if (e->life.state == CALLBACK_DEAD && !e->was_counted_dead) {
        e->was_counted_dead = true;
        m->dead++;
    }
}

void memory_set(struct memory_store *m, struct entry *e, const struct callback_life *life)
{
    enum callback_state before = e->life.state;
    if (e->life.wait == WAIT_DUE)
        leave(m, e);
    m->held_count -= e->life.wait == WAIT_HELD;
    e->life = *life;
    if (before != life->state)
        memory_moved(m, e, before);
    m->held_count += life->wait == WAIT_HELD;
    if (life->wait == WAIT_DUE)
        join(m, e);
    count_final(m, e);
}
