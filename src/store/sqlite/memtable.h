/* What the journal has and SQLite does not have yet: events, the states of their callbacks,
 * attempts, objects, erasures. The writer fills the active memtable. A frozen one is read-only: the
 * writer looks things up in it while the applier reads it. The writer frees it when the applier has
 * committed it. */
#pragma once

#include "base/arena.h"
#include "domain/callback_life.h"
#include "store/counted.h"
#include "store/idmap.h"
#include "store/journal/journal.h"
#include "store/sqlite/ids.h"
#include "store/store.h"

struct mem_entry {
    uint64_t id;
    int64_t event;    /* index into events; -1: an earlier event */
    unsigned counted; /* COUNTED_ bits of all states it has had in this memtable */
    struct callback_life life;
};

struct mem_attempt {
    uint64_t id;
    int64_t event; /* index into events; -1: an earlier event */
    lane_no lane;
    struct attempt attempt;
};

struct mem_object {
    enum object_kind kind;
    struct str id, document;
};

struct mem_erase {
    uint32_t account_no;
    uint64_t upto_event_no; /* later events of the panelist are not erased */
    struct str panelist_id, replacement;
    struct erase *request; /* gets the number of erased events; NULL in a replay */
};

/* A payment that counts for the cap; they are chained by (app, panelist). */
struct mem_payment {
    uint64_t id;
    uint32_t app_no;
    uint64_t panelist_hash;
    int64_t occurred_ms;
    size_t next; /* index + 1; 0: none */
};

/* A lane's due callbacks here: their count, and a time not later than the first due time. */
struct mem_lane {
    int64_t count, least_due_ms;
};

#define MEMTABLE_MAGIC 0x3E37AB1Eu
#define MEMTABLE_ACCOUNT_WORDS 64

struct memtable {
    uint32_t magic;
    struct arena arena;
    uint64_t generation;
    struct journal_position end;               /* the end of its last group */
    int64_t last_accepted_ms;                  /* of the newest event up to `end` */
    int64_t first_mono_ms;                     /* of its first group */
    int64_t last_mono_ms;                      /* of its last group */
    size_t operations;                         /* number of changes; 0: empty */
    size_t resends;                            /* resends in it */
    uint64_t accounts[MEMTABLE_ACCOUNT_WORDS]; /* bits by account_no: memtable_may_have_account */

    struct event *events; /* their texts are in the arena */
    size_t event_count, event_capacity;
    struct mem_entry *entries;
    size_t entry_count, entry_capacity;
    struct mem_attempt *attempts;
    size_t attempt_count, attempt_capacity;
    struct mem_object *objects;
    size_t object_count, object_capacity;
    struct mem_erase *erases;
    size_t erase_count, erase_capacity;
    struct mem_payment *payments;
    size_t payment_count, payment_capacity;
    struct mem_lane *lanes;
    size_t lane_count, lane_capacity;

    struct idmap by_id;     /* id -> index of its entry */
    struct idmap by_key;    /* key.lo -> index of its event; see key_start for collisions */
    struct idmap reversals; /* id of an original -> id of its reversal */
    struct idmap capped;    /* app and panelist -> index + 1 of the last payment */
    struct idmap by_lane;   /* lane -> index of its mem_lane */

    uint32_t segment; /* result of applying: the segment of its keys */
};

struct memtable *memtable_new(uint64_t generation);
/* Empties a memtable and keeps its memory: page faults of a new large one would be a fifth of the
 * writer's work for an event. */
void memtable_reset(struct memtable *m, uint64_t generation);
void memtable_free(struct memtable *m);
size_t memtable_bytes(const struct memtable *m);
/* The same without reserved memory that is unused. */
size_t memtable_used_bytes(const struct memtable *m);

struct mem_entry *memtable_entry(const struct memtable *m, uint64_t id); /* NULL: none */
/* False: it has only objects of that account. True may be wrong. */
bool memtable_may_have_account(const struct memtable *m, uint32_t account_no);
const struct event *memtable_event_by_key(const struct memtable *m, struct key128 key);
/* The event of an entry; NULL: an earlier event. */
static inline const struct event *memtable_event(const struct memtable *m,
                                                 const struct mem_entry *e)
{
    return e->event >= 0 ? &m->events[e->event] : NULL;
}
const struct mem_lane *memtable_lane(const struct memtable *m, lane_no lane); /* NULL: none */
uint64_t memtable_reversal(const struct memtable *m, uint64_t original_id);   /* 0: none */
/* Which payments of the cap to find, and those found. */
struct payment_search {
    uint32_t app_no;
    uint64_t panelist_hash;
    int64_t after_ms, before_ms;
    uint64_t after_id; /* only events after this one: the panelist was erased there */
    uint64_t least_id; /* the lowest id found in a memtable, whatever its time */
    int64_t *at_ms;    /* result, with room for `most` */
    size_t count, most;
};
void memtable_payments(const struct memtable *m, struct payment_search *search);

/* 1: exists; 0: deleted; -1: unknown here. */
int memtable_object(const struct memtable *m, enum object_kind kind, struct str id);

/* All of these copy texts into the memtable. `status`: the state of the event's callback. */
void memtable_add_event(struct memtable *m, const struct event *e, const struct callback_life *life,
                        uint64_t panelist_hash);
void memtable_set_status(struct memtable *m, uint64_t id, const struct callback_life *life);
void memtable_add_attempt(struct memtable *m, uint64_t id, lane_no lane,
                          const struct attempt *attempt);
void memtable_add_object(struct memtable *m, enum object_kind kind, struct str id,
                         struct str document);
struct mem_erase *memtable_add_erase(struct memtable *m, const struct mem_erase *erase);
