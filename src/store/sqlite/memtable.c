/* The memtable: flat arrays in the order of the journal, and maps from ids to indices. */
#include "store/sqlite/memtable.h"

#include "base/alloc.h"

#include <stdlib.h>

struct memtable *memtable_new(uint64_t generation)
{
    struct memtable *m = xcalloc(1, sizeof *m);
    m->magic = MEMTABLE_MAGIC;
    m->generation = generation;
    return m;
}

void memtable_reset(struct memtable *m, uint64_t generation)
{
    CHECK_MAGIC(m, MEMTABLE_MAGIC);
    struct memtable old = *m;
    arena_reset(&old.arena);
    idmap_clear(&old.by_id);
    idmap_clear(&old.by_key);
    idmap_clear(&old.reversals);
    idmap_clear(&old.capped);
    idmap_clear(&old.by_lane);
    *m = (struct memtable){
        .magic = MEMTABLE_MAGIC,
        .generation = generation,
        .arena = old.arena,
        .events = old.events,
        .event_capacity = old.event_capacity,
        .entries = old.entries,
        .entry_capacity = old.entry_capacity,
        .attempts = old.attempts,
        .attempt_capacity = old.attempt_capacity,
        .objects = old.objects,
        .object_capacity = old.object_capacity,
        .erases = old.erases,
        .erase_capacity = old.erase_capacity,
        .payments = old.payments,
        .payment_capacity = old.payment_capacity,
        .lanes = old.lanes,
        .lane_capacity = old.lane_capacity,
        .by_id = old.by_id,
        .by_key = old.by_key,
        .reversals = old.reversals,
        .capped = old.capped,
        .by_lane = old.by_lane,
    };
}

void memtable_free(struct memtable *m)
{
    if (!m)
        return;
    CHECK_MAGIC(m, MEMTABLE_MAGIC);
    arena_free(&m->arena);
    free(m->events);
    free(m->entries);
    free(m->attempts);
    free(m->objects);
    free(m->erases);
    free(m->payments);
    free(m->lanes);
    idmap_free(&m->by_id);
    idmap_free(&m->by_key);
    idmap_free(&m->reversals);
    idmap_free(&m->capped);
    idmap_free(&m->by_lane);
    m->magic = 0;
    free(m);
}

static size_t idmap_bytes(const struct idmap *map)
{
    return map->slots ? (map->mask + 1) * sizeof *map->slots : 0;
}

size_t memtable_bytes(const struct memtable *m)
{
    return m->arena.total_bytes + m->event_capacity * sizeof *m->events +
           m->entry_capacity * sizeof *m->entries + m->attempt_capacity * sizeof *m->attempts +
           m->object_capacity * sizeof *m->objects + m->erase_capacity * sizeof *m->erases +
           m->payment_capacity * sizeof *m->payments + m->lane_capacity * sizeof *m->lanes +
           idmap_bytes(&m->by_id) + idmap_bytes(&m->by_key) + idmap_bytes(&m->reversals) +
           idmap_bytes(&m->capped) + idmap_bytes(&m->by_lane);
}

size_t memtable_used_bytes(const struct memtable *m)
{
    size_t slots =
        m->by_id.count + m->by_key.count + m->reversals.count + m->capped.count + m->by_lane.count;
    return m->arena.total_bytes + m->event_count * sizeof *m->events +
           m->entry_count * sizeof *m->entries + m->attempt_count * sizeof *m->attempts +
           m->object_count * sizeof *m->objects + m->erase_count * sizeof *m->erases +
           m->payment_count * sizeof *m->payments + m->lane_count * sizeof *m->lanes +
           slots * 2 * sizeof(struct idmap_slot);
}

/* --- looking up ----------------------------------------------------------------------------- */

struct mem_entry *memtable_entry(const struct memtable *m, uint64_t id)
{
    const uint64_t *at = idmap_find(&m->by_id, id);
    return at ? &m->entries[*at] : NULL;
}

/* The map has 64 bits of the key. If two keys share them, the second is stored at the next number,
 * and so on. */
