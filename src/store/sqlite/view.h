/* The store as the writer sees it: active memtable, then the frozen one, then SQLite; and the one
 * way a record changes it, the same when it is decided live and when the journal is replayed.
 *
 * Replaying makes no decision again: what follows from a record (is a reversal held back, whom
 * does an outcome release) follows from the records before it alone. */
#pragma once

#include "domain/cap.h"
#include "store/journal/record.h"
#include "store/sqlite/lookup.h"
#include "store/sqlite/resent.h"

#include <stdatomic.h>

struct view {
    struct memtable *active, *frozen; /* frozen: NULL, none */
    struct event_lookup lookup;
    struct hash_secret secret;
    struct idmap last_event_no; /* account -> last number given */
    struct idmap held;          /* lane -> reversals held back in it, erased ones maybe too */
    int64_t last_accepted_ms;   /* of the newest event */
    bool has_erased;            /* an erasure was recorded, or replayed, in this process's life */
    /* What a record has made due besides a new event: released or resent; cleared by who reads. */
    uint64_t *woken;
    size_t woken_count, woken_capacity;
    int64_t *paid_at_ms; /* room of view_payments */
    size_t paid_capacity;
    /* Of this process's life: when it begins, nobody has decided anything about a callback without
     * knowing of all resends that are stored. Replaying needs none, its resends stand in order. */
    struct resent resent;
    /* Two threads agree here, and neither waits: the writer announces a resend before it looks for
     * the body, the applier announces that bodies go before it looks for resends. Whoever comes
     * second sees the other, and gives way. */
    atomic_llong resends_unapplied; /* in the memtables, and the one that is being judged */
    atomic_bool bodies_go;
};

/* After the connection is open: counts what is held back. */
void view_load(struct view *v);
void view_close(struct view *v); /* the memtables too */

bool view_key(struct view *v, struct key128 key, struct key_found *ret);
/* Whether the event's panelist has been erased; looked up only once anybody has. */
bool view_is_erased(struct view *v, uint64_t id);
/* What an outcome is about, as long as nobody looks for it in SQLite: it waited, or there were no
 * outcome, and only its number of attempts goes on from what is stored. */
struct callback_status view_handed_out(lane_no lane);
/* The event with its body and present state; texts in the arena. */
bool view_event(struct view *v, uint64_t id, struct arena *arena, struct event *ret,
                struct callback_status *ret_status);
uint64_t view_reversal(struct view *v, uint64_t original_id); /* 0: none */
/* Those that matter for the cap; valid until the next call. */
struct payments view_payments(struct view *v, const struct candidate *c);
bool view_has_object(struct view *v, enum object_kind kind, struct str id);
uint64_t view_last_event_no(struct view *v, uint32_t account_no);

void view_add_event(struct view *v, const struct event *e);
void view_add_outcome(struct view *v, const struct outcome *o);
void view_add_resend(struct view *v, const struct record_resend *r);
/* The writer: false, bodies are being dropped. Else view_resend_judged follows. */
MUST_CHECK bool view_announce_resend(struct view *v);
void view_resend_judged(struct view *v);
/* The applier: SQLite has what the memtable has. */
void view_applied(struct view *v, const struct memtable *m);
/* The applier, before bodies are dropped. False: some may be owed to a resend that is not applied
 * yet; no further one is accepted until view_bodies_gone. */
MUST_CHECK bool view_may_drop_bodies(struct view *v);
void view_bodies_gone(struct view *v);
void view_add_erase(struct view *v, const struct record_erase *r, struct erase *request);
void view_add_object(struct view *v, enum object_kind kind, struct str id, struct str document);

/* Applies all records of a journal group. False: the group has bytes that are no record. */
MUST_CHECK bool view_replay(struct view *v, struct str records);
