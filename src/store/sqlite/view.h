/* The store as the writer sees it. Look-ups search the active memtable, then the frozen one, then
 * SQLite.
 *
 * Each kind of record has one function here that applies it. A running daemon and a replay call the
 * same function. A replay decides nothing: what follows from a record (whether a reversal is held
 * back, which reversal an outcome releases) depends only on the records before it. */
#pragma once

#include "domain/cap.h"
#include "store/journal/record.h"
#include "store/sqlite/lookup.h"
#include "store/sqlite/pending_resends.h"

#include <stdatomic.h>

struct view {
    struct memtable *active, *frozen; /* frozen may be NULL */
    struct event_lookup lookup;
    struct hash_secret secret;
    struct idmap last_event_no; /* account -> last event number */
    struct idmap held;        /* lane -> reversals held back in it, perhaps including erased ones */
    int64_t last_accepted_ms; /* of the newest event */
    bool has_erased;          /* an erasure was recorded or replayed in this process */
    /* Callbacks other than new ones that a record has made due: released or resent. The reader
     * clears it. */
    uint64_t *woken;
    size_t woken_count, woken_capacity;
    int64_t *paid_at_ms; /* buffer of view_payments */
    size_t paid_capacity;
    /* Resends of this process. At its start no outcome is under way that was decided without the
     * stored resends. A replay needs none, because resends are replayed in order. */
    struct pending_resends resends;
    /* Two threads synchronise here without waiting: the writer announces a resend before it looks
     * for the body, the applier announces that it drops bodies before it looks for resends. The
     * second one sees the first and gives way. */
    atomic_llong resends_unapplied; /* in the memtables, plus the one that is being judged */
    atomic_bool bodies_go;
};

/* Counts the reversals held back, after the connection is open. */
void view_load(struct view *v);
void view_close(struct view *v); /* frees the memtables, too */

bool view_key(struct view *v, struct key128 key, struct key_found *ret);
/* True if the event's panelist has been erased; costs a look-up only after the first erasure. */
bool view_is_erased(struct view *v, uint64_t id);
/* Of a callback that was read from SQLite: true if a memtable has the erasure of its panelist,
 * which SQLite has not got yet. Costs no look-up. */
bool view_has_erasure(const struct view *v, const struct callback *c);
/* The state before an outcome, without a look-up in SQLite: the callback waited, or there would be
 * no outcome. Its number of attempts is unknown (-1): a greater stored one counts. */
struct callback_life view_handed_out(lane_no lane);
/* The event with its body and current state; texts in the arena. */
bool view_event(struct view *v, uint64_t id, struct arena *arena, struct event *ret,
                struct callback_life *ret_life);
uint64_t view_reversal(struct view *v, uint64_t original_id); /* 0: none */
/* The payments that matter for the cap; valid until the next call. */
struct payments view_payments(struct view *v, const struct candidate *c);
bool view_has_object(struct view *v, enum object_kind kind, struct str id);
uint64_t view_last_event_no(struct view *v, uint32_t account_no);

void view_add_event(struct view *v, const struct event *e);
void view_add_outcome(struct view *v, const struct outcome *o);
void view_add_resend(struct view *v, const struct record_resend *r);
/* Called by the writer. False: bodies are being dropped. Otherwise view_resend_judged must
 * follow. */
MUST_CHECK bool view_announce_resend(struct view *v);
void view_resend_judged(struct view *v);
/* Called by the applier: SQLite has the memtable's changes. */
void view_applied(struct view *v, const struct memtable *m);
/* The frozen memtable is in SQLite: look-ups find its keys there from now on. The caller has it. */
void view_let_go_frozen(struct view *v);
/* Called by the applier before it drops bodies. False: a resend that is not applied yet may need
 * some; no further resend is accepted until view_bodies_gone. */
MUST_CHECK bool view_may_drop_bodies(struct view *v);
void view_bodies_gone(struct view *v);
void view_add_erase(struct view *v, const struct record_erase *r, struct erase *request);
void view_add_object(struct view *v, enum object_kind kind, struct str id, struct str document);

/* Applies all records of a journal group. False: the group has invalid bytes. */
MUST_CHECK bool view_replay(struct view *v, struct str records);