static uint64_t key_start(struct key128 key)
{
    return key.lo ? key.lo : 1;
}

static uint64_t key_step(uint64_t at)
{
    return at + 1 ? at + 1 : 1;
}

const struct event *memtable_event_by_key(const struct memtable *m, struct key128 key)
{
    for (uint64_t at = key_start(key);; at = key_step(at)) {
        const uint64_t *index = idmap_find(&m->by_key, at);
        if (!index)
            return NULL;
        if (key128_eq(m->events[*index].key, key))
            return &m->events[*index];
    }
}

static void add_key(struct memtable *m, struct key128 key, size_t index)
{
    for (uint64_t at = key_start(key);; at = key_step(at)) {
        bool is_new = false;
        uint64_t *value = idmap_put(&m->by_key, at, &is_new);
        if (is_new) {
            *value = index;
            return;
        }
    }
}

const struct mem_lane *memtable_lane(const struct memtable *m, lane_no lane)
{
    const uint64_t *at = idmap_find(&m->by_lane, lane);
    return at ? &m->lanes[*at] : NULL;
}

uint64_t memtable_reversal(const struct memtable *m, uint64_t original_id)
{
    const uint64_t *id = idmap_find(&m->reversals, original_id);
    return id ? *id : 0;
}

static uint64_t cap_key(uint32_t app_no, uint64_t panelist_hash)
{
    uint64_t key = panelist_hash ^ ((uint64_t)app_no * 0x9e3779b97f4a7c15u);
    return key ? key : 1;
}

void memtable_payments(const struct memtable *m, struct payment_search *search)
{
    const uint64_t *head = idmap_find(&m->capped, cap_key(search->app_no, search->panelist_hash));
    for (uint64_t at = head ? *head : 0; at != 0; at = m->payments[at - 1].next) {
        const struct mem_payment *p = &m->payments[at - 1];
        if (p->app_no != search->app_no || p->panelist_hash != search->panelist_hash)
            continue;
        if (p->id < search->least_id)
            search->least_id = p->id;
        if (p->id > search->after_id && p->occurred_ms > search->after_ms &&
            p->occurred_ms < search->before_ms && search->count < search->most)
            search->at_ms[search->count++] = p->occurred_ms;
    }
}

int memtable_object(const struct memtable *m, enum object_kind kind, struct str id)
{
    for (size_t i = m->object_count; i > 0; i--) {
        const struct mem_object *o = &m->objects[i - 1];
        if (o->kind == kind && str_eq(o->id, id))
            return o->document.p != NULL;
    }
    return -1;
}

/* --- filling -------------------------------------------------------------------------------- */

static void lane_count(struct memtable *m, const struct callback_life *life, int change)
{
    if (life->wait != WAIT_DUE)
        return;
    bool is_new = false;
    uint64_t *at = idmap_put(&m->by_lane, life->lane, &is_new);
    if (is_new) {
        m->lanes = xgrow(m->lanes, &m->lane_capacity, m->lane_count + 1, sizeof *m->lanes);
        *at = m->lane_count;
        m->lanes[m->lane_count++] = (struct mem_lane){0, INT64_MAX};
    }
    struct mem_lane *lane = &m->lanes[*at];
    lane->count += change;
    ASSERT(lane->count >= 0);
    if (lane->count == 0)
        lane->least_due_ms = INT64_MAX;
    else if (change > 0 && life->place.due_ms < lane->least_due_ms)
        lane->least_due_ms = life->place.due_ms;
}

static uint64_t account_bit(uint32_t account_no, size_t *ret_word)
{
    *ret_word = account_no / 64 % MEMTABLE_ACCOUNT_WORDS;
    return UINT64_C(1) << account_no % 64;
}

static void note_account(struct memtable *m, uint32_t account_no)
{
    size_t word = 0;
    uint64_t bit = account_bit(account_no, &word);
    m->accounts[word] |= bit;
}

bool memtable_may_have_account(const struct memtable *m, uint32_t account_no)
{
    size_t word = 0;
    uint64_t bit = account_bit(account_no, &word);
    return (m->accounts[word] & bit) != 0;
}

