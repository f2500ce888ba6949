/* What has been recorded in the journal and is not in SQLite yet: events, the states their
 * callbacks have reached, attempts, objects, erasures. The writer fills one (the active one); a
 * frozen one is read-only, read by the writer (look-ups) and the applier at the same time, and
 * freed by the writer when the applier says that it is committed. */
#pragma once

#include "base/arena.h"
#include "domain/callback_life.h"
#include "store/idmap.h"
#include "store/journal/journal.h"
#include "store/sqlite/ids.h"
#include "store/store.h"

/* Totals count a callback once, whatever resends make of it. Stored: append only. */
#define COUNTED_DELIVERED 1u
#define COUNTED_DEAD 2u
static inline unsigned counted_bit(enum callback_state state)
{
    return state == CALLBACK_DELIVERED ? COUNTED_DELIVERED
           : state == CALLBACK_DEAD    ? COUNTED_DEAD
                                       : 0;
}

struct mem_entry {
    uint64_t id;
    int64_t event;    /* index of its event here; -1: the event is older */
    unsigned counted; /* COUNTED_ bits of all states it has had here */
    struct callback_status status;
};

struct mem_attempt {
    uint64_t id;
    int64_t event; /* index of its event here; -1: the event is older */
    lane_no lane;
    struct attempt attempt;
};

struct mem_object {
    enum object_kind kind;
    struct str id, document;
};

struct mem_erase {
    uint32_t account_no;
    uint64_t upto_event_no; /* later events of the panelist are not meant */
    struct str panelist_id, replacement;
    struct erase *request; /* whom to tell how many; NULL when replayed */
};

/* A payment that counts for the cap; a chain per (app, panelist). */
struct mem_payment {
    uint64_t id;
    uint32_t app_no;
    uint64_t panelist_hash;
    int64_t occurred_ms;
    size_t next; /* index + 1; 0: the last */
};

/* What of a lane waits here: a count, and a time no later than the first due one. */
struct mem_lane {
    int64_t count, least_due_ms;
};

#define MEMTABLE_MAGIC 0x3E37AB1Eu
#define MEMTABLE_ACCOUNT_WORDS 64

struct memtable {
    uint32_t magic;
    struct arena arena;
    uint64_t generation;
    struct journal_position end;               /* behind its last group */
    int64_t last_accepted_ms;                  /* of the newest event up to here */
    int64_t first_mono_ms;                     /* when it stopped being empty */
    int64_t last_mono_ms;                      /* its latest group */
    size_t operations;                         /* 0: empty */
    size_t resends;                            /* accepted since it was empty */
    uint64_t accounts[MEMTABLE_ACCOUNT_WORDS]; /* a bit by account_no: see below */

    struct event *events; /* texts in the arena */
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
    struct idmap by_key;    /* key.lo -> index of its event; a clash probes on, see find_key */
    struct idmap reversals; /* id of an original -> id of its reversal */
    struct idmap capped;    /* app and panelist -> index + 1 of the newest payment */
    struct idmap by_lane;   /* lane -> index of its mem_lane */

    uint32_t segment; /* result of applying: where its keys are */
};

struct memtable *memtable_new(uint64_t generation);
/* Empties one and keeps its memory: faulting in the pages of a large one anew is a fifth of what
 * the writer does for an event. */
void memtable_reset(struct memtable *m, uint64_t generation);
void memtable_free(struct memtable *m);
size_t memtable_bytes(const struct memtable *m);
/* The same without room that waits for use. */
size_t memtable_used_bytes(const struct memtable *m);

struct mem_entry *memtable_entry(const struct memtable *m, uint64_t id); /* NULL: none */
/* False: nothing here is of that account, but for objects. True may be another account's. */
bool memtable_may_have_account(const struct memtable *m, uint32_t account_no);
const struct event *memtable_event_by_key(const struct memtable *m, struct key128 key);
/* The event of an entry, when it is here. */
static inline const struct event *memtable_event(const struct memtable *m,
                                                 const struct mem_entry *e)
{
    return e->event >= 0 ? &m->events[e->event] : NULL;
}
const struct mem_lane *memtable_lane(const struct memtable *m, lane_no lane); /* NULL: none */
uint64_t memtable_reversal(const struct memtable *m, uint64_t original_id);   /* 0: none */
/* Payments of the cap that are asked for, and what was found. */
struct payment_search {
    uint32_t app_no;
    uint64_t panelist_hash;
    int64_t after_ms, before_ms;
    uint64_t after_id; /* only those of later events: the panelist was erased there */
    uint64_t least_id; /* the least of a memtable's ids, whatever its time */
    int64_t *at_ms;    /* found; room for `most` */
    size_t count, most;
};
void memtable_payments(const struct memtable *m, struct payment_search *search);

/* 1: there; 0: deleted; -1: not known here. */
int memtable_object(const struct memtable *m, enum object_kind kind, struct str id);

/* All of these copy texts into the memtable. `status`: where the event's callback stands. */
void memtable_add_event(struct memtable *m, const struct event *e,
                        const struct callback_status *status, uint64_t panelist_hash);
void memtable_set_status(struct memtable *m, uint64_t id, const struct callback_status *status);
void memtable_add_attempt(struct memtable *m, uint64_t id, lane_no lane,
                          const struct attempt *attempt);
void memtable_add_object(struct memtable *m, enum object_kind kind, struct str id,
                         struct str document);
struct mem_erase *memtable_add_erase(struct memtable *m, const struct mem_erase *erase);