static struct mem_entry *new_entry(struct memtable *m, uint64_t id)
{
    note_account(m, account_of_id(id));
    bool is_new = false;
    uint64_t *at = idmap_put(&m->by_id, id, &is_new);
    ASSERT(is_new);
    m->entries = xgrow(m->entries, &m->entry_capacity, m->entry_count + 1, sizeof *m->entries);
    *at = m->entry_count;
    struct mem_entry *e = &m->entries[m->entry_count++];
    *e = (struct mem_entry){.id = id, .event = -1};
    return e;
}

static void add_payment(struct memtable *m, const struct event *e, uint64_t id,
                        uint64_t panelist_hash)
{
    bool is_new = false;
    uint64_t *head = idmap_put(&m->capped, cap_key(e->app_no, panelist_hash), &is_new);
    m->payments =
        xgrow(m->payments, &m->payment_capacity, m->payment_count + 1, sizeof *m->payments);
    m->payments[m->payment_count++] = (struct mem_payment){
        .id = id,
        .app_no = e->app_no,
        .panelist_hash = panelist_hash,
        .occurred_ms = e->occurred_ms,
        .next = (size_t)*head,
    };
    *head = m->payment_count;
}

void memtable_add_event(struct memtable *m, const struct event *e, const struct callback_life *life,
                        uint64_t panelist_hash)
{
    uint64_t id = event_id_of(e->account_no, e->event_no);
    m->events = xgrow(m->events, &m->event_capacity, m->event_count + 1, sizeof *m->events);
    m->events[m->event_count] = *e;
    event_keep(&m->events[m->event_count], &m->arena);
    struct mem_entry *entry = new_entry(m, id);
    entry->event = (int64_t)m->event_count;
    entry->life = *life;
    lane_count(m, &entry->life, 1);
    add_key(m, e->key, m->event_count);
    m->event_count++;
    m->operations++;
    if (e->cap == CAP_COUNTED)
        add_payment(m, e, id, panelist_hash);
    if (e->original_no != 0) {
        bool is_new = false;
        *idmap_put(&m->reversals, event_id_of(e->account_no, e->original_no), &is_new) = id;
    }
}

void memtable_set_status(struct memtable *m, uint64_t id, const struct callback_life *life)
{
    struct mem_entry *entry = memtable_entry(m, id);
    if (!entry)
        entry = new_entry(m, id);
    else
        lane_count(m, &entry->life, -1);
    entry->life = *life;
    entry->counted |= counted_bit(life->state);
    lane_count(m, &entry->life, 1);
    m->operations++;
}

void memtable_add_attempt(struct memtable *m, uint64_t id, lane_no lane,
                          const struct attempt *attempt)
{
    m->attempts =
        xgrow(m->attempts, &m->attempt_capacity, m->attempt_count + 1, sizeof *m->attempts);
    note_account(m, account_of_id(id));
    struct mem_attempt *to = &m->attempts[m->attempt_count++];
    const struct mem_entry *entry = memtable_entry(m, id);
    *to = (struct mem_attempt){id, entry ? entry->event : -1, lane, *attempt};
    attempt_keep(&to->attempt, &m->arena);
    m->operations++;
}

void memtable_add_object(struct memtable *m, enum object_kind kind, struct str id,
                         struct str document)
{
    *ARRAY_PUSH(m->objects, m->object_count, m->object_capacity) =
        (struct mem_object){kind, arena_str(&m->arena, id), arena_str(&m->arena, document)};
    m->operations++;
}

struct mem_erase *memtable_add_erase(struct memtable *m, const struct mem_erase *erase)
{
    m->erases = xgrow(m->erases, &m->erase_capacity, m->erase_count + 1, sizeof *m->erases);
    note_account(m, erase->account_no);
    struct mem_erase *to = &m->erases[m->erase_count++];
    *to = *erase;
    to->panelist_id = arena_str(&m->arena, erase->panelist_id);
    to->replacement = arena_str(&m->arena, erase->replacement);
    m->operations++;
    return to;
}
